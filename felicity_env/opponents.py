"""Players for the seats in which nobody learns, given as objects or by their codes, such as "ev"."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from felicity_env.player import Player, RandomPlayer

_CHECKOUT = "player codes need the package `agents` of a checkout of felicity-env (pip install -e '.[train]' there)"
_OR_OBJECT = "; or give an object with a method act(view)"


def check_opponents(opponents: Player | str | Sequence[Player | str] | None, num_opponents: int) -> list[Player]:
    """Return the opponents as a list with one player for all other seats, or with one for each of them.

    opponents: a player for all other seats, a list with one for each, or None for a uniformly random player; a player
    is an object with `act`, or a code. Raises `ValueError` if the list has a wrong length, a player has no `act`, or a
    code is wrong.
    """
    if opponents is None:
        return [RandomPlayer()]
    players = list_players(opponents)
    if _is_list(opponents) and len(players) != num_opponents:
        raise ValueError(f"opponents must be one player or {num_opponents} in seating order, not {len(players)}")
    return players


def list_players(players: Player | str | Sequence[Player | str]) -> list[Player]:
    """Return one player or several as a list, and make those that are given by a code.

    Raises `ValueError` if a player has no `act`, is a class, or a code is wrong.
    """
    given: Any = players if _is_list(players) else [players]
    made = [make_player(player) if isinstance(player, str) else player for player in given]
    for player in made:
        if isinstance(player, type):
            raise ValueError(f"a player is an object, not its class: make one, such as {player.__name__}()")
        if not callable(getattr(player, "act", None)):
            raise ValueError(f"a player needs a method act(view) -> actions, or is a player code; got {player!r}")
    return made


def _is_list(players: Any) -> bool:
    return isinstance(players, Sequence) and not isinstance(players, str)


def make_player(code: str) -> Player:
    """Make a player from its code, such as "ev", with the package `agents`, which the wheel does not hold.

    Raises `ValueError` if the code is wrong, or that package is missing or another one of the same name.
    """
    try:
        agents = import_module("agents")
    except ImportError as error:
        raise ValueError(f"cannot make the opponent {code!r}: {_CHECKOUT}{_OR_OBJECT}") from error
    if not (agents.__doc__ or "").startswith("Players of Felicity"):
        found = getattr(agents, "__file__", None) or agents.__path__
        raise ValueError(f"cannot make the opponent {code!r}: {_CHECKOUT}, and {found} is another one{_OR_OBJECT}")
    return agents.make(code)
