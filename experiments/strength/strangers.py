"""Question: how does the reference player do against strangers? `python -m experiments strangers`

Strangers are players that it never meets in training (`stranger_players.py`). They are fixed, so results against them
can be compared across reference players. To show that they are no weak players, `anchor` plays them too.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from agents.arena.matches import Match
from agents.arena.report import build_pair_tables
from agents.registry import check_players
from agents.tasks.options import Workers
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least
from experiments.results import write_result
from experiments.strength.reference_strength import measure
from felicity_env.setups import setup_name

MODULE = "experiments.strength.stranger_players"
SEARCHER = f"{MODULE}:searcher"
FAST = tuple(f"{MODULE}:{name}" for name in ("jumper", "single_bidder", "learner_against_ev", "learner_against_tuned"))


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Measure a player, and `anchor`, alone against copies of each stranger and the other way round."""

    resumes: ClassVar[bool] = True
    player: str = "net"
    """Code of the player to measure."""
    num_deals: int = 4000
    """Number of deals for each match, each under all rotations of the seats."""
    search_deals: int = 200
    """Number of deals for each match of the stranger that searches, which is slow."""
    seed: int = SEEDS["strangers"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""
    out: Path = Path("runs/strangers")
    """Folder in which finished parts are saved; the same command, given again, continues from them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "player")
        check_at_least(self, num_deals=2, search_deals=2, seed=0)


def list_matches(config: Config) -> dict[Match, int]:
    """Return the matches to play, with the number of deals of each: {match: deals}."""
    deals = {**dict.fromkeys(FAST, config.num_deals), SEARCHER: config.search_deals}
    return {
        Match.one_against(one, rest, config.chosen_setup): deals[stranger]
        for stranger in deals
        for code in (config.player, "anchor")
        for one, rest in ((code, stranger), (stranger, code))
    }


def main(config: Config) -> None:
    """Play all matches, print the win shares as a table, and store them."""
    started, console = time.monotonic(), Console()
    results = measure(list_matches(config), config, console)
    console.print(build_pair_tables(results["pairs"]))
    write_result(f"strangers_{setup_name(config.chosen_setup)}", config, results, started=started, question="strangers")
