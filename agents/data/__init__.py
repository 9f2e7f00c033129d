"""Games as data: played and written to a file, and exported to other formats."""
