"""What does search buy, and what does it cost? `python -m experiments.budget`

One search agent against copies of `tuned`, for budgets of more and more playouts a decision, and the time a decision
takes on one core, over positions from games among `tuned`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

import agents
from agents.arena import play_blocks
from agents.estimates import bootstrap
from experiments.command import GOES_ON, run_command
from experiments.matches import SEARCHES, Match, play_matches
from experiments.progress import PartsProgress
from experiments.results import median_interval, write_result
from felicity_env import View

SEED = 2**61 + 1  # apart from training, tuning, ladder and the evaluation of runs


@dataclass(frozen=True)
class Config:
    """Strength and time of the search agents against their budget."""

    playouts: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)
    """Of a decision."""
    num_players: tuple[int, ...] = (4,)
    """Seats at the tables."""
    also: int = 400
    """A budget that is measured at all other numbers of players too; 0 for none."""
    rest: str = "tuned"
    """Who sits in all other seats."""
    deals: int = 100
    """For each budget, each under all rotations of the seats."""
    seed: int = SEED
    """Of deals and seats."""
    out: Path = Path("runs/budget")
    """Folder of what an interrupted run goes on from."""
    workers: int = os.cpu_count() or 1
    """Processes."""

    def budgets(self, num_players: int) -> tuple[int, ...]:
        """Those that are measured at tables of so many."""
        return self.playouts if num_players in self.num_players else (self.also,) if self.also else ()


class _Keeper:
    """Plays as another, and keeps every view."""

    def __init__(self, code: str) -> None:
        self.player, self.views = agents.make(code), []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return self.player.act(view)


def positions(num_players: int, count: int, seed: int) -> View:
    """Decisions of one seat in games among `tuned`."""
    keeper = _Keeper("tuned")
    play_blocks([keeper, *(agents.make("tuned") for _ in range(num_players - 1))], num_blocks=20, seed=seed)
    rng, views = np.random.default_rng(seed), keeper.views
    joined = View(*(np.concatenate([getattr(view, name) for view in views]) for name in ("states", "seats", "seeds")))
    return joined.take(rng.choice(len(joined), size=count, replace=False))


def milliseconds(code: str, view: View, repetitions: int = 5) -> dict[str, float]:
    """Of a decision on one core, averaged over the view."""
    player, samples = agents.make(code), []
    player.act(view.take(np.arange(1)))
    for _ in range(repetitions):
        started = time.perf_counter()
        player.act(view)
        samples.append((time.perf_counter() - started) / len(view) * 1000)
    return median_interval(samples)


def measure(config: Config, console: Console) -> list[dict[str, Any]]:
    """A row for each kind of search, number of players and budget."""
    rows = [(n, kind, budget) for n in (3, 4, 5) for kind in SEARCHES for budget in config.budgets(n)]
    views = {n: positions(n, 60, config.seed) for n in (3, 4, 5)}
    times = {row: milliseconds(f"{row[1]}:{row[2]}", views[row[0]]) for row in rows}
    matches = {Match.of(f"{kind}:{budget}", config.rest, n): config.deals for n, kind, budget in rows}
    with PartsProgress(console) as progress:
        played = play_matches(
            matches,
            seed=config.seed,
            folder=config.out,
            workers=config.workers,
            deals_a_part=10,
            report=progress.report,
        )
    return [
        {"num_players": n, "kind": kind, "playouts": budget, "par": 1 / n, "milliseconds": times[n, kind, budget]}
        | {"win_share": asdict(bootstrap(played.blocks[Match.of(f"{kind}:{budget}", config.rest, n)].mean_of(0)))}
        for n, kind, budget in rows
    ]


def plot(rows: Sequence[dict[str, Any]], rest: str, path: Path) -> None:
    """Win share against budget, and against the time of a decision."""
    full = max((n for n in (3, 4, 5)), key=lambda n: sum(row["num_players"] == n for row in rows))
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained", sharey=True)
    for kind in SEARCHES:
        chosen = [row for row in rows if row["kind"] == kind and row["num_players"] == full]
        shares = np.array([[row["win_share"][key] for key in ("low", "value", "high")] for row in chosen]).T
        errors = [shares[1] - shares[0], shares[2] - shares[1]]
        for axis, x in zip(axes, ("playouts", "milliseconds"), strict=True):
            values = [row[x]["value"] if x == "milliseconds" else row[x] for row in chosen]
            axis.errorbar(values, shares[1], yerr=errors, marker="o", capsize=3, label=kind)
    for axis, label in zip(axes, ("playouts a decision", "milliseconds a decision, one core"), strict=True):
        axis.axhline(1 / full, color="grey", linestyle=":", label="par")
        axis.set(xscale="log", xlabel=label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"win share against {full - 1} {rest}")
    axes[0].legend()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(config: Config) -> int:
    """Measure, plot and store."""
    started = time.monotonic()
    rows = measure(config, Console())
    path = write_result("budget", config, rows, started=started)
    plot(rows, config.rest, path.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    run_command("budget", Config, main, interrupted=GOES_ON)
