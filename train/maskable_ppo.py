"""Training by self-play with MaskablePPO of sb3-contrib: `python -m train maskable-ppo`.

One seat of each game learns, and the learning seat changes from game to game; the opponents come from `OpponentPool`.
PPO with an entropy bonus is as strong as methods made for imperfect information (arXiv:2502.08938).
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from agents.network import NetworkPlayer
from agents.policy_file import layers_to_tensors, tensors_to_layers
from agents.tools.settings import check_at_least, check_not_negative, check_positive, require
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch, game_seed
from felicity_env.learners import SingleLearnerGames
from felicity_env.observation import OBS_HIGH, OBS_LOW
from train import storage
from train.config import Config
from train.initial_policy import load_initial_policy
from train.interrupt import Interrupt
from train.opponents import PAST, SELF, OpponentPool
from train.progress import Progress
from train.rollout import GAMES_STREAM, create_games
from train.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class MaskablePPOConfig(Config):
    """Train a player with MaskablePPO of sb3-contrib; the learner has one seat in each game."""

    sources: ClassVar[tuple[str, ...]] = (SELF, PAST)

    total_timesteps: int = 6_000_000
    open_mice: bool = False
    reward: Literal["win", "margin", "score", "round"] = "round"
    reward_scale: float = 0.05
    mix: tuple[str, ...] = ("self=0.4", "past=0.2", "anchor=0.2", "ev=0.1", "random=0.1")
    """Opponents and their weights, as NAME=WEIGHT, separated by blanks. NAME is `self` (the current policy), `past`
    (earlier policies) or a player code. The larger the weight, the more often games are played against the opponent."""
    num_past: int = 2
    """Number of earlier policies that serve as opponents. Each costs a call of its network in every step."""
    remember_every: int = 15
    """Number of updates after which the policy is stored as an opponent. A larger number keeps older opponents."""
    batch_size: int = 4096
    ent_coef: float = 0.01
    """Weight of the entropy bonus at the start of training. Keep it above zero: games with hidden information need
    random play."""
    ent_coef_end: float = 0.01
    """Weight of the entropy bonus at the end of training; from start to end it changes as --decay says."""
    against: tuple[str, ...] = ("random", "anchor", "ev")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "remember_every")
        check_at_least(self, num_past=0)
        check_not_negative(self, "ent_coef", "ent_coef_end")
        has_past = self.weights.get(PAST, 0) > 0
        require(self.num_past > 0 or not has_past, "--mix has past policies, but --num-past is 0")
        require(self.rollout_size % self.batch_size == 0, "--batch-size must divide --num-envs times --num-steps")


class SingleLearnerVecEnv(VecEnv):
    """Games with one learner each, as a Stable-Baselines3 `VecEnv` with action masks.

    A transition goes from one decision of a game's learner to its next decision.
    """

    def __init__(self, games: SingleLearnerGames, *, reward_scale: float = 1.0) -> None:
        self.games, self.reward_scale = games, reward_scale
        num_games = games.batch.num_games
        # The same empty dicts every time: creating hundreds per step keeps Python's garbage collector busy.
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(num_games)]
        self._lengths = np.zeros(num_games, np.int64)
        self._returns = np.zeros(num_games)
        super().__init__(num_games, Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32), Discrete(NUM_ACTIONS))

    def reset(self) -> np.ndarray:
        """Return the observations of the games in progress; no game is restarted."""
        return self.games.observations.copy()

    def step_async(self, actions: np.ndarray) -> None:
        """Store the learners' actions, which `step_wait` then plays."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play the stored actions, and continue every game to the next decision of its learner.

        Returns observations [B, OBS_SIZE], scaled rewards [B], a mask [B] of the games that ended, and a dictionary of
        further information for each of the B games, which is empty unless the game ended.
        """
        self.games.step(self._actions)
        self._lengths += 1
        terminated = self.games.terminated.copy()
        rewards = (self.games.rewards * self.reward_scale).astype(np.float32)
        self._returns += rewards
        infos = self._no_infos.copy()
        for game in np.flatnonzero(terminated).tolist():
            infos[game] = {
                "terminal_observation": self.games.final_observations[game].copy(),
                "TimeLimit.truncated": False,
                "episode": {"r": float(self._returns[game]), "l": int(self._lengths[game]), "t": 0.0},
            }
        self._lengths[terminated], self._returns[terminated] = 0, 0.0
        return self.games.observations.copy(), rewards, terminated, infos

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the environments have the attribute `attr_name`."""
        return attr_name in ("action_masks", "render_mode")

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the attribute `render_mode` of every environment, which is always None, as a list.

        Raises `AttributeError` for any other attribute.
        """
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(f"these environments have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise `AttributeError`: attributes of these environments cannot be set."""
        raise AttributeError(f"these environments have no attribute {attr_name!r} to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Return the result of the method `action_masks` of every environment, as a list.

        Raises `AttributeError` for any other method.
        """
        if method_name == "action_masks":
            return list(self.games.action_masks)
        raise AttributeError(f"these environments have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for every environment, because none is wrapped."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Do nothing: the environments hold no resources."""


class MaskablePPOTrainer(Trainer):
    """Training run of MaskablePPO in progress: model, games and opponents."""

    config_class, activation = MaskablePPOConfig, "tanh"
    config: MaskablePPOConfig

    def __init__(self, config: MaskablePPOConfig, folder: Path) -> None:
        super().__init__(config, folder)
        self.pool = OpponentPool(config.weights, num_past=config.num_past)
        # The model needs an environment, whose opponents need a policy before the model has one: they start with zeros.
        blank = [(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.zeros(NUM_ACTIONS, np.float32))]
        self.pool.update(self.run.create_player(blank))
        self.env = self._create_env(restarted_at=0)
        self.model = build_model(config, self.env)
        load_initial_policy(config, folder, [(self.actor, self.critic)], activation=self.activation)

    def _create_env(self, *, restarted_at: int) -> SingleLearnerVecEnv:
        """Create the vectorised environment of a training run, with new games against opponents from the pool.

        restarted_at: number of decisions learned from so far. The seed of the new games depends on it, so that a
        resumed run does not repeat games.
        """
        batch = create_games(Batch, self.config, seed=game_seed(self.config.seed, GAMES_STREAM, restarted_at))
        games = self.pool.begin_single_learner_games(batch)
        return SingleLearnerVecEnv(games, reward_scale=self.config.reward_scale)

    @property
    def actor(self) -> nn.Sequential:
        policy: Any = self.model.policy
        return nn.Sequential(*policy.mlp_extractor.policy_net, policy.action_net)

    @property
    def critic(self) -> nn.Sequential:
        policy: Any = self.model.policy
        return nn.Sequential(*policy.mlp_extractor.value_net, policy.value_net)

    def player(self) -> NetworkPlayer:
        """Return the current policy as a player."""
        return self.run.create_player(self.layers())

    def run_iterations(self, progress: Progress, interrupt: Interrupt, logger: Logger) -> None:
        """Let the model play and learn in turns until the run is complete or the user stops it."""
        left = self.config.total_timesteps - self.timesteps
        if left <= 0:
            return
        model: Any = self.model  # its annotations do not allow None, with which the callback logs
        model.set_logger(logger)
        model.num_timesteps = self.timesteps
        callback = _TrainingCallback(self, progress, interrupt)
        model.learn(left, callback=callback, reset_num_timesteps=self.timesteps == 0, log_interval=None)

    def collect_state(self) -> storage.Arrays:
        """Return the state of the run, without the games in progress: a resumed run begins new games."""
        arrays = storage.tensors_to_arrays("policy.", self.model.policy.state_dict())
        arrays |= storage.optimizer_to_arrays(self.model.policy.optimizer)
        for k, layers in enumerate(self.pool.past_layers()):
            arrays |= layers_to_tensors(layers, f"past.{k}.")
        return arrays | {"torch_random": torch.get_rng_state().numpy()}

    def restore_state(self, arrays: storage.Arrays) -> None:
        """Restore what `collect_state` returned, and begin new games."""
        self.model.policy.load_state_dict(storage.arrays_to_tensors("policy.", arrays))
        storage.restore_optimizer(self.model.policy.optimizer, arrays)
        self.pool.update(self.player())
        past = [tensors_to_layers(arrays, f"past.{k}.") for k in range(len(self.pool.past))]
        self.pool.restore_past([self.run.create_player(layers) for layers in past])
        torch.set_rng_state(torch.from_numpy(arrays["torch_random"]))
        self.env = self._create_env(restarted_at=self.timesteps)
        self.model.set_env(self.env)


def build_model(config: MaskablePPOConfig, env: SingleLearnerVecEnv) -> MaskablePPO:
    """Build the MaskablePPO model of sb3-contrib for an environment, with the settings of a training run."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=config.learning_rate,  # at the start; the callback then sets it before each rollout
        n_steps=config.num_steps,
        batch_size=config.batch_size,
        n_epochs=config.update_epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_coef,
        ent_coef=config.ent_coef,
        policy_kwargs={"net_arch": list(config.hidden_sizes)},
        seed=config.seed,
        device="cpu",
    )


class _TrainingCallback(BaseCallback):
    """Callback of Stable-Baselines3 that manages a MaskablePPO training run while its model learns.

    Before each rollout it updates the opponents, the learning rate and the entropy bonus; when due, it adds a point to
    the learning curve or writes a checkpoint. During the work it shows the progress. After Ctrl-C it stops the run.
    """

    def __init__(self, trainer: MaskablePPOTrainer, progress: Progress, interrupt: Interrupt) -> None:
        super().__init__()
        self.trainer, self.progress, self.interrupt = trainer, progress, interrupt
        self._play_share, self._clock, self._played = 0.5, time.monotonic(), 0.0  # play as a fraction of the work
        self._gradient_steps, self._logged = 0, trainer.updates
        trainer.model.policy.optimizer.register_step_post_hook(self._count_gradient_step)

    def _on_step(self) -> bool:
        learned = self.trainer.timesteps  # `num_timesteps` also counts the decisions of this rollout
        self.progress.advance_to(learned, self._play_share * (self.num_timesteps - learned))
        self.interrupt.when = "at once"
        return not self.interrupt.is_requested

    def _count_gradient_step(self, *_: Any) -> None:
        """Count a gradient step of an update, and show the progress of the update.

        The optimiser calls this method after each gradient step.
        """
        config = self.trainer.config
        self._gradient_steps += 1
        done = self._gradient_steps * config.batch_size / (config.rollout_size * config.update_epochs)
        part = self._play_share + (1 - self._play_share) * min(1.0, done)
        self.progress.advance_to(self.trainer.timesteps - config.rollout_size, part * config.rollout_size)
        seconds = time.monotonic() - self._clock - self._played  # since the update began
        self.interrupt.when = f"after this update, in about {max(0.0, 1 / done - 1) * seconds:.0f} s"

    def _on_rollout_start(self) -> None:
        trainer, config = self.trainer, self.trainer.config
        self._log_update()
        trainer.run.count_time()
        now = time.monotonic()
        if self._gradient_steps:
            self._play_share = self._played / max(now - self._clock, 1e-3)
        self._clock, self._gradient_steps = now, 0
        newest = trainer.player()
        trainer.pool.update(newest)
        if trainer.updates and trainer.updates % config.remember_every == 0:
            trainer.pool.remember(newest, trainer.updates // config.remember_every)
        self._set_schedule()
        if trainer.run.is_curve_due(trainer.timesteps):
            trainer.measure_curve(self.progress, self.interrupt, self.logger)
            trainer.save()
        elif trainer.run.is_save_due():
            trainer.save()

    def _on_training_end(self) -> None:
        self._log_update()

    def _log_update(self) -> None:
        """Write the log of the last update; Stable-Baselines3 would write it before the update, without its losses."""
        if self._logged < self.trainer.updates:
            self._logged = self.trainer.updates
            self.trainer.model.dump_logs(self._logged)

    def _set_schedule(self) -> None:
        """Set the learning rate and the weight of the entropy bonus for the update after this rollout."""
        model: Any = self.model
        values = self.trainer.config.compute_schedule(self.num_timesteps)
        model.ent_coef = values["ent_coef"]
        model.lr_schedule = lambda left: values["learning_rate"]

    def _on_rollout_end(self) -> None:
        self._played = time.monotonic() - self._clock
        self.trainer.timesteps = self.num_timesteps
        self.trainer.updates += 1
        self.interrupt.when = "after this update"


if __name__ == "__main__":
    raise SystemExit("this module is no command; run  python -m train maskable-ppo")
