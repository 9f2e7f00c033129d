"""How strong is the reference player? `python -m experiments.reference_strength --num-players 4`

Alone against copies of every rung of the ladder, and each of those alone against copies of it. Searches with no number
of playouts are given as many as take them `milliseconds` a decision on one core of this machine.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import agents
from agents.arena import Blocks
from experiments.budget import milliseconds, positions
from experiments.command import GOES_ON, run_command
from experiments.evaluate import as_table
from experiments.ladder import RUNGS
from experiments.matches import SEARCHES, Match, is_search, play_matches
from experiments.progress import PartsProgress
from experiments.results import write_result
from experiments.tournament import estimates_of
from train.checks import below, no_tables, not_positive, refuse
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
    against: tuple[str, ...] = (*RUNGS, *SEARCHES)
    """The others; mc and ismcts alone are given the playouts that fit `milliseconds`."""
    milliseconds: float = 50
    """Of a decision of such a search."""
    deals: int = 10_000
    """For each match, each under all rotations of the seats."""
    search_deals: int = 500
    """For each match with a search."""
    timed_deals: int = 60
    """For each match with copies of a search that is given `milliseconds`."""
    lone_deals: int = 180
    """For each match in which one such search is alone among copies of the player."""
    seed: int = SEED
    """Of deals and seats."""
    workers: int = os.cpu_count() or 1
    """Processes."""
    out: Path = Path("runs/reference_strength")
    """Folder of what an interrupted run goes on from."""

    def __post_init__(self) -> None:
        if not self.against:
            raise ValueError("--against must name a player")
        refuse(not_positive(self, "milliseconds", "workers"), no_tables([self.num_players]))
        refuse(below(self, deals=2, search_deals=2, timed_deals=2, lone_deals=2))
        for code in (self.player, *self.against):
            if code not in SEARCHES:
                agents.make(code)

    @property
    def name(self) -> str:
        """Of the result."""
        return f"reference_strength_{self.num_players}p"


def playouts_within(kind: str, config: Config) -> int:
    """How many a search makes in the time it is given, to two digits."""
    view = positions(config.num_players, 60, config.seed)
    found = config.milliseconds / milliseconds(f"{kind}:{TIMED_WITH}", view)["value"] * TIMED_WITH
    return max(1, int(float(f"{found:.2g}")))


def matches_of(config: Config) -> dict[Match, int]:
    """Both formats against each of the others, and the deals of each match. How many playouts fit in a time is kept."""
    found = {}
    for kind in config.against:
        code = f"{kind}:{_kept_playouts(kind, config)}" if kind in SEARCHES else kind
        plain = config.search_deals if is_search(config.player, code) else config.deals
        copies, alone = (config.timed_deals, config.lone_deals) if kind in SEARCHES else (plain, plain)
        found[Match.of(config.player, code, config.num_players)] = copies
        found[Match.of(code, config.player, config.num_players)] = alone
    return found


def _kept_playouts(kind: str, config: Config) -> int:
    kept = config.out / f"playouts-{kind}-{config.num_players}p-{config.milliseconds:g}ms.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, playouts_within(kind, config))
    return json.loads(kept.read_text())


def played(matches: dict[Match, int], config: Config, console: Console) -> dict[Match, Blocks]:
    """The blocks of all matches, those of the fewest deals first."""
    blocks: dict[Match, Blocks] = {}
    for deals in sorted(set(matches.values())):
        blocks |= _played({match: deals for match in matches if matches[match] == deals}, deals, config, console)
    return blocks


def _played(matches: dict[Match, int], deals: int, config: Config, console: Console) -> dict[Match, Blocks]:
    folder = config.out / f"{config.num_players}p"
    part = max(5, deals // 100)  # where deals are few they are slow
    with PartsProgress(console) as progress:
        found = play_matches(
            matches, seed=config.seed, folder=folder, workers=config.workers, deals_a_part=part, report=progress.report
        )
    for failure in found.failures:
        raise RunError(f"{failure.code} failed: {failure.reason}")
    return found.blocks


def measure(matches: dict[Match, int], config: Config, console: Console) -> dict[str, Any]:
    """Every measure of every match."""
    blocks, n = played(matches, config, console), config.num_players
    return {
        "pairs": [
            {"num_players": n, "one": match.codes[0], "rest": match.codes[1], "par": 1 / n}
            | {"measures": estimates_of(blocks[match], [0])}
            for match in matches
        ]
    }


def main(config: Config) -> None:
    """Time the searches, play, store."""
    started, console = time.monotonic(), Console()
    results = measure(matches_of(config), config, console)
    console.print(as_table(results["pairs"]))
    settings = {name: value for name, value in asdict(config).items() if name != "out"}
    write_result(config.name, settings, results, started=started, command="reference_strength")


if __name__ == "__main__":
    run_command("reference_strength", Config, main, interrupted=GOES_ON)
