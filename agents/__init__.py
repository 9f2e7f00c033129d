"""Players of Felicity: `agents.make("ev")` makes one by its code. Its only method is `act(view) -> actions [B]`."""

from agents.registry import PLAYERS, make
from felicity_env.player import Player, View

__all__ = ["PLAYERS", "Player", "View", "make"]
