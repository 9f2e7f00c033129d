"""The compiled players by number, and a loop in which they answer in many lanes without a call from Python.

A player whose class has a number here is played by `compiled_action`, any other by its `act`; a compiled player's `act`
gives the same actions.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.anchor import AnchorPlayer, anchor_action
from agents.ev import EvPlayer, ev_action
from felicity_env import Player
from felicity_env.batch import Buffers, Settings, play
from felicity_env.game import State, wrap
from felicity_env.information import redact_state
from felicity_env.kernel import kernel
from felicity_env.lanes import NOT_COMPILED, Compiled
from felicity_env.random_stream import Word, decision_seed
from felicity_env.view import RandomPlayer, random_action

NUMBERS = {RandomPlayer: 0, AnchorPlayer: 1, EvPlayer: 2}


@kernel
def compiled_action(number: int, state: State, word: Word) -> int:
    """What the player of that number does in a redacted state."""
    if number == 0:
        return random_action(state, word)
    if number == 1:
        return anchor_action(state, word)
    return ev_action(state)


@kernel
def answer(
    b: Buffers,
    settings: Settings,
    rows: np.ndarray,
    learners: np.ndarray,
    table: np.ndarray,
    numbers: np.ndarray,
    rewards: np.ndarray,
    ended: np.ndarray,
    scratch: np.ndarray,
) -> None:
    """Play on in the lanes `rows` while a compiled player is to act; see `lanes.Compiled` for the arguments."""
    for row in rows:
        ended[row] = False
        while not ended[row]:
            seat: Any = b.seats[row]
            number: Any = numbers[table[row, wrap(b.states[row], seat - learners[row])]]
            if seat == learners[row] or number == NOT_COMPILED:
                break
            scratch[0] = b.states[row]
            redact_state(scratch[0], seat)
            word = decision_seed(b.game_seeds[row], seat, b.decisions[row, seat])
            play(b, row, compiled_action(number, scratch[0], word), settings)
            rewards[row] += b.rewards[row, learners[row]]
            ended[row] = b.terminated[row]


def compiled_among(players: Sequence[Player]) -> Compiled:
    """For `Lanes`: which of `players` are compiled, and the loop that plays them."""
    numbers = [NUMBERS.get(type(player), NOT_COMPILED) for player in players]
    return Compiled(answer, np.array(numbers, np.int64))
