"""Evaluation of one player: `python -m agents evaluate RUN-OR-CODE --against anchor ev tuned`.

The player plays alone against copies of each opponent, and each opponent plays alone against copies of the player, on
the same deals. With `--sequential GAIN` a sequential probability ratio test (SPRT) asks instead whether the player is
stronger than each opponent, and stops as soon as the answer is clear.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agents.arena.estimates import Look, SequentialTest
from agents.arena.matches import Match, play_matches, summarize_pair, win_shares_against_copies
from agents.arena.report import print_failures
from agents.checkpoint_file import SUFFIX
from agents.mixture import PolicyPlayer
from agents.registry import PLAYERS, check_players, make, shorten_codes
from agents.tasks.options import Workers
from agents.tools.command import print_error
from agents.tools.files import write_json
from agents.tools.progress import PartsProgress
from agents.tools.provenance import check_replacement, describe_measurement
from agents.tools.settings import SeveralSetups, check_at_least, check_positive, choose_setups, require
from felicity_env.game import Setup
from felicity_env.random_stream import game_seed
from felicity_env.setups import STANDARD_PLAYERS, describe_setup, is_setup_name, setup_name

BLOCKS_PER_LOOK = 20
COMMAND = "agents evaluate"


@dataclass(frozen=True)
class Config(Workers, SeveralSetups):
    """Measure a player alone against copies of each opponent, and each opponent alone against copies of the player."""

    player: Annotated[str, tyro.conf.Positional]
    """Run folder of `python -m train`, finished or not, a checkpoint in it, or code of a player such as `mc:200`."""
    num_players: tuple[int, ...] = field(default=(), kw_only=True)
    """Numbers of seats, 3 to 5; each selects the standard setup with that number. Default: the setups on which a
    trained policy has learned, as far as they have names, else 3 4 5."""
    against: tuple[str, ...] = ("anchor", "ev", "tuned")
    """Codes of the opponents, separated by blanks, such as `anchor mc:200`."""
    num_deals: int = 500
    """Number of deals in each match, each played in every rotation of the seats; with --sequential, the maximum."""
    sequential: float | None = None
    """Gain in win share, such as 0.02: test whether the player is stronger by it, instead of measuring its strength."""
    seed: int = 1
    """Seed of the deals and of the players' randomness."""
    out: Path | None = None
    """Folder for `result.json`; the same command continues an interrupted evaluation there.
    With --sequential, the file is `sequential.json`, and an interrupted test starts again. Default: no files."""
    seconds_a_decision: float | None = None
    """Most seconds that a player may take for a decision; one that takes longer forfeits the game. Default: no limit.
    Compiled players have no limit. Players are interrupted only on POSIX systems; elsewhere a call ends by itself."""
    fresh: bool = False
    """Play everything again, also what is stored in --out; for a player whose changes cannot be seen in its code."""

    def __post_init__(self) -> None:
        require(bool(self.others), "--against must name another player")
        check_at_least(self, num_deals=2, seed=0)
        check_positive(
            self, *(name for name in ("sequential", "seconds_a_decision") if getattr(self, name) is not None)
        )
        gain = self.sequential
        require(gain is None or gain < 1, f"--sequential must be a gain in win share, less than 1, not {gain}")
        super().__post_init__()
        make(self.code)
        check_players(self, "against")

    @property
    def code(self) -> str:
        """Code of the player to evaluate; a run folder or a checkpoint becomes `net:PATH`."""
        path, is_code = Path(self.player), self.player.split(":")[0] in PLAYERS
        return f"net:{path}" if os.path.isdir(path) or (path.suffix == SUFFIX and not is_code) else self.player

    @property
    def setups(self) -> tuple[Setup, ...]:
        """Setups named by `setup` or `num_players`; by default those on which the player was trained, or 3 4 5."""
        trained = () if self.num_players or self.setup else find_trained_setups(self.code)
        return choose_setups(self.setup or trained, self.num_players or STANDARD_PLAYERS)

    @property
    def others(self) -> tuple[str, ...]:
        """Codes of the opponents: those of `--against`, without the player to evaluate."""
        return tuple(code for code in self.against if code != self.code)

    @property
    def resumes(self) -> bool:
        """True if an interrupted evaluation can be continued by giving the same command again."""
        return self.out is not None and self.sequential is None


def find_trained_setups(code: str) -> tuple[str, ...]:
    """Return the names of the setups on which the policy with a player code was trained; for other players, ().

    A setup that came from a JSON file is left out, because its name is in no table.
    """
    player = make(code)
    members = player.members if isinstance(player, PolicyPlayer) else ()
    stored = [member.metadata.get("setups") for member in members]
    names = [name for setups in stored if isinstance(setups, list) for name in setups if is_setup_name(name)]
    return tuple(dict.fromkeys(names))


def list_foreign_setups(config: Config) -> list[str]:
    """List the names of those setups of an evaluation on which its policy was not trained; none for other players."""
    trained = find_trained_setups(config.code)
    return [name for name in map(setup_name, config.setups) if trained and name not in trained]


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


def build_table(pairs: Sequence[dict[str, Any]]) -> Table:
    """Build a table for the terminal: win share (and margin) of one player against copies of another, for each pair.

    It fits into 80 columns; long codes of players are shortened.
    """
    setups = list(dict.fromkeys(pair["setup"] for pair in pairs))
    deals = " or ".join(map(str, sorted({pair["measures"]["win_share"]["blocks"] for pair in pairs}))) or 0
    where = f", {setups[0]}" if len(setups) == 1 else ""
    title = f"Win share of one against the rest, 95 % interval, {deals} deals{where}"
    has_margin = all("margin" in pair["measures"] for pair in pairs)
    names = shorten_codes({code for pair in pairs for code in (pair["one"], pair["rest"])})
    columns = [*(["setup"] if len(setups) > 1 else []), "one", "the rest", "win share", "interval", "par"]
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, min_width=min(len(title), 80))
    for column in [*columns, *(["margin"] if has_margin else [])]:
        is_name = column in ("one", "the rest")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    for pair in pairs:
        win_share = pair["measures"]["win_share"]
        figures = [f"{win_share['value']:.3f}", f"{win_share['low']:.3f}-{win_share['high']:.3f}", f"{pair['par']:.3f}"]
        margin = [f"{pair['measures']['margin']['value']:+.1f}"] if has_margin else []
        where = [pair["setup"]] if len(setups) > 1 else []
        table.add_row(*where, names[pair["one"]], name_rest(pair, names[pair["rest"]]), *figures, *margin)
    return table


def name_rest(pair: dict[str, Any], name: str) -> str:
    """Return the text that stands for the opponents of a single player in tables, such as `3 x ev`.

    pair: result as `summarize_pair` returns it. name: name of the player whose copies they are.
    """
    return f"{pair['num_players'] - 1} x {name}"


def compare_players(one: str, other: str, setup: Setup, config: Config) -> Look:
    """Run a sequential test (SPRT) of whether player `one` is stronger than `other`, until a verdict or the last deal.

    Each block (a deal in all rotations of the seats) counts the mean of two differences: the win share of `one` alone
    against copies of `other`, minus par (1/n); and par minus the win share of `other` alone against copies of `one`.
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
    """Run a sequential test (SPRT) of whether the player is stronger than each opponent; print and return the results.

    They are returned as they are stored in `sequential.json`.
    """
    rows = []
    for setup in config.setups:
        for other in config.others:
            look = compare_players(config.code, other, setup, config)
            verdict = f"is {look.verdict} than" if look.verdict else "is not yet known to be stronger than"
            rows.append({**describe_setup(setup), "other": other, **asdict(look)})
            where = f"by {config.sequential} of win share, after {look.blocks} deals"
            text = f"{rows[-1]['setup']}: {config.code} {verdict} {other} {where}"
            console.print(text, highlight=False)
    return rows


def evaluate_player(config: Config, console: Console) -> dict[str, Any]:
    """Measure the player, or run its sequential tests; print the results, write them to `--out`, and return them."""
    started = time.monotonic()
    if foreign := list_foreign_setups(config):
        print_error(f"{config.code} was not trained on {', '.join(foreign)}")
    name = "result.json" if config.sequential is None else "sequential.json"
    if config.out:
        check_replacement(config.out / name, COMMAND, config, print_error)
    if config.sequential is not None:
        results: dict[str, Any] = {"sequential": run_sequential_tests(config, console)}
    else:
        with TemporaryDirectory() as scratch:
            results = measure_player(config, config.out or Path(scratch) / "parts", console)
        if results["pairs"]:
            console.print(build_table(results["pairs"]))
    if config.out:
        config.out.mkdir(parents=True, exist_ok=True)
        path = config.out / name
        write_json(path, describe_measurement(COMMAND, config, started=started) | {"results": results})
        console.print(f"wrote {path}", highlight=False, soft_wrap=True)
    elif not results.get("failures"):
        console.print(f"nothing is stored; --out FOLDER writes {name}", highlight=False)
    return results


def main(config: Config) -> int:
    """Evaluate the player, and print which players forfeited games or failed, that is, raised an error.

    Returns 1 if a player failed, else 0.
    """
    results = evaluate_player(config, Console())
    return print_failures(results.get("failures", []), results.get("forfeits", []))
