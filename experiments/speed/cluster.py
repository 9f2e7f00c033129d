"""Question: how much of the rate of its processors does a cluster reach? `python -m experiments cluster`

Parts of a tournament are played by the processes of this machine and by a Ray cluster on it, in turn, with one worker
and with two. Tasks that do nothing show what a task costs. Tasks that sleep as long as a part takes, on pretended
processors, show how many workers one driver keeps busy. A model of the rate is fitted to the costs, compared with all
these measurements, and evaluated for larger clusters. Needs the extra `dist`.
"""

import asyncio
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from agents.arena.matches import play_part
from agents.arena.parts import Match, Part, list_parts
from agents.identity import identify_player
from agents.registry import check_player
from agents.tasks.pool import Done
from agents.tasks.processes import ProcessPool
from agents.tasks.run import Tasks
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least
from experiments.results import median_interval, write_result

CORES = (1, 8, 64, 512)  # of the clusters to which the model is applied
SLEEPERS = 512
PROCESSES = 4  # that the sleepers share
SLOW = 0.5  # seconds of a part with slower players


@dataclass(frozen=True)
class Config(OneSetup):
    """Compare a local Ray cluster with the processes of this machine, and model larger clusters."""

    resumes: ClassVar[bool] = False
    player: str = "net"
    """Code of the player whose games with `tuned` are played."""
    deals_per_part: int = 50
    """Number of deals in a part, which is one task."""
    parts: int = 12
    """Number of parts for each worker in a repetition."""
    repetitions: int = 5
    """Number of repetitions of each measurement."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_player(self.player, "--player must be the code of a player")
        check_at_least(self, deals_per_part=1, parts=2, repetitions=2)


def list_work(config: Config, workers: int) -> list[Part]:
    """List the parts of a match that so many workers play in one repetition."""
    match = Match.one_against(config.player, "tuned", config.chosen_setup)
    players = {code: identify_player(code) for code in match.codes}
    deals = config.deals_per_part * config.parts * workers
    size = {"deals_per_part": config.deals_per_part, "folder": Path("nowhere")}
    return list_parts({match: deals}, players, seed=SEEDS["cluster"], **size)


def measure_rate(pool: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> float:
    """Return how many tasks a second a pool of workers does."""
    started, running = time.monotonic(), Tasks(pool, function)
    for task in tasks:
        running.submit(task)
    while len(running):
        running.wait()
    return len(tasks) / (time.monotonic() - started)


def do_nothing(task: Any) -> Any:
    """Return the task."""
    return task


class Sleepers:
    """Pool whose workers only wait: a task takes the given seconds and returns the given result.

    The workers are a few processes of a cluster that wait for many tasks at once, so that one machine can pretend to
    have hundreds of processors. What this process does is the same as with real workers.
    """

    def __init__(self, pool: Any, seconds: float, result: Any) -> None:
        self.size, self.capacity = SLEEPERS, 2 * SLEEPERS
        self._pool = pool
        self._sleepers = [create_sleeper(seconds, result) for _ in range(PROCESSES)]
        self._number = 0

    def submit(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Send a task to the next of the processes."""
        self._number += 1
        sleeper = self._sleepers[self._number % len(self._sleepers)]
        self._pool._running[sleeper.work.remote(function, *arguments)] = number

    def wait(self) -> list[Any]:
        """Wait as the pool of the cluster does."""
        return self._pool.wait()


def create_sleeper(seconds: float, result: Any) -> Any:
    """Return a process of the cluster that waits for tasks, all at the same time."""
    from agents.tasks.ray_cluster import pack, ray

    packed = pack(Done(result, seconds))

    class Sleeper:
        async def work(self, *arguments: Any) -> bytes:
            await asyncio.sleep(seconds)
            return packed

    remote: Any = ray.remote(Sleeper)
    return remote.options(num_cpus=0, max_concurrency=SLEEPERS // PROCESSES).remote()


def predict(cores: int, seconds: float, costs: dict[str, float]) -> float:
    """Return the parts a second that a cluster of so many processors plays, by the model.

    Each worker needs `seconds` and the cost of a task for a part; the driver needs its own cost for each.
    """
    return min(cores / (seconds + costs["task"]), 1 / costs["driver"])


def main(config: Config) -> None:
    """Measure the rates, fit the model, and store both."""
    from agents.tasks.ray_cluster import pack

    started, console = time.monotonic(), Console()
    rates: dict[str, list[float]] = {}
    for workers in (1, 2):
        rates |= compare_rates(config, workers)
        console.print(f"with {workers}: {rates}", highlight=False)
    result = play_part(list_work(config, 1)[0])
    rates |= measure_driver(config, 1 / float(np.median(rates["processes 1"])), result)
    sizes = {"task": len(pickle.dumps(list_work(config, 1)[0])), "result": len(pack(Done(result, 0.0)))}
    write_result("cluster", config, summarize(rates, sizes, config), started=started)


def compare_rates(config: Config, workers: int) -> dict[str, list[float]]:
    """Return the parts a second that so many processes and a cluster with so many processors play, in turn."""
    from agents.tasks.ray_cluster import RayPool

    pools = {"processes": ProcessPool(workers), "cluster": RayPool.connect("local", workers=workers)}
    work, rates = list_work(config, workers), {f"{name} {workers}": list[float]() for name in pools}
    for pool in pools.values():  # compile, and load the players
        measure_rate(pool, play_part, work[: 2 * workers])
    for _ in range(config.repetitions):
        for name, pool in pools.items():
            rates[f"{name} {workers}"].append(measure_rate(pool, play_part, work))
    for pool in pools.values():
        pool.close(cancel=False)
    return rates


def measure_driver(config: Config, seconds: float, result: Any) -> dict[str, list[float]]:
    """Return the tasks a second of pretended workers: of tasks without work, of `seconds`, and of slow ones."""
    from agents.tasks.ray_cluster import RayPool

    pool, task, rates = RayPool.connect("local", workers=1), list_work(config, 1)[0], {}
    for name, sleeps in (("driver", 0.0), ("sleepers", seconds), ("slow sleepers", SLOW)):
        sleepers = Sleepers(pool, sleeps, result)
        measure_rate(sleepers, do_nothing, [task] * 8)
        tasks = [task] * (4 * SLEEPERS)
        rates[name] = [measure_rate(sleepers, do_nothing, tasks) for _ in range(config.repetitions)]
    pool.close(cancel=False)
    return rates


def summarize(rates: dict[str, list[float]], sizes: dict[str, int], config: Config) -> dict[str, Any]:
    """Return the measured rates, the costs, and what the model says of the measurements and of larger clusters."""
    medians = {name: float(np.median(values)) for name, values in rates.items()}
    costs = {
        "part": 1 / medians["processes 1"],
        "task": max(0.0, 1 / medians["cluster 1"] - 1 / medians["processes 1"]),
        "driver": 1 / medians["driver"],
    }
    measured = {
        costs["part"]: {1: medians["cluster 1"], 2: medians["cluster 2"], SLEEPERS: medians["sleepers"]},
        SLOW: {SLEEPERS: medians["slow sleepers"]},
    }
    ratio = np.divide(rates["cluster 2"], rates["processes 2"]).tolist()
    return {
        "rates": {name: median_interval(values) for name, values in rates.items()},
        "cluster_to_processes": median_interval(ratio),
        "bytes": sizes,
        "costs": costs,
        "model": [
            {
                "seconds": seconds,
                "cores": cores,
                "predicted": predict(cores, seconds, costs),
                "measured": found.get(cores),
            }
            for seconds, found in measured.items()
            for cores in sorted({*CORES, *found})
        ],
        "deals_per_part": config.deals_per_part,
    }
