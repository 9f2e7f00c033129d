"""Players of Felicity: `agents.make("ev")` makes one by its code. Its only method is `act(view) -> actions [B]`."""

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
    """Import a name of this package when it is first used: the import takes a second, and not all modules need it."""
    if name not in _MODULES:
        raise AttributeError(f"module 'agents' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """List the names of this package, also those that are not imported yet."""
    return sorted({*globals(), *_MODULES})
