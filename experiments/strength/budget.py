"""Question: what does a larger search budget buy, and what does it cost? `python -m experiments budget`

One search player (`mc` or `ismcts`) plays against copies of `tuned`, with more and more playouts for each decision. The
time of a decision is measured on one core, over positions from games among copies of `tuned`.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from agents.arena.estimates import estimate_share
from agents.arena.matches import Match, play_matches
from agents.registry import SEARCHES, check_players
from agents.tasks.options import Workers
from agents.tools.figures import save_figure, show_plain_numbers
from agents.tools.progress import PartsProgress
from agents.tools.seeds import SEEDS
from agents.tools.settings import SeveralSetups, check_at_least
from experiments.results import write_result
from experiments.strength.timing import draw_positions, measure_milliseconds
from felicity_env import Setup
from felicity_env.setups import STANDARD_PLAYERS, describe_setup, standard_setup

DEALS_PER_PART = 10


class Budget(NamedTuple):
    """Search player with a number of playouts for each decision, alone against copies of the player `rest`.

    kind: name of the search; the playouts of `net+search` are worlds.
    """

    setup: Setup
    kind: str
    playouts: int
    rest: str

    @property
    def code(self) -> str:
        """Code of the search player."""
        return f"{self.kind}:{self.playouts}"


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

    def list_budgets(self) -> list[Budget]:
        """Return all budgets to measure; setups with the fewest seats come first."""
        others = {standard_setup(number) for number in STANDARD_PLAYERS} - {*self.setups}
        budgets = dict.fromkeys(self.setups, self.playouts)
        budgets |= dict.fromkeys(others, (self.also,) if self.also else ())
        ordered = sorted(budgets, key=lambda setup: setup.seats)
        return [
            Budget(setup, search, number, self.rest)
            for setup in ordered
            for search in SEARCHES
            for number in budgets[setup]
        ]


def measure(budgets: Sequence[Budget], config: Any, folder: Path, console: Console) -> list[dict[str, Any]]:
    """Measure win share and decision time of search players; return a row for each.

    config: settings with `num_deals`, `seed` and those of `Workers`. folder: where finished parts are saved.
    """
    views = {setup: draw_positions(setup, config.seed) for setup in dict.fromkeys(each.setup for each in budgets)}
    players = dict.fromkeys((each.code, each.setup) for each in budgets)
    times = {(code, setup): measure_milliseconds(code, views[setup]) for code, setup in players}
    matches = {each: Match.one_against(each.code, each.rest, each.setup) for each in budgets}
    num_deals: int = config.num_deals
    with PartsProgress(console) as progress:
        results = play_matches(
            dict.fromkeys(matches.values(), num_deals),
            seed=config.seed,
            folder=folder,
            **config.spread,
            deals_per_part=DEALS_PER_PART,
            report=progress.report,
        )
    results.raise_failure()
    return [
        {
            **describe_setup(each.setup),
            "kind": each.kind,
            "playouts": each.playouts,
            "rest": each.rest,
            "par": 1 / each.setup.seats,
            "milliseconds": times[each.code, each.setup],
            "win_share": asdict(estimate_share(results.blocks[match].block_means(0))),
        }
        for each, match in matches.items()
    ]


def plot(rows: Sequence[dict[str, Any]], path: Path, unit: str = "playouts") -> None:
    """Plot win share against the budget and against decision time, for the setup with the most rows.

    unit: what the numbers of playouts count. All rows must be against copies of the same player.
    """
    names = [row["setup"] for row in rows]
    chosen = [row for row in rows if row["setup"] == max(names, key=names.count)]
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for search in dict.fromkeys(row["kind"] for row in chosen):
        points = [row for row in chosen if row["kind"] == search]
        shares = np.array([[row["win_share"][key] for key in ("low", "value", "high")] for row in points]).T
        errors = [shares[1] - shares[0], shares[2] - shares[1]]
        for axis, x in zip(axes, ("playouts", "milliseconds"), strict=True):
            values = [row[x]["value"] if x == "milliseconds" else row[x] for row in points]
            axis.errorbar(values, shares[1], yerr=errors, marker="o", capsize=3, label=search)
    for axis, label in zip(axes, (f"{unit} per decision", "milliseconds per decision, one core"), strict=True):
        axis.axhline(chosen[0]["par"], color="grey", linestyle=":", label="par")
        axis.set(xscale="log", xlabel=label)
        show_plain_numbers(axis.xaxis)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"win share against {chosen[0]['num_players'] - 1} {chosen[0]['rest']}")
    axes[0].legend()
    save_figure(figure, path)


def main(config: Config) -> None:
    """Measure the search players with different numbers of playouts, store the result and plot it."""
    started = time.monotonic()
    rows = measure(config.list_budgets(), config, config.out, Console())
    path = write_result("budget", config, rows, started=started)
    plot(rows, path.with_suffix(".png"))
