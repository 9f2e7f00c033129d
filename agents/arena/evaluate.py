"""Evaluation of one player: `python -m agents evaluate RUN-OR-CODE --against anchor ev tuned`.

The player plays alone against copies of each opponent, and each opponent plays alone against copies of the player, on
the same deals. With `--sequential GAIN` a sequential probability ratio test (SPRT) asks instead whether the player is
stronger than each opponent, and stops as soon as the answer is clear.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

from agents.arena.blocks import Blocks
from agents.arena.estimates import Look, SequentialTest
from agents.arena.matches import Failure, Match, MatchResults, play_matches, play_part, summarize_pair
from agents.arena.parts import Part, list_parts
from agents.arena.report import build_pair_tables, print_failures
from agents.arena.time_left import Report
from agents.checkpoint_file import SUFFIX
from agents.identity import Identity, identify_player
from agents.player_names import shorten_codes
from agents.registry import PLAYERS, check_players, make
from agents.tasks.options import Workers
from agents.tools.command import print_error
from agents.tools.files import write_json
from agents.tools.progress import PartsProgress
from agents.tools.provenance import check_replacement, describe_measurement
from agents.tools.settings import (
    SeveralSetups,
    TimeLimit,
    check_at_least,
    check_positive,
    choose_setups,
    require,
)
from agents.trained_setups import find_trained_setups, warn_of_untrained
from felicity_env.game import Setup
from felicity_env.setups import STANDARD_PLAYERS, describe_setup, setup_name

BLOCKS_PER_LOOK = 20
COMMAND = "agents evaluate"


@dataclass(frozen=True)
class Config(Workers, TimeLimit, SeveralSetups):
    """Measure a player alone against copies of each opponent, and each opponent alone against copies of the player."""

    player: Annotated[str, tyro.conf.Positional]
    """Run folder of `python -m train`, finished or not, a checkpoint in it, or code of a player such as `mc:200`."""
    num_players: tuple[int, ...] = field(default=(), kw_only=True)
    """Numbers of seats, 3 to 5; each selects the standard setup with that number. Default: the setups on which a
    trained policy has learned, else 3 4 5."""
    against: tuple[str, ...] = ("anchor", "ev", "tuned")
    """Codes of the opponents, separated by blanks, such as `anchor mc:200`."""
    num_deals: int = 500
    """Number of deals in each match, each played in every rotation of the seats; with --sequential, the maximum."""
    sequential: float | None = None
    """Gain in win share, such as 0.02: test this gain against none, instead of measuring the player's strength."""
    seed: int = 1
    """Seed of the deals and of the players' randomness."""
    out: Path | None = None
    """Folder for `result.json`; the same command continues an interrupted evaluation there.
    With --sequential, the file is `sequential.json`, and an interrupted test starts again. Default: no files."""
    fresh: bool = False
    """Play everything again, also what is stored in --out; for a player whose changes cannot be seen in its code."""

    def __post_init__(self) -> None:
        require(bool(self.others), "--against must name another player")
        check_at_least(self, num_deals=2, seed=0)
        self.check_time_limit()
        gain = self.sequential
        if gain is not None:
            check_positive(self, "sequential")
            self._refuse_unused_options()
        require(gain is None or gain < 1, f"--sequential must be a gain in win share, less than 1, not {gain}")
        super().__post_init__()
        make(self.code)
        check_players(self, "against")

    def _refuse_unused_options(self) -> None:
        """Raise `ValueError` if options are given that a sequential test would not use."""
        given = {
            "--workers": self.workers not in (1, Workers.workers),
            "--ray": self.ray is not None,
            "--fresh": self.fresh,
        }
        unused = " and ".join(option for option, is_given in given.items() if is_given)
        require(not unused, f"--sequential plays everything anew in one process: leave out {unused}")

    @property
    def code(self) -> str:
        """Code of the player to evaluate; a run folder or a checkpoint becomes `net:PATH`."""
        path, is_code = Path(self.player), self.player.split(":")[0] in PLAYERS
        return f"net:{path}" if os.path.isdir(path) or (path.suffix == SUFFIX and not is_code) else self.player

    @property
    def setups(self) -> tuple[Setup, ...]:
        """Setups named by `setup` or `num_players`; by default those on which the player was trained, or 3 4 5."""
        trained = () if self.num_players or self.setup else find_trained_setups(self.code)
        return trained or choose_setups(self.setup, self.num_players or STANDARD_PLAYERS)

    @property
    def others(self) -> tuple[str, ...]:
        """Codes of the opponents: those of `--against`, without the player to evaluate."""
        return tuple(dict.fromkeys(code for code in self.against if code != self.code))

    @property
    def resumes(self) -> bool:
        """True if an interrupted evaluation can be continued by giving the same command again."""
        return self.out is not None and self.sequential is None


def measure_player(config: Config, folder: Path, console: Console) -> dict[str, Any]:
    """Measure the player alone against copies of each opponent, and each opponent alone against copies of the player.

    Returns the measures of each pair, and the players that failed, as they are stored in `result.json`.
    """
    codes = [pair for other in config.others for pair in ((config.code, other), (other, config.code))]
    matches = [Match.one_against(*pair, setup) for setup in config.setups for pair in codes]
    with PartsProgress(console) as progress:
        results = play_matches(
            dict.fromkeys(matches, config.num_deals),
            seed=config.seed,
            folder=folder,
            fresh=config.fresh,
            seconds=config.seconds_a_decision,
            **config.spread,
            deals_per_part=50,
            report=progress.report,
        )
    pairs = [summarize_pair(match, results.blocks[match]) for match in matches if match in results.blocks]
    failures = [failure._asdict() for failure in results.failures]
    return {"pairs": pairs, "failures": failures, "forfeits": results.list_forfeits()}


def compare_players(
    matches: Sequence[Match], players: Mapping[str, Identity], config: Config, report: Report
) -> tuple[Look, MatchResults]:
    """Run a sequential test (SPRT) of whether a player is stronger than another, until a verdict or the last deal.

    matches: the player alone against copies of the other, and the other alone against copies of the player. players:
    {code: identity}. report: called with the number of deals played, their maximum, and None. Each block (a deal in all
    rotations of the seats) counts the mean of two differences: the player's win share in the first match minus par
    (1/n), and par minus the other's win share in the second match. The test also ends if a player fails.
    """
    sizes: dict[str, Any] = {"deals_per_part": BLOCKS_PER_LOOK, "seconds": config.seconds_a_decision}
    deals = dict.fromkeys(matches, config.num_deals)
    parts = list_parts(deals, players, seed=config.seed, folder=Path(), **sizes)  # nothing is written there
    test, par = SequentialTest(float(config.sequential or 0)), 1 / matches[0].setup.seats
    look, played, failures = test.update(np.empty(0)), [], []
    report(0, config.num_deals, None)
    for both in zip(parts[::2], parts[1::2], strict=True):
        blocks, failures = _play_parts(both)
        if failures:
            break
        played.append(blocks)
        first, second = (each.block_means(0) for each in blocks)
        look = test.update(((first - par) + (par - second)) / 2)
        report(look.blocks, config.num_deals, None)
        if look.verdict:
            break
    of_match = {match: Blocks.concatenate(blocks) for match, *blocks in zip(matches, *played, strict=True) if blocks}
    return look, MatchResults(of_match, failures)


def _play_parts(parts: Sequence[Part]) -> tuple[list[Blocks], list[Failure]]:
    """Play parts of matches until a player fails, and return the blocks of each and the failure."""
    blocks: list[Blocks] = []
    for part in parts:
        outcome = play_part(part)
        if isinstance(outcome, Failure):
            return blocks, [outcome]
        blocks.append(outcome)
    return blocks, []


def run_sequential_tests(config: Config, console: Console) -> dict[str, Any]:
    """Run a sequential test (SPRT) of whether the player is stronger than each opponent; print and return the results.

    They are returned as they are stored in `sequential.json`.
    """
    players = {code: identify_player(code) for code in (config.code, *config.others)}
    names, rows, results = shorten_codes(players), [], MatchResults({}, [])
    for setup, other in product(config.setups, config.others):
        if {config.code, other} & {failure.code for failure in results.failures}:
            continue
        matches = [Match.one_against(*pair, setup) for pair in ((config.code, other), (other, config.code))]
        with PartsProgress(console, unit=f"deals against {names[other]}, {setup_name(setup)}") as progress:
            look, played = compare_players(matches, players, config, progress.report)
        results.blocks |= played.blocks
        results.failures += played.failures
        if not played.failures:
            rows.append({**describe_setup(setup), "other": other, **asdict(look)})
            console.print(_describe_look(look, (names[config.code], names[other]), setup, config), highlight=False)
    failures = [failure._asdict() for failure in results.failures]
    return {"sequential": rows, "failures": failures, "forfeits": results.list_forfeits()}


def _describe_look(look: Look, names: tuple[str, str], setup: Setup, config: Config) -> str:
    """Describe the verdict of a sequential test in a sentence. names: short names of the player and of the other."""
    verdict = f"is {look.verdict} than" if look.verdict else "is not yet known to be stronger than"
    test = f"the test compares a lead of {config.sequential} of win share with none"
    return f"{setup_name(setup)}: {names[0]} {verdict} {names[1]}, after {look.blocks} deals; {test}"


def evaluate_player(config: Config, console: Console) -> dict[str, Any]:
    """Measure the player, or run its sequential tests; print the results, write them to `--out`, and return them."""
    started = time.monotonic()
    warn_of_untrained((config.code, *config.others), config.setups)
    name = "result.json" if config.sequential is None else "sequential.json"
    if config.out:
        check_replacement(config.out / name, COMMAND, config, print_error)
    if config.sequential is not None:
        results = run_sequential_tests(config, console)
    else:
        with TemporaryDirectory() as scratch:
            results = measure_player(config, config.out or Path(scratch) / "parts", console)
        if results["pairs"]:
            console.print(build_pair_tables(results["pairs"]))
    if config.out:
        config.out.mkdir(parents=True, exist_ok=True)
        path = config.out / name
        write_json(path, describe_measurement(COMMAND, config, started=started) | {"results": results})
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    elif not results["failures"]:
        console.print(f"nothing is stored; --out FOLDER writes {name}", highlight=False)
    return results


def main(config: Config) -> int:
    """Evaluate the player, and print which players forfeited games or failed, by an error or by ending their process.

    Returns 1 if a player failed, else 0.
    """
    results = evaluate_player(config, Console())
    status = print_failures(results["failures"], results["forfeits"])
    if status and not (results.get("pairs") or results.get("sequential")):
        print_error("nothing is measured, because no match could be played to the end without them")
    return status
