"""Files of matches that are played in parts, so that an interrupted tournament continues where it stopped.

A part is some deals of a match. Its file says exactly what it holds: codes and digests of the players, setup, deals,
seed, and the code of the rules and the arena. A file is refused if it holds the results of anything else. It is an
archive of arrays (.npz), followed by the SHA-256 checksum of the archive.
"""

import hashlib
import io
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.arena import blocks as arena_blocks
from agents.arena.blocks import MEASURES, Blocks
from agents.arena.games import ROUND, Forfeit
from agents.identity import Identity, identify_player
from agents.player_names import name_player, shorten_codes
from agents.tools.files import (
    LOCK,
    UserError,
    check_same_settings,
    describe_error,
    lock_folder,
    write_atomically,
    write_json,
)
from felicity_env.code_digest import code_digest
from felicity_env.game import MAX_ROUNDS, Setup
from felicity_env.setups import setup_name

_CODE = "code of the rules, the arena or a heuristic"  # key of a digest, as error messages name it
_ORIGIN, _PARTS = "origin.json", "parts"
_CHECKSUM_SIZE = 32
_ABOUT, _FORFEITS = "about", "why_forfeited"  # arrays in the file of a part that hold JSON


@dataclass(frozen=True)
class Match:
    """Match between players: its setup and the codes of its players, the first of which is measured."""

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
    """Part of a match: the deals `first` to `last` - 1, and the file `path` for their results.

    digests: digest of each player, in the order of the match's codes. weights: text that identifies the weights of each
    player, as `identify_weights` returns it. code: digest of the rules and the arena. seconds: most seconds for a
    decision, or None.
    """

    match: Match
    first: int
    last: int
    seed: int
    digests: tuple[str, ...]
    weights: tuple[str, ...]
    code: str
    path: Path
    seconds: float | None = None

    def describe(self) -> dict[str, Any]:
        """Return all that the results of this part depend on, as values for JSON, to recognise outdated ones."""
        return {
            "players": [list(pair) for pair in zip(self.match.codes, self.digests, strict=True)],
            "setup": json.loads(json.dumps(asdict(self.match.setup))),
            "deals": [self.first, self.last],
            "seed": self.seed,
            _CODE: self.code,
            "seconds a decision": self.seconds,
        }


def arena_digest() -> str:
    """Return the digest of the code of the rules, the arena and the compiled heuristics."""
    return code_digest(Path(arena_blocks.__file__))


# --- the folder -------------------------------------------------------------------------------------------------------


@contextmanager
def open_folder(
    folder: Path, seed: int, codes: Iterable[str], *, fresh: bool, report: Callable[[str], Any]
) -> Iterator[dict[str, Identity]]:
    """Create and lock the folder for the results of matches, or continue an existing one; yield who the players are.

    They are {code: identity}. A player that has changed since is reported by name, and its games are played again.
    fresh: delete all results in the folder first. Raises `UserError` if another process is at work there, or if the
    folder has other content, or results of another seed or of changed code.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_foreign = not (folder / _ORIGIN).exists() and any(entry.name != LOCK for entry in folder.iterdir())
    except FileExistsError:
        raise UserError(f"--out must be a folder, but {folder} is a file") from None
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error
    if is_foreign:
        raise UserError(f"{folder} is not empty and holds no tournament or evaluation; choose another --out")
    with lock_folder(folder):
        origin = {"seed": seed, _CODE: arena_digest()}
        players = {code: identify_player(code) for code in sorted(set(codes))}
        if fresh:
            shutil.rmtree(folder / _PARTS, ignore_errors=True)
        known = {} if fresh else _read_players(folder, origin)
        report_changes(players, known, report)
        digests = {code: player.digest for code, player in players.items()}
        write_json(folder / _ORIGIN, origin | {"players": {**known, **digests}})
        yield players


def report_changes(players: Mapping[str, Identity], known: Mapping[str, str], report: Callable[[str], Any]) -> None:
    """Name each player that has changed since it played, and in one line those whose changes are not all seen.

    known: {code: digest} of the players that have played.
    """
    unseen: dict[str, list[str]] = defaultdict(list)
    for code in sorted(players.keys() & known.keys()):
        if players[code].digest != known[code]:
            report(f"{name_player(code)} has changed since it played here: its games are played again")
        elif players[code].unseen:
            unseen[players[code].unseen].append(code)
    for what, codes in unseen.items():
        names = ", ".join(shorten_codes(codes).values())
        report(f"{names}{', each' if len(codes) > 1 else ''}: {what}; --fresh plays everything again")


def _read_players(folder: Path, origin: Mapping[str, Any]) -> dict[str, str]:
    """Return {code: digest} of the players that have already played in a folder of matches.

    origin: seed and digest of the code. Raises `UserError` if the results in the folder have another origin, or if the
    file that says so is damaged.
    """
    path = folder / _ORIGIN
    if not path.exists():
        return {}
    advice = "choose another --out, delete it, or use --fresh to play everything again"
    try:
        stored = json.loads(path.read_text())
        players = dict(stored.pop("players", {}))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {describe_error(error)}; {advice}") from error
    check_same_settings(stored, origin, where=folder, advice=advice)
    return players


# --- parts ------------------------------------------------------------------------------------------------------------


def list_parts(
    matches: Mapping[Match, int],
    players: Mapping[str, Identity],
    *,
    seed: int,
    folder: Path,
    deals_per_part: int,
    seconds: float | None = None,
) -> list[Part]:
    """List the parts of all matches, beginning with the first part of every match, then the second of each, ...

    In this order the time left can be estimated early. matches: each match with its number of deals. players: {code:
    identity} of all players.
    """
    code, parts = arena_digest(), []
    digests = {player: identity.digest for player, identity in players.items()}
    for match, deals in matches.items():
        match_folder = folder / _PARTS / match.name_folder(digests)
        of_players = tuple(digests[player] for player in match.codes)
        weights = tuple(players[player].weights for player in match.codes)
        for first in range(0, deals, deals_per_part):
            last = min(first + deals_per_part, deals)
            path = match_folder / f"{first}-{last}.npz"
            parts.append(Part(match, first, last, seed, of_players, weights, code, path, seconds))
    return sorted(parts, key=lambda part: part.first)


def save_part(part: Part, blocks: Blocks) -> None:
    """Write the results of a part to its file, with the match, deals, players and code that they come from."""
    texts = {_ABOUT: _to_bytes(part.describe()), _FORFEITS: _to_bytes(blocks.forfeits)}
    arrays = {**texts, "seats": blocks.seats, "rounds": blocks.rounds, **blocks.measures}
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)  # type: ignore[arg-type]
    content = archive.getvalue() + _checksum(archive.getvalue())
    part.path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(part.path, lambda path: path.write_bytes(content))


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _read_archive(path: Path) -> io.BytesIO:
    """Return the archive in the file of a part; raise `ValueError` if it does not match its checksum."""
    content = path.read_bytes()
    archive, checksum = content[:-_CHECKSUM_SIZE], content[-_CHECKSUM_SIZE:]
    if _checksum(archive) != checksum:
        raise ValueError("its content does not match its checksum")
    return io.BytesIO(archive)


def _to_bytes(values: Any) -> np.ndarray:
    """Convert values to JSON text and return its bytes, uint8 [N]."""
    return np.frombuffer(json.dumps(values).encode(), np.uint8)


def load_part(part: Part) -> Blocks:
    """Read the results of a part of a match from its file.

    Raises `UserError` naming the file if it is damaged or holds the results of anything else.
    """
    advice = "delete it, and the same command plays it again"
    try:
        with np.load(_read_archive(part.path), allow_pickle=False) as stored:
            about = json.loads(stored[_ABOUT].tobytes())
            forfeits = tuple(Forfeit(*entry) for entry in json.loads(stored[_FORFEITS].tobytes()))
            blocks = Blocks({name: stored[name] for name in MEASURES}, stored["seats"], stored["rounds"], forfeits)
    except Exception as error:  # a damaged zip archive raises anything
        raise UserError(f"{part.path} is damaged ({type(error).__name__}: {error}); {advice}") from error
    check_same_settings(about, part.describe(), where=part.path, advice=advice)
    if not _fits(blocks, part):
        raise UserError(f"{part.path} is damaged: its arrays have wrong shapes; {advice}")
    return blocks


def _fits(blocks: Blocks, part: Part) -> bool:
    """Return whether the arrays of a part have the shapes and types that its numbers of deals and seats require."""
    deals, seats = part.last - part.first, part.match.setup.seats
    expected = dict.fromkeys(MEASURES, ((deals, seats, seats), np.float64))
    arrays = {**blocks.measures, "seats": blocks.seats, "rounds": blocks.rounds}
    expected |= {"seats": ((deals, seats, seats), np.int64), "rounds": ((deals, seats, MAX_ROUNDS), ROUND)}
    return all((arrays[name].shape, arrays[name].dtype) == form for name, form in expected.items())
