"""Games of a training run that the learner plays itself, with its networks."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from felicity_env import Batch, game_seed
from train.opponents import OpponentPool
from train.rollout import GAMES_STREAM, Learner, Rollout, create_games
from train.sampling import sample


class OwnGames:
    """Games of a training run that the learner plays itself.

    config: settings of the run. threads: number of threads that play one step.
    """

    def __init__(self, config: Any, threads: int) -> None:
        self.batch = create_games(Batch, config, seed=game_seed(config.seed, GAMES_STREAM, 0), threads=threads)
        self.games = OpponentPool(config.weights, num_learners=config.num_learners).begin_games(self.batch)
        self.threads = threads

    def collect(self, rollout: Rollout, learner: Learner) -> Iterator[float]:
        """Write a rollout, step by step; yield before each step the part of the rollout that is done."""
        steps = len(rollout.actions)
        for t in range(steps):
            yield t / steps
            rollout.play(t, self.games, lambda t=t: self._choose(rollout.observations[t], rollout.masks[t], learner))

    def _choose(self, observations: Tensor, masks: np.ndarray, learner: Learner) -> tuple[np.ndarray, np.ndarray]:
        """Return an action of the current policy for each game, and its log probability."""
        with torch.no_grad():
            logits = learner.compute_logits(observations).cpu().numpy()
        return sample(logits, masks, self.batch.decision_seeds(), threads=self.threads)

    def clone(self) -> dict[str, np.ndarray]:
        """Return copies of the state of all games."""
        return self.batch.clone()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore what `clone` returned."""
        self.batch.restore(dict(arrays))
        self.games.resume()

    def close(self) -> None:
        """Do nothing: no workers play these games."""
