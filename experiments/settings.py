"""Check of those settings of experiments that must be codes of players."""

from collections.abc import Iterable
from typing import Any

import agents
from agents.tools.settings import option_name, require


def check_players(config: Any, *settings: str, allowed: Iterable[str] = ()) -> None:
    """Raise `ValueError`, which names the option, unless the named settings of `config` are codes of players.

    allowed: words that are also accepted, although they are not complete codes.
    """
    for setting in settings:
        value = getattr(config, setting)
        codes = (value,) if isinstance(value, str) else value
        require(bool(codes), f"{option_name(setting)} must name a player")
        for code in codes:
            try:
                _ = code in allowed or agents.make(code)
            except (ValueError, OSError) as error:
                raise ValueError(f"{option_name(setting)}: {error}") from error
