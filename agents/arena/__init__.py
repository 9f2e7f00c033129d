"""Arena: measurement of players against each other, and the commands `tournament` and `evaluate`."""
