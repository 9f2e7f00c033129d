"""Rollouts that are played elsewhere: the games of a training run in shards, and tasks that play them.

A task plays one shard for one update, with weights of a certain version. It is a pure function: it returns the actions,
with which the learner replays the games and sees what happened in them. Actions are a hundredth of what observations
would be. Whoever plays a task, and however often, the result is the same, bit for bit.
"""

import functools
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from agents.checkpoint_file import list_below
from agents.network import forward
from agents.policy_file import Layers, layers_to_tensors, tensors_to_layers
from agents.registry import list_files
from agents.tasks.run import Tasks, open_pool
from agents.tools.files import UserError
from felicity_env import Batch, game_seed
from felicity_env.learners import LearningGames
from train.networks import ACTIVATION, copy_layers
from train.opponents import OpponentPool
from train.rollout import GAMES_STREAM, Learner, Rollout, create_games
from train.sampling import sample


class ShardTask(NamedTuple):
    """Task to play `num_steps` decisions of learners in every game of a shard.

    config: settings of the run. number: number of the shard. games: state of its games (`Batch.clone`).
    """

    config: Any
    number: int
    games: dict[str, np.ndarray]


class PlayedShard(NamedTuple):
    """Record of what was played in a shard: T decisions of learners in each of B games.

    actions: uint8 [T, B]. log_probabilities: float32 [T, B]. others: uint8, actions of players that are not compiled,
    in the order in which the games ask for them. digest: digest of the states of the games at the end.
    """

    actions: np.ndarray
    log_probabilities: np.ndarray
    others: np.ndarray
    digest: str


class Shard:
    """Games of one shard, with the opponents of the run in them. config: settings of the run."""

    def __init__(self, config: Any, number: int) -> None:
        seed = game_seed(game_seed(config.seed, GAMES_STREAM, 0), number, 0)
        self.batch = create_games(Batch, config, seed=seed, num_games=config.num_envs // config.shards)
        pool = OpponentPool(config.weights, num_learners=config.num_learners)
        self.games: LearningGames = pool.begin_games(self.batch)

    def digest(self) -> str:
        """Return a digest of the state of all games."""
        return sha256(b"".join(array.tobytes() for array in self.batch.clone().values())).hexdigest()[:16]

    def record_players(self) -> list[np.ndarray]:
        """Let the games keep the actions of players that are not compiled, and return the list that grows by them."""
        recorded: list[np.ndarray] = []
        ask = LearningGames.ask_players

        def ask_and_record(acting: np.ndarray, indices: np.ndarray) -> np.ndarray:
            recorded.append(ask(self.games, acting, indices).astype(np.uint8))
            return recorded[-1].astype(np.int64)

        self.games.ask_players = ask_and_record  # type: ignore[method-assign]
        return recorded

    def replay_players(self, others: np.ndarray) -> None:
        """Let the games take the actions of players that are not compiled from those that were recorded."""
        position = 0

        def take(acting: np.ndarray, indices: np.ndarray) -> np.ndarray:
            nonlocal position
            position += len(indices)
            return others[position - len(indices) : position].astype(np.int64)

        self.games.ask_players = take  # type: ignore[method-assign]


_load_shard = functools.lru_cache(maxsize=64)(Shard)  # its opponents are made once in each process


def play_shard(task: ShardTask, layers: Layers) -> PlayedShard:
    """Play a task by the policy with these layers, and return what was played."""
    config, shard = task.config, _load_shard(task.config, task.number)
    batch, steps = shard.batch, config.num_steps
    batch.restore(task.games)
    shard.games.resume()
    others = shard.record_players()
    actions, logs = np.empty((steps, batch.num_games), np.uint8), np.empty((steps, batch.num_games), np.float32)
    for t in range(steps):
        logits = forward(layers, batch.observations, ACTIVATION, config.observation_version)
        chosen, logs[t] = sample(logits, batch.action_masks, batch.decision_seeds(), threads=1)
        shard.games.step(chosen)
        actions[t] = chosen
    return PlayedShard(actions, logs, np.concatenate([*others, np.empty(0, np.uint8)]), shard.digest())


class ShardedGames:
    """Games of a training run that workers play, in shards, and that the learner replays.

    With the setting `lag` 0 the workers play with the newest weights, with 1 they play with those before, while the
    learner learns.
    """

    def __init__(self, config: Any) -> None:
        self.config, self.lag = config, config.lag
        self.shards = [Shard(config, number) for number in range(config.shards)]
        self.layers: Layers | None = None  # with which the next rollout is played
        self._pool = open_pool(config.workers, config.ray, list_files(*config.opponent_codes))
        self._tasks: Tasks[ShardTask, PlayedShard] = Tasks(self._pool, play_shard)

    def begin(self, layers: Layers) -> None:
        """Let the workers begin to play the next rollout with a policy that has these layers."""
        self.layers = layers
        shared = self._pool.share(layers)
        for number, shard in enumerate(self.shards):
            self._tasks.submit(ShardTask(self.config, number, shard.batch.clone()), shared)

    def collect(self, rollout: Rollout, learner: Learner) -> Iterator[float]:
        """Write the rollout that the workers play, and let them begin the next one if they play ahead.

        Yields the part of the rollout that is done.
        """
        layers = copy_layers(learner.policy.actor)
        if self.layers is None or not self.lag:
            self.begin(layers)
        played: list[PlayedShard | None] = [None] * len(self.shards)
        yield 0.0
        while len(self._tasks):
            for outcome in self._tasks.wait():
                if outcome.value is None:
                    raise UserError(f"shard {outcome.task.number} cannot be played: {outcome.reason}")
                played[outcome.task.number] = outcome.value
            yield 1 - len(self._tasks) / len(self.shards)
        size = self.config.num_envs // len(self.shards)
        for number, (shard, part) in enumerate(zip(self.shards, played, strict=True)):
            self._replay(shard, part, rollout, slice(number * size, (number + 1) * size))
        if self.lag:
            self.begin(layers)

    def _replay(self, shard: Shard, played: Any, rollout: Rollout, columns: slice) -> None:
        """Play the actions of a shard again, and write what happened into the columns of its games.

        Raises `UserError` if the replay ends elsewhere than the games that were played.
        """
        shard.replay_players(played.others)
        for t in range(self.config.num_steps):
            chosen = played.actions[t].astype(np.int64), played.log_probabilities[t]
            rollout.play(t, shard.games, lambda chosen=chosen: chosen, columns=columns)
        if shard.digest() != played.digest:
            raise UserError("a machine that computes otherwise has played for this run: the replay ends elsewhere")

    def clone(self) -> dict[str, np.ndarray]:
        """Return copies of the state of all games, and of the weights with which they are played next."""
        states = {f"{k}.{name}": a for k, s in enumerate(self.shards) for name, a in s.batch.clone().items()}
        layers = self.layers if self.lag and self.layers else ()
        return states | layers_to_tensors(layers, "layers.")

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore what `clone` returned; a rollout that was played ahead is played again."""
        for number, shard in enumerate(self.shards):
            shard.batch.restore(list_below(f"{number}.", arrays))
            shard.games.resume()
        if layers := tensors_to_layers(arrays, "layers."):
            self.begin(layers)

    def close(self) -> None:
        """End the workers."""
        self._pool.close(cancel=True)
