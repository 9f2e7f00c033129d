"""Tournament of a pool of players: `python -m agents tournament --players random anchor ev tuned`.

Every player plays alone against copies of every other player. If there are enough players, they also meet at mixed
tables, at which all players differ. All matches use the same deals, and each deal is played in every rotation of the
seats. After Ctrl-C the same command continues. The results are `result.json`, `report.md` and plots in the folder
`--out`. `--bots FOLDER` adds every bot of a folder, such as those of a class or a competition.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from agents.arena import report
from agents.arena.blocks import Blocks, estimate_measures
from agents.arena.bots import read_bots
from agents.arena.estimates import compare_paired, estimate_share
from agents.arena.matches import Failure, Match, MatchResults, play_matches, summarize_pair
from agents.arena.ratings import fit_ratings
from agents.registry import check_players, is_slow
from agents.tasks.options import Workers
from agents.tools.command import print_error
from agents.tools.files import write_json
from agents.tools.progress import PartsProgress
from agents.tools.provenance import check_replacement, describe_measurement
from agents.tools.settings import SeveralSetups, TimeLimit, check_at_least, require
from agents.trained_setups import warn_of_untrained
from felicity_env.game import Setup
from felicity_env.setups import describe_setup, setup_name


@dataclass(frozen=True)
class Config(Workers, TimeLimit, SeveralSetups):
    """Play a tournament: each player alone against copies of each other player, and tables of different players."""

    resumes: ClassVar[bool] = True

    players: tuple[str, ...] = ("pass", "random", "greedy", "anchor", "ev", "tuned")
    """Codes of the players, such as `anchor mc:200`. The code of your own player is `FILE.py:FUNCTION` or
    `package.module:function`; the function returns the player."""
    bots: Path | None = None
    """Folder of bots that play too: its files `NAME.py`, and folders `NAME` with an `__init__.py`, that have a function
    `make`, and folders of training runs. One that cannot be made is named and left out; names that begin with `_` or
    `.` are no bots. Bots are programs that run with your rights."""
    num_deals: int = 500
    """Number of deals for each pair, each played in every rotation of the seats; more give narrower intervals."""
    search_deals: int | None = None
    """Number of deals for each pair with a search or a language model, which are slow. Default: that of --num-deals."""
    mixed_deals: int = 50
    """Number of deals for each mixed table, at which all players differ; 0 plays no mixed tables."""
    seed: int = 0
    """Seed of the deals and of the players' randomness. Training and its evaluation never play the same games."""
    out: Path = Path("runs/tournament")
    """Folder for the results; the same command continues an interrupted tournament there."""
    fresh: bool = False
    """Play everything again, also what is stored in --out; for a player whose changes cannot be seen in its code."""
    deals_per_part: int = 50
    """Number of deals in a part of a match. Results are saved part by part; Ctrl-C loses only the parts in progress."""

    def __post_init__(self) -> None:
        if self.players:
            check_players(self, "players")
        named, what = " ".join(self.entrants) or "none", "--players and --bots" if self.bots else "--players"
        enough = len(self.entrants) >= 2 and len(set(self.entrants)) == len(self.entrants)
        require(enough, f"{what} must name at least two different players, not {named}")
        check_at_least(self, num_deals=2, search_deals=2, mixed_deals=0, deals_per_part=1, seed=0)
        self.check_time_limit()
        super().__post_init__()

    @property
    def entrants(self) -> tuple[str, ...]:
        """Codes of all players, and then of the bots that can play."""
        return (*self.players, *(read_bots(self.bots).codes if self.bots else ()))


def list_matches(config: Config) -> dict[Match, int]:
    """Return all matches with their numbers of deals; for each setup, first the pairs, then the mixed tables."""
    matches = {}
    search_deals = config.num_deals if config.search_deals is None else config.search_deals
    for setup in config.setups:
        for one, rest in permutations(config.entrants, 2):
            matches[Match.one_against(one, rest, setup)] = search_deals if is_slow(one, rest) else config.num_deals
        has_mixed = config.mixed_deals and setup.seats > 2  # with two seats every table is a pair
        for table in combinations(sorted(config.entrants), setup.seats) if has_mixed else ():
            matches[Match(table, setup)] = config.mixed_deals
    return matches


# --- results ----------------------------------------------------------------------------------------------------------


def summarize(config: Config, results: MatchResults) -> dict[str, Any]:
    """Return all results of a tournament (pairs, mixed tables, ratings, ...) as they are stored in `result.json`."""
    setups = [setup for setup in config.setups if any(match.setup == setup for match in results.blocks)]
    ratings = {setup_name(setup): rate_players(results, setup) for setup in setups}
    return {
        "pairs": [_summarize_pair(match, blocks) for match, blocks in results.blocks.items() if match.is_pair],
        "mixed": {setup_name(setup): measure_mixed(results, setup) for setup in setups},
        "ratings": ratings,
        "paired": [row for setup in setups for row in compare_neighbours(ratings[setup_name(setup)], results, setup)],
        "failures": [failure._asdict() for failure in (*_list_absent(config), *results.failures)],
        "forfeits": results.list_forfeits(),
    }


def _summarize_pair(match: Match, blocks: Blocks) -> dict[str, Any]:
    """Return the results of a match of one player against copies of another, as a dictionary for JSON.

    They are the measures of the player, the mean measures of the copies, and the player's win share by position.
    """
    return {
        **summarize_pair(match, blocks),
        "measures_of_rest": estimate_measures(*((blocks, k) for k in range(1, match.setup.seats))),
        "win_share_by_position": [asdict(estimate_share(values)) for values in blocks.block_means_by_position(0).T],
    }


def measure_mixed(results: MatchResults, setup: Setup) -> dict[str, Any]:
    """Estimate each player's measures over the mixed tables, at which all players differ; each deal is a block."""
    tables = {match: blocks for match, blocks in results.blocks.items() if match.is_mixed and match.setup == setup}
    estimates = {}
    for code in sorted({code for match in tables for code in match.codes}):
        seats = [(blocks, match.codes.index(code)) for match, blocks in tables.items() if code in match.codes]
        estimates[code] = estimate_measures(*seats)
    return estimates


def rate_players(results: MatchResults, setup: Setup) -> dict[str, Any]:
    """Estimate the Plackett-Luce rating of each player from all games of a setup."""
    tables = {match: blocks for match, blocks in results.blocks.items() if match.setup == setup}
    codes = list(dict.fromkeys(code for match in tables for code in match.codes))
    players, ranks, deals = [], [], []
    for match, blocks in tables.items():
        rank = blocks.measures["rank"].reshape(-1, setup.seats).astype(int)
        players.append(np.broadcast_to([codes.index(code) for code in match.codes], rank.shape))
        ranks.append(rank)
        deals.append(np.repeat(np.arange(len(blocks.rounds)), setup.seats))
    fit = fit_ratings(codes, np.concatenate(players), ranks=np.concatenate(ranks), blocks=np.concatenate(deals))
    return {code: asdict(points) for code, points in fit.items()}


def compare_neighbours(ratings: Mapping[str, Any], results: MatchResults, setup: Setup) -> list[dict[str, Any]]:
    """List the differences in win share between each player and the one rated next below it.

    Both play alone against copies of the same third player, on the same deals. ratings: {code of a player: estimate}.
    """
    rows, ranked = [], sorted(ratings, key=lambda code: ratings[code]["value"])
    for weaker, stronger in pairwise(ranked):
        for rest in ranked:
            pair = [results.blocks.get(Match.one_against(one, rest, setup)) for one in (stronger, weaker)]
            if rest not in (weaker, stronger) and pair[0] and pair[1]:
                deals = min(len(blocks.rounds) for blocks in pair if blocks)
                paired = compare_paired(pair[0].block_means(0)[:deals], pair[1].block_means(0)[:deals])
                names = {"stronger": stronger, "weaker": weaker, "rest": rest}
                rows.append({**describe_setup(setup), **names, **asdict(paired)})
    return rows


def _list_absent(config: Config) -> tuple[Failure, ...]:
    """Return the failures of the bots that could not be made."""
    return read_bots(config.bots).failures if config.bots else ()


# --- the command ------------------------------------------------------------------------------------------------------


def play_tournament(
    config: Config, console: Console, *, command: str = "agents tournament"
) -> tuple[MatchResults, dict[str, Any]]:
    """Play or resume a tournament and write its results to `config.out`; return them and the data of `result.json`."""
    started = time.monotonic()
    path = config.out / "result.json"
    check_replacement(path, command, config, print_error)
    report.print_failures([failure._asdict() for failure in _list_absent(config)], [])
    warn_of_untrained(config.entrants, config.setups)
    with PartsProgress(console) as progress:
        results = play_matches(
            list_matches(config),
            seed=config.seed,
            folder=config.out,
            fresh=config.fresh,
            seconds=config.seconds_a_decision,
            **config.spread,
            deals_per_part=config.deals_per_part,
            report=progress.report,
        )
    console.print("computing estimates, ratings and plots ...", highlight=False)
    content = describe_measurement(command, config, started=started) | {"results": summarize(config, results)}
    write_json(path, content)
    report.write_report(config.out, content, results)
    return results, content


def main(config: Config) -> int:
    """Play the tournament and print which players failed; return 1 if any did, else 0."""
    console = Console()
    results = play_tournament(config, console)[1]["results"]
    for part in report.build_tournament_tables(results):
        console.print(part, highlight=False)
    console.print(f"wrote result.json, report.md and plots to {config.out}", highlight=False, soft_wrap=True)
    return report.print_failures(results["failures"], results["forfeits"])
