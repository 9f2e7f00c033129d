"""Generalised advantage estimation (Schulman et al. 2016, arXiv:1506.02438) where several seats learn from one game.

The decisions of a game interleave: between two decisions of a seat lie those of the others, and what the seat earns
meanwhile belongs to its earlier decision. So every seat has a chain of its own, and the chains of a game end together.
"""

from typing import Any

import numpy as np

from felicity_env.game import MAX_SEATS
from felicity_env.kernel import kernel


@kernel
def _walk_back(rewards, ends, seats, values, gamma, gae_lambda, advantages, complete, following):
    """One game, from its last step to its first.

    following [3, MAX_SEATS]: value, advantage and reward of what a seat comes to after the step; the value is NaN where
    that lies beyond the last step.
    """
    following[0] = np.nan
    following[1] = following[2] = 0.0
    for t in range(len(seats) - 1, -1, -1):
        if ends[t]:
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
def _walk_all_back(rewards, ends, seats, values, gamma, gae_lambda, advantages, complete, following):
    for b in range(seats.shape[1]):
        game = (rewards[:, b], ends[:, b], seats[:, b], values[:, b])
        _walk_back(*game, gamma, gae_lambda, advantages[:, b], complete[:, b], following)


def advantages_of(
    rewards: np.ndarray, ends: np.ndarray, seats: np.ndarray, values: np.ndarray, *, gamma: float, gae_lambda: float
) -> tuple[np.ndarray, np.ndarray]:
    """Advantages float32 [T, B] of the decisions in T steps of B games, and which of them are complete, bool [T, B].

    rewards: [T, B, MAX_SEATS], what each seat earned from that decision to the next one of any learner. ends: [T, B],
    whether the game ended in between. seats: [T, B], who decided. values: [T, B], what the critic thought of it for
    that seat. A seat's last decision before the end of the data is not complete: what it led to is not known; it serves
    as the estimate that the one before it goes on from, and its advantage is 0.
    """
    advantages, complete = np.empty(seats.shape, np.float32), np.empty(seats.shape, np.bool_)
    _walk_all_back(rewards, ends, seats, values, gamma, gae_lambda, advantages, complete, np.empty((3, MAX_SEATS)))
    return advantages, complete
