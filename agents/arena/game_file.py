"""Files with games in text notation (see `felicity_env.notation`), and with the names of their players in a comment."""

import re
from collections.abc import Sequence
from pathlib import Path

from agents.player_names import list_short_names
from agents.tools.files import write_text
from felicity_env.game_record import Game
from felicity_env.notation import dumps, loads


def read_game(path: Path) -> Game:
    """Read a game from a file in text notation.

    Raises `OSError` if the file cannot be read, and `ValueError` naming the file and the line if its text is wrong.
    """
    try:
        return loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def format_game(game: Game, players: Sequence[str], *notes: str) -> str:
    """Return a game in text notation, with the names of its players by seat and notes in a comment."""
    comment = "; ".join([f"players: {', '.join(players)}", *notes])
    return f"{dumps(game)}\n# {comment}\n"


def write_game(path: Path, game: Game, players: Sequence[str], *notes: str) -> None:
    """Write a game to a file, as `format_game` returns it."""
    write_text(path, format_game(game, players, *notes))


def read_players(path: Path, seats: int) -> tuple[str, ...]:
    """Return the names of the players that `write_game` wrote, by seat, or () if the file does not name all of them."""
    names = tuple(_read_comment(path, r"players: ([^;\n]*)").split(", "))
    return names if len(names) == seats else ()


def read_names(path: Path, seats: int) -> tuple[str, ...]:
    """Return short names of the players in a file, by seat, for pictures; () if the file does not name all of them."""
    return list_short_names(read_players(path, seats))


def read_seed(path: Path) -> int | None:
    """Return the seed that `write_game` wrote as the note `seed 5`, or None if the file does not have it."""
    found = _read_comment(path, r".*; seed (\d{1,18})")
    return int(found) if found else None


def _read_comment(path: Path, pattern: str) -> str:
    """Return what the group of a pattern matches in a comment of a file, or "" if there is no such comment."""
    found = re.search(rf"^# {pattern}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return found[1].strip() if found else ""
