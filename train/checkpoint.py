"""Checkpoints one can rely on: whole or not there, with a checksum, the last three kept, read without any pickle.

A checkpoint is a safetensors file with numbers and text beside the arrays as JSON. Its name holds how far the run was
and a digest of the content, so that damage shows; if the newest is damaged the one before it serves.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from train.run_folder import RunError, write_atomically

FOLDER, SUFFIX = "checkpoints", ".safetensors"
KEPT = 3
_FACTS = "facts"


class Checkpoint(NamedTuple):
    """What a run goes on from."""

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]  # whatever JSON can hold; `timesteps` among it


def save(folder: Path, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> Path:
    """Write a checkpoint into the run `folder`; raises `RunError`, leaving the older ones as they are, if it cannot."""
    whole = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = safetensors.numpy.save(whole, metadata={_FACTS: json.dumps(facts)})
    store = folder / FOLDER
    path = store / f"{facts['timesteps']:012d}-{_digest(content)}{SUFFIX}"
    try:
        store.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make {store}: {error.strerror}") from error
    write_atomically(path, lambda part: part.write_bytes(content))
    again = [old for old in store.glob(f"{path.name[:12]}-*{SUFFIX}") if old != path]  # the same state, saved before
    for old in [*again, *store.glob("*.part")]:
        old.unlink(missing_ok=True)
    for old in checkpoints(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """Those of the run `folder`, oldest first."""
    return sorted((folder / FOLDER).glob(f"*{SUFFIX}"), key=lambda path: (path.name[:12], path.stat().st_mtime_ns))


def load(folder: Path, *, say: Callable[[str], Any]) -> Checkpoint:
    """The newest checkpoint that is whole; `say` hears of damaged ones, which are left as they are.

    Raises `RunError` if there is none.
    """
    for path in reversed(checkpoints(folder)):
        try:
            return _read(path)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            say(f"{path} is damaged: {error}; trying the one before it")
    raise RunError(f"{folder} has no checkpoint that is whole: begin the run anew")


def _read(path: Path) -> Checkpoint:
    content = path.read_bytes()
    if _digest(content) not in path.name:
        raise ValueError("its content is not what its name says")
    arrays = safetensors.numpy.load(content)
    header_size = int.from_bytes(content[:8], "little")  # the format: length, JSON header, arrays
    header = json.loads(content[8 : 8 + header_size])
    return Checkpoint(arrays, json.loads(header["__metadata__"][_FACTS]))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
