"""Questions about the game, its players and the trainers, with their stored answers. `README.md` is the index."""
