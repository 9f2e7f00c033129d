"""Exact ground: small games whose whole tree fits into memory, where the value of every policy can be computed."""
