"""Question: what does a larger search budget buy, and what does it cost? `python -m experiments budget`

One search player (`mc` or `ismcts`) plays against copies of `tuned`, with more and more playouts for each decision. The
time of a decision is measured on one core, over positions from games among copies of `tuned`.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from agents.arena.estimates import estimate_share
from agents.arena.matches import Match, play_matches
from agents.registry import SEARCHES, check_players
from agents.tasks.options import Workers
from agents.tools.figures import save_figure
from agents.tools.progress import PartsProgress
from agents.tools.seeds import SEEDS
from agents.tools.settings import SeveralSetups, check_at_least
from experiments.results import write_result
from experiments.strength.timing import draw_positions, measure_milliseconds
from felicity_env import Setup
from felicity_env.setups import STANDARD_PLAYERS, describe_setup, standard_setup

DEALS_PER_PART = 10


@dataclass(frozen=True)
class Config(Workers, SeveralSetups):
    """Measure the win share and the decision time of the search players with different numbers of playouts."""

    resumes: ClassVar[bool] = True
    playouts: tuple[int, ...] = (25, 50, 100, 200, 400, 800, 1600)
    """Numbers of playouts for each decision, measured one after the other; the time grows in proportion."""
    num_players: tuple[int, ...] = (4,)
    also: int = 400
    """Number of playouts that is also measured in all other standard setups; 0 for none."""
    rest: str = "tuned"
    """Code of the player in all other seats; choose one weaker than the searches, so that their gains show."""
    num_deals: int = 100
    """Number of deals for each search and number of playouts, each under all rotations of the seats."""
    seed: int = SEEDS["budget"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""
    out: Path = Path("runs/budget")
    """Folder in which finished parts are saved; the same command, given again, continues from them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "rest")
        check_at_least(self, num_deals=2, also=0, seed=0)

    def list_rows(self) -> list[tuple[Setup, str, int]]:
        """Return the setup, search and number of playouts of every measurement.

        Setups with the fewest seats come first.
        """
        others = {standard_setup(number) for number in STANDARD_PLAYERS} - {*self.setups}
        budgets = dict.fromkeys(self.setups, self.playouts)
        budgets |= dict.fromkeys(others, (self.also,) if self.also else ())
        ordered = sorted(budgets, key=lambda setup: setup.seats)
        return [(setup, search, budget) for setup in ordered for search in SEARCHES for budget in budgets[setup]]


def measure(config: Config, console: Console) -> list[dict[str, Any]]:
    """Measure win share and decision time; return a row for each setup, search and number of playouts."""
    rows = config.list_rows()
    views = {setup: draw_positions(setup, config.seed) for setup, _, _ in rows}
    times = {row: measure_milliseconds(f"{row[1]}:{row[2]}", views[row[0]]) for row in rows}
    matches = {row: Match.one_against(f"{row[1]}:{row[2]}", config.rest, row[0]) for row in rows}
    with PartsProgress(console) as progress:
        results = play_matches(
            dict.fromkeys(matches.values(), config.num_deals),
            seed=config.seed,
            folder=config.out,
            **config.spread,
            deals_per_part=DEALS_PER_PART,
            report=progress.report,
        )
    results.raise_failure()
    return [
        {
            **describe_setup(setup),
            "kind": search,
            "playouts": budget,
            "par": 1 / setup.seats,
            "milliseconds": times[setup, search, budget],
            "win_share": asdict(estimate_share(results.blocks[matches[setup, search, budget]].block_means(0))),
        }
        for setup, search, budget in rows
    ]


def plot(rows: Sequence[dict[str, Any]], rest: str, path: Path) -> None:
    """Plot win share against the number of playouts and against decision time, for the setup with the most rows."""
    names = [row["setup"] for row in rows]
    chosen = [row for row in rows if row["setup"] == max(names, key=names.count)]
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for search in SEARCHES:
        points = [row for row in chosen if row["kind"] == search]
        shares = np.array([[row["win_share"][key] for key in ("low", "value", "high")] for row in points]).T
        errors = [shares[1] - shares[0], shares[2] - shares[1]]
        for axis, x in zip(axes, ("playouts", "milliseconds"), strict=True):
            values = [row[x]["value"] if x == "milliseconds" else row[x] for row in points]
            axis.errorbar(values, shares[1], yerr=errors, marker="o", capsize=3, label=search)
    for axis, label in zip(axes, ("playouts per decision", "milliseconds per decision, one core"), strict=True):
        axis.axhline(chosen[0]["par"], color="grey", linestyle=":", label="par")
        axis.set(xscale="log", xlabel=label)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"win share against {chosen[0]['num_players'] - 1} {rest}")
    axes[0].legend()
    save_figure(figure, path)


def main(config: Config) -> None:
    """Measure the search players with different numbers of playouts, store the result and plot it."""
    started = time.monotonic()
    rows = measure(config, Console())
    path = write_result("budget", config, rows, started=started)
    plot(rows, config.rest, path.with_suffix(".png"))
