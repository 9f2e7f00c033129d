"""Measurements of the game itself, in games among copies of one player; `anatomy.py` makes all of them.

A function `compute_*_columns` reduces games to columns. A column holds one value for each block (one deal under all
rotations of the seats): [blocks], or [blocks, K] for K columns. `columns.estimate_columns` estimates the means of all
columns, with intervals.
"""
