"""Question: how strong is the reference player? `python -m experiments reference-strength --num-players 4`

It plays alone against copies of every player of the ladder, and each of those alone against copies of it. Searches
without a number of playouts get as many as take them `--milliseconds` for a decision on one core of this machine.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

import agents
from agents.arena.blocks import Blocks, estimate_measures
from agents.arena.evaluate import build_table
from agents.arena.matches import SEARCHES, Match, play_matches
from agents.registry import is_search
from agents.tools.files import UserError, write_json
from agents.tools.progress import PartsProgress
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least, check_positive, require
from experiments.results import write_result
from experiments.settings import OneSetup
from experiments.strength.ladder import LADDER
from experiments.strength.timing import find_playouts
from felicity_env.setups import setup_name


@dataclass(frozen=True)
class Config(OneSetup):
    """Measure a player in one setup, in both formats."""

    resumes: ClassVar[bool] = True
    player: str = "net"
    """Code of the player that is measured."""
    against: tuple[str, ...] = (*LADDER, *SEARCHES)
    """Codes of the others; `mc` and `ismcts` without a number get the playouts that fit --milliseconds."""
    milliseconds: float = 50
    """Time of a decision for those searches; their strength depends on this machine."""
    num_deals: int = 10_000
    """Deals for each match, each under all rotations; four times as many halve the intervals."""
    search_deals: int = 500
    """Deals for each match with a search."""
    timed_deals: int = 60
    """Deals for each match against copies of a search with --milliseconds, the slowest matches."""
    lone_deals: int = 180
    """Deals for each match in which one such search plays against copies of the player."""
    seed: int = SEEDS["reference strength"]
    """Seed of the deals and random streams; keep it apart from the seeds of other measurements."""
    workers: int = os.cpu_count() or 1
    """Number of processes; the figures do not depend on it."""
    out: Path = Path("runs/reference_strength")
    """Folder for finished parts; the same command resumes from it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(bool(self.against), "--against must name a player")
        check_positive(self, "milliseconds", "workers")
        check_at_least(self, num_deals=2, search_deals=2, timed_deals=2, lone_deals=2)
        for code in (self.player, *self.against):
            if code not in SEARCHES:
                agents.make(code)


def list_matches(config: Config) -> dict[Match, int]:
    """Return the deals of each match: both formats against each of the others."""
    matches = {}
    for other in config.against:
        is_timed = other in SEARCHES
        code = f"{other}:{_read_playouts(other, config)}" if is_timed else other
        plain = config.search_deals if is_search(config.player, code) else config.num_deals
        copies, alone = (config.timed_deals, config.lone_deals) if is_timed else (plain, plain)
        matches[Match.one_against(config.player, code, config.chosen_setup)] = copies
        matches[Match.one_against(code, config.player, config.chosen_setup)] = alone
    return matches


def _read_playouts(search: str, config: Config) -> int:
    """Return the playouts that fit --milliseconds; they are measured once and kept in the folder."""
    setup = config.chosen_setup
    path = config.out / f"playouts-{search}-{setup_name(setup)}-{config.milliseconds:g}ms.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, find_playouts(search, setup, config.milliseconds, config.seed))
    return json.loads(path.read_text())


def play(matches: dict[Match, int], config: Config, console: Console) -> dict[Match, Blocks]:
    """Return the blocks of all matches; those with the fewest deals are played first."""
    blocks: dict[Match, Blocks] = {}
    for num_deals in sorted(set(matches.values())):
        equal = {match: num_deals for match in matches if matches[match] == num_deals}
        with PartsProgress(console) as progress:
            results = play_matches(
                equal,
                seed=config.seed,
                folder=config.out / setup_name(config.chosen_setup),
                workers=config.workers,
                deals_per_part=max(5, num_deals // 100),  # matches with few deals are slow
                report=progress.report,
            )
        for failure in results.failures:
            raise UserError(f"{failure.code} failed: {failure.reason}")
        blocks |= results.blocks
    return blocks


def measure(matches: dict[Match, int], config: Config, console: Console) -> dict[str, Any]:
    """Return every measure of every match."""
    blocks, setup = play(matches, config, console), config.chosen_setup
    names = {"setup": setup_name(setup), "num_players": setup.seats}
    return {
        "pairs": [
            names
            | {"one": match.codes[0], "rest": match.codes[1], "par": 1 / setup.seats}
            | {"measures": estimate_measures(blocks[match], [0])}
            for match in matches
        ]
    }


def main(config: Config) -> None:
    """Measure how many playouts fit into the time, play the matches and store the result."""
    started, console = time.monotonic(), Console()
    results = measure(list_matches(config), config, console)
    console.print(build_table(results["pairs"]))
    name = f"reference_strength_{setup_name(config.chosen_setup)}"
    write_result(name, config, results, started=started, question="reference-strength")
