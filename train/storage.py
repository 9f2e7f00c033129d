"""Storage of runs: the run folder, checkpoints, and torch's state as named NumPy arrays.

A checkpoint is a safetensors file with its metadata as JSON. Its name holds the number of decisions learned from and a
digest of the content, so damage is noticed; if the newest one is damaged, the one before it serves. No pickle is read.
"""

import hashlib
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from agents.policy_file import Layers
from agents.tools.files import UserError, write_atomically, write_json
from agents.tools.provenance import provenance
from train.config import Config

CONFIG, CURVE, EVALUATION = "config.json", "learning_curve.json", "evaluation.json"
CHECKPOINTS, SUFFIX = "checkpoints", ".safetensors"
NUM_CHECKPOINTS = 3  # older ones are deleted
_METADATA = "facts"  # key in the file
Arrays = dict[str, np.ndarray]


# --- the run folder ---------------------------------------------------------------------------------------------------


def choose_run_folder(config: Config) -> Path:
    """Return the folder for a new run: `config.out`, or a free name in `runs/`; raise `UserError` if it exists."""
    folder = config.out or _find_free_name(config)
    if folder.exists():
        resume = f"--resume {shlex.quote(str(folder))}"
        raise UserError(f"{folder} exists already; choose another --out, or continue the run in it with {resume}")
    return folder


def create_run_folder(config: Config) -> Path:
    """Create the folder of a new run with its config.json, and return it; `--resume` then starts the run.

    Raises `UserError` if that is impossible; an existing folder is never touched.
    """
    folder = choose_run_folder(config)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"cannot create the run folder {folder}: {error.strerror}") from error
    try:
        write_json(folder / CONFIG, {"config": config.to_json(), **provenance()})
    except UserError:
        folder.rmdir()
        raise
    return folder


def _find_free_name(config: Config) -> Path:
    seats = "-".join(str(setup.seats) for setup in config.setups)
    stem = f"{seats}p-seed{config.seed}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = 0
    while (folder := Path("runs") / (f"{stem}-{taken}" if taken else stem)).exists():
        taken += 1
    return folder


# --- checkpoints ------------------------------------------------------------------------------------------------------


class Checkpoint(NamedTuple):
    """State of a run: arrays, and metadata that JSON can hold, `timesteps` among it."""

    arrays: Arrays
    metadata: dict[str, Any]


def save_checkpoint(folder: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> Path:
    """Write a checkpoint into a run folder and delete the oldest; raise `UserError`, deleting none, if it cannot."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = safetensors.numpy.save(contiguous, metadata={_METADATA: json.dumps(metadata)})
    store = folder / CHECKPOINTS
    path = store / f"{metadata['timesteps']:012d}-{_digest(content)}{SUFFIX}"
    try:
        store.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot create {store}: {error.strerror}") from error
    write_atomically(path, lambda part: part.write_bytes(content))
    same_state = [old for old in store.glob(f"{path.name[:12]}-*{SUFFIX}") if old != path]
    for old in [*same_state, *store.glob("*.part")]:
        old.unlink(missing_ok=True)
    for old in list_checkpoints(folder)[:-NUM_CHECKPOINTS]:
        old.unlink(missing_ok=True)
    return path


def list_checkpoints(folder: Path) -> list[Path]:
    """List the checkpoints of a run folder, oldest first."""
    paths = (folder / CHECKPOINTS).glob(f"*{SUFFIX}")
    return sorted(paths, key=lambda path: (path.name[:12], path.stat().st_mtime_ns))


def load_checkpoint(folder: Path, *, report: Callable[[str], Any]) -> Checkpoint:
    """Read the newest undamaged checkpoint; `report` is called with a line about each damaged one, which stays.

    Raises `UserError` if there is none.
    """
    for path in reversed(list_checkpoints(folder)):
        try:
            return _read_checkpoint(path)
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            report(f"{path} is damaged: {error}; trying the one before it")
    raise UserError(f"{folder} has no undamaged checkpoint; start the run anew in another folder")


def _read_checkpoint(path: Path) -> Checkpoint:
    content = path.read_bytes()
    if _digest(content) not in path.name:
        raise ValueError("its content does not match the digest in its name")
    with safe_open(path, framework="numpy") as file:
        return Checkpoint(safetensors.numpy.load(content), json.loads(file.metadata()[_METADATA]))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@contextmanager
def explain_mismatch(folder: Path) -> Iterator[None]:
    """Turn errors in restoring a checkpoint into a `UserError` of one line."""
    try:
        yield
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise UserError(f"the checkpoint in {folder} does not fit the run's config.json: {error}") from error


# --- torch's state as arrays ------------------------------------------------------------------------------------------


def tensors_to_arrays(prefix: str, tensors: Mapping[str, Tensor]) -> Arrays:
    """Copy tensors to arrays with a prefix before their names."""
    return {prefix + name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def arrays_to_tensors(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Copy the arrays with a prefix to tensors named without it."""
    chosen = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): torch.from_numpy(array.copy()) for name, array in chosen.items()}


def optimizer_to_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """Copy the optimiser's state of each parameter to arrays."""
    arrays: Arrays = {}
    for number, state in optimizer.state_dict()["state"].items():
        arrays |= tensors_to_arrays(f"optimizer.{number}.", state)
    return arrays


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the optimiser's state from `optimizer_to_arrays`."""
    states: dict[int, dict[str, Tensor]] = {}
    for name, tensor in arrays_to_tensors("optimizer.", arrays).items():
        number, _, key = name.partition(".")
        states.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict(optimizer.state_dict() | {"state": states})


def layers_to_arrays(policies: Sequence[Layers]) -> Arrays:
    """Name the layers of past policies."""
    arrays: Arrays = {}
    for k, layers in enumerate(policies):
        for j, (weight, bias) in enumerate(layers):
            arrays |= {f"past.{k}.{j}.weight": weight, f"past.{k}.{j}.bias": bias}
    return arrays


def arrays_to_layers(arrays: Mapping[str, np.ndarray]) -> Iterator[Layers]:
    """Yield the layers of each past policy from `layers_to_arrays`."""
    k = 0
    while f"past.{k}.0.weight" in arrays:
        layers, j = [], 0
        while f"past.{k}.{j}.weight" in arrays:
            layers.append((arrays[f"past.{k}.{j}.weight"], arrays[f"past.{k}.{j}.bias"]))
            j += 1
        yield layers
        k += 1
