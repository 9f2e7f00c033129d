"""Question: are damaged games and files refused in one line? `python -m experiments damage`

Texts of random games are damaged in letters, words and lines. `notation.loads` must refuse a damaged text with an error
of one line that names the line of the text, or read another valid game, which must be the same after it is written and
read again. Files with a checksum (weights of policies, checkpoints, parts of matches) are damaged in bytes. Reading
one must fail with an error of one line that names the file. The command fails if anything else happens.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np

from agents.arena.blocks import Blocks
from agents.arena.matches import play_part
from agents.arena.parts import Match, Part, arena_digest, load_part, save_part
from agents.checkpoint_file import load_checkpoint, save_checkpoint
from agents.policy_file import Layers, load_policy, save_policy
from agents.tools.files import UserError
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check
from experiments.checks.random_games import random_game
from felicity_env.game import NUM_ACTIONS, Setup
from felicity_env.game_record import Game
from felicity_env.notation import dumps, loads
from felicity_env.observation import OBS_SIZE
from felicity_env.setups import SETUPS

TEXTS_A_CHUNK, FILES_A_CHUNK = 1000, 500
TEXTS_A_GAME = 20  # number of damaged texts of one game
SPELLED_OUT = Setup(seats=2, mouse_cards=(5,), bank=40, mice=23, removed=0)  # is written with all its fields
NAMES_A_LINE = re.compile(r"line \d+: |the text is empty")
LETTERS = " \n\t#|-:0123456789RDdabefilmoprstuvy\0\u00e9\u2028\ufeff"
Rng = np.random.Generator


@dataclass(frozen=True)
class Config:
    """Damage texts of games, and files with a checksum, and check that reading gives a proper error or a valid game."""

    resumes: ClassVar[bool] = True
    texts: int = 200_000
    """Number of damaged texts of games; more find rarer faults."""
    files: int = 10_000
    """Number of damaged files: policies, checkpoints and parts of matches in turn."""
    out: Path = Path("runs/damage")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_at_least(self, texts=1, files=1)


# --- texts ------------------------------------------------------------------------------------------------------------


def damage_letters(text: str, rng: Rng) -> str:
    """Return the text with one to three random letters replaced, removed or inserted."""
    letters = list(text)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(letters)))
        new = LETTERS[rng.integers(len(LETTERS))]
        letters[at] = ("", new, letters[at] + new)[rng.integers(3)]
    return "".join(letters) or " "


def damage_words(text: str, rng: Rng) -> str:
    """Return the text after one random word is replaced by another word or a number, removed, or written twice."""
    words = re.split(r"(\s+)", text)  # words at even places, what is between them at odd ones
    at, other = (2 * int(rng.integers((len(words) + 1) // 2)) for _ in range(2))
    number = str(int(rng.integers(-9, 10 ** int(rng.integers(1, 12)))))
    words[at] = (words[other], number, "", f"{words[at]} {words[at]}")[rng.integers(4)]
    return "".join(words)


def damage_lines(text: str, rng: Rng) -> str:
    """Return the text after a random line is removed, repeated or exchanged, or after the end is cut off."""
    lines = text.split("\n")
    one, other = (int(rng.integers(len(lines))) for _ in range(2))
    kind = rng.integers(4)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    elif kind == 2:
        lines[one], lines[other] = lines[other], lines[one]
    else:
        return text[: int(rng.integers(len(text)))]
    return "\n".join(lines)


TEXT_DAMAGE = {"letters": damage_letters, "words": damage_words, "lines": damage_lines}


def find_text_fault(text: str, original: Game) -> str:
    """Read the damaged text of a game, and return a phrase that says what happened.

    "refused", "another game" and "the same game" are proper results. Every other phrase is the name of a fault.
    `original` is the game whose text was damaged.
    """
    try:
        game = loads(text)
    except ValueError as error:
        is_one_line = "\n" not in str(error)
        return "refused" if is_one_line and NAMES_A_LINE.match(str(error)) else "refused without naming the line"
    except Exception as error:
        return f"raised {type(error).__qualname__}"
    if game == original:
        return "the same game"
    return "another game" if loads(dumps(game)) == game else "another game, which is lost when written"


READ_TEXTS = ("refused", "another game", "the same game")


def draw_games(rng: Rng) -> Iterator[Game]:
    """Yield random games without end, each cut off after a random number of actions.

    Their setups are the named ones and one without a name, which a text must describe field by field.
    """
    setups = (*SETUPS.values(), SPELLED_OUT)
    while True:
        game = random_game(setups[rng.integers(len(setups))], int(rng.integers(2**62))).game
        yield Game(game.setup, game.deal, game.actions[: int(rng.integers(len(game.actions) + 1))])


def check_texts(count: int, rng: Rng) -> Outcome:
    """Damage `count` texts of random games, read each of them, and return how often each result occurred."""
    found, games = Counter[str](), draw_games(rng)
    game, text = next(games), ""
    for number in range(count):
        if number % TEXTS_A_GAME == 0:
            game = next(games)
            text = dumps(game)
        damage = list(TEXT_DAMAGE.values())[rng.integers(len(TEXT_DAMAGE))]
        found[find_text_fault(damage(text, rng), game)] += 1
    return _sort_outcomes("texts", found, READ_TEXTS)


def _sort_outcomes(subject: str, found: Counter[str], good: Sequence[str]) -> Outcome:
    """Return the `Outcome` of a chunk, in which the results named in `good` are counts and all others are faults.

    `found` says how often each result occurred. `subject` is written in front of the name of each result.
    """
    counts = {f"{subject}: {name}": found[name] for name in good}
    faults = {f"{subject}: {name}": count for name, count in found.items() if name not in good}
    return Outcome(counts, faults or {f"{subject}: any fault": 0})


# --- files ------------------------------------------------------------------------------------------------------------


def flip_bits(content: bytes, rng: Rng) -> bytes:
    """Return the bytes of a file after one to three random bits are flipped."""
    spoiled = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        spoiled[rng.integers(len(spoiled))] ^= 1 << int(rng.integers(8))
    return bytes(spoiled)


def overwrite(content: bytes, rng: Rng) -> bytes:
    """Return the bytes of a file after a random stretch is overwritten with zeros or with random bytes."""
    first = int(rng.integers(len(content)))
    size = int(rng.integers(1, 600))
    new = bytes(size) if rng.random() < 0.5 else rng.bytes(size)
    return content[:first] + new[: len(content) - first] + content[first + size :]


def cut_off(content: bytes, rng: Rng) -> bytes:
    """Return the bytes of a file up to a random place. The result may be empty, and is shorter than the file."""
    return content[: int(rng.integers(len(content)))]


def lengthen(content: bytes, rng: Rng) -> bytes:
    """Return the bytes of a file after random bytes are inserted at a random place or appended."""
    at = len(content) if rng.random() < 0.5 else int(rng.integers(len(content)))
    return content[:at] + rng.bytes(int(rng.integers(1, 600))) + content[at:]


FILE_DAMAGE = (flip_bits, overwrite, cut_off, lengthen)


class DamagedFile(NamedTuple):
    """File that is to be damaged, and a function that reads it and raises an error if it notices damage."""

    path: Path
    read: Callable[[], Any]


def _make_layers(rng: Rng) -> Layers:
    sizes = (OBS_SIZE, 8, NUM_ACTIONS)
    return [
        (rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[1]).astype(np.float32))
        for shape in pairwise(sizes)
    ]


def make_policy(folder: Path, rng: Rng) -> DamagedFile:
    """Write a policy with random weights to a new folder, and return its file of weights to be damaged."""
    folder.mkdir()
    save_policy(folder, _make_layers(rng), open_mice=True, activation="tanh")
    return DamagedFile(folder / "policy.safetensors", lambda: load_policy(folder))


def make_checkpoint(folder: Path, rng: Rng) -> DamagedFile:
    """Write one checkpoint to a new run folder, and return its file to be damaged."""
    folder.mkdir()
    path = save_checkpoint(folder, {"weights": rng.normal(size=500)}, {"timesteps": int(rng.integers(10**6))})

    def read() -> Any:
        reports: list[str] = []
        try:
            return load_checkpoint(folder, report=reports.append)
        except UserError:
            raise UserError("; ".join(reports)) from None  # these lines name the file

    return DamagedFile(path, read)


def make_part(folder: Path, rng: Rng) -> DamagedFile:
    """Play a small part of a match in a random setup, write its results, and return their file to be damaged."""
    setup = list(SETUPS.values())[rng.integers(len(SETUPS))]
    match, seed = Match.one_against("anchor", "greedy", setup), int(rng.integers(2**62))
    digests, weights = ("-",) * setup.seats, ("",) * setup.seats
    part = Part(match, 0, 3, seed, digests, weights, arena_digest(), folder / "0-3.npz")
    results = play_part(part)
    assert isinstance(results, Blocks)
    save_part(part, results)
    return DamagedFile(part.path, lambda: load_part(part))


FILES = {"policies": make_policy, "checkpoints": make_checkpoint, "parts": make_part}
REFUSED = ("refused",)


def find_file_fault(file: DamagedFile) -> str:
    """Return "refused" if reading a damaged file fails with a proper error, and else the name of the fault.

    A proper error has one line and names the file or its folder.
    """
    try:
        file.read()
    except (UserError, ValueError) as error:
        is_one_line = "\n" not in str(error)
        return "refused" if is_one_line and str(file.path.parent) in str(error) else "refused without naming the file"
    except Exception as error:
        return f"raised {type(error).__qualname__}"
    return "accepted"


def check_files(kind: str, count: int, rng: Rng) -> Outcome:
    """Write `count` damaged copies of a file of one kind, read each, and return how often each result occurred.

    `kind` is "policies", "checkpoints" or "parts".
    """
    found = Counter[str]()
    with TemporaryDirectory() as parent:
        file = FILES[kind](Path(parent) / kind, rng)
        content = file.path.read_bytes()
        file.read()  # it can be read before
        for _ in range(count):
            damaged: Any = content
            while damaged == content:
                damaged = FILE_DAMAGE[rng.integers(len(FILE_DAMAGE))](content, rng)
            file.path.write_bytes(damaged)
            found[find_file_fault(file)] += 1
    return _sort_outcomes(kind, found, REFUSED)


def check_chunk(k: int, config: Config) -> Outcome:
    """Do chunk k of the check and return its result: the first chunks damage texts of games, the others files."""
    rng, of_texts = np.random.default_rng([SEEDS["damage"], k]), count_chunks(config.texts, TEXTS_A_CHUNK)
    if k < of_texts:
        return check_texts(chunk_size(config.texts, TEXTS_A_CHUNK, k), rng)
    number = k - of_texts
    return check_files(list(FILES)[number % len(FILES)], chunk_size(config.files, FILES_A_CHUNK, number), rng)


def main(config: Config) -> None:
    """Damage and read all texts and files, store the counts, and raise `UserError` if there was a fault.

    An interrupted check continues with the first chunk of texts or files that was not finished.
    """
    num_chunks = count_chunks(config.texts, TEXTS_A_CHUNK) + count_chunks(config.files, FILES_A_CHUNK)
    run_check("damage", config, lambda k: check_chunk(k, config), num_chunks, source=__file__)
