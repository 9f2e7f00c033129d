"""Checkpoint files of training runs: everything that a run continues from, including its policy.

A checkpoint is a safetensors file with its metadata as JSON. Its name holds the number of decisions that the run has
learned from and a digest of the content, so damage is noticed. The policy in it can play without torch. No pickle is
read.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from agents.tools.files import UserError, explain_os_errors, write_atomically

CHECKPOINTS, SUFFIX = "checkpoints", ".safetensors"
CURVE = "learning_curve.json"  # file of a run folder
NUM_CHECKPOINTS = 3  # number of checkpoints in a run folder; older ones are deleted
_METADATA = "facts"  # key of the metadata in a checkpoint file


class Checkpoint(NamedTuple):
    """Content of a checkpoint: named arrays, and metadata for JSON that includes `timesteps`."""

    arrays: dict[str, np.ndarray]
    metadata: dict[str, Any]


def save_checkpoint(folder: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> Path:
    """Write a checkpoint into a run folder, delete all but the newest NUM_CHECKPOINTS, and return its path.

    Raises `UserError` if the checkpoint cannot be written; the older checkpoints are then kept.
    """
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = save(contiguous, metadata={_METADATA: json.dumps(metadata)})
    store = folder / CHECKPOINTS
    path = store / f"{metadata['timesteps']:012d}-{_digest(content)}{SUFFIX}"
    with explain_os_errors(f"cannot create {store}"):
        store.mkdir(exist_ok=True)
    write_atomically(path, lambda part: part.write_bytes(content))
    same_state = [old for old in store.glob(f"{path.name[:12]}-*{SUFFIX}") if old != path]
    for old in [*same_state, *store.glob("*.part")]:
        old.unlink(missing_ok=True)
    for old in list_checkpoints(folder)[:-NUM_CHECKPOINTS]:
        old.unlink(missing_ok=True)
    return path


def list_checkpoints(folder: Path) -> list[Path]:
    """List the checkpoint files of a run folder, oldest first."""
    paths = (folder / CHECKPOINTS).glob(f"*{SUFFIX}")
    return sorted(paths, key=lambda path: (path.name[:12], path.stat().st_mtime_ns))


def load_checkpoint(folder: Path, *, report: Callable[[str], Any]) -> Checkpoint:
    """Read the newest undamaged checkpoint of a run folder; raise `UserError` if there is none.

    report: called with a line of text about each damaged checkpoint; the damaged file is not deleted.
    """
    for path in reversed(list_checkpoints(folder)):
        try:
            return read_checkpoint(path)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            report(f"{path} is damaged: {error}; trying the one before it")
    raise UserError(f"{folder} has no undamaged checkpoint; start the run anew in another folder")


def read_checkpoint(path: Path) -> Checkpoint:
    """Read one checkpoint file; raise `ValueError` if its content does not match the digest in its name."""
    content = path.read_bytes()
    if _digest(content) not in path.name:
        raise ValueError("its content does not match the digest in its name")
    with safe_open(path, framework="numpy") as file:
        return Checkpoint(load(content), json.loads(file.metadata()[_METADATA]))


def list_below(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with `prefix`; the new names lack the prefix."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
