"""Worlds played to their end by a compiled player: what search agents learn from."""

import numpy as np

from agents.compiled import compiled_action
from felicity_env.game import State, is_terminal, step
from felicity_env.information import redact_state
from felicity_env.kernel import outlined_kernel
from felicity_env.random_stream import Word, mix, split
from felicity_env.rewards import reward_code, step_rewards

WIN, MARGIN = reward_code("win"), reward_code("margin")
MARGIN_WEIGHT = 0.002  # what a point of score margin counts beside a victory: it tells apart worlds that are won anyway


@outlined_kernel
def play_out(state: State, scratch: State, models: np.ndarray, word: Word) -> None:
    """Play `state` to its end, each seat as the compiled player of its number in `models`, who sees what it may know.

    scratch: STATE [1] to work in.
    """
    while not is_terminal(state):
        scratch[0] = state
        redact_state(scratch[0], state.seat)
        word = mix(word)
        step(state, compiled_action(models[state.seat], scratch[0], split(word, state.seat)))


@outlined_kernel
def utilities(state: State, values: np.ndarray) -> None:
    """Write what a finished game is worth to each seat into values[0]: its share of the victory, a little for margin.

    values: float64 [2, MAX_SEATS]; the second row is room to work in.
    """
    step_rewards(state, WIN, values[0])
    step_rewards(state, MARGIN, values[1])
    for seat in range(state.num_seats):
        values[0, seat] += MARGIN_WEIGHT * values[1, seat]
