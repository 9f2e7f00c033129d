"""Questions about the game, measured in games among copies of one player; `anatomy` answers them all.

A function `compute_*_columns` reduces games to columns. A column holds one value for each block (deal): [blocks], or
[blocks, K] for K columns side by side. `columns.estimate_columns` estimates the means of all columns at once.
"""
