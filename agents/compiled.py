"""The players that are kernels: in batches, and in a loop that answers in many lanes without a call from Python."""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

from agents.anchor import anchor_action
from agents.ev import ev_action
from agents.simple import bluffer_action, greedy_action, miser_action, pass_action, reckless_action
from agents.tuned import tuned_action
from felicity_env import Player, View
from felicity_env.batch import Buffers, Settings, advance, decision_word, show
from felicity_env.game import MAX_SEATS, State
from felicity_env.information import redact_state
from felicity_env.kernel import kernel, outlined_kernel, parallel_kernel
from felicity_env.random_stream import Word
from felicity_env.tables import NOT_COMPILED, Compiled, Waiting
from felicity_env.view import random_action

COMPILED = {  # a compiled player's number is its place here
    "pass": "never bids; a random card",
    "random": "uniform over the legal actions",
    "greedy": "raises up to the exact expected value of the sack, blind to what a pass pays; cards at random",
    "anchor": "fixed yardstick: counts what it sees, 2.9 for a hidden card; cards at random",
    "ev": "exact expected value of the sack against what a pass pays now and later",
    "tuned": "weighs the value of the sack, its spread, means, score and time; weights found by CMA-ES",
    "reckless": "a weakness to exploit: pays 10 mice more than a sack is worth",
    "miser": "a weakness to exploit: never pays more than 3 mice",
    "bluffer": "a weakness to exploit: lays its worst card and bids the spoiled sack up",
}
NUMBERS = {name: number for number, name in enumerate(COMPILED)}


@outlined_kernel
def compiled_action(number: Any, state: State, word: Word) -> int:
    """What the player of that number does in a redacted state."""
    if number == 0:
        return pass_action(state, word)
    if number == 1:
        return random_action(state, word)
    if number == 2:
        return greedy_action(state, word)
    if number == 3:
        return anchor_action(state, word)
    if number == 4:
        return ev_action(state)
    if number == 5:
        return tuned_action(state, word)
    if number == 6:
        return reckless_action(state, word)
    if number == 7:
        return miser_action(state)
    return bluffer_action(state)


@kernel
def _act(number, states, seeds, out):
    for k in range(len(states)):
        out[k] = compiled_action(number, states[k], seeds[k])


class CompiledPlayer:
    """A player of `COMPILED`, batched."""

    def __init__(self, name: str) -> None:
        self.number = NUMBERS[name]

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.empty(len(view), np.int64)
        _act(self.number, view.states, view.seeds, actions)
        return actions


@outlined_kernel
def _answer_chunk(b: Buffers, settings: Settings, rows: np.ndarray, t: Waiting, scratch: np.ndarray) -> None:
    for row in rows:
        t.ended[row] = moved = False
        while not t.ended[row] and t.numbers[row, b.seats[row]] != NOT_COMPILED:
            moved = True
            acting: Any = b.seats[row]
            scratch[0] = b.states[row]
            redact_state(scratch[0], acting)
            advance(b, row, compiled_action(t.numbers[row, acting], scratch[0], decision_word(b, row)), settings)
            for seat in range(MAX_SEATS):
                t.rewards[row, seat] += b.rewards[row, seat]
            t.ended[row] = b.terminated[row]
        if moved:
            show(b, row, settings.open_mice)


@parallel_kernel
def _answer_parallel(b, settings, rows, t):
    threads, count = len(t.scratch), len(rows)
    for thread in numba.prange(threads):
        mine = rows[count * thread // threads : count * (thread + 1) // threads]
        _answer_chunk(b, settings, mine, t, t.scratch[thread])


def answer(buffers: Buffers, settings: Settings, rows: np.ndarray, waiting: Waiting) -> None:
    """Play on in the tables `rows` while a compiled player is to act; see `tables.Compiled`."""
    if len(waiting.scratch) == 1:
        _answer_chunk(buffers, settings, rows, waiting, waiting.scratch[0])
    else:
        _answer_parallel(buffers, settings, rows, waiting)


def compiled_among(players: Sequence[Player]) -> Compiled:
    """For `Tables`: which of `players` are compiled, and the loop that plays them."""
    numbers = [player.number if type(player) is CompiledPlayer else NOT_COMPILED for player in players]
    return Compiled(answer, np.array(numbers, np.int64))
