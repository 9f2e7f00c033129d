"""How do the rungs of the ladder stand to each other? `python -m experiments.ladder`

A tournament of all of them at 3, 4 and 5 players, stored as `results/ladder.json` and `results/ladder_*.png`.
"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from experiments import tournament
from experiments.command import GOES_ON, run_command
from experiments.results import store
from experiments.tournament_plots import NAMES

RUNGS = ("pass", "random", "greedy", "anchor", "ev", "tuned", "mc:100", "ismcts:100")  # weakest first
SEED = 2**61  # apart from training (below 2**32), tuning (2**60) and the evaluation of runs (2**62)


@dataclass(frozen=True)
class Config(tournament.Config):
    """A tournament of the whole ladder."""

    players: tuple[str, ...] = RUNGS
    """Codes of the players, weakest first."""
    deals: int = 2000
    """For each pair of players, each under all rotations of the seats."""
    search_deals: int | None = 150
    """For pairs in which a search plays (mc, ismcts)."""
    mixed_deals: int = 20
    """For each mixed table; 0 for no mixed tables."""
    seed: int = SEED
    """Of deals and seats."""
    out: Path = Path("runs/ladder")
    """Folder of the results; an interrupted tournament goes on from what it holds."""


def main(config: Config) -> int:
    """Play or take up the tournament, and store what it says."""
    _, content = tournament.play(config, Console(), command="ladder")
    path = store("ladder", content)
    for name in NAMES:
        path.with_name(f"ladder_{name}.png").write_bytes((config.out / f"{name}.png").read_bytes())
    return 0


if __name__ == "__main__":
    run_command("ladder", Config, main, interrupted=GOES_ON)
