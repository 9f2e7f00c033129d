"""Rollouts: what is stored of games played for training, sampling of actions, advantages of several learning seats."""

from typing import Any

import numba
import numpy as np
import torch

from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.game import MAX_SEATS
from felicity_env.kernel import kernel, outlined_kernel, parallel_kernel
from felicity_env.random_stream import uniform


class Rollout:
    """Buffers of `num_steps` decisions in B games: arrays [T, B, ...]; the observations are on the networks' device.

    dtype: of the observations. They are counts and fractions of few bits, which 16 bits hold exactly.
    """

    def __init__(self, num_steps: int, num_games: int, *, dtype: torch.dtype, device: str) -> None:
        shape = (num_steps, num_games)
        self.observations = torch.empty((*shape, OBS_SIZE), dtype=dtype, device=device)
        self.masks = np.empty((*shape, NUM_ACTIONS), np.int8)
        self.actions = np.empty(shape, np.int64)
        self.log_probabilities = np.empty(shape, np.float32)
        self.seats = np.empty(shape, np.int64)
        self.rewards = np.empty((*shape, MAX_SEATS), np.float32)
        self.terminated = np.empty(shape, np.bool_)


# --- sampling ---------------------------------------------------------------------------------------------------------


@kernel
def _sample(logits, mask, fraction):
    """Return an action drawn from the softmax of the legal logits, and its log probability; fraction: in [0, 1)."""
    highest = np.float32(-np.inf)
    for action in range(NUM_ACTIONS):
        if mask[action] and logits[action] > highest:
            highest = logits[action]
    total = np.float32(0.0)
    for action in range(NUM_ACTIONS):
        if mask[action]:
            total += np.exp(logits[action] - highest)
    left, chosen = np.float32(fraction) * total, -1
    for action in range(NUM_ACTIONS):
        if mask[action] and left >= 0.0:
            chosen = action
            left -= np.exp(logits[action] - highest)
    return chosen, logits[chosen] - highest - np.log(total)


@outlined_kernel
def _sample_chunk(logits, masks, random_bits, first, last, actions, log_probabilities):
    for k in range(first, last):
        actions[k], log_probabilities[k] = _sample(logits[k], masks[k], uniform(random_bits[k]))


@parallel_kernel
def _sample_parallel(logits, masks, random_bits, threads, actions, log_probabilities):
    games = len(random_bits)
    for t in numba.prange(threads):
        first, last = games * t // threads, games * (t + 1) // threads
        _sample_chunk(logits, masks, random_bits, first, last, actions, log_probabilities)


def sample(
    logits: np.ndarray, masks: np.ndarray, random_bits: np.ndarray, *, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sample legal actions int64 [B] from logits float32 [B, NUM_ACTIONS]; return them and their log probabilities.

    masks: int8 [B, NUM_ACTIONS]. random_bits: uint64 [B]. The log probabilities are float32 [B].
    """
    actions, log_probabilities = np.empty(len(random_bits), np.int64), np.empty(len(random_bits), np.float32)
    if threads == 1:  # a parallel kernel would also set the number of torch's threads
        _sample_chunk(logits, masks, random_bits, 0, len(random_bits), actions, log_probabilities)
    else:
        _sample_parallel(logits, masks, random_bits, threads, actions, log_probabilities)
    return actions, log_probabilities


# --- advantages -------------------------------------------------------------------------------------------------------


@kernel
def _walk_back(rewards, terminated, seats, values, gamma, gae_lambda, advantages, complete, following):
    """Compute the advantages of one game, from its last step to its first.

    following [3, MAX_SEATS]: value and advantage of the next decision of each seat, and its rewards until then; the
    value is NaN if that decision is beyond the last step.
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
        _walk_back(*game, gamma, gae_lambda, advantages[:, b], complete[:, b], following)


def compute_advantages(
    rewards: np.ndarray,
    terminated: np.ndarray,
    seats: np.ndarray,
    values: np.ndarray,
    *,
    gamma: float,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute generalised advantage estimates (Schulman et al. 2016, arXiv:1506.02438) of several seats in one game.

    Each seat has a chain of its own: what it earns while others decide belongs to its earlier decision. All chains of
    a game end together.

    rewards: [T, B, MAX_SEATS], what each seat earned from this decision to the next of any learner. terminated: [T, B],
    whether the game ended in between. seats: [T, B], who decided. values: [T, B], the critic's value for that seat.

    Returns the advantages float32 [T, B] and which of them are complete, bool [T, B]. A seat's last decision before the
    end of the data is incomplete: its outcome is unknown, its advantage is 0, and only its value is used.
    """
    advantages, complete = np.empty(seats.shape, np.float32), np.empty(seats.shape, np.bool_)
    following = np.empty((3, MAX_SEATS))
    _walk_all_back(rewards, terminated, seats, values, gamma, gae_lambda, advantages, complete, following)
    return advantages, complete
