"""Training of players: `python -m train --help` lists the algorithms; `train.algorithms` says how to add one."""
