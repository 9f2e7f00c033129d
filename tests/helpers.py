"""What several test files need: cards by name, positions reached by named actions, random games with their history."""

import gc
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np

from felicity_env import Player, View
from felicity_env.batch import random_action
from felicity_env.game import (
    MAX_ROUNDS,
    PASS,
    PLACE,
    SETUPS,
    STATE,
    Setup,
    State,
    is_legal,
    is_terminal,
    num_legal_actions,
    step,
)
from felicity_env.information import EVENTS_A_ROUND, redact
from felicity_env.kernel import kernel
from felicity_env.random_stream import mix
from felicity_env.transcript import Deal, Game, dealt_states, draw_deal

M8, M5, C3, C5, C8, C11, C15, RABBIT, LARGE, SMALL = range(10)  # M: minus
MAX_LENGTH = MAX_ROUNDS * EVENTS_A_ROUND
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
    """The action that bids so many mice."""
    return PASS + mice


def new_game(players: int = 4, *, removed: Any = None, dummy: Any = None, start_seat: int = 0) -> State:
    """A standard game just dealt; unless told, every seat (and the dummy) has lost its rabbit."""
    setup = SETUPS[players]
    default_dummy = tuple(card for card in setup.cards if card != RABBIT) if setup.dummy else ()
    dealt = Deal(tuple(removed or [RABBIT] * players), tuple(dummy or default_dummy), start_seat)
    return dealt_states(setup, dealt)[0]


def play(state: State, *actions: int) -> State:
    """`state` after these actions, each of which must be legal."""
    for action in actions:
        assert is_legal(state, action), f"{action} by seat {state.seat}"
        step(state, action)
    return state


def auction(players: int = 4, cards: Any = None, **dealt: Any) -> State:
    """A standard game in whose first round `cards` were placed, the start player's first."""
    return play(new_game(players, **dealt), *(cards or [C3] * players))


def play_round(state: State, *actions: int, cards: Any = None) -> State:
    """`state` after a round of `actions` in the auction; the acting seats place `cards`, or their lowest."""
    for k in range(state.num_seats):
        play(state, lowest_card(state) if cards is None else cards[k])
    return play(state, *actions)


def lowest_card(state: State) -> int:
    """The first card in the hand of the seat to act."""
    return next(card for card in range(10) if state.hands[state.seat] >> card & 1)


class Played(NamedTuple):
    """A finished game with its states: states[k] is the position after k actions."""

    game: Game
    states: np.ndarray


@kernel
def varied_action(state: State, word: int) -> int:
    """A legal action: in the auction a pass, the lowest bid or any, so that bidding wars and void rounds come up."""
    choice = word & np.uint64(3)
    if state.phase == PLACE or choice >= 2:
        return random_action(state, word)
    return PASS if choice == 0 or num_legal_actions(state) == 1 else PASS + state.high_bid + 1


@kernel
def _play_out(history, actions, word):
    length = 0
    while not is_terminal(history[length]):
        word = mix(np.uint64(word))
        actions[length] = varied_action(history[length], np.uint64(word))
        history[length + 1] = history[length]
        step(history[length + 1], actions[length])
        length += 1
    return length


def random_game(setup: Setup, seed: int) -> Played:
    """A game played to the end by `varied_action`."""
    dealt = draw_deal(setup, seed)
    history, actions = np.zeros(MAX_LENGTH, STATE), np.zeros(MAX_LENGTH, np.int64)
    history[:1] = dealt_states(setup, dealt)
    length = _play_out(history, actions, np.uint64(seed))
    return Played(Game(setup, dealt, tuple(actions[:length].tolist())), history[: length + 1].copy())


def view_of(states: np.ndarray, words: np.ndarray) -> View:
    """The decisions of the seats to act in `states`, as they may know them."""
    seats = states["seat"].astype(np.int64)
    return View(redact(states, seats), seats, words.astype(np.uint64))


def decide(player: Player, state: State, word: int = 0) -> int:
    """What the seat to act plays."""
    return int(player.act(view_of(np.array([state], STATE), np.array([word])))[0])


def random_words(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2**64, size=count, dtype=np.uint64)


def plain(function: Any) -> Any:
    """The Python that a kernel was compiled from."""
    return getattr(function, "py_func", function)


def reachable(root: object) -> list[object]:
    """All objects that can be had from `root` without going through modules, classes and functions."""
    found, left = {id(root): root}, [root]
    while left:
        for thing in gc.get_referents(left.pop()):
            if id(thing) not in found and not isinstance(thing, ModuleType | type | FunctionType | BuiltinFunctionType):
                found[id(thing)] = thing
                left.append(thing)
    return list(found.values())
