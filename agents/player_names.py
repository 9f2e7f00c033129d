"""Short names of players, for tables and messages."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from agents.own_code import name_file
from agents.registry import PLAYERS

_MAX_NAME = 16  # letters of a name in a table


def shorten_codes(codes: Iterable[str]) -> dict[str, str]:
    """Return a short name for each player code, {code: name}, for narrow tables.

    The name of a user's player is the name of its file or module if its function is `make`. The name of a policy ends
    with the last part of its path. The middle of a name with more than 16 letters is left out. Codes whose names would
    be equal, or equal to that of a built-in player, are not shortened.
    """
    names = {code: _leave_out_middle(_shorten(code)) for code in codes}
    counts = Counter(names.values()) + Counter(PLAYERS.keys() - names.keys())
    return {code: name if counts[name] == 1 else code for code, name in names.items()}


def name_player(code: str) -> str:
    """Return a player's short name and its code, as in `alice (class/alice.py:make)`, or the code if both are equal."""
    (name,) = shorten_codes([code]).values()
    return code if name == code else f"{name} ({code})"


def list_short_names(codes: Sequence[str]) -> tuple[str, ...]:
    """Return a short name for each player code, in the same order, as `shorten_codes` makes them."""
    names = shorten_codes(codes)
    return tuple(names[code] for code in codes)


def _shorten(code: str) -> str:
    name, _, text = code.partition(":")
    if name in PLAYERS:
        return f"{name}:{text.rstrip('/').split('/')[-1]}" if "/" in text else code
    if text != "make":
        return code
    return name_file(Path(name)) if name.endswith(".py") else name.split(".")[-1]


def _leave_out_middle(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME // 2]}…{name[1 - _MAX_NAME // 2 :]}"
