"""Random games and positions, drawn so that rare cases occur: bidding wars, void rounds and dry rounds."""

from typing import Any, NamedTuple

import numpy as np

from felicity_env.game import (
    PASS,
    PLACE,
    STATE,
    Setup,
    State,
    deal,
    is_terminal,
    num_legal_actions,
    step,
)
from felicity_env.game_record import Game, draw_deal, initial_states
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits, draw_below, mix

MAX_LENGTH = 765  # more than the decisions of any game


class Played(NamedTuple):
    """A finished game with its states: states[k] is the position after k actions."""

    game: Game
    states: np.ndarray


@kernel
def diverse_action(state: State, random_bits: RandomBits) -> int:
    """Draw a random legal action; in the auction, prefer a pass or the lowest bid.

    Bidding wars and void rounds are therefore more frequent than with uniformly random actions.
    """
    choice = random_bits & np.uint64(3)
    if state.phase == PLACE or choice >= 2:
        return random_action(state, random_bits)
    return PASS if choice == 0 or num_legal_actions(state) == 1 else PASS + state.high_bid + 1


@kernel
def _play_out(history, actions, random_bits):
    length = 0
    while not is_terminal(history[length]):
        random_bits = mix(np.uint64(random_bits))
        actions[length] = diverse_action(history[length], np.uint64(random_bits))
        history[length + 1] = history[length]
        step(history[length + 1], actions[length])
        length += 1
    return length


def random_game(setup: Setup, seed: int) -> Played:
    """Play a random game to its end, in which bidding wars and void rounds are frequent, and return all its states.

    The actions are drawn by `diverse_action`. The seed decides the deal and all actions.
    """
    dealt = draw_deal(setup, seed)
    history, actions = np.zeros(MAX_LENGTH, STATE), np.zeros(MAX_LENGTH, np.int64)
    history[:1] = initial_states(setup, dealt)
    length = _play_out(history, actions, np.uint64(seed))
    return Played(Game(setup, dealt, tuple(actions[:length].tolist())), history[: length + 1].copy())


@kernel
def _play_part(seed, most, state):
    """Deal a game from a seed into `state`, play up to `most` random decisions, and return how many were played.

    The decisions are fewer than `most` if the game ends before. `state` must be a blank state.
    """
    deal(state, seed)
    bits, length = np.uint64(mix(seed)), 0
    while length < most and not is_terminal(state):
        step(state, diverse_action(state, bits))
        bits = np.uint64(mix(bits))
        length += 1
    return length


@kernel
def _draw_positions(blank, seeds, states):
    for k in range(len(seeds)):
        states[k] = blank[0]
        length = _play_part(seeds[k], MAX_LENGTH, states[k])
        states[k] = blank[0]
        _play_part(seeds[k], draw_below(np.uint64(mix(~seeds[k])), length + 1), states[k])


def random_positions(setup: Setup, seeds: Any) -> np.ndarray:
    """Return a random position for each of the seeds uint64 [B], as an array of states, STATE [B].

    A position is any state of a random game, from the deal to the end, with equal probability.
    """
    states = np.empty(len(seeds), STATE)
    _draw_positions(setup.blank_state(), seeds, states)
    return states
