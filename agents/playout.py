"""Playouts: worlds played to the end by compiled players, for search players to learn from."""

import numpy as np

from agents.compiled import heuristic_action
from felicity_env.game import State, is_terminal, step
from felicity_env.information import redact_state
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.random_stream import RandomBits, mix, split
from felicity_env.rewards import reward_code, step_rewards

WIN, MARGIN = reward_code("win"), reward_code("margin")
MARGIN_WEIGHT = 0.002  # win shares that a point of margin adds: it tells apart worlds that are won or lost anyway


@kernel
def model_action(state: State, scratch: np.ndarray, models: np.ndarray, random_bits: RandomBits) -> int:
    """Return the action of the acting seat's model, which sees what that seat may know.

    scratch: STATE [1]. models: number of the compiled player for each seat.
    """
    scratch[0] = state
    redact_state(scratch[0], state.seat)
    return heuristic_action(models[state.seat], scratch[0], split(random_bits, state.seat))


@outlined_kernel
def play_out(state: State, scratch: np.ndarray, models: np.ndarray, random_bits: RandomBits) -> None:
    """Play `state` to its end by `model_action`."""
    while not is_terminal(state):
        random_bits = mix(random_bits)
        step(state, model_action(state, scratch, models, random_bits))


@outlined_kernel
def utilities(state: State, values: np.ndarray) -> None:
    """Write the utility of a finished game for each seat into values[0]: its win share, and a little for its margin.

    values: float64 [2, MAX_SEATS]; the second row is workspace.
    """
    step_rewards(state, WIN, values[0])
    step_rewards(state, MARGIN, values[1])
    for seat in range(state.num_seats):
        values[0, seat] += MARGIN_WEIGHT * values[1, seat]
