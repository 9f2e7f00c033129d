"""Identity of a player: digests of its program, its settings and its weights."""

import hashlib
import importlib
import inspect
from pathlib import Path
from typing import NamedTuple

from agents.own_code import import_own
from agents.registry import PLAYERS, SERVERS, make, parse_code
from felicity_env.code_digest import code_digest
from felicity_env.player import Player


class Identity(NamedTuple):
    """Identity of a player: what its decisions depend on, as a digest, and what the digest omits."""

    digest: str  # 8 hex digits
    unseen: str  # "" if the digest sees everything
    weights: str  # text that identifies the weights, as `identify_weights` returns it


def identify_player(code: str) -> Identity:
    """Return the identity of a player: a digest of its program, settings and weights, and what the digest omits.

    The program is the Python code of the player's module and of all that it imports from its own folder and from this
    project. If the player is a folder with an `__init__.py`, all its files count. Weights count if the player has a
    method `digest()` that returns text. Raises `ValueError` as `make` does.
    """
    name, player = parse_code(code)[0], make(code)
    is_own = name not in PLAYERS
    source = inspect.getsourcefile(import_own(name) if is_own else importlib.import_module(PLAYERS[name].module))
    weights = identify_weights(player)
    files = _digest_files(Path(name).parent) if _is_folder(name) else ""
    content = "\n".join([code, code_digest(Path(source)) if source else "", weights, files])
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    return Identity(digest, _find_unseen(name, has_digest=bool(weights)), weights)


def _is_folder(name: str) -> bool:
    """Return whether a player, given by the part of its code before the colon, is a user's folder."""
    return Path(name).name == "__init__.py"


def _digest_files(folder: Path) -> str:
    """Return a digest of the contents of all files in a folder but hidden ones and those that Python writes."""
    names = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    counted = [name for name in names if not any(part[0] == "." or part == "__pycache__" for part in name.parts)]
    digests = (f"{name}\0{hashlib.sha256((folder / name).read_bytes()).hexdigest()}" for name in counted)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _find_unseen(name: str, *, has_digest: bool) -> str:
    """Return a line about what the digest of a player omits, given its name, or "" if it omits nothing."""
    if name in SERVERS:
        return "its settings are as before; whether its server still has the same model is not seen"
    if name in PLAYERS or has_digest or _is_folder(name):
        return ""
    return "its code is as before; files that it reads are not compared, unless it has a method digest()"


def identify_weights(player: Player) -> str:
    """Return the text by which a player's method `digest()` identifies its weights, or "" if it has no such method."""
    get_digest = getattr(player, "digest", None)
    return str(get_digest()) if callable(get_digest) else ""
