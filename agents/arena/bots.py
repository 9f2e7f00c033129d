"""Folder of bots, such as those of a class or a competition: each file or package with a function `make` is a player.

A bot is a file `NAME.py`, or a folder `NAME` with an `__init__.py`, which imports its other files relatively. A file or
folder is no bot if its name begins with `_` or `.`; `_helpers.py`, for example, may hold code that several bots share.
Tables show a bot as NAME.
"""

import functools
from pathlib import Path
from typing import NamedTuple

from agents.arena.matches import Failure
from agents.registry import make


class Bots(NamedTuple):
    """Bots of a folder: the codes of those that can play, and the failures of those that cannot be made."""

    codes: tuple[str, ...]
    failures: tuple[Failure, ...]


@functools.cache
def read_bots(folder: Path) -> Bots:
    """Return which bots of a folder can play and which cannot be made; each is made once to find out.

    The bots are in the order of their names. One that cannot be made is reported as a failure, and the others play
    without it. Raises `ValueError` if the folder has no bot.
    """
    files = _list_bots(folder)
    if not files:
        raise ValueError(f"there is no bot in {folder}: no file NAME.py and no folder NAME with an __init__.py")
    codes, failures = [], []
    for file in files:
        code = f"{file}:make"
        try:
            make(code)
            codes.append(code)
        except ValueError as error:
            reason = str(error).rpartition(f"{code}: ")[2]
            failures.append(Failure(code, " ".join(reason.split()), ""))
    return Bots(tuple(codes), tuple(failures))


def _list_bots(folder: Path) -> list[Path]:
    """List the Python files of the bots in a folder, sorted by name; raise `ValueError` if it is no folder."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    entries = sorted(entry for entry in folder.iterdir() if entry.name[0] not in "._")
    files = [entry if entry.suffix == ".py" else entry / "__init__.py" for entry in entries]
    return [file for file in files if file.is_file()]
