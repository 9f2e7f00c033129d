"""Self-play with sb3-contrib's MaskablePPO: the door that everybody knows.

The learner sits at one seat of every lane, the seat rotating; the others are played by `OpponentPool`. PPO with a real
entropy bonus holds its own against the methods made for hidden information (arXiv:2502.08938).
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from agents.compiled import compiled_among
from agents.network import Layers, NetworkPlayer
from felicity_env import OBS_SIZE, game_seed
from felicity_env.game import NUM_ACTIONS
from felicity_env.lanes import Lanes
from train import checkpoint
from train.config import MaskableConfig
from train.opponents import OpponentPool
from train.progress import Progress
from train.run import Interrupt, Run
from train.tensors import arrays_of, fits, layers_arrays, layers_of, optimizer_arrays, restore_optimizer, tensors_of
from train.vec_env import LanesVecEnv


class MaskablePPOTrainer:
    """A run in progress: model, lanes, opponents."""

    env_class = LanesVecEnv

    def __init__(self, config: MaskableConfig, folder: Path) -> None:
        self.config = config
        self.run = Run(config, folder, activation="tanh")
        torch.set_num_threads(config.threads)
        self.pool = OpponentPool(config.weights, num_past=config.num_past)
        self.updates = 0
        self.env = self._new_env(restarted_at=0)
        self.model = build_model(config, self.env)

    def _new_env(self, *, restarted_at: int) -> LanesVecEnv:
        """New lanes; after a restart with games of their own."""
        config = self.config
        batch = self.run.new_games(game_seed(config.seed, 0, restarted_at))
        if self.pool.newest.player is None:
            nobody = [(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.zeros(NUM_ACTIONS, np.float32))]
            self.pool.update(self.run.player(nobody))
        players = self.pool.players
        places = lambda rows: self.pool.opposite(batch.game_seeds[rows])  # noqa: E731
        lanes = Lanes(batch, players, places=places, compiled=compiled_among(players))
        return self.env_class(lanes, reward_scale=config.reward_scale)

    @property
    def timesteps(self) -> int:
        """Decisions learned from."""
        return self.model.num_timesteps

    def learn(self, progress: Progress) -> bool:
        """Train to the end; False if the user stopped it before. The checkpoint is written either way."""
        left = self.config.total_timesteps - self.timesteps
        with closing(self.run.new_logger(self.timesteps)) as logger, Interrupt(progress) as interrupt:
            self.model.set_logger(logger)
            if left > 0:
                callback = _Steering(self, progress, interrupt)
                self.model.learn(left, callback=callback, reset_num_timesteps=self.timesteps == 0)
                self.model.num_timesteps = callback.learned
            if not interrupt.wanted and not self._is_measured():
                self.run.add_to_curve(self.layers(), self.timesteps, logger)
            logger.dump(self.timesteps)
            self.save()
        return not interrupt.wanted

    def _is_measured(self) -> bool:
        """Whether the curve has a point of the policy as it is now."""
        return bool(self.run.curve) and self.run.curve[-1]["timesteps"] == self.timesteps

    def layers(self) -> Layers:
        """The policy's layers [in, out] as NumPy arrays."""
        policy: Any = self.model.policy
        linear = [m for m in policy.mlp_extractor.policy_net if isinstance(m, torch.nn.Linear)] + [policy.action_net]
        return [(m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in linear]

    def player(self) -> NetworkPlayer:
        """The policy as a player."""
        return self.run.player(self.layers())

    def save(self) -> None:
        """Write the checkpoint. Games in flight are not in it: a resumed run begins new ones."""
        policy = self.model.policy
        arrays = arrays_of("policy.", policy.state_dict()) | optimizer_arrays(policy.optimizer)
        arrays |= layers_arrays(self.pool.past_layers()) | {"torch_random": torch.get_rng_state().numpy()}
        checkpoint.save(self.run.folder, arrays, self.run.facts(self.timesteps, self.updates))

    def restore(self, say: Callable[[str], Any]) -> None:
        """Take up the run's newest checkpoint that is whole; `say` hears of others. Raises `RunError` if none fits."""
        arrays, facts = checkpoint.load(self.run.folder, say=say)
        with fits(self.run.folder):
            self.model.policy.load_state_dict(tensors_of("policy.", arrays))
            restore_optimizer(self.model.policy.optimizer, arrays)
            self.pool.update(self.player())
            self.pool.restore_past([self.run.player(layers) for layers in layers_of(arrays)])
            self.run.take_up(facts)
            self.updates, self.model.num_timesteps = facts["updates"], facts["timesteps"]
            torch.set_rng_state(torch.from_numpy(arrays["torch_random"]))
        self.env = self._new_env(restarted_at=self.timesteps)
        self.model.set_env(self.env)


def build_model(config: MaskableConfig, env: LanesVecEnv) -> MaskablePPO:
    """MaskablePPO with the settings of a run."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left: config.learning_rate * left,
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


class _Steering(BaseCallback):
    """Between updates: renew the opponents, anneal, measure, save, show, and stop when asked."""

    def __init__(self, trainer: MaskablePPOTrainer, progress: Progress, interrupt: Interrupt) -> None:
        super().__init__()
        self.trainer, self.progress, self.interrupt = trainer, progress, interrupt
        self.learned = trainer.timesteps  # decisions; the model counts those of an interrupted rollout as well

    def _on_step(self) -> bool:
        self.progress.advance_to(self.num_timesteps)
        return not self.interrupt.wanted

    def _on_rollout_start(self) -> None:
        trainer, config = self.trainer, self.trainer.config
        trainer.run.count_time()
        newest = trainer.player()
        trainer.pool.update(newest)
        if trainer.updates and trainer.updates % config.remember_every == 0:
            trainer.pool.remember(newest, trainer.updates // config.remember_every)
        done = self.num_timesteps / config.total_timesteps
        self.model.ent_coef = config.ent_coef + (config.ent_coef_end - config.ent_coef) * done  # type: ignore[attr-defined]
        if trainer.run.is_due(trainer.timesteps):
            self._measure()

    def _on_rollout_end(self) -> None:
        self.learned = self.num_timesteps
        self.trainer.updates += 1

    def _measure(self) -> None:
        """A point of the curve, and a checkpoint."""
        trainer = self.trainer
        point = trainer.run.add_to_curve(trainer.layers(), trainer.timesteps, self.logger)
        trainer.save()
        self.progress.show_strength(point)
