"""Question: does data-parallel learning pay? `python -m experiments data-parallel`

Gradient steps of the self-play trainer are timed in turn with one thread, with two threads, and by two processes that
compute half of each minibatch and add their gradients (`torch.distributed` with Gloo, as torchrun would start it). The
processes are on one machine, so the network between them is the fastest that there is; what the same sum takes at least
between machines is computed from the size of the gradients and the rate of a network.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import torch
from rich.progress import track
from torch import distributed, nn
from torch.multiprocessing.spawn import spawn
from torch.nn.utils import clip_grad_norm_, parameters_to_vector

from agents.tools.settings import OneSetup, check_at_least
from experiments.results import median_interval, write_result
from train.selfplay import SelfplayConfig, SelfplayTrainer

WAYS = {"one thread": (1, 1), "two threads": (1, 2), "two processes": (2, 1)}  # number of processes, threads of each
STEPS = 40  # timed in a repetition
GIGABITS = 10  # a second, of the network between two machines


@dataclass(frozen=True)
class Config(OneSetup):
    """Compare gradient steps by one process with those by two that share the work of a minibatch."""

    resumes: ClassVar[bool] = False
    repetitions: int = 5
    """Number of times that each way is timed."""
    batch_sizes: tuple[int, ...] = (1024, 16384)
    """Numbers of decisions in a minibatch."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, repetitions=2)


def main(config: Config) -> None:
    """Measure all ways in turn, and store the result."""
    started, rows, num_bytes = time.monotonic(), [], 0.0
    seconds: dict[tuple[int, str], list[float]] = {(size, way): [] for size in config.batch_sizes for way in WAYS}
    sums: dict[int, list[float]] = {size: [] for size in config.batch_sizes}
    for _ in track(range(config.repetitions), "timing", transient=True):
        for size, way in seconds:
            measured = time_steps(size, *WAYS[way], config)
            seconds[size, way].append(measured["step"])
            if way == "two processes":
                sums[size].append(measured["sum"])
                num_bytes = measured["bytes"]
    for size in config.batch_sizes:
        ratio = np.divide(seconds[size, "one thread"], seconds[size, "two processes"])
        rows.append(
            {
                "batch_size": size,
                "milliseconds": {way: median_interval(1e3 * np.array(seconds[size, way])) for way in WAYS},
                "sum_milliseconds": median_interval(1e3 * np.array(sums[size])),
                "gain_of_two_processes": median_interval(ratio),
            }
        )
    # two machines send all of their gradients once
    network = {"gigabits_a_second": GIGABITS, "milliseconds": num_bytes * 8 / GIGABITS / 1e6}
    found = {"rows": rows, "gradient_bytes": num_bytes, "network": network}
    write_result("data_parallel", config, found, started=started)


def time_steps(batch_size: int, processes: int, threads: int, config: Config) -> dict[str, float]:
    """Return the seconds of a gradient step and of a sum of gradients, and the bytes of the gradients."""
    with TemporaryDirectory() as text:
        place = Path(text)
        spawn(_work, (processes, threads, batch_size, place, config), nprocs=processes)
        return json.loads((place / "seconds.json").read_text())


def _work(rank: int, processes: int, threads: int, batch_size: int, place: Path, config: Config) -> None:
    """Measure gradient steps as one of several processes; the first writes what it measured."""
    store = (place / "store").as_uri()
    distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=processes)
    trainer, minibatch = _prepare(batch_size, threads, place / str(rank), config)
    part = {name: tensor.tensor_split(processes)[rank] for name, tensor in minibatch.items()}
    schedule = trainer.config.compute_schedule(0)

    def step() -> None:
        trainer.optimizer.zero_grad()
        trainer.compute_loss(part, schedule)[0].backward()
        if processes > 1:
            _add_gradients(trainer.policy)
        clip_grad_norm_(trainer.policy.parameters(), trainer.config.max_grad_norm)
        trainer.optimizer.step()

    seconds = {"step": _time(step), "sum": _time(lambda: _add_gradients(trainer.policy))}
    if rank == 0:
        seconds["bytes"] = 4 * sum(parameter.numel() for parameter in trainer.policy.parameters())
        (place / "seconds.json").write_text(json.dumps(seconds))
    distributed.destroy_process_group()


def _prepare(
    batch_size: int, threads: int, folder: Path, config: Config
) -> tuple[SelfplayTrainer, dict[str, torch.Tensor]]:
    """Return a trainer and a minibatch, which are the same in all processes."""
    sizes: dict[str, Any] = {"batch_size": batch_size, "num_envs": 256, "num_steps": max(64, 2 * batch_size // 256)}
    folder.mkdir()
    settings = SelfplayConfig(**config.training_setup, **sizes, device="cpu", precision="float32", threads=threads)
    trainer = SelfplayTrainer(settings, folder)
    trainer.collect_rollout()
    return trainer, next(trainer.split_minibatches(trainer.prepare_data()))


def _add_gradients(networks: nn.Module) -> None:
    """Replace the gradients of this process by the mean of those of all processes."""
    gradients = [parameter.grad for parameter in networks.parameters() if parameter.grad is not None]
    flat = parameters_to_vector(gradients)
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, part in zip(gradients, flat.split([each.numel() for each in gradients]), strict=True):
        gradient.copy_(part.view_as(gradient))


def _time(work: Any) -> float:
    """Return the seconds of a call, from many calls after some that are not counted."""
    for _ in range(5):
        work()
    started = time.perf_counter()
    for _ in range(STEPS):
        work()
    return (time.perf_counter() - started) / STEPS
