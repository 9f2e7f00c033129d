"""Matches between players: played by several processes, stored in a folder, and resumed after an interruption.

A match has a setup and the codes of its players; the first player is the one that is measured. A match is played in
parts of some deals. Every part is stored in a file, and a part whose file exists is not played again. A part depends
only on its players, its deals, the seed and the code of the rules and the arena. The folder of a run therefore stores
the seed and a digest of that code, and the parts of a match are in a folder that is named by a digest of its players.
"""

import hashlib
import json
import multiprocessing
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from agents.arena import blocks as arena_blocks
from agents.arena.blocks import MEASURES, Blocks, estimate_measures, play_blocks
from agents.arena.games import PlayerError
from agents.registry import PLAYERS, is_search, make, player_digest
from agents.tools.files import UserError, check_same_settings, write_atomically, write_json
from agents.tools.threads import use_one_blas_thread
from felicity_env.code_digest import code_digest
from felicity_env.game import Setup
from felicity_env.player import Player
from felicity_env.random_stream import game_seed
from felicity_env.setups import describe_setup, setup_name

SEARCHES = tuple(code for code in PLAYERS if is_search(code))
Report = Callable[[int, int, float | None], None]  # called with parts done, number of parts, seconds left


@dataclass(frozen=True)
class Match:
    """Setup of a match and codes of its players; the first player is the one that is measured."""

    codes: tuple[str, ...]
    setup: Setup

    @classmethod
    def one_against(cls, one: str, rest: str, setup: Setup) -> "Match":
        """Return the match of one player against copies of another."""
        return cls((one, *[rest] * (setup.seats - 1)), setup)

    @property
    def is_pair(self) -> bool:
        """True if the first player meets copies of one other player."""
        return len(set(self.codes)) == 2 and len(set(self.codes[1:])) == 1

    @property
    def is_mixed(self) -> bool:
        """True if there are more than two players, all different."""
        return len(set(self.codes)) == self.setup.seats > 2

    def name_folder(self, digests: Mapping[str, str]) -> str:
        """Return a readable folder name, different for every match; `digests` maps each player's code to its digest."""
        words = [re.sub(r"[^A-Za-z0-9]+", "_", code)[-20:] for code in dict.fromkeys(self.codes)]
        players = "\n".join(f"{code} {digests[code]}" for code in self.codes)
        digest = hashlib.sha256(players.encode()).hexdigest()[:8]
        return "-".join([setup_name(self.setup), *words, digest])


class Part(NamedTuple):
    """Part of a match: the deals `first` to `last` - 1, and the file `path` for their results."""

    match: Match
    first: int
    last: int
    seed: int
    path: Path


class Failure(NamedTuple):
    """Failure of a player: its code, the text of the exception it raised, and the game in notation."""

    code: str
    reason: str
    game: str


@dataclass
class MatchResults:
    """Results of several matches: the blocks of each completed match, and the failures of players."""

    blocks: dict[Match, Blocks]
    failures: list[Failure]


def win_shares_against_copies(
    one: Player, rest_code: str, setup: Setup, *, num_deals: int | range, seed: int
) -> np.ndarray:
    """Play `one` alone against copies of player `rest_code`; return the win share of `one` in each block, [blocks]."""
    rest = (make(rest_code) for _ in range(setup.seats - 1))
    return play_blocks([one, *rest], num_deals=num_deals, seed=seed, setup=setup).block_means(0)


def summarize_pair(match: Match, blocks: Blocks) -> dict[str, Any]:
    """Return the result of one player alone against copies of another, with all its measures, as it is stored."""
    names = {"one": match.codes[0], "rest": match.codes[1], "par": 1 / match.setup.seats}
    return describe_setup(match.setup) | names | {"measures": estimate_measures(blocks, [0])}


# --- parts ------------------------------------------------------------------------------------------------------------


def open_folder(folder: Path, seed: int) -> None:
    """Create the folder for the results of matches, or check that an existing one can be continued.

    Raises `UserError` if it has other content, or results of another seed or of changed code.
    """
    digest = code_digest(Path(arena_blocks.__file__))
    origin = {"seed": seed, "code of the rules, the arena or a heuristic": digest}
    path = folder / "origin.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot create the folder {folder}: {error.strerror}") from error
    if path.exists():
        advice = "choose another --out, or delete it"
        check_same_settings(json.loads(path.read_text()), origin, where=folder, advice=advice)
    elif any(folder.iterdir()):
        raise UserError(f"{folder} is not empty and holds no tournament or evaluation; choose another --out")
    else:
        write_json(path, origin)


def list_parts(matches: Mapping[Match, int], *, seed: int, folder: Path, deals_per_part: int) -> list[Part]:
    """List the parts of all matches (each with its number of deals): first the first part of every match, and so on.

    In this order the time left can be estimated early.
    """
    digests = {code: player_digest(code) for code in {code for match in matches for code in match.codes}}
    parts = []
    for match, deals in matches.items():
        match_folder = folder / "parts" / match.name_folder(digests)
        for first in range(0, deals, deals_per_part):
            last = min(first + deals_per_part, deals)
            parts.append(Part(match, first, last, seed, match_folder / f"{first}-{last}.npz"))
    return sorted(parts, key=lambda part: part.first)


def play_part(part: Part) -> tuple[float, Failure | None]:
    """Play a part of a match and write its file; return the seconds it took, and the failure of a player or None."""
    started = time.monotonic()
    codes, setup = part.match.codes, part.match.setup
    try:
        seed = game_seed(part.seed, setup.seats, 0)
        deals = range(part.first, part.last)
        blocks = play_blocks([make(code) for code in codes], num_deals=deals, seed=seed, setup=setup)
    except PlayerError as error:
        return 0.0, Failure(codes[error.index], error.reason, error.text)
    part.path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(part.path, lambda path: _save(path, blocks))
    return time.monotonic() - started, None


def _save(path: Path, blocks: Blocks) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, seats=blocks.seats, rounds=blocks.rounds, **blocks.measures)  # type: ignore[arg-type]


def _load(path: Path) -> Blocks:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return Blocks({name: stored[name] for name in MEASURES}, stored["seats"], stored["rounds"])
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise UserError(f"{path} is damaged ({error}); delete it, and the same command plays it again") from error


# --- playing ----------------------------------------------------------------------------------------------------------


def play_matches(
    matches: Mapping[Match, int], *, seed: int, folder: Path, workers: int, deals_per_part: int, report: Report
) -> MatchResults:
    """Play every match with its number of deals; parts that are already stored in `folder` are not played again."""
    open_folder(folder, seed)
    parts = list_parts(matches, seed=seed, folder=folder, deals_per_part=deals_per_part)
    missing = [part for part in parts if not part.path.exists()]
    clock = _Clock(missing, len(parts), workers, report)
    failures: dict[str, Failure] = {}
    for part, seconds, failure in _play(missing, workers, lambda part: not failures.keys() & set(part.match.codes)):
        clock.count(part, seconds)
        if failure:
            failures[failure.code] = failure
    blocks = {
        match: Blocks.concatenate([_load(part.path) for part in parts if part.match == match])
        for match in matches
        if not failures.keys() & set(match.codes)
    }
    return MatchResults(blocks, list(failures.values()))


def _play(
    parts: Sequence[Part], workers: int, is_wanted: Callable[[Part], bool]
) -> Iterator[tuple[Part, float, Failure | None]]:
    """Play parts of matches in `workers` processes, without those that are no longer wanted when their turn comes."""
    if workers == 1:
        yield from ((part, *play_part(part)) for part in parts if is_wanted(part))
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker) as pool:
        try:
            yield from _play_in_pool(pool, (part for part in parts if is_wanted(part)), 2 * workers)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the process that waits for this one
    use_one_blas_thread()


def _play_in_pool(
    pool: ProcessPoolExecutor, parts: Iterable[Part], most: int
) -> Iterator[tuple[Part, float, Failure | None]]:
    """Play parts in a pool of processes; submit at most `most` at a time, so that later parts can still be left out."""
    running: dict[Future[tuple[float, Failure | None]], Part] = {}
    source = iter(parts)
    while True:
        while len(running) < most and (part := next(source, None)) is not None:
            running[pool.submit(play_part, part)] = part
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield (running.pop(future), *future.result())


class _Clock:
    """Estimator of the time left, from the seconds that the parts of each match took so far."""

    def __init__(self, missing: Sequence[Part], total: int, workers: int, report: Report) -> None:
        self.deals_left: dict[Match, int] = defaultdict(int)
        for part in missing:
            self.deals_left[part.match] += part.last - part.first
        self.seconds: dict[Match, list[float]] = defaultdict(list)  # per deal
        self.total, self.done, self.workers, self.report = total, total - len(missing), workers, report
        report(self.done, total, None)

    def count(self, part: Part, seconds: float) -> None:
        """Count a part as done, and report the number of parts done and the estimated time left."""
        deals = part.last - part.first
        self.deals_left[part.match] -= deals
        self.seconds[part.match].append(seconds / deals)
        self.done += 1
        needed = sum(deals * self._seconds_per_deal(match) for match, deals in self.deals_left.items())
        self.report(self.done, self.total, needed / self.workers)

    def _seconds_per_deal(self, match: Match) -> float:
        """Return the mean time per deal in the completed parts of a match; if it has none, in those of all matches."""
        others = (second for seconds in self.seconds.values() for second in seconds)
        return float(np.mean(self.seconds.get(match) or list(others)))
