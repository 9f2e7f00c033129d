"""Question: which player of the ladder beats which? `python -m experiments ladder`

A tournament of all players of the ladder with 3, 4 and 5 seats, stored as `results/ladder.json` with its plots.
"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from agents.arena import tournament
from agents.arena.plots import PLOTS
from agents.tools.seeds import SEEDS
from experiments.results import store

LADDER = ("pass", "random", "greedy", "anchor", "ev", "tuned", "mc:100", "ismcts:100")  # weakest first


@dataclass(frozen=True)
class Config(tournament.Config):
    """Play a tournament of the whole ladder."""

    players: tuple[str, ...] = LADDER
    """Codes of the players, weakest first."""
    num_deals: int = 2000
    """Deals for each pair of players, each under all rotations; four times as many halve the intervals."""
    search_deals: int | None = 150
    """Deals for each pair with a search (mc, ismcts), which is slow."""
    mixed_deals: int = 20
    """Deals for each mixed table; 0 for no mixed tables."""
    seed: int = SEEDS["ladder"]
    """Seed of the deals and random streams; keep it apart from the seeds of other measurements."""
    out: Path = Path("runs/ladder")
    """Folder of the tournament; the same command resumes from it."""


def main(config: Config) -> None:
    """Play or resume the tournament and store its results and plots."""
    _, content = tournament.play_tournament(config, Console(), command="experiments ladder")
    path = store("ladder", content)
    for name in PLOTS:
        path.with_name(f"ladder_{name}.png").write_bytes((config.out / f"{name}.png").read_bytes())
