"""Folder of bots, such as those of a class or a competition: each file or package with a function `make` is a player.

A bot is a file `NAME.py`, a folder `NAME` with an `__init__.py`, which imports its other files relatively, or the
folder of a training run. A file or folder is no bot if its name begins with `_` or `.`; `_helpers.py`, for example, may
hold code that several bots share. Tables show a bot as NAME, and a training run as net:NAME.
"""

import ast
import functools
from pathlib import Path
from typing import NamedTuple

from agents.arena.matches import Failure
from agents.checkpoint_file import list_checkpoints
from agents.policy_file import policy_json_path
from agents.registry import make


class Bots(NamedTuple):
    """Bots of a folder: the codes of those that can play, and the failures of those that cannot be made."""

    codes: tuple[str, ...]
    failures: tuple[Failure, ...]


@functools.cache
def read_bots(folder: Path) -> Bots:
    """Return which bots of a folder can play and which cannot be made; each is made once to find out.

    The bots are in the order of their names. One that cannot be made is reported as a failure, and the others play
    without it. A file that defines no name `make` is a failure, too, and is not imported, because it may be a script.
    So is a folder that is neither a package nor the folder of a training run. Raises `ValueError` if no bot of the
    folder can play.
    """
    codes, failures = [], []
    for code in _list_bots(folder):
        if reason := _find_fault(code):
            failures.append(Failure(code, reason, ""))
        else:
            codes.append(code)
    if not codes:
        found = "".join(f"\n{failure.code}: {failure.reason}" for failure in failures)
        wanted = "a bot is a file NAME.py, or a folder NAME with an __init__.py, that has a function make"
        raise ValueError(f"there is no bot in {folder} that can play; {wanted}{found}")
    return Bots(tuple(codes), tuple(failures))


def _find_fault(code: str) -> str:
    """Return in one line why a bot cannot be made, or "" if it can."""
    file = Path(code.removesuffix(":make"))
    if code.endswith("__init__.py:make") and not file.exists():
        return "the folder has no __init__.py with a function make, and is not that of a training run"
    if file.suffix == ".py" and not _defines_make(file):
        return "it has no function make"
    try:
        make(code)
    except ValueError as error:
        return " ".join(str(error).rpartition(f"{code}: ")[2].split())
    return ""


def _defines_make(file: Path) -> bool:
    """Return whether a Python file defines or imports the name `make`; True, too, if it cannot be read or parsed."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    return not names.isdisjoint(("make", "*"))  # `from .player import *` may import it


def _list_bots(folder: Path) -> list[str]:
    """List the codes of the bots in a folder, sorted by name; raise `ValueError` if it is no folder."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    entries = sorted(entry for entry in folder.iterdir() if entry.name[0] not in "._")
    return [_choose_code(entry) for entry in entries if entry.is_dir() or entry.suffix == ".py"]


def _choose_code(entry: Path) -> str:
    """Return the code of the bot that a file or folder is."""
    if not entry.is_dir():
        return f"{entry}:make"
    code = entry / "__init__.py"
    is_run = not code.exists() and (policy_json_path(entry).exists() or bool(list_checkpoints(entry)))
    return f"net:{entry}" if is_run else f"{code}:make"
