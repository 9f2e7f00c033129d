"""Players of Felicity by code, such as `agents.make("ev")`. A player has one method, `act(view) -> actions [B]`."""

from agents.registry import PLAYERS, make
from felicity_env.player import Player, View

__all__ = ["PLAYERS", "Player", "View", "make"]
