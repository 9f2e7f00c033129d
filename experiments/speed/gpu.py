"""Question: how fast is a GPU? `python -m experiments gpu-speed`

The engine plays random actions in batches of several sizes, with the observation and the mask of each decision. The
trainer, with its games and its networks on the GPU, learns with networks of a certain size. Every time ends when the
GPU has done its work. Needs a GPU and the extra `cuda`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

import torch
from rich.console import Console

from agents.tools.files import UserError
from agents.tools.settings import check_at_least
from experiments.results import median_interval, write_result
from train.selfplay import SelfplayConfig, SelfplayTrainer


@dataclass(frozen=True)
class Config:
    """Measure the rate of the games and of training on a GPU."""

    resumes: ClassVar[bool] = False
    num_games: tuple[int, ...] = (65_536, 262_144, 1_048_576)
    """Numbers of games in a batch."""
    num_steps: int = 100
    """Number of steps of a batch in each measurement."""
    dtype: Literal["float32", "float16"] = "float32"
    """Number type of the observations."""
    hidden_sizes: tuple[int, ...] = (512, 512, 512)
    """Sizes of the hidden layers of the networks that learn."""
    num_envs: int = 65_536
    """Number of games in training."""
    batch_size: int = 65_536
    """Number of decisions in a minibatch of training."""
    repetitions: int = 7
    """Number of measurements of each rate."""

    def __post_init__(self) -> None:
        check_at_least(self, num_steps=1, num_envs=2, batch_size=1, repetitions=2)


def measure_rates(work: Callable[[], int], synchronize: Callable[[], Any], repetitions: int) -> dict[str, float]:
    """Return how many decisions a second `work` makes, which returns their number; the first call does not count."""
    work()
    rates = []
    for _ in range(repetitions):
        synchronize()
        started = time.perf_counter()
        decisions = work()
        synchronize()
        rates.append(decisions / (time.perf_counter() - started))
    return median_interval(rates)


def measure_engine(config: Config, num_games: int, synchronize: Callable[[], Any]) -> dict[str, float]:
    """Return the decisions a second of random games, with the observation and the mask of each."""
    from felicity_env.cuda import Batch

    batch = Batch(num_games, 4, seed=0, dtype=config.dtype, check="later")

    def work() -> int:
        batch.play_random(config.num_steps)
        return num_games * config.num_steps

    return measure_rates(work, synchronize, config.repetitions)


def measure_training(config: Config, synchronize: Callable[[], Any]) -> dict[str, float]:
    """Return the decisions a second that a run of self-play learns from."""
    sizes = {name: getattr(config, name) for name in ("hidden_sizes", "num_envs", "batch_size")}
    with TemporaryDirectory() as folder:
        trainer = SelfplayTrainer(SelfplayConfig(games="cuda", mix=("self=1",), **sizes), Path(folder))

        def work() -> int:
            before = trainer.timesteps
            trainer.run_iteration()
            return trainer.timesteps - before

        return measure_rates(work, synchronize, config.repetitions)


def main(config: Config) -> None:
    """Measure all rates and store them with the name of the GPU."""
    if not torch.cuda.is_available():
        raise UserError("gpu-speed needs a GPU; torch finds none here")
    started, console = time.monotonic(), Console()
    results: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "engine": {}}
    for num_games in config.num_games:
        results["engine"][num_games] = measure_engine(config, num_games, torch.cuda.synchronize)
        console.print(f"{num_games:,} games: {results['engine'][num_games]['value'] / 1e6:,.0f} M decisions/s")
    results["training"] = measure_training(config, torch.cuda.synchronize)
    write_result("gpu_speed", config, results, started=started)
