"""Self-play with PPO: every seat learns from every game. `python -m train --algorithm selfplay`

Read it from top to bottom: `SelfplayTrainer.learn` goes round and round through `collect` (play `num_steps` decisions
in every game), `estimate` (what was each decision worth) and `improve` (a few passes of gradient descent). PPO with a
real entropy bonus holds its own against the methods made for hidden information (arXiv:2502.08938).

All chance is drawn from counters: an action from the seed of its game, the seat and the decision number, the order of
what is learned from the number of the update. So a checkpoint holds no generator, and on a CPU a resumed run computes
the same numbers, bit for bit, as one that was never interrupted.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from agents.mixture import network_player
from agents.network import Layers, NetworkPlayer, description_of
from felicity_env import NUM_ACTIONS, OBS_SIZE, game_seed
from felicity_env.game import MAX_SEATS
from felicity_env.tables import Tables
from train import checkpoint
from train.advantages import advantages_of
from train.config import SelfplayConfig
from train.device import device_of, dtype_of
from train.opponents import OpponentPool
from train.policy import ACTIVATION, ActorCritic, fitting_options
from train.progress import Progress
from train.run import Interrupt, Run
from train.run_folder import RunError
from train.sampling import sample
from train.tensors import arrays_of, fits, optimizer_arrays, restore_optimizer, tensors_of

_GAMES, _ORDER = 0, 1  # what is drawn from the seed of a run
_VALUES_AT_ONCE = 16384


class Rollout:
    """What happened in `num_steps` decisions of B games: arrays [T, B, ...]; what the networks read is on their device.

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
        self.ends = np.empty(shape, np.bool_)


class SelfplayTrainer:
    """A run in progress: networks, optimiser, tables, opponents."""

    def __init__(self, config: SelfplayConfig, folder: Path) -> None:
        self.config = config
        self.run = Run(config, folder, activation=ACTIVATION)
        self.device = device_of(config.device)
        self.dtype = dtype_of(config.precision, self.device)
        torch.set_num_threads(config.threads)
        self.policy, self.average = (
            ActorCritic(config.hidden_sizes, raises=config.raises, seed=config.seed).to(self.device) for _ in range(2)
        )
        if config.init and not checkpoint.checkpoints(folder):
            self._begin_with(config.init)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=config.learning_rate, eps=1e-5, fused=True)
        self.pool = OpponentPool(config.weights, guests=config.guest_weights)
        self.tables = self._new_tables()
        shape = (config.num_steps, config.num_envs)
        self.rollout = Rollout(*shape, dtype=self.dtype, device=self.device)
        self._memory: dict[str, Tensor] = {}
        self.timesteps = self.updates = 0

    def _begin_with(self, path: str) -> None:
        player, *others = network_player(path).members
        if others:
            raise ValueError(f"--init {path}: it is a mixture; name one of its policies, such as {path}/0")
        if unlike := self._unlike(player):
            raise ValueError(f"--init {path}: {unlike}")
        self.policy.load_layers(player.layers)
        self.average.load_layers(player.layers)
        if critic := _critic_of(description_of(Path(path)).parent):
            self.policy.critic.load_state_dict(critic)

    def _unlike(self, player: NetworkPlayer) -> str:
        """What keeps a run with these settings from beginning with a policy; nothing if it fits."""
        if player.activation != self.run.activation:
            return f"that network has {player.activation} between its layers, this trainer's have {self.run.activation}"
        needed, set_now = fitting_options(player), fitting_options(self.run.player(self.layers()))
        missing = [option for option, now in zip(needed, set_now, strict=True) if option != now]
        return f"that network needs {' '.join(missing)}" if missing else ""

    def _new_tables(self) -> Tables:
        seed = game_seed(self.config.seed, _GAMES, 0)
        batch = self.run.new_games(seed, threads=self.config.threads)
        self.batch, tables = batch, self.pool.tables(batch)
        tables.begin()
        return tables

    def layers(self) -> Layers:
        """The policy's layers [in, out] as NumPy arrays."""
        return self.policy.layers()

    # --- the loop ---

    def learn(self, progress: Progress) -> bool:
        """Train to the end; False if the user stopped it before. A checkpoint is written either way."""
        config = self.config
        self.run.count_time()
        with closing(self.run.new_logger(self.timesteps)) as logger, Interrupt(progress) as interrupt:
            self._measure_if_due(progress, logger)
            while self.timesteps < config.total_timesteps and not interrupt.wanted:
                for name, value in self.update().items():
                    logger.record(name, value)
                logger.dump(self.timesteps)
                progress.advance_to(self.timesteps)
                self._measure_if_due(progress, logger)
                if self.updates % config.save_every == 0:
                    self.save()
            if not interrupt.wanted and self.run.curve[-1]["timesteps"] != self.timesteps:
                self._measure(progress, logger)
            logger.dump(self.timesteps)
            self.save()
        return not interrupt.wanted

    def _measure_if_due(self, progress: Progress, logger: Logger) -> None:
        if self.run.is_due(self.timesteps):
            self._measure(progress, logger)

    def _measure(self, progress: Progress, logger: Logger) -> None:
        progress.show_strength(self.run.add_to_curve(self.layers(), self.timesteps, logger))

    def update(self) -> dict[str, float]:
        """Play, judge and learn once; what is worth logging of it, by the names that SB3 has for it."""
        config, started = self.config, time.monotonic()
        done = min(1.0, self.timesteps / config.total_timesteps)
        learning_rate = self.optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - done)
        ent_coef = config.ent_coef + (config.ent_coef_end - config.ent_coef) * done
        self.collect()
        data = self.estimate()
        if not len(data["actions"]):
            raise RunError("--num-steps is too small: nothing that a seat decided was followed by its next decision")
        means = self.improve(data, ent_coef)
        if not all(parameter.isfinite().all() for parameter in self.policy.parameters()):
            raise RunError("training diverged: not all weights are finite numbers; a lower --learning-rate may help")
        self.timesteps += len(data["actions"])
        self.updates += 1
        facts = means | {"explained_variance": explained_variance(data), "learning_rate": learning_rate}
        return {f"train/{name}": value for name, value in facts.items()} | {
            "time/total_timesteps": self.timesteps,
            "time/fps": len(data["actions"]) / (time.monotonic() - started),
        }

    # --- play ---

    @torch.no_grad()
    def collect(self) -> None:
        """Play `num_steps` decisions in every game and keep them in `rollout`."""
        batch, tables, rollout, config = self.batch, self.tables, self.rollout, self.config
        for t in range(config.num_steps):
            rollout.observations[t].copy_(torch.from_numpy(batch.observations))
            rollout.masks[t], rollout.seats[t] = batch.action_masks, batch.seats
            logits = self.logits_of(rollout.observations[t])
            rollout.actions[t], rollout.log_probabilities[t] = sample(
                logits.cpu().numpy(), rollout.masks[t], batch.decision_seeds(), threads=config.threads
            )
            tables.step(rollout.actions[t])
            rollout.rewards[t], rollout.ends[t] = tables.rewards * config.reward_scale, tables.terminated

    # --- judge ---

    @torch.no_grad()
    def estimate(self) -> dict[str, Tensor]:
        """What `improve` learns from: the decisions that teach something, in a new order: tensors [N, ...]."""
        rollout, config = self.rollout, self.config
        observations = rollout.observations.flatten(0, 1)
        values = self.values_of(observations)
        advantages, complete = advantages_of(
            *(rollout.rewards, rollout.ends, rollout.seats, values.cpu().numpy().reshape(rollout.seats.shape)),
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
        )
        chosen = rollout.masks.sum(axis=2) > 1  # where one action is legal there is nothing to learn
        rng = np.random.default_rng([config.seed, _ORDER, self.updates])
        rows = torch.from_numpy(rng.permutation(np.flatnonzero(complete & chosen))).to(self.device)
        everything = {
            "observations": observations,
            "masks": self._flat(rollout.masks).bool(),
            "actions": self._flat(rollout.actions),
            "log_probabilities": self._flat(rollout.log_probabilities),
            "advantages": self._flat(advantages),
            "returns": self._flat(advantages) + values,
        }
        return {name: self._picked(name, tensor, rows) for name, tensor in everything.items()}

    def _picked(self, name: str, tensor: Tensor, rows: Tensor) -> Tensor:
        """The `rows` of a tensor, in memory used again and again: new memory would cost more than the copying."""
        if name not in self._memory:
            self._memory[name] = torch.empty_like(tensor)
        return torch.index_select(tensor, 0, rows, out=self._memory[name][: len(rows)])

    def logits_of(self, observations: Tensor) -> Tensor:
        """float32 [N, NUM_ACTIONS]."""
        with self._mixed_precision():
            return self.policy.logits(observations)

    def values_of(self, observations: Tensor) -> Tensor:
        """float32 [N]."""
        with self._mixed_precision():
            return torch.cat([self.policy.values(part) for part in observations.split(_VALUES_AT_ONCE)])

    def _flat(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).flatten(0, 1).to(self.device)

    def _mixed_precision(self) -> torch.autocast:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    # --- learn ---

    def improve(self, data: dict[str, Tensor], ent_coef: float) -> dict[str, float]:
        """A few passes over the data in minibatches; the mean of every part of the loss."""
        parts = [self.descend(minibatch, ent_coef) for minibatch in self.minibatches(data)]
        if self.config.kl_coef:
            self._follow()
        return {name: float(torch.stack([part[name] for part in parts]).mean()) for name in parts[0]}

    def descend(self, minibatch: dict[str, Tensor], ent_coef: float) -> dict[str, Tensor]:
        """One step of gradient descent; the parts of the loss."""
        self.optimizer.zero_grad()
        loss, losses = self.loss_of(minibatch, ent_coef)
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        return {name: part.detach() for name, part in losses.items()}

    @torch.no_grad()
    def _follow(self) -> None:
        for slow, now in zip(self.average.parameters(), self.policy.parameters(), strict=True):
            slow.lerp_(now, 1 - self.config.average_decay)

    def loss_of(self, minibatch: dict[str, Tensor], ent_coef: float) -> tuple[Tensor, dict[str, Tensor]]:
        """What is to become less, and its parts."""
        with self._mixed_precision():
            losses = self._losses(minibatch)
        loss = losses["policy_gradient_loss"] + self.config.vf_coef * losses["value_loss"]
        loss = loss + ent_coef * losses["entropy_loss"]
        if self.config.kl_coef:
            loss = loss + self.config.kl_coef * losses["kl_loss"]
        return loss, losses

    def minibatches(self, data: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
        """Parts of nearly equal size, all of them `update_epochs` times. They are copied only once, in `estimate`."""
        count = max(1, round(len(data["actions"]) / self.config.batch_size))
        parts = {name: tensor.tensor_split(count) for name, tensor in data.items()}
        for _ in range(self.config.update_epochs):
            for k in range(count):
                yield {name: part[k] for name, part in parts.items()}

    def _losses(self, minibatch: dict[str, Tensor]) -> dict[str, Tensor]:
        """PPO's clipped objective (Schulman et al. 2017, arXiv:1707.06347), the critic's error, the entropy.

        Beside them how far the policy has moved: http://joschu.net/blog/kl-approx.html.
        """
        clip = self.config.clip_coef
        log_all = self.policy.log_probabilities(minibatch["observations"], minibatch["masks"])
        log_chosen = log_all.gather(1, minibatch["actions"][:, None]).squeeze(1)
        advantages = minibatch["advantages"]
        advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
        log_ratio = log_chosen - minibatch["log_probabilities"]
        ratio = log_ratio.exp()
        policy = -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
        value = (self.policy.values(minibatch["observations"]) - minibatch["returns"]).square().mean()
        probabilities = log_all.exp()
        losses = {
            "policy_gradient_loss": policy,
            "value_loss": value,
            "entropy_loss": (probabilities * log_all).sum(dim=1).mean(),
            "approx_kl": (ratio - 1 - log_ratio).detach().mean(),
            "clip_fraction": ((ratio - 1).detach().abs() > clip).float().mean(),
        }
        if self.config.kl_coef:
            with torch.no_grad():
                log_slow = self.average.log_probabilities(minibatch["observations"], minibatch["masks"])
            losses["kl_loss"] = (probabilities * (log_all - log_slow)).sum(dim=1).mean()
        return losses

    # --- stop and go on ---

    def save(self) -> None:
        """Write everything that the rest of the run depends on."""
        arrays = arrays_of("policy.", self.policy.state_dict()) | optimizer_arrays(self.optimizer)
        arrays |= arrays_of("average.", self.average.state_dict())
        arrays |= {f"games.{name}": array for name, array in self.batch.clone().items()}
        checkpoint.save(self.run.folder, arrays, self.run.facts(self.timesteps, self.updates))

    def restore(self, say: Callable[[str], Any]) -> None:
        """Take up the run's newest checkpoint that is whole; `say` hears of others. Raises `RunError` if none fits."""
        arrays, facts = checkpoint.load(self.run.folder, say=say)
        with fits(self.run.folder):
            self.policy.load_state_dict(tensors_of("policy.", arrays))
            self.average.load_state_dict(tensors_of("average.", arrays))
            restore_optimizer(self.optimizer, arrays)
            self.run.take_up(facts)
            self.timesteps, self.updates = facts["timesteps"], facts["updates"]
            self.batch.restore({name: arrays[f"games.{name}"] for name in self.batch.clone()})
        self.tables.resume()


def explained_variance(data: dict[str, Tensor]) -> float:
    """How much of the differences between the returns the critic foresaw: 1 all, 0 none."""
    variance = data["returns"].var()
    return float(1 - data["advantages"].var() / variance) if variance > 0 else 0.0


def _critic_of(folder: Path) -> dict[str, Tensor]:
    """The critic in the newest checkpoint of a self-play run; nothing if there is none.

    One that knows nothing yet would spoil the policy before it has learned to judge.
    """
    if not checkpoint.checkpoints(folder):
        return {}
    return tensors_of("policy.critic.", checkpoint.load(folder, say=print).arrays)
