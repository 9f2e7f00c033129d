"""Training by self-play with PPO, in which all seats of a game can learn: `python -m train selfplay`.

`SelfplayTrainer.run_iteration` has three steps: `collect_rollout` plays `num_steps` decisions in every game,
`prepare_data` computes advantages, and `update_policy` makes passes of gradient descent. PPO with an entropy bonus is
as strong as methods made for imperfect information (arXiv:2502.08938).

All randomness is computed from counters: an action depends on the seed of its game, the seat and the index of the
decision; the order of the data depends on the index of the update. A checkpoint therefore needs no state of a random
generator. On a CPU a resumed run computes the same numbers, bit for bit, as a run that was never interrupted.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from agents.checkpoint_file import list_below
from agents.compiled import HEURISTICS
from agents.layouts import LAYOUTS
from agents.tools.files import UserError
from agents.tools.settings import check_at_least, check_not_negative, check_positive, check_range, require
from felicity_env.game import PASS
from felicity_env.observation import OBSERVATION_VERSION
from train import storage
from train.compilation import choose_compilation
from train.config import Config, choose_device
from train.cuda_graphs import GraphedFunction
from train.initial_policy import load_initial_policy
from train.interrupt import Interrupt
from train.networks import ACTIVATION, ActorCritic, masked_log_softmax
from train.opponents import SELF
from train.own_games import OwnGames
from train.priors import PRIORS, prior_logits
from train.progress import Progress
from train.rollout import Rollout
from train.shards import ShardedGames
from train.trainer import Trainer

_VALUES_AT_ONCE = {"cpu": 16384, "cuda": 262144}


@dataclass(frozen=True, kw_only=True)
class SelfplayConfig(Config):
    """Train a player by self-play with PPO; all seats of a game can learn."""

    larger_on_gpu: ClassVar[tuple[str, ...]] = ("num_envs", "batch_size", "total_timesteps")

    total_timesteps: int = 9_500_000
    open_mice: bool = True
    reward: Literal["win", "margin", "score", "round"] = "win"
    reward_scale: float = 1.0
    mix: tuple[str, ...] = ("self=0.3", "tuned=0.3", "ev=0.2", "anchor=0.2")
    num_learners: int = 1
    """Number of seats that learn in a game with other opponents. Several cooperate: each gets their mean reward."""
    batch_size: int = 1024
    against: tuple[str, ...] = ("random", "anchor", "ev", "tuned")

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device of the networks; auto uses a GPU if there is one, on which runs are 16 times as large by default.
    Setting --num-envs, --num-steps, --batch-size or --total-timesteps keeps the defaults of a CPU."""
    games: Literal["auto", "cpu", "cuda"] = "auto"
    """Device of the games. Those on a GPU need the extra `cuda` and only opponents that are compiled; auto uses it if
    the networks are there and these are given. The same actions give the same games on both, bit for bit."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format of the networks' matrix products; auto uses bfloat16 (16 bits) if the machine is faster with it. A
    run keeps it on other machines."""
    torch_compile: Literal["auto", "yes", "no"] = "auto"
    """Compile updates with torch.compile, which makes them faster but takes time at the start; auto does so for
    networks on a GPU, if a C compiler, the header Python.h and Triton are there."""
    raises: bool = False
    """Compute the logit of a bid as the sum of two outputs: one for the bid, one for its raise over the highest bid."""
    observation_version: int = OBSERVATION_VERSION
    """Layout of the observation that the networks read; 1 is only for runs that --init starts from an old policy."""
    prior: str = "e2"
    """Policy to which the learned one is drawn: `uniform` over legal actions, `e1` or `e2`. In e1 and e2 each mouse
    above the lowest raise makes a bid e or e^2 times less likely; both learn faster and leave less to exploit."""
    bidding_coef: float = 0.05
    """Weight of the KL divergence from the prior in auctions, at the start. Keep it above 0: bluff needs mixed play."""
    bidding_coef_end: float = 0.01
    """The same weight at the end of training; from start to end it changes as --decay says."""
    placing_coef: float = 0.05
    """Weight of the KL divergence from the prior when a card is placed, at the start. Cards need more than bids."""
    placing_coef_end: float = 0.01
    """The same weight at the end of training; from start to end it changes as --decay says."""
    kl_coef: float = 0.0
    """Weight of the KL divergence of the policy from a slow moving average of itself. Above 0 it damps oscillation."""
    average_decay: float = 0.99
    """Decay of the moving average of the policy in each update; nearer to 1 is slower. Used only with `--kl-coef`."""
    normalize_advantage: bool = True
    """Divide the advantages of a minibatch by their standard deviation; without it, weights are in units of reward."""
    mean_weights: bool = False
    """Measure and keep the policy with the mean of the weights over about the last tenth of training, not the last."""
    max_grad_norm: float = 0.5
    """Largest norm of a gradient; a gradient with a larger norm is scaled down to it."""
    shards: int = 0
    """Number of parts of the games that workers play; the learner only learns. What is learned depends on this number,
    not on the workers. With 0 the learner plays by itself."""
    lag: Literal[0, 1] = 0
    """Age of the weights with which the workers of --shards play: 0 for the newest, 1 for those before, so that the
    workers play while the learner learns."""
    workers: int = 1
    """Number of processes that play the shards; with 1, the learner plays them one after the other."""
    ray: str | None = None
    """Ray cluster that plays the shards: `auto`, `local` or an address such as `10.0.0.1:6379`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "max_grad_norm")
        check_not_negative(self, "kl_coef", "bidding_coef", "bidding_coef_end", "placing_coef", "placing_coef_end")
        known = " or ".join(map(str, LAYOUTS))
        require(self.observation_version in LAYOUTS, f"--observation-version must be {known}")
        require(self.prior in PRIORS, f"--prior must be one of {', '.join(PRIORS)}, not {self.prior}")
        check_range(self, 0, 1, "average_decay")
        seats = min(setup.seats for setup in self.setups)
        require(1 <= self.num_learners < seats, f"--num-learners must be 1 to {seats - 1}, fewer than the seats")
        check_at_least(self, shards=0, workers=1)
        even = not self.shards or (self.num_envs % self.shards == 0 and self.num_envs >= 2 * self.shards)
        require(even, "--shards must divide --num-envs into parts of two games or more")
        require(
            bool(self.shards or self.resume) or not (self.lag or self.ray or self.workers > 1),
            "--lag, --workers and --ray need --shards",
        )
        require(self.games != "cuda" or not self.shards, "--games cuda plays without workers: leave --shards out")
        require(self.batch_size <= self.rollout_size, "--batch-size must be at most --num-envs times --num-steps")

    def resolve(self) -> "SelfplayConfig":
        """Return the settings with the precision that `auto` means on this machine."""
        return replace(self, precision=choose_precision(self.precision, choose_device(self.device)))


class SelfplayTrainer(Trainer):
    """Self-play training run in progress: networks, optimiser, games and opponents."""

    config_class, activation = SelfplayConfig, ACTIVATION
    config: SelfplayConfig

    def __init__(self, config: SelfplayConfig, folder: Path) -> None:
        super().__init__(config, folder)
        self.threads = self.run.threads
        self.device = choose_device(config.device)
        self.dtype = getattr(torch, choose_precision(config.precision, self.device))
        self.prior_rate = PRIORS[config.prior]
        self.policy, self.average, self.mean = (self._create_networks() for _ in range(3))
        networks = [(each.actor, each.critic) for each in (self.policy, self.average, self.mean)]
        load_initial_policy(config, folder, networks, activation=ACTIVATION)
        self.uses_graphs = self.device == "cuda" and config.observation_version == OBSERVATION_VERSION
        self.optimizer = self._create_optimizer()
        self.games, self.rollout = self._create_games()
        is_compiled = choose_compilation(config.torch_compile, on_gpu=self.uses_graphs)
        self._compute_terms_fast = torch.compile(self._compute_terms) if is_compiled else self._compute_terms
        self._graphed_step = GraphedFunction(self.optimize_minibatch)
        self._seconds_an_iteration = 0.0
        self._games_to_save = self.games.clone()  # as they were at the beginning of the iteration
        self._expected = float(config.rollout_size)  # decisions of an iteration
        self._play_share = 0.3  # part of the time of an iteration in which games are played
        self._show_part: Callable[[float], Any] = lambda part: None  # shows which part of an iteration is done
        self._is_stopped: Callable[[], bool] = lambda: False

    def _create_games(self) -> tuple[Any, Any]:
        """Return the games of the run, on a CPU or on a GPU, and the rollout that keeps what happens in them."""
        config = self.config
        if choose_games(config, self.device) == "cuda":
            from train.gpu_games import GpuGames

            games = GpuGames(config, self.device, uses_graphs=self.uses_graphs)
            return games, games.rollout
        games = ShardedGames(config) if config.shards else OwnGames(config, self.threads)
        return games, Rollout(config, dtype=self.dtype, device=self.device)

    def _create_optimizer(self) -> torch.optim.Adam:
        rate = self.config.learning_rate
        options: dict[str, Any] = {"lr": rate}
        if self.uses_graphs:  # a graph reads the rate from a tensor; see `train.cuda_graphs`
            options = {"lr": torch.tensor(rate, device=self.device), "capturable": True}
        return torch.optim.Adam(self.policy.parameters(), eps=1e-5, fused=True, **options)

    def _create_networks(self) -> ActorCritic:
        config = self.config
        networks = ActorCritic(
            config.hidden_sizes,
            raises=config.raises,
            seed=config.seed,
            prior_rate=self.prior_rate,
            observation_version=config.observation_version,
        )
        return networks.to(self.device)

    @property
    def actor(self) -> nn.Sequential:
        return self._chosen.actor

    @property
    def critic(self) -> nn.Sequential:
        return self._chosen.critic

    @property
    def _chosen(self) -> ActorCritic:
        """Networks that are measured and kept: those with the mean weights, or those with the last."""
        return self.mean if self.config.mean_weights else self.policy

    # --- the loop ---

    def run_iterations(self, progress: Progress, interrupt: Interrupt, logger: Logger) -> None:
        """Play and learn in turns until the run is complete or the user stops it; also measure, log and save."""
        self.run.count_time()
        self._is_stopped = lambda: interrupt.is_requested
        self._show_part = lambda part: self._show_progress(progress, interrupt, part)
        self._measure_if_due(progress, interrupt, logger)
        try:
            while self.timesteps < self.config.total_timesteps and not interrupt.is_requested:
                if values := self.run_iteration():
                    for name, value in values.items():
                        logger.record(name, value)
                    logger.dump(self.timesteps)
                progress.advance_to(self.timesteps)
                self._measure_if_due(progress, interrupt, logger)
                if self.run.is_save_due():
                    self.save()
        finally:
            self.games.close()

    def _show_progress(self, progress: Progress, interrupt: Interrupt, part: float) -> None:
        """Show in the progress bar that a fraction `part` of the work of the current iteration is done.

        The method also tells `interrupt` when a stop that the user requests would take effect.
        """
        progress.advance_to(self.timesteps, part * self._expected)
        if part < self._play_share:
            interrupt.when = "at the end of the next shard" if self.config.shards else "at once"
        elif self._seconds_an_iteration:
            interrupt.when = f"after this update, in about {(1 - part) * self._seconds_an_iteration:.0f} s"
        else:  # nobody knows how long the first one takes
            interrupt.when = "after this update"

    def _measure_if_due(self, progress: Progress, interrupt: Interrupt, logger: Logger) -> None:
        if self.run.is_curve_due(self.timesteps):
            self.measure_curve(progress, interrupt, logger)

    def run_iteration(self) -> dict[str, float]:
        """Play a rollout and update the policy with its data; return values for the training log.

        The values are {name: number}, with the names that Stable-Baselines3 uses. The result is {} if the user stopped
        the run during the rollout. Raises `UserError` if no decision can be learned from, or if training diverged.
        """
        config, started = self.config, time.monotonic()
        schedule = config.compute_schedule(self.timesteps)
        self.set_learning_rate(schedule["learning_rate"])
        if not self.collect_rollout():
            return {}
        played = time.monotonic() - started
        data = self.prepare_data()
        if not len(data["actions"]):
            raise UserError("--num-steps is too small: no decision was followed by the next decision of its seat")
        means = self.update_policy(data, schedule)
        if not torch.stack([parameter.isfinite().all() for parameter in self.policy.parameters()]).all():
            raise UserError("training diverged: not all weights are finite numbers; a lower --learning-rate may help")
        self.timesteps += len(data["actions"])
        self.updates += 1
        self._update_averages()
        self._games_to_save = self.games.clone()
        self._seconds_an_iteration = time.monotonic() - started
        self._expected, self._play_share = float(len(data["actions"])), played / self._seconds_an_iteration
        spread = float(data["advantages"].std()) if config.normalize_advantage else 1.0
        temperature = {"temperature": schedule["bidding_coef"] * spread}  # weight of the prior in units of reward
        values = means | schedule | temperature | {"explained_variance": compute_explained_variance(data)}
        return {f"train/{name}": value for name, value in values.items()} | {
            "time/total_timesteps": self.timesteps,
            "time/fps": len(data["actions"]) / (time.monotonic() - started),
        }

    def set_learning_rate(self, rate: float) -> None:
        """Set the learning rate of all further gradient steps."""
        settings = self.optimizer.param_groups[0]
        if self.uses_graphs:
            settings["lr"].fill_(rate)
        else:
            settings["lr"] = rate

    # --- rollout ---

    @torch.no_grad()
    def collect_rollout(self) -> bool:
        """Play `num_steps` decisions of learners in every game and store them in the rollout buffers.

        Returns False if the user stopped the run before the rollout was complete, and True if it is complete.
        """
        for part in self.games.collect(self.rollout, self):
            if self._is_stopped():
                return False
            self._show_part(self._play_share * part)
        if self._is_stopped():
            return False
        self._show_part(self._play_share)
        return True

    @torch.no_grad()
    def prepare_data(self) -> dict[str, Tensor]:
        """Return the N decisions of the rollout to learn from, in random order, as named tensors [N, ...].

        For CUDA graphs, which have one size, N is a multiple of the size of a minibatch if that is possible: less than
        a minibatch is left out.
        """
        data = self.rollout.prepare_data(self, self.updates)
        count = len(data["actions"])
        if self.uses_graphs and count > self.config.batch_size:
            count -= count % self.config.batch_size
        return {name: tensor[:count] for name, tensor in data.items()}

    def compute_logits(self, observations: Tensor) -> Tensor:
        """Compute the policy's logits for N observations, float32 [N, NUM_ACTIONS]."""
        with self._mixed_precision():
            return self.policy.logits(observations)

    def compute_values(self, observations: Tensor) -> Tensor:
        """Compute the critic's estimates of the return for N observations, float32 [N]."""
        with self._mixed_precision():
            parts = observations.split(_VALUES_AT_ONCE[self.device])
            return torch.cat([self.policy.values(part) for part in parts])

    def _mixed_precision(self) -> torch.autocast:
        return torch.autocast(self.device, torch.bfloat16, enabled=self.dtype == torch.bfloat16)

    # --- update ---

    def update_policy(self, data: dict[str, Tensor], schedule: dict[str, float]) -> dict[str, float]:
        """Take a gradient step on each minibatch of a rollout's data, `update_epochs` times.

        Returns the mean of each loss term, {name: mean}. schedule: weights of the terms, as `Config.compute_schedule`
        returns them.
        """
        now = {name: torch.tensor(value, device=self.device) for name, value in schedule.items()}
        terms = [self._take_step(minibatch, now) for minibatch in self.split_minibatches(data)]
        means = torch.stack([torch.stack([each[name] for each in terms]).mean() for name in terms[0]])
        return dict(zip(terms[0], means.tolist(), strict=True))

    def split_minibatches(self, data: dict[str, Tensor]) -> Iterator[dict[str, Tensor]]:
        """Yield the minibatches of all epochs of an update: parts of `data` of nearly equal size, in its order.

        Each of the `update_epochs` epochs yields the same minibatches.
        """
        count, epochs = max(1, round(len(data["actions"]) / self.config.batch_size)), self.config.update_epochs
        parts = {name: tensor.tensor_split(count) for name, tensor in data.items()}
        for number in range(epochs * count):
            self._show_part(self._play_share + (1 - self._play_share) * number / (epochs * count))
            yield {name: part[number % count] for name, part in parts.items()}

    def _take_step(self, minibatch: dict[str, Tensor], schedule: dict[str, Tensor]) -> dict[str, Tensor]:
        """Take one gradient step, as a CUDA graph where that is possible; return the loss terms by name."""
        is_whole = len(minibatch["actions"]) == self.config.batch_size
        step = self._graphed_step if self.uses_graphs and is_whole else self.optimize_minibatch
        return step(minibatch, schedule)

    def optimize_minibatch(self, minibatch: dict[str, Tensor], schedule: Mapping[str, Any]) -> dict[str, Tensor]:
        """Take one gradient step on a minibatch; return the loss terms by name. schedule: see `compute_loss`."""
        self.optimizer.zero_grad()
        loss, terms = self.compute_loss(self.rollout.encode(minibatch), schedule)
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.config.max_grad_norm)
        self.optimizer.step()
        return {name: term.detach() for name, term in terms.items()}

    def compute_loss(
        self, minibatch: dict[str, Tensor], schedule: Mapping[str, Any]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Compute the total loss of a minibatch; return this loss and its terms by name.

        schedule: weights of the terms, {name in `Config.compute_schedule`: number, or tensor []}.
        """
        with self._mixed_precision():
            terms = self._compute_terms_fast(minibatch, schedule)
        loss = terms["policy_gradient_loss"] + terms["value_loss"] + terms["prior_loss"]
        if self.config.kl_coef:
            loss = loss + self.config.kl_coef * terms["kl_loss"]
        return loss, terms

    def _compute_terms(self, minibatch: dict[str, Tensor], schedule: Mapping[str, Any]) -> dict[str, Tensor]:
        """Compute the loss terms of PPO (Schulman et al. 2017, arXiv:1707.06347) for a minibatch; return them by name.

        The terms are those of the policy, the value, the divergence from the prior (which has its weights in it) and,
        with `kl_coef`, the divergence from the average policy. "approx_kl" estimates the KL divergence from the policy
        that played the rollout: http://joschu.net/blog/kl-approx.html.
        """
        clip = self.config.clip_coef
        log_all = self.policy.log_probabilities(minibatch["observations"], minibatch["masks"])
        log_chosen = log_all.gather(1, minibatch["actions"][:, None]).squeeze(1)
        advantages = minibatch["advantages"]
        advantages = advantages - advantages.mean()
        if self.config.normalize_advantage:
            advantages = advantages / (advantages.std(correction=0) + 1e-8)
        log_ratio = log_chosen - minibatch["log_probabilities"]
        ratio = log_ratio.exp()
        policy = -torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()
        value = (self.policy.values(minibatch["observations"]) - minibatch["returns"]).square().mean()
        probabilities = log_all.exp()
        terms = {
            "policy_gradient_loss": policy,
            "value_loss": value,
            "prior_loss": self._compute_prior_loss(minibatch, log_all, schedule),
            "entropy": -(probabilities * log_all).detach().sum(dim=1).mean(),
            "approx_kl": (ratio - 1 - log_ratio).detach().mean(),
            "clip_fraction": ((ratio - 1).detach().abs() > clip).float().mean(),
        }
        if self.config.kl_coef:
            with torch.no_grad():
                log_average = self.average.log_probabilities(minibatch["observations"], minibatch["masks"])
            terms["kl_loss"] = (probabilities * (log_all - log_average)).sum(dim=1).mean()
        return terms

    def _compute_prior_loss(self, minibatch: dict[str, Tensor], log_all: Tensor, schedule: Mapping[str, Any]) -> Tensor:
        """Compute the mean KL divergence from the prior, each decision weighted as a card or a bid."""
        observations, masks = minibatch["observations"], minibatch["masks"]
        with torch.no_grad():
            log_prior = masked_log_softmax(prior_logits(self.prior_rate, observations), masks)
            weights = torch.where(masks[:, PASS], schedule["bidding_coef"], schedule["placing_coef"])
        return (weights * (log_all.exp() * (log_all - log_prior)).sum(dim=1)).mean()

    @torch.no_grad()
    def _update_averages(self) -> None:
        """Move the slow average and the mean over the last tenth of all updates towards the current weights."""
        rates = {self.average: 1 - self.config.average_decay, self.mean: 10 / (9 + self.updates)}
        for networks, rate in rates.items():
            for mean, current in zip(networks.parameters(), self.policy.parameters(), strict=True):
                mean.lerp_(current, min(1.0, rate))

    # --- checkpoints ---

    def collect_state(self) -> storage.Arrays:
        """Return everything on which the rest of the run depends, as named arrays."""
        arrays = storage.tensors_to_arrays("policy.", self.policy.state_dict())
        arrays |= storage.tensors_to_arrays("average.", self.average.state_dict())
        arrays |= storage.tensors_to_arrays("mean.", self.mean.state_dict())
        arrays |= storage.optimizer_to_arrays(self.optimizer)
        return arrays | storage.tensors_to_arrays("games.", self._games_to_save)

    def restore_state(self, arrays: storage.Arrays) -> None:
        """Restore what `collect_state` returned."""
        self.policy.load_state_dict(storage.arrays_to_tensors("policy.", arrays))
        self.average.load_state_dict(storage.arrays_to_tensors("average.", arrays))
        self.mean.load_state_dict(storage.arrays_to_tensors("mean.", arrays))
        storage.restore_optimizer(self.optimizer, arrays)
        self.games.restore(list_below("games.", arrays))
        self._graphed_step = GraphedFunction(self.optimize_minibatch)  # the optimiser has other tensors now
        self._games_to_save = self.games.clone()


def choose_games(config: SelfplayConfig, device: str) -> Literal["cpu", "cuda"]:
    """Return where the games of a run are played: "cpu" or "cuda". device: device of the networks."""
    if config.games != "auto":
        return config.games
    compiled = all(name == SELF or name in HEURISTICS for name in config.weights)
    fits = device == "cuda" and not config.shards and compiled
    return "cuda" if fits and find_spec("numba_cuda") else "cpu"


def choose_precision(precision: str, device: str) -> Literal["float32", "bfloat16"]:
    """Return the number format in which the networks compute matrix products on a device.

    precision: "float32", "bfloat16", or "auto", which chooses bfloat16 if the machine is faster with it.
    """
    if precision == "auto":
        uses_avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512" and torch.cpu._is_avx512_bf16_supported()
        return "bfloat16" if device == "cuda" or uses_avx512 else "float32"
    return "bfloat16" if precision == "bfloat16" else "float32"


def compute_explained_variance(data: dict[str, Tensor]) -> float:
    """Return the fraction of the returns' variance that the critic predicted: 1 is all of it, 0 is none."""
    variance = data["returns"].var()
    return float(1 - data["advantages"].var() / variance) if variance > 0 else 0.0


if __name__ == "__main__":
    raise SystemExit("this module is no command; run  python -m train selfplay")
