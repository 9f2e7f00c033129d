"""Evaluation of one player: `python -m agents evaluate RUN-OR-CODE --against anchor ev tuned`.

The player plays alone against copies of each of the others, and each of the others alone against copies of it, on the
same deals. With `--sequential GAIN` a sequential probability ratio test asks instead whether the player is stronger
than each of the others, and stops as soon as the answer is clear.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.blocks import estimate_measures
from agents.arena.estimates import Look, SequentialTest
from agents.arena.matches import Match, list_failures, play_matches, win_shares_against_copies
from agents.registry import make
from agents.tools.command import print_error
from agents.tools.files import write_json
from agents.tools.progress import PartsProgress
from agents.tools.provenance import describe_measurement
from agents.tools.settings import check_at_least, choose_setups, require
from felicity_env.game import Setup
from felicity_env.random_stream import game_seed
from felicity_env.setups import STANDARD_PLAYERS, setup_name

BLOCKS_PER_LOOK = 20


@dataclass(frozen=True)
class Config:
    """Measure one player against others."""

    player: Annotated[str, tyro.conf.Positional]
    """A run folder of `python -m train`, or a code."""
    against: tuple[str, ...] = ("anchor", "ev", "tuned")
    """Codes of the other players, separated by blanks."""
    setup: tuple[str, ...] = ()
    """Names or JSON files of the setups to play; if none is given, the standard ones of --num-players."""
    num_players: tuple[int, ...] = STANDARD_PLAYERS
    """Numbers of players of the standard setups to play; --setup overrides it."""
    num_deals: int = 500
    """Deals for each match, each under all rotations of the seats; with --sequential the largest number."""
    sequential: float | None = None
    """Gain in win share to test for, such as 0.02; smaller gains need more deals."""
    seed: int = 1
    """Seed of the deals and of the players' randomness."""
    out: Path | None = None
    """Folder of `result.json`, where an interrupted evaluation continues; with --sequential of `sequential.json`
    alone."""
    workers: int = os.cpu_count() or 1
    """Number of processes; one per core is fastest."""

    def __post_init__(self) -> None:
        require(bool(self.others), "--against must name another player")
        check_at_least(self, num_deals=2, workers=1, seed=0)
        _ = self.setups  # raises ValueError for a setup that does not exist
        for code in (self.code, *self.others):
            make(code)

    @property
    def code(self) -> str:
        """The player's code."""
        return f"net:{self.player}" if Path(self.player).is_dir() else self.player

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The setups to play."""
        return choose_setups(self.setup, self.num_players)

    @property
    def others(self) -> tuple[str, ...]:
        """The codes of the other players."""
        return tuple(code for code in self.against if code != self.code)

    @property
    def resumes(self) -> bool:
        """True if the same command continues an interrupted evaluation."""
        return self.out is not None and self.sequential is None


def measure_player(config: Config, folder: Path, console: Console) -> dict[str, Any]:
    """Return all measures of the player alone against each of the others, and of each of the others alone."""
    pairs = [(one, rest) for other in config.others for one, rest in ((config.code, other), (other, config.code))]
    matches = [Match.one_against(*pair, setup) for setup in config.setups for pair in pairs]
    with PartsProgress(console) as progress:
        results = play_matches(
            dict.fromkeys(matches, config.num_deals),
            seed=config.seed,
            folder=folder,
            workers=config.workers,
            deals_per_part=50,
            report=progress.report,
        )
    rows = [
        {
            "setup": setup_name(match.setup),
            "num_players": match.setup.seats,
            "one": match.codes[0],
            "rest": match.codes[1],
            "par": 1 / match.setup.seats,
            "measures": estimate_measures(results.blocks[match], [0]),
        }
        for match in matches
        if match in results.blocks
    ]
    return {"pairs": rows, "failures": list_failures(results.failures)}


def build_table(pairs: Sequence[dict[str, Any]]) -> Table:
    """Return the pairs of `measure_player` as a table for the terminal."""
    table = Table(title="Win share of one against the rest, 95 % interval", title_justify="left")
    for column in ("setup", "one", "the rest", "win share", "interval", "par", "margin"):
        is_name = column in ("one", "the rest")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    for pair in pairs:
        win_share, margin = pair["measures"]["win_share"], pair["measures"]["margin"]
        interval = f"{win_share['low']:.3f}-{win_share['high']:.3f}"
        row = (pair["setup"], pair["one"], _name_rest(pair), f"{win_share['value']:.3f}", interval)
        table.add_row(*row, f"{pair['par']:.3f}", f"{margin['value']:+.1f}")
    return table


def _name_rest(pair: dict[str, Any]) -> str:
    return f"{pair['num_players'] - 1} x {pair['rest']}"


def compare_players(one: str, other: str, setup: Setup, config: Config) -> Look:
    """Play until it is clear whether `one` is stronger than `other`, or all deals are played.

    A block counts the mean of two differences: `one`, alone against the others, above par, and the other player, alone
    against copies of `one`, below par.
    """
    test, par = SequentialTest(float(config.sequential or 0)), 1 / setup.seats
    seed = game_seed(config.seed, setup.seats, 0)
    look = test.update(np.empty(0))
    while not look.verdict and look.blocks < config.num_deals:
        deals = range(look.blocks, min(look.blocks + BLOCKS_PER_LOOK, config.num_deals))
        first, second = (
            win_shares_against_copies(make(player), rest, setup, num_deals=deals, seed=seed)
            for player, rest in ((one, other), (other, one))
        )
        look = test.update(((first - par) + (par - second)) / 2)
    return look


def run_sequential_tests(config: Config, console: Console) -> list[dict[str, Any]]:
    """Return the sequential test against each of the others, and print its verdicts."""
    rows = []
    for setup in config.setups:
        for other in config.others:
            look = compare_players(config.code, other, setup, config)
            verdict = f"is {look.verdict} than" if look.verdict else "is not yet known to be stronger than"
            name = setup_name(setup)
            console.print(f"{name}: {config.code} {verdict} {other}, {look.blocks} deals", highlight=False)
            rows.append({"setup": name, "num_players": setup.seats, "other": other, **asdict(look)})
    return rows


def evaluate_player(config: Config, console: Console) -> dict[str, Any]:
    """Measure or test the player, print the results, and write them to the folder if there is one."""
    started = time.monotonic()
    if config.sequential is not None:
        results: dict[str, Any] = {"sequential": run_sequential_tests(config, console)}
    else:
        with TemporaryDirectory() as scratch:
            results = measure_player(config, config.out or Path(scratch) / "parts", console)
        console.print(build_table(results["pairs"]))
    if config.out:
        config.out.mkdir(parents=True, exist_ok=True)
        path = config.out / ("result.json" if config.sequential is None else "sequential.json")
        write_json(path, describe_measurement("agents evaluate", config, started=started) | {"results": results})
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    return results


def main(config: Config) -> int:
    """Evaluate the player and print what went wrong; return 1 if a player failed."""
    results = evaluate_player(config, Console())
    for pair in results.get("pairs", []):
        if forfeits := pair["measures"]["forfeits"]["value"]:
            print_error(f"{pair['one']} lost {forfeits:.1%} of its games against {_name_rest(pair)} by illegal actions")
    failures = results.get("failures", [])
    for failure in failures:
        print_error(f"{failure['code']} failed: {failure['reason']}\nin the game\n{failure['game']}")
    return 1 if failures else 0
