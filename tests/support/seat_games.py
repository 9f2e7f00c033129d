"""Helpers for tests of games in which one seat learns."""

from typing import Any

from felicity_env.game import RABBIT

NO_RABBIT = {"deal": {"removed": [RABBIT] * 4, "start_seat": 1}}


def lowest(info: dict[str, Any]) -> Any:
    """Return the lowest legal action of every game: place the lowest card, then pass."""
    return info["action_mask"].argmax(-1)
