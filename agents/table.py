"""The table of player codes: constructor and one line of help each."""

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from agents.compiled import COMPILED, CompiledPlayer
from agents.search import search_player
from felicity_env import Player

REFERENCE = Path(__file__).parent / "net"  # what `net` alone stands for, with its model card


def _network(path: str = "") -> Player:
    from agents.mixture import network_player  # needs safetensors, which a base install lacks
    from agents.network import GREEDY

    return network_player(f"{REFERENCE}{path}" if path in ("", GREEDY) else path)


def _amortised(path: str) -> Player:
    from agents.amortised import amortised_player  # needs safetensors too

    return amortised_player(path)


class Code(NamedTuple):
    """How a player is made, and what it is."""

    constructor: Callable[..., Player]
    help: str
    argument: Literal["none", "optional", "needed"] = "none"


PLAYERS = {
    **{name: Code(partial(CompiledPlayer, name), line) for name, line in COMPILED.items()},
    "mc": Code(partial(search_player, learns=False), "mc:N, determinised Monte Carlo, N playouts a decision", "needed"),
    "ismcts": Code(
        partial(search_player, learns=True), "ismcts:N, information-set tree search; @2: two threads", "needed"
    ),
    "amortised": Code(
        _amortised, "amortised:PATH, mc with networks of train.imitate in the place of its playouts", "needed"
    ),
    "net": Code(
        _network,
        "the reference player; net:PATH, another policy (a run folder or its policy.json), or a mixture of those in "
        "PATH's folders 0, 1, ...; @greedy: the best action",
        "optional",
    ),
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
    meant = f" (did you mean {_meant(code)!r}?)" if _meant(code) else ""
    raise ValueError(f"no player {code!r}{meant}; there are:\n{help_text()}")


def _meant(code: str) -> str | None:
    """The code of a policy that was named without `net:`."""
    if code.startswith("net@"):
        return code.replace("net@", "net:@", 1)
    return f"net:{code}" if code and Path(code).exists() else None


def _from_table(name: str, argument: str, *, has_argument: bool) -> Player:
    code = PLAYERS[name]
    if not argument and (code.argument == "needed" or (has_argument and code.argument == "optional")):
        raise ValueError(f"{name!r} needs an argument: {code.help}")
    if code.argument == "none" and has_argument:
        raise ValueError(f"{name!r} takes no argument, got {argument!r}")
    return code.constructor(*filter(None, [argument]))


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
