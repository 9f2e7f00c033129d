"""Setups of the game by name, such as `standard-4`, and setups that users define in JSON files.

To add a setup, add an entry to `SMALL_SETUPS`, or to `SETUPS` if the rules define it. All commands then accept it.
"""

import hashlib
import json
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from felicity_env.game import Setup
from felicity_env.game_record import is_integer

SETUPS = {  # R2.1-R2.5
    "standard-3": Setup(seats=3, mouse_cards=(3, 6), bank=21, dummy=True),
    "standard-4": Setup(seats=4, mouse_cards=(2, 4, 6), bank=27),
    "standard-5": Setup(seats=5, mouse_cards=(2, 3, 4, 6), bank=33),
}
STANDARD_PLAYERS = (3, 4, 5)
SMALL_SETUPS = {  # games whose whole tree fits into memory, so that equilibria and best responses can be computed
    "tiny-2": Setup(seats=2, mouse_cards=(1,), bank=2, mice=1, rounds=1, cards=(0, 8, 5)),
    "small-2": Setup(seats=2, mouse_cards=(2,), bank=4, mice=4, rounds=2, cards=(0, 3, 8)),
    "small-2-dummy": Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=4, rounds=2, cards=(0, 3, 8)),
    "small-3": Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=3, rounds=2, cards=(0, 3, 8)),
}
_NAMED = SETUPS | SMALL_SETUPS


def standard_setup(num_players: int) -> Setup:
    """Return the standard setup of the game for 3, 4 or 5 players.

    Raises `ValueError` if the number of players is any other value.
    """
    if not is_integer(num_players) or int(num_players) not in STANDARD_PLAYERS:
        raise ValueError(f"num_players must be one of {list(STANDARD_PLAYERS)}, not {num_players!r}")
    return SETUPS[f"standard-{num_players}"]


def find_setup(setup: Setup | str | Path) -> Setup:
    """Return a setup, given the setup itself, its name in one of the tables, or a JSON file that defines it.

    The file holds the fields of `Setup`, such as {"seats": 4, "mouse_cards": [2, 4, 8], "bank": 27}. Raises
    `ValueError` with the reason if the name is unknown, or if the file cannot be read or defines no possible setup.
    """
    if isinstance(setup, Setup):
        return setup
    if isinstance(setup, str | Path):
        if is_setup_name(str(setup)):
            return _NAMED[str(setup)]
        if Path(setup).suffix == ".json":
            return _read_setup(Path(setup))
    raise ValueError(f"no setup {setup!r}; there are {', '.join(_NAMED)}, and files that end in .json")


def is_setup_name(name: Any) -> bool:
    """Return whether a value is the name of a setup in one of the tables, such as `standard-4`."""
    return isinstance(name, str) and name in _NAMED


def choose_setup(num_players: Any, setup: Any) -> Setup:
    """Return the given setup, or the standard setup for `num_players` if `setup` is None, for 4 players if both are.

    Raises `ValueError` if both are given and `num_players` is not the number of seats of the setup.
    """
    if setup is None:
        return standard_setup(4 if num_players is None else num_players)
    found = find_setup(setup)
    if num_players not in (None, found.seats):
        raise ValueError(f"num_players is {num_players!r}, but the setup has {found.seats} seats: give only one")
    return found


def setup_name(setup: Setup) -> str:
    """Return the name of a setup: its name in one of the tables, or a name computed from its fields.

    The computed name is `custom-SEATS-DIGEST`: the number of seats, and 8 hex digits of a hash of all fields.
    """
    for name, known in _NAMED.items():
        if known == setup:
            return name
    digest = hashlib.sha256(json.dumps(asdict(setup)).encode()).hexdigest()[:8]
    return f"custom-{setup.seats}-{digest}"


def define_setup(setup: Setup) -> str | dict[str, Any]:
    """Return the name of a setup, or its fields if it is in no table, for files that must tell it exactly."""
    name = setup_name(setup)
    return name if is_setup_name(name) else asdict(setup)


def describe_setup(setup: Setup) -> dict[str, Any]:
    """Return a dictionary with the name ("setup") and the number of seats ("num_players") of a setup.

    Rows of stored results begin with these two entries.
    """
    return {"setup": setup_name(setup), "num_players": setup.seats}


def _read_setup(path: Path) -> Setup:
    try:
        values = json.loads(path.read_text())
        if not isinstance(values, dict):
            raise ValueError("a setup is a JSON object with the fields of Setup")
        defaults = {field.name: field.default for field in fields(Setup)}
        if unknown := sorted(values.keys() - defaults.keys()):
            raise ValueError(f"{', '.join(unknown)} is no field of a setup")
        if missing := [name for name, default in defaults.items() if default is MISSING and name not in values]:
            raise ValueError(f"it lacks {', '.join(missing)}")
        return Setup(**values)
    except (OSError, ValueError, TypeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ValueError(f"no setup can be read from {path}: {reason}") from error
