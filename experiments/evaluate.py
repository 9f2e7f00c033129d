"""How strong is a player? `python -m experiments.evaluate RUN-OR-CODE --against anchor ev tuned`

The player alone against copies of each of the others, and each of the others alone against copies of it, on the same
deals. With `--sequential GAIN` it asks instead whether the player is stronger than each, and stops as soon as it can be
told (a sequential probability ratio test).
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import os
import sys
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

import agents
from agents.arena import play_blocks
from agents.estimates import Look, SequentialTest
from experiments.command import GOES_ON, NOTHING_STORED, exit_status, tell
from experiments.matches import Match, as_json, play_matches
from experiments.progress import PartsProgress
from experiments.results import provenance_of
from experiments.tournament import estimates_of
from felicity_env.game import SETUPS
from felicity_env.random_stream import game_seed
from train.checks import below, no_tables, refuse
from train.run_folder import write_json

BLOCKS_A_LOOK = 20


@dataclass(frozen=True)
class Config:
    """Measure one player against others."""

    player: Annotated[str, tyro.conf.Positional]
    """A run folder of `python -m train`, or a code."""
    against: tuple[str, ...] = ("anchor", "ev", "tuned")
    """Codes of the others; also joined by commas."""
    num_players: tuple[int, ...] = tuple(SETUPS)
    """Seats at the tables."""
    deals: int = 500
    """For each format, each under all rotations of the seats; with --sequential the most."""
    sequential: float | None = None
    """A gain in win share: stop when it is clear that the player is stronger by so much, or not stronger."""
    seed: int = 1
    """Of deals and seats."""
    out: Path | None = None
    """Folder of `result.json`, and of what an interrupted evaluation goes on from; with --sequential of
    `sequential.json` alone."""
    workers: int = os.cpu_count() or 1
    """Processes."""

    @property
    def code(self) -> str:
        """The player's code."""
        return f"net:{self.player}" if Path(self.player).is_dir() else self.player

    @property
    def table_sizes(self) -> tuple[int, ...]:
        """`num_players`, each number once."""
        return tuple(dict.fromkeys(self.num_players))

    @property
    def others(self) -> tuple[str, ...]:
        """The others one by one, without the player itself."""
        return tuple(code for word in self.against for code in word.split(",") if code not in ("", self.code))


def check(config: Config) -> None:
    """Raise `ValueError` naming what is wrong with a configuration."""
    if not config.others:
        raise ValueError("--against must name another player")
    refuse(no_tables(config.num_players), below(config, deals=2, workers=1, seed=0))
    for code in (config.code, *config.others):
        agents.make(code)


def measure(config: Config, folder: Path, console: Console) -> dict[str, Any]:
    """All measures in both formats against each of the others."""
    pairs = [
        (n, a, b) for n in config.table_sizes for o in config.others for a, b in ((config.code, o), (o, config.code))
    ]
    matches = {Match.of(one, rest, n): config.deals for n, one, rest in pairs}
    with PartsProgress(console) as progress:
        played = play_matches(
            matches, seed=config.seed, folder=folder, workers=config.workers, deals_a_part=50, report=progress.report
        )
    results = [
        {"num_players": n, "one": a, "rest": b, "par": 1 / n, "measures": estimates_of(blocks, [0])}
        for n, a, b in pairs
        if (blocks := played.blocks.get(Match.of(a, b, n)))
    ]
    return {"pairs": results, "failures": as_json(played.failures)}


def as_table(results: Sequence[dict[str, Any]]) -> Table:
    """The results of `measure` for people."""
    table = Table(title="Win share of one against the rest, 95 % interval", title_justify="left")
    for column in ("players", "one", "the rest", "win share", "interval", "par", "margin"):
        is_name = column in ("one", "the rest")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    for pair in results:
        share, margin, rest = pair["measures"]["win_share"], pair["measures"]["margin"], pair["num_players"] - 1
        interval = f"{share['low']:.3f} - {share['high']:.3f}"
        row = (str(rest + 1), pair["one"], f"{rest} x {pair['rest']}", f"{share['value']:.3f}", interval)
        table.add_row(*row, f"{pair['par']:.3f}", f"{margin['value']:+.1f}")
    return table


def is_stronger(one: str, other: str, num_players: int, config: Config) -> Look:
    """Play until it is clear whether `one` is stronger than `other`, or all deals are played.

    A block counts the mean of what `one` is above par alone against the others, and the other below par alone against
    copies of it.
    """
    test, par = SequentialTest(float(config.sequential or 0)), 1 / num_players
    seed = game_seed(config.seed, num_players, 0)
    look = test.update(np.empty(0))
    while not look.verdict and look.blocks < config.deals:
        blocks = range(look.blocks, min(look.blocks + BLOCKS_A_LOOK, config.deals))
        shares = [_shares(Match.of(*pair, num_players), blocks, seed) for pair in ((one, other), (other, one))]
        look = test.update(((shares[0] - par) + (par - shares[1])) / 2)
    return look


def _shares(match: Match, blocks: range, seed: int) -> np.ndarray:
    return play_blocks([agents.make(code) for code in match.codes], num_blocks=blocks, seed=seed).mean_of(0)


def compare(config: Config, console: Console) -> list[dict[str, Any]]:
    """The sequential test against each of the others."""
    results = []
    for n in config.table_sizes:
        for other in config.others:
            look = is_stronger(config.code, other, n, config)
            verdict = f"is {look.verdict} than" if look.verdict else "cannot be told from"
            console.print(f"{n} players: {config.code} {verdict} {other}, {look.blocks} deals", highlight=False)
            results.append({"num_players": n, "other": other, **asdict(look)})
    return results


def run(config: Config, console: Console) -> dict[str, Any]:
    """Measure or compare, and write the folder if there is one."""
    check(config)
    started = time.monotonic()
    if config.sequential is not None:
        results: dict[str, Any] = {"sequential": compare(config, console)}
    else:
        with TemporaryDirectory() as scratch:
            results = measure(config, config.out or Path(scratch) / "parts", console)
        console.print(as_table(results["pairs"]))
    if config.out:
        config.out.mkdir(parents=True, exist_ok=True)
        path = config.out / ("result.json" if config.sequential is None else "sequential.json")
        write_json(path, provenance_of("evaluate", config, started=started) | {"results": results})
        console.print(f"written to {path}", highlight=False, soft_wrap=True)
    return results


def main(config: Config) -> int:
    """Measure or compare, and tell what failed; the exit status: 1 if a player did."""
    results = run(config, Console())
    for pair in results.get("pairs", []):
        if forfeits := pair["measures"]["forfeits"]["value"]:
            rest = f"{pair['num_players'] - 1} x {pair['rest']}"
            tell(f"{pair['one']} lost {forfeits:.1%} of its games against {rest} by an illegal action")
    failures = results.get("failures", [])
    for failure in failures:
        tell(f"{failure['code']} failed: {failure['reason']}\nin the game\n{failure['game']}")
    return 1 if failures else 0


def cli(arguments: Sequence[str] | None = None) -> int:
    """Read the command line; the exit status."""
    config = tyro.cli(Config, prog="python -m experiments.evaluate", args=arguments)
    resumes = config.out is not None and config.sequential is None
    return exit_status(lambda: main(config), interrupted=GOES_ON if resumes else NOTHING_STORED)


if __name__ == "__main__":
    sys.exit(cli())
