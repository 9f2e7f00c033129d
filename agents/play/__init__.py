"""Games to look at: saved games, replays, reviews, and games against the players of this project."""
