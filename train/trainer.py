"""Parts that all trainers share: the training run with its learning curve, and the evaluation of policies."""

import ctypes
import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from stable_baselines3.common.logger import Logger, make_output_format
from torch import nn

from agents.arena.estimates import estimate_share
from agents.arena.matches import win_shares_against_copies
from agents.checkpoint_file import CURVE, load_checkpoint, save_checkpoint
from agents.network import NetworkPlayer
from agents.policy_file import CRITIC, POLICY, Layers, describe_policy, layers_to_tensors, load_policy, save_policy
from agents.tools.files import UserError, check_same_settings, explain_os_errors, write_json
from agents.tools.provenance import commit, provenance
from agents.tools.seeds import SEEDS
from felicity_env import OBSERVATION_VERSION, Player, Setup, game_seed
from felicity_env.kernel import MAX_THREADS
from felicity_env.setups import describe_setup
from train import storage
from train.config import Config
from train.curves import plot_learning_curve
from train.interrupt import Interrupt
from train.logs import FunctionWriter, RunLogger
from train.networks import copy_layers
from train.progress import Progress, report_waiting

CURVE_INTERVALS = 10  # between the points of a learning curve, in a run without the setting `curve_every`
CURVE_STREAM, FINAL_STREAM = 1, 2  # random streams of the learning curve and of the final evaluation
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc


def prepare_process(threads: int | None) -> int:
    """Set the number of torch's threads in this process and return it; let the process keep freed memory.

    threads: the number, or None for 1. By default, glibc returns large pieces of freed memory to the system, and the
    next minibatch requests them again, page by page, which would take a tenth of the training time on a CPU. Raises
    `ValueError` if the machine has fewer threads.
    """
    number = 1 if threads is None else threads
    if not 1 <= number <= MAX_THREADS:
        raise ValueError(f"--threads must be 1 to {MAX_THREADS} on this machine, not {number}")
    torch.set_num_threads(number)
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)
        mallopt(_M_MMAP_THRESHOLD, 2**30)
        mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    return number


class Run:
    """Training run: its settings, folder, learning curve and working time in seconds.

    activation: name of the activation function in its policy network, "relu" or "tanh".
    """

    def __init__(self, config: Config, folder: Path, *, activation: str) -> None:
        self.config, self.folder, self.activation = config, folder, activation
        self.observation_version = getattr(config, "observation_version", OBSERVATION_VERSION)
        self.curve: list[dict[str, Any]] = []
        self.seconds = 0.0
        self.threads = prepare_process(config.threads)
        self._clock = self._last_save = time.monotonic()

    def create_logger(self, timesteps: int) -> Logger:
        """Create a logger that writes CSV and TensorBoard files and calls the function `log_to`, if there is one.

        The name of the folder contains `timesteps`.
        """
        folder = self.folder / "logs" / f"from-{timesteps:012d}"
        with explain_os_errors(f"cannot write the logs in {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            outputs = [make_output_format(kind, str(folder)) for kind in ("csv", "tensorboard")]
        if self.config.log_to:
            outputs.append(FunctionWriter(self.config.log_to))
        return RunLogger(str(folder), outputs)

    def create_player(self, layers: Layers) -> NetworkPlayer:
        """Create a player with the policy that has these network layers, of the form that this run trains."""
        form = {"activation": self.activation, "observation_version": self.observation_version}
        return NetworkPlayer(layers, open_mice=self.config.open_mice, **form)

    def count_time(self) -> None:
        """Add the time since the last call to the working time of the run, `seconds`."""
        now = time.monotonic()
        self.seconds, self._clock = self.seconds + now - self._clock, now

    def save(
        self, arrays: Mapping[str, np.ndarray], layers: Layers, critic: Layers, *, timesteps: int, updates: int
    ) -> None:
        """Write a checkpoint with the state of a trainer and with its policy, which can play without the trainer.

        arrays: state of the trainer, named arrays. layers, critic: layers of the policy network and of the critic.
        timesteps: number of decisions learned from so far. updates: number of updates so far.
        """
        self.count_time()
        metadata = {
            "timesteps": timesteps,
            "updates": updates,
            "seconds": self.seconds,
            "threads": self.threads,
            "curve": self.curve,
            "config": self.config.to_json(),
            POLICY: describe_policy(**self._list_facts(timesteps)),
            **provenance(),
        }
        policy = layers_to_tensors(layers, f"{POLICY}.") | layers_to_tensors(critic, f"{POLICY}.{CRITIC}")
        save_checkpoint(self.folder, {**arrays, **policy}, metadata)
        self._last_save = time.monotonic()

    def is_save_due(self) -> bool:
        """Return whether the last checkpoint is older than the setting `save_minutes` allows."""
        return time.monotonic() - self._last_save > 60 * self.config.save_minutes

    def _list_facts(self, timesteps: int) -> dict[str, Any]:
        """List the facts about a policy of this run that are stored with it."""
        return {
            "activation": self.activation,
            "observation_version": self.observation_version,
            "open_mice": self.config.open_mice,
            "num_players": [setup.seats for setup in self.config.setups],
            "setups": self.config.setups,
            "timesteps": timesteps,
            "algorithm": self.config.algorithm,
            "commit": commit(),
        }

    def restore(self, metadata: dict[str, Any], report: Callable[[str], Any]) -> None:
        """Set the learning curve and the working time of the run to those in a checkpoint's metadata.

        report: function that is called with a line of text if the number of threads differs. Raises `UserError` if the
        checkpoint was made with other settings.
        """
        advice = "restore the run's config.json and the files that --setup names"
        where = f"the checkpoint in {self.folder}"
        stored = metadata["config"] | {"total_timesteps": self.config.total_timesteps}  # a run may be extended
        check_same_settings(stored, self.config.to_json(), where=where, advice=advice)
        if metadata["threads"] != self.threads:
            before, now = metadata["threads"], self.threads
            report(f"threads: {now} instead of {before}; the results may differ in the last bits")
        self.seconds, self.curve = metadata["seconds"], metadata["curve"]

    # --- measuring ---

    def is_curve_due(self, timesteps: int) -> bool:
        """Return whether the learning curve needs a point after `timesteps` decisions."""
        every = self.config.curve_every or max(1, self.config.total_timesteps // CURVE_INTERVALS)
        last = self.curve[-1]["timesteps"] if self.curve else -every
        return timesteps // every != last // every

    def has_curve_point(self, timesteps: int) -> bool:
        """Return whether the last point of the learning curve is at `timesteps` decisions."""
        return bool(self.curve) and self.curve[-1]["timesteps"] == timesteps

    def add_to_curve(self, layers: Layers, critic: Layers, timesteps: int, logger: Logger) -> dict[str, Any]:
        """Evaluate the policy, log its win shares, and add a point to the learning curve; return the point.

        With the setting `keep_policies`, the policy and its critic are also stored.
        """
        self.count_time()
        if self.config.keep_policies:
            self._keep_policy(layers, critic, timesteps)
        results = self._evaluate(self.create_player(layers), num_deals=self.config.curve_deals, stream=CURVE_STREAM)
        self.curve.append({"timesteps": timesteps, "seconds": round(self.seconds, 1), "results": results})
        write_json(self.folder / CURVE, self.curve)
        plot_learning_curve(self.curve, self.folder / "learning_curve.png")
        for result in results:
            for code, win_share in result["win_share"].items():
                logger.record(f"win_share/{result['setup']}_{code}", win_share["value"])
        logger.record("time/total_timesteps", timesteps)
        logger.dump(timesteps)
        return self.curve[-1]

    def _keep_policy(self, layers: Layers, critic: Layers, timesteps: int) -> None:
        folder = self.folder / storage.POLICIES / f"{timesteps:012d}"
        save_policy(folder, layers, critic=critic, **self._list_facts(timesteps))

    def finish(self, layers: Layers, critic: Layers, timesteps: int) -> list[dict[str, Any]]:
        """Write the final policy, its critic and its evaluation to the run folder; return the evaluation's results."""
        self.count_time()
        save_policy(self.folder, layers, critic=critic, **self._list_facts(timesteps))
        player = NetworkPlayer.load(self.folder)
        results = self._evaluate(player, num_deals=self.config.evaluation_deals, stream=FINAL_STREAM)
        self.count_time()
        evaluation = {"results": results, "minutes": round(self.seconds / 60, 2), **provenance()}
        write_json(self.folder / storage.EVALUATION, evaluation)
        return results

    def read_evaluation(self) -> list[dict[str, Any]]:
        """Read the results of the final evaluation; return [] if they or the policy are missing or damaged."""
        try:
            load_policy(self.folder)
            return json.loads((self.folder / storage.EVALUATION).read_text())["results"]
        except (OSError, ValueError, KeyError, TypeError):
            return []

    def _evaluate(self, player: NetworkPlayer, *, num_deals: int, stream: int) -> list[dict[str, Any]]:
        """Evaluate a policy in each setup of the run; return a list of results, see `evaluate_policy`.

        num_deals: number of deals against each opponent. stream: index of the random stream of the deals.
        """
        options: dict[str, Any] = {"num_deals": num_deals, "stream": stream, "against": self.config.against}
        return [evaluate_policy(player, setup, **options) for setup in self.config.setups]


# --- evaluation -------------------------------------------------------------------------------------------------------


def evaluate_policy(
    player: Player, setup: Setup, *, num_deals: int, stream: int = 0, against: Sequence[str]
) -> dict[str, Any]:
    """Estimate the win share of `player` alone against copies of each player in `against`, in one setup.

    Returns a dictionary with the setup, par, and the win share with its interval for each opponent. stream: index of
    the random stream of the deals. The deals may occur in training too, because few exist (40,000 with 4 players), but
    the games have other seeds than in training.
    """
    seed = game_seed(SEEDS["evaluation"], stream, setup.seats)
    win_shares = {
        code: asdict(estimate_share(win_shares_against_copies(player, code, setup, num_deals=num_deals, seed=seed)))
        for code in against
    }
    return describe_setup(setup) | {"par": 1 / setup.seats, "win_share": win_shares}


# --- trainers ---------------------------------------------------------------------------------------------------------


class Trainer(ABC):
    """Training run in progress; the trainer of each algorithm is derived from this class.

    config_class: class of its settings. activation: name of the activation function in its policy network.
    timesteps: number of decisions that the run has learned from so far. updates: number of updates so far. actor,
    critic: networks that are measured and kept, layers with activation functions between them.
    """

    config_class: ClassVar[type[Config]]
    activation: ClassVar[str]

    def __init__(self, config: Any, folder: Path) -> None:
        self.config = config
        self.run = Run(config, folder, activation=self.activation)
        self.timesteps = self.updates = 0

    @property
    @abstractmethod
    def actor(self) -> nn.Sequential: ...

    @property
    @abstractmethod
    def critic(self) -> nn.Sequential: ...

    @abstractmethod
    def run_iterations(self, progress: Progress, interrupt: Interrupt, logger: Logger) -> None:
        """Play and learn in turns until the run is complete or the user stops it."""

    @abstractmethod
    def collect_state(self) -> storage.Arrays:
        """Return the state of the run as named arrays for a checkpoint, without what is stored for every algorithm."""

    @abstractmethod
    def restore_state(self, arrays: storage.Arrays) -> None:
        """Restore what `collect_state` returned; `timesteps` and `updates` are already restored."""

    def learn(self, progress: Progress) -> bool:
        """Train until the run is complete or the user stops it, and then write a checkpoint.

        Returns False if the user stopped the run, and True if the run is complete.
        """
        with closing(self.run.create_logger(self.timesteps)) as logger, Interrupt(progress) as interrupt:
            self.run_iterations(progress, interrupt, logger)
            if not self.run.has_curve_point(self.timesteps):
                self.measure_curve(progress, interrupt, logger)
            self.save()
        return not interrupt.is_requested

    def measure_curve(self, progress: Progress, interrupt: Interrupt, logger: Logger) -> None:
        """Add a point to the learning curve, unless the user has requested a stop, and show it.

        A resumed run measures a point that was left out for a stop, with the same policy and therefore the same result.
        """
        if interrupt.is_requested:
            return
        interrupt.when = "after this point of the learning curve"
        with report_waiting("measuring a point of the learning curve", progress.print):
            point = self.run.add_to_curve(self.layers(), self.critic_layers(), self.timesteps, logger)
        progress.show_strength(point)
        interrupt.when = "soon"

    def layers(self) -> Layers:
        """Return copies of the weights and biases of the policy network's layers."""
        return copy_layers(self.actor)

    def critic_layers(self) -> Layers:
        """Return copies of the weights and biases of the critic's layers."""
        return copy_layers(self.critic)

    def save(self) -> None:
        """Write a checkpoint to the run folder."""
        arrays, networks = self.collect_state(), (self.layers(), self.critic_layers())
        self.run.save(arrays, *networks, timesteps=self.timesteps, updates=self.updates)

    def restore(self, report: Callable[[str], Any]) -> None:
        """Restore the training run from the newest undamaged checkpoint in its folder.

        report: function that is called with a line of text for each damaged checkpoint, and if the number of threads
        differs. Raises `UserError` if no checkpoint is undamaged, or if the chosen one does not fit the settings of the
        run.
        """
        arrays, metadata = load_checkpoint(self.run.folder, report=report)
        try:
            self.run.restore(metadata, report)
            self.timesteps, self.updates = metadata["timesteps"], metadata["updates"]
            self.restore_state(arrays)
        except (KeyError, ValueError, RuntimeError, TypeError) as error:
            where = f"the checkpoint in {self.run.folder}"
            raise UserError(f"{where} does not fit the run's config.json: {error}") from error
