"""Matches between players, played in parts by several processes, kept on disk, taken up where they stopped.

A match is a table of codes, the first of which is the one that is measured. It is played in parts of some deals; every
part is a file, and a part that is there is not played again. What a part holds depends on the players, seed and deals
alone; a folder knows its seed, the sources of the ladder and the weights of policies, but not whether a player of one's
own has changed since.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import hashlib
import json
import multiprocessing
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

import agents
from agents.arena import MEASURES, Blocks, play_blocks
from agents.games import PlayerError
from agents.mixture import PolicyPlayer
from felicity_env import kernel
from felicity_env.random_stream import game_seed
from train.run_folder import RunError, write_atomically, write_json

PACKAGES = (Path(kernel.__file__).parent, Path(agents.__file__).parent)
SEARCHES = ("mc", "ismcts")


def is_search(*codes: str) -> bool:
    """Whether one of them takes its time."""
    return any(code.split(":")[0] in SEARCHES for code in codes)


def identity(code: str) -> str:
    """The code, and the weights that it stands for now."""
    if code.split(":")[0] != "net":
        return code
    player = agents.make(code)
    assert isinstance(player, PolicyPlayer)
    return f"{code} {player.digest}"


def digest(codes: Iterable[str]) -> str:
    """Of the codes and of the weights that they stand for now, 8 letters."""
    return hashlib.sha256("\n".join(map(identity, codes)).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Match:
    """Who sits at the table, the one that is measured first; its length is the number of players."""

    codes: tuple[str, ...]

    @classmethod
    def of(cls, one: str, rest: str, num_players: int) -> "Match":
        """One against copies of another."""
        return cls((one, *[rest] * (num_players - 1)))

    @property
    def num_players(self) -> int:
        return len(self.codes)

    @property
    def folder(self) -> str:
        """A name for files: readable, and different for different tables."""
        words = [re.sub(r"[^A-Za-z0-9]+", "_", code)[-20:] for code in dict.fromkeys(self.codes)]
        return f"{self.num_players}p-{'-'.join(words)}-{digest(self.codes)}"


class Part(NamedTuple):
    """Some deals of a match."""

    match: Match
    first: int
    last: int  # the deal after the last
    seed: int
    path: Path


class Failure(NamedTuple):
    """What a player did that ended its run."""

    code: str
    reason: str
    game: str  # in notation


@dataclass
class Played:
    """What has been played: the blocks of every finished match, and the players that failed."""

    blocks: dict[Match, Blocks]
    failures: list[Failure]


def play_part(part: Part) -> tuple[float, Failure | None]:
    """Play a part and write its file: the seconds it took, or what went wrong."""
    started = time.monotonic()
    codes = part.match.codes
    try:
        players = [agents.make(code) for code in codes]
        seed = game_seed(part.seed, len(codes), 0)
        blocks = play_blocks(players, num_blocks=range(part.first, part.last), seed=seed)
    except PlayerError as error:
        return 0.0, Failure(codes[error.place], error.reason, error.text)
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
        raise RunError(f"{path} is damaged ({error}); delete it, and it is played again") from error


def open_folder(folder: Path, seed: int) -> None:
    """Make the folder of a run, or find that it holds parts of the same seed and sources; else `RunError`."""
    origin = {"seed": seed, "sources": kernel.source_digest(*PACKAGES)}
    path = folder / "origin.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make the folder {folder}: {error.strerror}") from error
    if not path.exists():
        if any(folder.iterdir()):
            raise RunError(f"{folder} holds something else; choose another --out")
        write_json(path, origin)
    elif (stored := json.loads(path.read_text())) != origin:
        what = "seed" if stored.get("seed") != seed else "version of the players or the rules"
        raise RunError(f"{folder} holds a run with another {what}; choose another --out, or delete it")


def parts_of(matches: dict[Match, int], *, seed: int, folder: Path, deals_a_part: int) -> list[Part]:
    """All parts, the first of every match before the second of any: so the time left can soon be told."""
    parts = []
    for match, deals in matches.items():
        place = folder / "parts" / match.folder
        for first in range(0, deals, deals_a_part):
            last = min(first + deals_a_part, deals)
            parts.append(Part(match, first, last, seed, place / f"{first}-{last}.npz"))
    return sorted(parts, key=lambda part: part.first)


Report = Callable[[int, int, float | None], None]  # parts done, parts in all, seconds left


def play_matches(
    matches: dict[Match, int], *, seed: int, folder: Path, workers: int, deals_a_part: int, report: Report
) -> Played:
    """Play every match over its number of deals; what the folder holds already is not played again."""
    open_folder(folder, seed)
    parts = parts_of(matches, seed=seed, folder=folder, deals_a_part=deals_a_part)
    missing = [part for part in parts if not part.path.exists()]
    clock = _Clock(missing, len(parts), workers, report)
    failures: dict[str, Failure] = {}
    for part, seconds, failure in _results(missing, workers, lambda part: not failures.keys() & set(part.match.codes)):
        clock.finished(part, seconds)
        if failure:
            failures[failure.code] = failure
    blocks = {
        match: Blocks.joined([_load(part.path) for part in parts if part.match == match])
        for match in matches
        if not failures.keys() & set(match.codes)
    }
    return Played(blocks, list(failures.values()))


def _results(
    parts: Sequence[Part], workers: int, wanted: Callable[[Part], bool]
) -> Iterator[tuple[Part, float, Failure | None]]:
    """Play the parts that are still wanted when their turn comes."""
    if workers == 1:
        yield from ((part, *play_part(part)) for part in parts if wanted(part))
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _ignore_interrupts) as pool:
        try:
            yield from _in_pool(pool, (part for part in parts if wanted(part)), 2 * workers)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for us


def _in_pool(
    pool: ProcessPoolExecutor, parts: Iterable[Part], most: int
) -> Iterator[tuple[Part, float, Failure | None]]:
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
    """Tells the time left from what the parts of each match have taken so far."""

    def __init__(self, missing: Sequence[Part], total: int, workers: int, report: Report) -> None:
        self.left: dict[Match, int] = defaultdict(int)
        for part in missing:
            self.left[part.match] += part.last - part.first
        self.seconds: dict[Match, list[float]] = defaultdict(list)  # per deal
        self.total, self.done, self.workers, self.report = total, total - len(missing), workers, report
        report(self.done, total, None)

    def finished(self, part: Part, seconds: float) -> None:
        """A part is done."""
        deals = part.last - part.first
        self.left[part.match] -= deals
        self.seconds[part.match].append(seconds / deals)
        self.done += 1
        needed = sum(deals * self._a_deal(match) for match, deals in self.left.items())
        self.report(self.done, self.total, needed / self.workers)

    def _a_deal(self, match: Match) -> float:
        """Seconds it takes: as this match has shown, or the others so far."""
        others = (second for seconds in self.seconds.values() for second in seconds)
        return float(np.mean(self.seconds.get(match) or list(others)))


def as_json(failures: Iterable[Failure]) -> list[dict[str, str]]:
    """For result files."""
    return [failure._asdict() for failure in failures]
