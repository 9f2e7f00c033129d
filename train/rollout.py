"""Rollouts (data of games played for training): their storage, and rewards that are shared."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.advantages import compute_advantages
from felicity_env.base_batch import BaseBatch
from felicity_env.game import MAX_SEATS
from felicity_env.kernel import kernel
from felicity_env.learners import LEARNER, LearningGames
from train.config import Config

GAMES_STREAM, ORDER_STREAM = 0, 1  # indices of the random streams from a run's seed
SPREAD_STEPS = 97  # number of random decisions in the first games, so that not all are in the same round
Choose = Callable[[], tuple[np.ndarray, np.ndarray]]
BatchT = TypeVar("BatchT", bound=BaseBatch[Any])


def create_games(
    kind: type[BatchT], config: Config, *, seed: int, num_games: int | None = None, **options: Any
) -> BatchT:
    """Create games to learn from, and play some random decisions in them, so that not all are in the same round.

    kind: class of the batch. config: settings of the run. num_games: number of games, by default all of the run.
    options: further arguments of the class.
    """
    setups = config.setups_by_game[:num_games]
    batch = kind(len(setups), setup=setups, seed=seed, reward=config.reward, open_mice=config.open_mice, **options)
    batch.play_random(SPREAD_STEPS)
    return batch


class Learner(Protocol):
    """Interface that games and rollouts need of the trainer: its networks, whose weights change."""

    policy: Any

    def compute_logits(self, observations: Tensor) -> Tensor:
        """Compute the policy's logits for N observations, float32 [N, NUM_ACTIONS]."""
        ...

    def compute_values(self, observations: Tensor) -> Tensor:
        """Compute the critic's estimates of the return for N observations, float32 [N]."""
        ...


class Rollout:
    """Buffers for the data of a rollout: T decisions in each of B games, as arrays [T, B, ...].

    The observations are a tensor on the device of the networks. config: settings of the run. dtype: number type of the
    observations, which are counts and fractions of few bits, so that 16 bits represent them exactly.
    """

    def __init__(self, config: Config, *, dtype: torch.dtype, device: str) -> None:
        self.config, self.device, shape = config, device, (config.num_steps, config.num_envs)
        self.observations = torch.empty((*shape, OBS_SIZE), dtype=dtype, device=device)
        self.masks = np.empty((*shape, NUM_ACTIONS), np.int8)
        self.actions = np.empty(shape, np.int64)
        self.log_probabilities = np.empty(shape, np.float32)
        self.seats = np.empty(shape, np.int64)
        self.rewards = np.empty((*shape, MAX_SEATS), np.float32)
        self.terminated = np.empty(shape, np.bool_)
        self._selected: dict[str, Tensor] = {}

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
        self.rewards[t, columns] = share_rewards(games.rewards, learns, self.config.reward_scale)
        self.terminated[t, columns] = games.terminated

    def prepare_data(self, learner: Learner, update: int) -> dict[str, Tensor]:
        """Return the N decisions to learn from, in random order, as named tensors [N, ...] on the networks' device.

        The tensors are observations, masks, actions, log probabilities, advantages and returns. Decisions with only one
        legal action are left out, and so are those whose advantage is unknown because the rollout ended. update: index
        of the update, which determines the order.
        """
        observations = self.observations.flatten(0, 1)
        values = learner.compute_values(observations)
        advantages, complete = compute_advantages(
            self.rewards,
            self.terminated,
            self.seats,
            values.cpu().numpy().reshape(self.seats.shape),
            gamma=self.config.gamma,
            gae_lambda=self.config.gae_lambda,
        )
        has_choice = self.masks.sum(axis=2) > 1  # a single legal action teaches nothing
        rng = np.random.default_rng([self.config.seed, ORDER_STREAM, update])
        indices = torch.from_numpy(rng.permutation(np.flatnonzero(complete & has_choice))).to(self.device)
        data = {
            "observations": observations,
            "masks": self._flatten(self.masks).bool(),
            "actions": self._flatten(self.actions),
            "log_probabilities": self._flatten(self.log_probabilities),
            "advantages": self._flatten(advantages),
            "returns": self._flatten(advantages) + values,
        }
        return {name: self._select(name, tensor, indices) for name, tensor in data.items()}

    def _select(self, name: str, tensor: Tensor, indices: Tensor) -> Tensor:
        """Return the rows of a tensor at `indices`, copied into a buffer that is used again in every iteration.

        To allocate new memory would take longer. name: name of the buffer.
        """
        if name not in self._selected:
            self._selected[name] = torch.empty_like(tensor)
        return torch.index_select(tensor, 0, indices, out=self._selected[name][: len(indices)])

    def _flatten(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).flatten(0, 1).to(self.device)

    def encode(self, minibatch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a minibatch of the data with its observations and masks, which it has already."""
        return minibatch


# --- rewards ----------------------------------------------------------------------------------------------------------


@kernel
def share_game_rewards(rewards: np.ndarray, learns: int, scale: float, out: np.ndarray) -> None:
    """Write the rewards of a game [MAX_SEATS], times `scale`, into `out`; learners who cooperate get their mean.

    learns: bit set of the seats that learn. If all seats learn, they play against each other and keep their rewards.
    """
    learners, total = 0, 0.0
    for seat in range(MAX_SEATS):
        if learns >> seat & 1:
            learners += 1
            total += rewards[seat]
    for seat in range(MAX_SEATS):
        cooperates = learns >> seat & 1 and learners < MAX_SEATS
        out[seat] = (total / learners if cooperates else rewards[seat]) * scale


@kernel
def _share_all_rewards(rewards, learns, scale, out):
    for k in range(len(rewards)):
        share_game_rewards(rewards[k], learns[k], scale, out[k])


def share_rewards(rewards: np.ndarray, learns: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return rewards, float64 [B, MAX_SEATS], in which the learners of a game share: each gets the mean of theirs.

    learns: bool [B, MAX_SEATS], which seats learn. Games in which all seats learn keep their rewards, because there the
    learners play against each other. scale: factor of all rewards.
    """
    out = np.empty(rewards.shape)
    _share_all_rewards(rewards, learns @ (1 << np.arange(MAX_SEATS)), float(scale), out)
    return out
