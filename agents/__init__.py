"""Players of Felicity, by code: `agents.make("ev")`. A player has one method, `act(view) -> actions [B]`."""

from agents.table import PLAYERS, make
from felicity_env.view import Player, View

__all__ = ["PLAYERS", "Player", "View", "make"]
