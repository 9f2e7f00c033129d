"""Helpers for all tests: cards by name, positions reached by named actions, random games with their history."""

import gc
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from experiments.checks.random_games import MAX_LENGTH as MAX_LENGTH
from experiments.checks.random_games import Played as Played
from experiments.checks.random_games import diverse_action as diverse_action
from experiments.checks.random_games import random_game as random_game
from felicity_env import Player, View
from felicity_env.game import PASS, STATE, Setup, State, is_legal, step
from felicity_env.game_record import Deal, initial_states
from felicity_env.information import redact
from felicity_env.setups import SETUPS, standard_setup

M8, M5, C3, C5, C8, C11, C15, RABBIT, LARGE, SMALL = range(10)  # M: minus
COMPILED = not numba.config.DISABLE_JIT

ODD_SETUPS = (
    Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=4, rounds=2, cards=(M8, C5, LARGE)),
    Setup(seats=2, mouse_cards=(5,), bank=40, mice=23, removed=0),
    Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=3, rounds=2, cards=(M8, C5, LARGE)),
    Setup(seats=4, mouse_cards=(0, 1, 2), bank=7, dummy=True, mice=5, rounds=4, cards=(M8, M5, C8, C15, LARGE, SMALL)),
    Setup(seats=3, mouse_cards=(0, 1), bank=2, mice=1, rounds=4, cards=(M5, C11, RABBIT, SMALL), removed=0),
    Setup(seats=5, mouse_cards=(2, 3, 4, 6), bank=90, mice=40, rounds=3),
)
ALL_SETUPS = (*SETUPS.values(), *ODD_SETUPS)


def bid(mice: int) -> int:
    """Return the action that bids this number of mice."""
    return PASS + mice


def new_game(players: int = 4, *, removed: Any = None, dummy: Any = None, start_seat: int = 0) -> State:
    """Return the state of a standard game after its deal.

    removed: card of each seat that is removed, by default the rabbit. dummy: cards of the dummy in order, by default
    all but the rabbit.
    """
    setup = standard_setup(players)
    default_dummy = tuple(card for card in setup.cards if card != RABBIT) if setup.dummy else ()
    dealt = Deal(tuple(removed or [RABBIT] * players), tuple(dummy or default_dummy), start_seat)
    return initial_states(setup, dealt)[0]


def play(state: State, *actions: int) -> State:
    """Play actions in a game, each of which must be legal, and return `state`, which they change."""
    for action in actions:
        assert is_legal(state, action), f"{action} by seat {state.seat}"
        step(state, action)
    return state


def auction(players: int = 4, cards: Any = None, **dealt: Any) -> State:
    """Return the state of a standard game at the beginning of its first auction.

    cards: the cards placed in the row, beginning with the start seat; by default every seat places the cat worth 3.
    dealt: arguments of `new_game` that set the deal.
    """
    return play(new_game(players, **dealt), *(cards or [C3] * players))


def play_round(state: State, *actions: int, cards: Any = None) -> State:
    """Play one round of a game, and return `state`, which it changes.

    cards: the cards that the seats place, in their order; by default each places its lowest. actions: all actions of
    the auction.
    """
    for k in range(state.num_seats):
        play(state, lowest_card(state) if cards is None else cards[k])
    return play(state, *actions)


def lowest_card(state: State) -> int:
    """Return the card with the lowest number in the hand of the seat to act."""
    return next(card for card in range(10) if state.hands[state.seat] >> card & 1)


def make_view(states: np.ndarray, seeds: np.ndarray) -> View:
    """Return the decisions of the seats to act in `states` as a view, which shows no hidden cards (redacted).

    states: STATE [B]. seeds: integers [B], one for each decision.
    """
    seats = states["seat"].astype(np.int64)
    return View.make_unchecked(redact(states, seats), seats, seeds.astype(np.uint64))


def decide(player: Player, state: State, seed: int = 0) -> int:
    """Return the action that a player chooses for the seat to act in `state`."""
    return int(player.act(make_view(np.array([state], STATE), np.array([seed])))[0])


def draw_bits(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2**64, size=count, dtype=np.uint64)


def plain(function: Any) -> Any:
    """Return the Python function that a kernel was compiled from."""
    return getattr(function, "py_func", function)


def reachable(root: object) -> list[object]:
    """Return all objects that can be reached from `root` without passing through modules, classes and functions."""
    found, left = {id(root): root}, [root]
    while left:
        for thing in gc.get_referents(left.pop()):
            if id(thing) not in found and not isinstance(thing, ModuleType | type | FunctionType | BuiltinFunctionType):
                found[id(thing)] = thing
                left.append(thing)
    return list(found.values())
