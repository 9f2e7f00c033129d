"""Playouts: games that compiled players play to the end, from which search players estimate the value of actions."""

import numpy as np

from agents.compiled import heuristic_action
from felicity_env.game import State, is_terminal, step
from felicity_env.information import redact_state
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.random_stream import RandomBits, mix, split
from felicity_env.rewards import reward_code, step_rewards

WIN, MARGIN = reward_code("win"), reward_code("margin")
MARGIN_WEIGHT = 0.002  # win shares per point of score margin: prefers among equal win shares


@kernel
def model_action(state: State, scratch: np.ndarray, models: np.ndarray, random_bits: RandomBits) -> int:
    """Return the action of the player assumed for the acting seat, which sees only what that seat may know.

    scratch: STATE [1], workspace. models: for each seat the number of the compiled player that is assumed there.
    """
    scratch[0] = state
    redact_state(scratch[0], state.seat)
    return heuristic_action(models[state.seat], scratch[0], split(random_bits, state.seat))


@outlined_kernel
def play_out(state: State, scratch: np.ndarray, models: np.ndarray, random_bits: RandomBits) -> None:
    """Play a game from `state` to its end, in place, with the compiled player models[seat] in each seat."""
    while not is_terminal(state):
        random_bits = mix(random_bits)
        step(state, model_action(state, scratch, models, random_bits))


@outlined_kernel
def utilities(state: State, values: np.ndarray) -> None:
    """Write each seat's utility of a finished game into values[0]: win share plus MARGIN_WEIGHT times score margin.

    values: float64 [2, MAX_SEATS]; the second row is workspace.
    """
    step_rewards(state, WIN, values[0])
    step_rewards(state, MARGIN, values[1])
    for seat in range(state.num_seats):
        values[0, seat] += MARGIN_WEIGHT * values[1, seat]
