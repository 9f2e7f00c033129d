"""Training of players: `python -m train --help` lists the algorithms, `train.algorithms` is where a new one goes."""
