"""Files with games in text notation (see `felicity_env.notation`)."""

from pathlib import Path

from agents.tools.files import write_atomically
from felicity_env.game_record import Game
from felicity_env.notation import dumps, loads


def read_game(path: Path) -> Game:
    """Read a game from a file in text notation.

    Raises `OSError` if the file cannot be read, and `ValueError` naming the file and the line if its text is wrong.
    """
    try:
        return loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_game(path: Path, game: Game, comment: str = "") -> None:
    """Write a game to a file in text notation, with a line of comment at the end if one is given."""
    text = dumps(game) + (f"\n# {comment}\n" if comment else "")
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
