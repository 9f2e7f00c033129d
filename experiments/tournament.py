"""Who is the strongest, and by how much? `python -m experiments.tournament --players random anchor ev tuned`

Every player sits alone against copies of every other, and, where the pool is large enough, at mixed tables of all
different players. All matches play the same deals, each under all rotations of the seats. Ctrl-C stops; the same
command goes on. The folder gets `result.json`, `report.md` and the plots.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console

import agents
from agents.arena import MEASURES, Blocks
from agents.estimates import bootstrap, paired_difference
from agents.ratings import ratings
from experiments import report
from experiments.command import exit_status, tell
from experiments.matches import Match, Played, as_json, is_search, play_matches
from experiments.progress import PartsProgress
from experiments.results import provenance_of
from felicity_env.game import SETUPS
from train.checks import below, no_tables, refuse
from train.run_folder import write_json

LEAST = {"deals": 2, "search_deals": 2, "mixed_deals": 0, "workers": 1, "deals_a_part": 1, "seed": 0}


@dataclass(frozen=True)
class Config:
    """A tournament of players at tables of 3, 4 and 5."""

    players: tuple[str, ...] = ("pass", "random", "greedy", "anchor", "ev", "tuned")
    """Codes of the players, weakest first; also joined by commas. `package.module:function` makes your own."""
    num_players: tuple[int, ...] = tuple(SETUPS)
    """Seats at the tables."""
    deals: int = 500
    """For each pair of players, each under all rotations of the seats."""
    search_deals: int | None = None
    """For pairs in which a search plays (mc, ismcts); as many as for the others unless given."""
    mixed_deals: int = 50
    """For each mixed table; 0 for no mixed tables."""
    seed: int = 0
    """Of deals and seats; the games are apart from those of training and its evaluation."""
    out: Path = Path("runs/tournament")
    """Folder of the results; an interrupted tournament goes on from what it holds."""
    workers: int = os.cpu_count() or 1
    """Processes."""
    deals_a_part: int = 50
    """How much is played before it is written down."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The players one by one."""
        return tuple(code for word in self.players for code in word.split(",") if code)

    def deals_for(self, *codes: str) -> int:
        """Deals of a pair."""
        return self.search_deals if is_search(*codes) and self.search_deals is not None else self.deals


def check(config: Config) -> None:
    """Raise `ValueError` naming what is wrong with a configuration."""
    if len(config.codes) < 2 or len(set(config.codes)) < len(config.codes):
        raise ValueError(f"--players must name at least two different players, not {' '.join(config.codes) or 'none'}")
    refuse(no_tables(config.num_players), below(config, **LEAST))
    for code in config.codes:
        agents.make(code)


def matches_of(config: Config) -> dict[Match, int]:
    """Every match with its number of deals."""
    matches = {}
    for n in config.num_players:
        for one in config.codes:
            for rest in config.codes:
                if one != rest:
                    matches[Match.of(one, rest, n)] = config.deals_for(one, rest)
        for table in combinations(sorted(config.codes), n) if config.mixed_deals else ():
            matches[Match(table)] = config.mixed_deals
    return matches


def estimates_of(blocks: Blocks, players: Sequence[int]) -> dict[str, Any]:
    """Every measure, averaged over the named places of the table."""
    means = {name: np.mean([blocks.mean_of(p, name) for p in players], axis=0) for name in MEASURES}
    return {name: asdict(bootstrap(values)) for name, values in means.items()}


def pair_results(config: Config, played: Played) -> list[dict[str, Any]]:
    """One against the rest, for every pair: all measures of the one and of the rest, and its win share by place."""
    results = []
    for match, blocks in played.blocks.items():
        if len(set(match.codes)) == 2:
            n = match.num_players
            places = [asdict(bootstrap(values)) for values in blocks.by_place(0).T]
            names = {"num_players": n, "one": match.codes[0], "rest": match.codes[1], "par": 1 / n}
            one, rest = estimates_of(blocks, [0]), estimates_of(blocks, range(1, n))
            results.append({**names, "measures": one, "measures_of_rest": rest, "win_share_by_place": places})
    return results


def mixed_results(played: Played, n: int) -> dict[str, Any]:
    """Mean measures of each player over the mixed tables of n; a block is a deal at all tables it sat at."""
    tables = {
        match: blocks for match, blocks in played.blocks.items() if len(set(match.codes)) == match.num_players == n
    }
    results = {}
    for code in sorted({code for match in tables for code in match.codes}):
        seats = [(blocks, match.codes.index(code)) for match, blocks in tables.items() if code in match.codes]
        means = {name: np.mean([blocks.mean_of(place, name) for blocks, place in seats], axis=0) for name in MEASURES}
        results[code] = {name: asdict(bootstrap(values)) for name, values in means.items()}
    return results


def ratings_of(played: Played, n: int) -> dict[str, Any]:
    """Plackett-Luce ratings over all games at tables of n."""
    tables = {match: blocks for match, blocks in played.blocks.items() if match.num_players == n}
    codes = list(dict.fromkeys(code for match in tables for code in match.codes))
    players, ranks, deals = [], [], []
    for match, blocks in tables.items():
        rank = blocks.measures["rank"].reshape(-1, n).astype(int)
        players.append(np.broadcast_to([codes.index(code) for code in match.codes], rank.shape))
        ranks.append(rank)
        deals.append(np.repeat(np.arange(len(blocks.rounds)), n))
    joined = [np.concatenate(arrays) for arrays in (players, ranks, deals)]
    return {
        code: asdict(points) for code, points in ratings(codes, joined[0], ranks=joined[1], blocks=joined[2]).items()
    }


def paired_results(config: Config, played: Played) -> list[dict[str, Any]]:
    """Each player less the one named before it, against the same rest on the same deals."""
    results = []
    for n in config.num_players:
        for weaker, stronger in pairwise(config.codes):
            for rest in config.codes:
                pair = [played.blocks.get(Match.of(one, rest, n)) for one in (stronger, weaker)]
                if rest not in (weaker, stronger) and pair[0] and pair[1]:
                    deals = min(len(blocks.rounds) for blocks in pair if blocks)
                    paired = paired_difference(pair[0].mean_of(0)[:deals], pair[1].mean_of(0)[:deals])
                    names = {"num_players": n, "stronger": stronger, "weaker": weaker, "rest": rest}
                    results.append({**names, **asdict(paired)})
    return results


def summary(config: Config, played: Played) -> dict[str, Any]:
    """Everything that a tournament says."""
    tables = [n for n in config.num_players if any(match.num_players == n for match in played.blocks)]
    return {
        "pairs": pair_results(config, played),
        "mixed": {str(n): mixed_results(played, n) for n in tables},
        "ratings": {str(n): ratings_of(played, n) for n in tables},
        "paired": paired_results(config, played),
        "failures": as_json(played.failures),
    }


def play(config: Config, console: Console, *, command: str = "tournament") -> tuple[Played, dict[str, Any]]:
    """Play or take up the tournament, and write its folder; what was played and the content of `result.json`."""
    check(config)
    started = time.monotonic()
    with PartsProgress(console) as progress:
        played = play_matches(
            matches_of(config),
            seed=config.seed,
            folder=config.out,
            workers=config.workers,
            deals_a_part=config.deals_a_part,
            report=progress.report,
        )
    console.print("counting up ...", highlight=False)
    content = provenance_of(command, config, started=started) | {"results": summary(config, played)}
    write_json(config.out / "result.json", content)
    report.write(config.out, content, played)
    return played, content


def main(config: Config) -> int:
    """Play, write, and tell what failed; the exit status: 1 if a player did."""
    console = Console()
    played, _ = play(config, console)
    for failure in played.failures:
        tell(f"{failure.code} failed and is left out: {failure.reason}\nin the game\n{failure.game}")
    console.print(f"written to {config.out}: result.json, report.md, plots", highlight=False, soft_wrap=True)
    return 1 if played.failures else 0


def cli(arguments: Sequence[str] | None = None) -> int:
    """Read the command line; the exit status."""
    config = tyro.cli(Config, prog="python -m experiments.tournament", args=arguments)
    return exit_status(lambda: main(config))


if __name__ == "__main__":
    sys.exit(cli())
