"""Experiments that answer questions about the game, the players and the trainers; `README.md` lists the answers."""
