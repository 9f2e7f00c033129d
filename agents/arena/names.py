"""Name of a player in messages: the name in the tables, and its code if that is longer."""

from agents.registry import shorten_codes


def name_player(code: str) -> str:
    """Return the name of a player in the tables with its code, such as `alice (class/alice.py:make)`, or its code."""
    (name,) = shorten_codes([code]).values()
    return code if name == code else f"{name} ({code})"
