"""What the game is like, question by question; `python -m experiments.anatomy` asks them all.

A function `*_columns` reduces games to a value in each block (deal): [blocks], or [blocks, K]. `columns.estimated`
makes estimates of all columns at once.
"""
