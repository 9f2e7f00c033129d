"""Question: how strong is the reference player? `python -m experiments reference-strength --num-players 4`

The reference player plays alone against copies of every player of the ladder (players in order of strength), and each
of these players plays alone against copies of the reference player. A search (`mc`, `ismcts`) without a number of
playouts gets as many playouts as it can make in `--milliseconds` for a decision on one core of this machine.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from agents.arena.blocks import Blocks
from agents.arena.matches import Match, play_matches, summarize_pair
from agents.arena.report import build_pair_tables
from agents.registry import SEARCHES, check_players, is_slow
from agents.tasks.options import Workers
from agents.tools.progress import PartsProgress
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least, check_positive
from experiments.results import write_result
from experiments.strength.ladder import LADDER
from experiments.strength.timing import read_playouts
from felicity_env.setups import setup_name


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Measure a player alone against copies of each opponent, and each opponent alone against copies of the player."""

    resumes: ClassVar[bool] = True
    player: str = "net"
    """Code of the player to measure."""
    against: tuple[str, ...] = (*LADDER, *SEARCHES)
    """Codes of the opponents; `mc` and `ismcts` alone get as many playouts as they can make in --milliseconds."""
    milliseconds: float = 50
    """Milliseconds for a decision of the searches `mc` and `ismcts`; their strength then depends on this machine."""
    num_deals: int = 10_000
    """Number of deals for each match without a search, each under all rotations of the seats."""
    search_deals: int = 500
    """Number of deals for each match in which a player searches with a fixed number of playouts, such as `mc:100`."""
    timed_deals: int = 60
    """Number of deals for each match of the player alone against copies of a search with --milliseconds; these matches
    are slow."""
    lone_deals: int = 180
    """Number of deals for each match of a search with --milliseconds, alone against copies of the player."""
    seed: int = SEEDS["reference strength"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""
    out: Path = Path("runs/reference_strength")
    """Folder in which finished parts are saved; the same command, given again, continues from them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "player", "against", allowed=SEARCHES)
        check_positive(self, "milliseconds")
        check_at_least(self, num_deals=2, search_deals=2, timed_deals=2, lone_deals=2, seed=0)


def list_matches(config: Config) -> dict[Match, int]:
    """Return the matches to play, with the number of deals of each: {match: deals}.

    For each opponent there are two matches: the player alone against copies of the opponent, and the opponent alone
    against copies of the player.
    """
    matches = {}
    for other in config.against:
        is_timed = other in SEARCHES
        code = f"{other}:{read_playouts(other, config)}" if is_timed else other
        plain = config.search_deals if is_slow(config.player, code) else config.num_deals
        copies, alone = (config.timed_deals, config.lone_deals) if is_timed else (plain, plain)
        matches[Match.one_against(config.player, code, config.chosen_setup)] = copies
        matches[Match.one_against(code, config.player, config.chosen_setup)] = alone
    return matches


def play(matches: dict[Match, int], config: Any, console: Console) -> dict[Match, Blocks]:
    """Play all matches, those with the fewest deals first; return the blocks (results of each deal) of each match.

    config: settings with `out`, `seed`, `workers` and a setup, as those of this question.
    """
    blocks: dict[Match, Blocks] = {}
    for num_deals in sorted(set(matches.values())):
        equal = {match: num_deals for match in matches if matches[match] == num_deals}
        with PartsProgress(console) as progress:
            results = play_matches(
                equal,
                seed=config.seed,
                folder=config.out / setup_name(config.chosen_setup),
                **config.spread,
                deals_per_part=max(5, num_deals // 100),  # few deals mean slow players: save often
                report=progress.report,
            )
        results.raise_failure()
        blocks |= results.blocks
    return blocks


def measure(matches: dict[Match, int], config: Any, console: Console) -> dict[str, Any]:
    """Play all matches; return the estimates of win share, margin and other measures for each match.

    config: see `play`.
    """
    blocks = play(matches, config, console)
    return {"pairs": [summarize_pair(match, blocks[match]) for match in matches]}


def main(config: Config) -> None:
    """Measure the player alone against copies of each opponent, and each opponent alone against copies of the player.

    The results are printed as a table and stored.
    """
    started, console = time.monotonic(), Console()
    results = measure(list_matches(config), config, console)
    console.print(build_pair_tables(results["pairs"]))
    name = f"reference_strength_{setup_name(config.chosen_setup)}"
    write_result(name, config, results, started=started, question="reference-strength")
