"""The arena: players measured against each other, and the commands `tournament`, `evaluate` and `explain`."""
