"""Advantages of decisions in games in which several seats learn, for training loops on `Batch`."""

from typing import Any

import numpy as np

from felicity_env.game import MAX_SEATS
from felicity_env.kernel import kernel


def _check_shapes(**arrays: np.ndarray) -> None:
    """Raise `ValueError` unless the rewards are [T, B, MAX_SEATS], and all other arrays [T, B]."""
    shape = arrays["seats"].shape
    for name, array in arrays.items():
        last, form = ((MAX_SEATS,), f", {MAX_SEATS}") if name == "rewards" else ((), "")
        if len(shape) != 2 or array.shape != shape + last:
            raise ValueError(f"{name} must be an array [steps, games{form}], not one of shape {list(array.shape)}")


@kernel
def walk_back(
    rewards: np.ndarray,
    terminated: np.ndarray,
    seats: np.ndarray,
    values: np.ndarray,
    gamma: float,
    gae_lambda: float,
    advantages: np.ndarray,
    complete: np.ndarray,
    following: np.ndarray,
) -> None:
    """Compute the advantages of one game's decisions in a rollout, from the last step back to the first.

    The results are written to `advantages` and `complete` [T]; see `compute_advantages`. following [3, MAX_SEATS] is a
    workspace with a column for each seat. Row 0: value at the seat's next decision, or NaN if that decision is after
    the last step. Row 1: advantage of the seat's next decision. Row 2: sum of the seat's rewards until its next
    decision.
    """
    following[0] = np.nan
    following[1] = following[2] = 0.0
    for t in range(len(seats) - 1, -1, -1):
        if terminated[t]:
            following[:] = 0.0
        for seat in range(MAX_SEATS):
            following[2, seat] += rewards[t, seat]
        seat: Any = seats[t]
        complete[t] = not np.isnan(following[0, seat])
        advantages[t] = 0.0
        if complete[t]:
            error = following[2, seat] + gamma * following[0, seat] - values[t]
            advantages[t] = error + gamma * gae_lambda * following[1, seat]
        following[0, seat], following[1, seat], following[2, seat] = values[t], advantages[t], 0.0


@kernel
def _walk_all_back(rewards, terminated, seats, values, gamma, gae_lambda, advantages, complete, following):
    for b in range(seats.shape[1]):
        game = (rewards[:, b], terminated[:, b], seats[:, b], values[:, b])
        walk_back(*game, gamma, gae_lambda, advantages[:, b], complete[:, b], following)


def compute_advantages(
    rewards: np.ndarray,
    terminated: np.ndarray,
    seats: np.ndarray,
    values: np.ndarray,
    *,
    gamma: float,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute generalised advantage estimates (Schulman et al. 2016, arXiv:1506.02438) where several seats learn.

    The decisions of each seat form a separate sequence: rewards that the seat gets while others decide belong to its
    previous decision. The sequences of all seats end with the game.

    rewards: [T, B, MAX_SEATS], reward of each seat from this decision to the next one of any learner. terminated: [T,
    B], True if the game ended in between. seats, values: [T, B], seat that decided, and the critic's value for it; a
    value after the last step is not needed. Raises `ValueError` if an array has another shape.

    Returns the advantages, float32 [T, B], and a mask, bool [T, B]. The mask is False for the last decision of a seat
    if the game has not ended by the last step: the outcome of this decision is unknown, its advantage is 0, and only
    its value is used, for the seat's previous decision.
    """
    rewards, terminated, seats, values = map(np.asarray, (rewards, terminated, seats, values))
    _check_shapes(rewards=rewards, terminated=terminated, seats=seats, values=values)
    advantages, complete = np.empty(seats.shape, np.float32), np.empty(seats.shape, np.bool_)
    following = np.empty((3, MAX_SEATS))
    _walk_all_back(rewards, terminated, seats, values, gamma, gae_lambda, advantages, complete, following)
    return advantages, complete
