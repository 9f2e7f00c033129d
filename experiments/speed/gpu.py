"""Question: how fast is a GPU? `python -m experiments gpu-speed`

The engine plays random actions in batches of several sizes, with the observation and the mask of each decision, and
also as a CUDA graph. The trainer, with its games and its networks on the GPU, learns from each rollout once or several
times. Every time ends when the GPU has done its work. Needs a GPU, the extra `cuda` and a C compiler.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

import torch
from rich.console import Console

from agents.tools.settings import check_at_least
from experiments.gpu import require_gpu
from experiments.results import median_interval, write_result
from train.selfplay import SelfplayConfig, SelfplayTrainer


@dataclass(frozen=True)
class Config:
    """Measure the rate of the games and of training on a GPU."""

    resumes: ClassVar[bool] = False
    num_games: tuple[int, ...] = (65_536, 262_144, 1_048_576)
    """Numbers of games in a batch."""
    num_steps: int = 50
    """Number of steps of a batch in each measurement."""
    dtype: Literal["float32", "float16"] = "float32"
    """Number type of the observations."""
    hidden_sizes: tuple[int, ...] = (512, 512, 512)
    """Sizes of the hidden layers of the networks that learn."""
    num_envs: int = 65_536
    """Number of games in training."""
    batch_size: int = 65_536
    """Number of decisions in a minibatch of training."""
    update_epochs: tuple[int, ...] = (1, 2, 4)
    """Numbers of passes over each rollout; the rate of training is measured with each."""
    repetitions: int = 7
    """Number of measurements of each rate."""

    def __post_init__(self) -> None:
        check_at_least(self, num_steps=1, num_envs=2, batch_size=1, repetitions=2)


def measure_rates(work: Callable[[], int], repetitions: int) -> dict[str, float]:
    """Measure a function's rate, in decisions per second; return the median with its interval.

    work: function that returns how many decisions it has made. It is also called twice before the measurement.
    """
    rates = []
    for number in range(2 + repetitions):
        torch.cuda.synchronize()
        started = time.perf_counter()
        decisions = work()
        torch.cuda.synchronize()
        if number >= 2:  # the first call compiles, and the second records graphs
            rates.append(decisions / (time.perf_counter() - started))
    return median_interval(rates)


def measure_engine(config: Config, num_games: int) -> dict[str, dict[str, float]]:
    """Return the decisions a second of random games, with the observation and the mask of each: eager and graphed."""
    from felicity_env.cuda import Batch

    batch = Batch(num_games, 4, seed=0, dtype=config.dtype, check="later")

    def play() -> int:
        batch.play_random(config.num_steps)
        return num_games * config.num_steps

    eager = measure_rates(play, config.repetitions)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        play()

    def replay() -> int:
        graph.replay()
        return num_games * config.num_steps

    return {"eager": eager, "graphed": measure_rates(replay, config.repetitions)}


def measure_training(config: Config) -> dict[int, dict[str, float]]:
    """Return the decisions a second that a run of self-play learns from, by the number of passes over a rollout."""
    sizes = {name: getattr(config, name) for name in ("hidden_sizes", "num_envs", "batch_size")}
    rates = {}
    with TemporaryDirectory() as folder:
        settings = SelfplayConfig(games="cuda", mix=("self=1",), torch_compile="yes", **sizes)
        trainer = SelfplayTrainer(settings, Path(folder))

        def learn() -> int:
            before = trainer.timesteps
            trainer.run_iteration()
            return trainer.timesteps - before

        for epochs in config.update_epochs:
            trainer.config = replace(settings, update_epochs=epochs)
            rates[epochs] = measure_rates(learn, config.repetitions)
    return rates


def main(config: Config) -> None:
    """Measure all rates and store them."""
    require_gpu("gpu-speed")
    started, console = time.monotonic(), Console()
    results: dict[str, Any] = {"engine": {}}
    for num_games in config.num_games:
        results["engine"][num_games] = rates = measure_engine(config, num_games)
        texts = ", ".join(f"{rate['value'] / 1e6:,.0f} M decisions/s {way}" for way, rate in rates.items())
        console.print(f"{num_games:,} games: {texts}")
    results["training"] = measure_training(config)
    for epochs, rate in results["training"].items():
        console.print(f"training, {epochs} passes: {rate['value'] / 1e6:.1f} M decisions/s")
    write_result("gpu_speed", config, results, started=started)
