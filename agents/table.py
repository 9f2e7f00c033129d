"""The table of player codes: constructor and one line of help each."""

import importlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from agents.compiled import COMPILED, CompiledPlayer
from agents.search import search_player
from felicity_env import Player


def _network(path: str) -> Player:
    from agents.network import NetworkPlayer  # needs safetensors, which a base install lacks

    return NetworkPlayer(path)


class Code(NamedTuple):
    """How a player is made, and what it is."""

    constructor: Callable[..., Player]
    help: str
    needs_argument: bool = False


PLAYERS = {
    **{name: Code(partial(CompiledPlayer, name), line) for name, line in COMPILED.items()},
    "mc": Code(partial(search_player, learns=False), "mc:N, determinised Monte Carlo, N playouts a decision", True),
    "ismcts": Code(partial(search_player, learns=True), "ismcts:N, information-set tree search; @2: two threads", True),
    "net": Code(_network, "net:PATH, a trained policy (a run folder or its policy.json), net:PATH@greedy", True),
}


def make(code: str) -> Player:
    """The player of a code from `PLAYERS` ("ev", "net:PATH") or of "package.module:function" (called with nothing).

    Raises `ValueError` listing the codes if there is no such player, or saying what is wrong with its argument.
    """
    name, colon, argument = code.partition(":")
    if name in PLAYERS:
        return _from_table(name, argument, has_argument=bool(colon))
    if colon and all(part.isidentifier() for part in name.split(".")):
        return _from_module(name, argument)
    raise ValueError(f"no player {code!r}; there are:\n{help_text()}")


def _from_table(name: str, argument: str, *, has_argument: bool) -> Player:
    constructor, help_line, needs_argument = PLAYERS[name]
    if needs_argument and not argument:
        raise ValueError(f"{name!r} needs an argument: {help_line}")
    if has_argument and not needs_argument:
        raise ValueError(f"{name!r} takes no argument, got {argument!r}")
    return constructor(argument) if needs_argument else constructor()


def _from_module(module: str, function: str) -> Player:
    try:
        player = getattr(importlib.import_module(module), function)()
    except (ImportError, AttributeError) as error:
        raise ValueError(f"cannot make a player by {module}:{function}: {error}; codes are:\n{help_text()}") from error
    if not callable(getattr(player, "act", None)):
        raise ValueError(f"{module}:{function}() gave {player!r}, which has no method act(view)")
    return player


def help_text() -> str:
    """A line for each code."""
    lines = [f"  {name:8} {code.help}" for name, code in PLAYERS.items()]
    return "\n".join([*lines, "  package.module:function   your own, made by calling the function"])
