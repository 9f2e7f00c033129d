"""Question: how much of its time does training spend in networks? `python -m experiments training-speed`

Three kinds of work are timed in turn, in the same process. Iterations of the self-play trainer (rollout and update) are
timed as a whole. The forward and backward passes of each iteration are timed alone, on its data: without games,
sampling, advantages, shuffling and the optimizer. No trainer can save the time of these passes. The same passes are
also timed together with the optimizer.

The trainer has its default settings, except for the sizes of the networks and the options of this command.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from rich.progress import track

from agents.tools.settings import OneSetup, check_at_least, check_positive
from experiments.results import median_interval, write_result
from train.selfplay import SelfplayConfig, SelfplayTrainer

Minibatches = Sequence[dict[str, torch.Tensor]]
Optimize = Callable[[dict[str, torch.Tensor], dict[str, float]], Any]  # takes a minibatch and weights of the loss terms
NETWORKS: dict[str, Mapping[str, Any]] = {"2 x 128": {}, "2 x 256": {"hidden_sizes": (256, 256)}}  # settings to change


@dataclass(frozen=True)
class Config(OneSetup):
    """Compare the time of training iterations with that of their forward and backward passes."""

    resumes: ClassVar[bool] = False
    repetitions: int = 30
    """Number of training iterations that are timed, each with its passes; more iterations narrow the intervals."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device of the networks; auto uses a GPU if there is one."""
    num_envs: int | None = None
    """Number of games that are played in parallel. Default: that of the trainer."""
    batch_size: int | None = None
    """Number of decisions in a minibatch. Default: that of the trainer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "repetitions")
        check_at_least(self, num_envs=1, batch_size=1)


def measure_seconds(work: Callable[[], Any]) -> float:
    """Measure the wall-clock seconds of one function call, including all GPU work that the call starts."""
    started = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - started


def make_passes(trainer: SelfplayTrainer, minibatches: Minibatches, optimize: Optimize) -> None:
    """Make all network passes of the last training iteration again, on its data, without changing the policy.

    optimize: computes the gradients of a minibatch, and may also make an optimizer step.
    """
    observations = trainer.rollout.observations
    trainer.set_learning_rate(0.0)  # the next iteration sets its own
    with torch.no_grad():
        for _ in range(trainer.config.num_steps):
            trainer.compute_logits(observations[0])
        trainer.compute_values(observations.flatten(0, 1))
    for minibatch in minibatches:
        optimize(minibatch, trainer.config.compute_schedule(0))


def measure_iteration(trainer: SelfplayTrainer) -> tuple[int, float, float, float]:
    """Run a training iteration; return the number of decisions that it learned from, and three times in seconds.

    The times are those of the iteration, of its forward and backward passes, and of these passes with the optimizer.
    Iterations differ in the number of decisions, so an iteration is comparable with its own passes only.
    """
    before = trainer.timesteps
    iteration = measure_seconds(trainer.run_iteration)
    learned = trainer.timesteps - before
    passes = partial(make_passes, trainer, list(trainer.split_minibatches(trainer.prepare_data())))
    bare = measure_seconds(lambda: passes(lambda *batch: trainer.compute_loss(*batch)[0].backward()))
    with_optimizer = measure_seconds(lambda: passes(trainer.optimize_minibatch))
    return learned, iteration, bare, with_optimizer


def measure_training(network: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """Measure the self-play trainer: decisions per second, and the fraction of its time in network passes.

    The fraction is measured for the forward and backward passes alone, and for the passes with the optimizer.
    """
    sizes = {name: getattr(config, name) for name in ("num_envs", "batch_size") if getattr(config, name)}
    chosen = {"device": config.device, **config.training_setup, **network, **sizes}
    with TemporaryDirectory() as folder:
        settings = SelfplayConfig(**(asdict(SelfplayConfig.choose_defaults(config.device)) | chosen))
        trainer = SelfplayTrainer(settings, Path(folder))
        measure_iteration(trainer)  # warm up
        measured = [measure_iteration(trainer) for _ in range(config.repetitions)]
    learned, iterations, bare, with_optimizer = np.array(measured).T
    return {
        "decisions_per_second": median_interval(learned / iterations),
        "played_per_second": median_interval(trainer.config.rollout_size / iterations),
        "rate_to_bare_passes": median_interval(bare / iterations),
        "rate_to_passes_and_optimiser": median_interval(with_optimizer / iterations),
        **{name: getattr(trainer.config, name) for name in ("num_envs", "num_steps", "update_epochs", "batch_size")},
        "device": trainer.device,
        "dtype": str(trainer.dtype).removeprefix("torch."),
    }


def main(config: Config) -> None:
    """Measure the training speed for each network size and store the result."""
    started = time.monotonic()
    results = {name: measure_training(network, config) for name, network in track(NETWORKS.items(), "networks")}
    write_result("training_speed", config, results, started=started)
