"""Rollouts (data of games played for training): their storage, sampling of actions, and rewards that are shared."""

from collections.abc import Callable

import numba
import numpy as np
import torch

from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.game import MAX_SEATS
from felicity_env.kernel import kernel, outlined_kernel, parallel_kernel
from felicity_env.learners import LEARNER, LearningGames
from felicity_env.random_stream import uniform
from train.config import Config

Choose = Callable[[], tuple[np.ndarray, np.ndarray]]


class Rollout:
    """Buffers for the data of a rollout: T decisions in each of B games, as arrays [T, B, ...].

    The observations are a tensor on the device of the networks. config: settings of the run. dtype: number type of the
    observations, which are counts and fractions of few bits, so that 16 bits represent them exactly.
    """

    def __init__(self, config: Config, *, dtype: torch.dtype, device: str) -> None:
        shape = (config.num_steps, config.num_envs)
        self.observations = torch.empty((*shape, OBS_SIZE), dtype=dtype, device=device)
        self.masks = np.empty((*shape, NUM_ACTIONS), np.int8)
        self.actions = np.empty(shape, np.int64)
        self.log_probabilities = np.empty(shape, np.float32)
        self.seats = np.empty(shape, np.int64)
        self.rewards = np.empty((*shape, MAX_SEATS), np.float32)
        self.terminated = np.empty(shape, np.bool_)
        self._reward_scale = config.reward_scale

    def play(self, t: int, games: LearningGames, choose: Choose, *, columns: slice = slice(None)) -> None:
        """Write decision t of the learners in some games, play it, and write what follows.

        choose: returns the actions, int64 [K], and their log probabilities; it is called when observations and masks
        are written. columns: places of these K games in the buffers.
        """
        batch, learns = games.batch, games.seating == LEARNER
        self.observations[t, columns].copy_(torch.from_numpy(batch.observations))
        self.masks[t, columns], self.seats[t, columns] = batch.action_masks, batch.seats
        actions, self.log_probabilities[t, columns] = choose()
        self.actions[t, columns] = actions
        games.step(actions)
        rewards = share_rewards(games.rewards, learns)
        self.rewards[t, columns] = rewards * self._reward_scale
        self.terminated[t, columns] = games.terminated


# --- sampling ---------------------------------------------------------------------------------------------------------


@kernel
def _sample(logits, mask, fraction):
    """Draw an action from the softmax of the legal actions' logits; return it and its log probability.

    fraction: uniform random number in [0, 1) that determines the action.
    """
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
    """Sample a legal action for each of B decisions from the policy's logits; return actions and log probabilities.

    logits: float32 [B, NUM_ACTIONS]. masks: int8 [B, NUM_ACTIONS], 1 for legal actions. random_bits: uint64 [B], the
    randomness of each decision. Returns actions int64 [B] and their log probabilities float32 [B].
    """
    actions, log_probabilities = np.empty(len(random_bits), np.int64), np.empty(len(random_bits), np.float32)
    if threads == 1:  # a parallel kernel would also set the number of torch's threads
        _sample_chunk(logits, masks, random_bits, 0, len(random_bits), actions, log_probabilities)
    else:
        _sample_parallel(logits, masks, random_bits, threads, actions, log_probabilities)
    return actions, log_probabilities


# --- rewards ----------------------------------------------------------------------------------------------------------


def share_rewards(rewards: np.ndarray, learns: np.ndarray) -> np.ndarray:
    """Return rewards [B, MAX_SEATS] in which the learners of a game share: each gets the mean of theirs.

    learns: bool [B, MAX_SEATS], which seats learn. Games in which all seats learn keep their rewards, because there the
    learners play against each other.
    """
    cooperates = learns & ~learns.all(axis=1, keepdims=True)
    counts = cooperates.sum(axis=1, keepdims=True).clip(1)
    return np.where(cooperates, (rewards * cooperates).sum(axis=1, keepdims=True) / counts, rewards)
