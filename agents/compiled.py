"""The players that are kernels: in batches, and in a loop that answers in many lanes without a call from Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from agents.anchor import anchor_action
from agents.ev import ev_action
from felicity_env import Player, View
from felicity_env.batch import Buffers, Settings, advance, decision_word, show
from felicity_env.game import State, wrap
from felicity_env.information import redact_state
from felicity_env.kernel import kernel
from felicity_env.lanes import NOT_COMPILED, Compiled
from felicity_env.random_stream import Word
from felicity_env.view import random_action

COMPILED = {  # a compiled player's number is its place here
    "random": "uniform over the legal actions",
    "anchor": "fixed yardstick: counts what it sees, 2.9 for a hidden card; cards at random",
    "ev": "exact expected value of the sack against what a pass pays now and later",
}


@kernel
def compiled_action(number: int, state: State, word: Word) -> int:
    """What the player of that number does in a redacted state."""
    if number == 0:
        return random_action(state, word)
    if number == 1:
        return anchor_action(state, word)
    return ev_action(state)


@kernel
def _act(number, states, seeds, out):
    for k in range(len(states)):
        out[k] = compiled_action(number, states[k], seeds[k])


class CompiledPlayer:
    """A player of `COMPILED`, batched."""

    def __init__(self, name: str) -> None:
        self.number = list(COMPILED).index(name)

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.empty(len(view), np.int64)
        _act(self.number, view.states, view.seeds, actions)
        return actions


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
        ended[row] = moved = False
        while not ended[row]:
            seat: Any = b.seats[row]
            number: Any = numbers[table[row, wrap(b.states[row], seat - learners[row])]]
            if seat == learners[row] or number == NOT_COMPILED:
                break
            moved = True
            scratch[0] = b.states[row]
            redact_state(scratch[0], seat)
            advance(b, row, compiled_action(number, scratch[0], decision_word(b, row)), settings)
            rewards[row] += b.rewards[row, learners[row]]
            ended[row] = b.terminated[row]
        if moved:
            show(b, row, settings.open_mice)


def compiled_among(players: Sequence[Player]) -> Compiled:
    """For `Lanes`: which of `players` are compiled, and the loop that plays them."""
    numbers = [player.number if type(player) is CompiledPlayer else NOT_COMPILED for player in players]
    return Compiled(answer, np.array(numbers, np.int64))
