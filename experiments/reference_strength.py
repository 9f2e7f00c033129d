"""How strong is the reference player? `python -m experiments.reference_strength --num-players 4`

Alone against copies of every player of the ladder, and each of those alone against copies of it. The searches are given
as many playouts as take them `milliseconds` a decision on one core of this machine.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.budget import milliseconds, positions
from experiments.command import GOES_ON, run_command
from experiments.evaluate import as_table
from experiments.matches import SEARCHES, Match, is_search, play_matches
from experiments.progress import PartsProgress
from experiments.results import write_result
from experiments.tournament import estimates_of
from train.run_folder import RunError, write_json

SEED = 2**58 + 1  # apart from training (below 2**32) and all other measurements
TIMED_WITH = 400  # playouts


@dataclass(frozen=True)
class Config:
    """Measure the reference player at one number of players, in both formats."""

    num_players: int = 4
    """Seats at the tables."""
    player: str = "net"
    """Code of the player."""
    against: tuple[str, ...] = ("random", "anchor", "ev", "tuned", "mc", "ismcts")
    """The others; mc and ismcts with the playouts that fit `milliseconds`."""
    milliseconds: float = 50
    """Of a search's decision."""
    deals: int = 10_000
    """For each match, each under all rotations of the seats."""
    search_deals: int = 60
    """For each match with a search."""
    seed: int = SEED
    """Of deals and seats."""
    workers: int = os.cpu_count() or 1
    """Processes."""
    out: Path = Path("runs/reference_strength")
    """Folder of what an interrupted run goes on from."""

    def __post_init__(self) -> None:
        for name in ("milliseconds", "workers"):
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"--{name} must be positive")
        if self.deals < 2 or self.search_deals < 2:
            raise ValueError("--deals and --search-deals must be at least 2")

    @property
    def name(self) -> str:
        """Of the result."""
        return f"reference_strength_{self.num_players}p"


def playouts_within(kind: str, config: Config) -> int:
    """How many a search makes in the time it is given, to two digits."""
    view = positions(config.num_players, 60, config.seed)
    found = config.milliseconds / milliseconds(f"{kind}:{TIMED_WITH}", view)["value"] * TIMED_WITH
    return max(1, int(float(f"{found:.2g}")))


def codes_of(config: Config) -> list[str]:
    """The others' codes; how many playouts fit is measured once and kept, for a run that goes on."""
    return [f"{code}:{_kept_playouts(code, config)}" if code in SEARCHES else code for code in config.against]


def _kept_playouts(kind: str, config: Config) -> int:
    kept = config.out / f"playouts-{kind}-{config.num_players}p-{config.milliseconds:g}ms.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, playouts_within(kind, config))
    return json.loads(kept.read_text())


def measure(codes: Sequence[str], config: Config, console: Console) -> dict[str, Any]:
    """Every measure of every match."""
    pairs = [pair for code in codes for pair in ((config.player, code), (code, config.player))]
    matches = {
        Match.of(*pair, config.num_players): config.search_deals if is_search(*pair) else config.deals for pair in pairs
    }
    with PartsProgress(console) as progress:
        folder, report = config.out / f"{config.num_players}p", progress.report
        played = play_matches(
            matches, seed=config.seed, folder=folder, workers=config.workers, deals_a_part=5, report=report
        )
    for failure in played.failures:
        raise RunError(f"{failure.code} failed: {failure.reason}")
    par = 1 / config.num_players
    return {
        "pairs": [
            {"num_players": config.num_players, "one": one, "rest": rest, "par": par}
            | {"measures": estimates_of(played.blocks[Match.of(one, rest, config.num_players)], [0])}
            for one, rest in pairs
        ]
    }


def main(config: Config) -> None:
    """Time the searches, play, store."""
    started, console = time.monotonic(), Console()
    codes = codes_of(config)
    results = measure(codes, config, console)
    console.print(as_table(results["pairs"]))
    settings = {name: value for name, value in asdict(config).items() if name != "out"} | {"codes": codes}
    path = write_result(config.name, settings, results, started=started, command="reference_strength")
    print(f"written to {path}")


if __name__ == "__main__":
    run_command("reference_strength", Config, main, interrupted=GOES_ON)
