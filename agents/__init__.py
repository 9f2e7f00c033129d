"""Players of Felicity: `agents.make("ev")` makes the player with the code `ev`.

A player has a method `act(view)`, which returns an action for each of the B decisions of the view, integers [B].
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.registry import PLAYERS, make
    from felicity_env.player import Player, View

__all__ = ["PLAYERS", "Player", "View", "make"]
_MODULES = {
    "PLAYERS": "agents.registry",
    "make": "agents.registry",
    "Player": "felicity_env.player",
    "View": "felicity_env.player",
}


def __getattr__(name: str) -> Any:
    """Return the object that a public name of this package stands for; import its module at the first use.

    That import takes a second, and not every program needs it. Raises `AttributeError` if there is no such name.
    """
    if name not in _MODULES:
        raise AttributeError(f"module 'agents' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """List the names of this package, also those that are not imported yet."""
    return sorted({*globals(), *_MODULES})
