"""Storage of training runs: run folders, and weights and optimizer state as the named NumPy arrays of checkpoints."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from agents.checkpoint_file import list_below
from agents.tools.files import UserError, explain_os_errors, write_json
from agents.tools.provenance import provenance
from felicity_env.setups import setup_name
from train.config import Config

CONFIG, EVALUATION, POLICIES = "config.json", "evaluation.json", "policies"
Arrays = dict[str, np.ndarray]


# --- the run folder ---------------------------------------------------------------------------------------------------


def choose_run_folder(config: Config) -> Path:
    """Return the path for the folder of a new training run: `config.out`, or an unused name in `runs/`.

    Raises `UserError` if the path exists and is not an empty folder.
    """
    folder = config.out or _find_free_name(config)
    if (folder / CONFIG).exists():
        resume = f"--resume {shlex.quote(str(folder))}"
        raise UserError(f"{folder} exists already; choose another --out, or continue the run in it with {resume}")
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; choose another --out")
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty and holds no run; choose another --out")
    return folder


def create_run_folder(config: Config) -> Path:
    """Create the folder of a new training run with its config.json, and return the path of the folder.

    `python -m train --resume FOLDER` can then start the run. Raises `UserError` if the folder cannot be created or is
    not empty. A folder that is not empty is never changed.
    """
    folder = choose_run_folder(config)
    is_new = not folder.exists()
    with explain_os_errors(f"cannot create the run folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        write_json(folder / CONFIG, {"config": config.to_json(), "threads": config.threads, **provenance()})
    except UserError:
        if is_new:
            folder.rmdir()
        raise
    return folder


def _find_free_name(config: Config) -> Path:
    setups = "-".join(setup_name(setup) for setup in config.setups)
    stem = f"{setups}-seed{config.seed}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = 0
    while (folder := Path("runs") / (f"{stem}-{taken}" if taken else stem)).exists():
        taken += 1
    return folder


# --- torch's state as arrays ------------------------------------------------------------------------------------------


def tensors_to_arrays(prefix: str, tensors: Mapping[str, Tensor | np.ndarray]) -> Arrays:
    """Return copies of named torch tensors, or arrays, as NumPy arrays, with `prefix` put before each name."""
    on_cpu = {name: torch.as_tensor(tensor).detach().cpu().numpy() for name, tensor in tensors.items()}
    return {prefix + name: np.array(array, order="C") for name, array in on_cpu.items()}


def arrays_to_tensors(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Return copies, as torch tensors, of the arrays whose names begin with `prefix`; the new names lack the prefix."""
    return {name: torch.from_numpy(array.copy()) for name, array in list_below(prefix, arrays).items()}


def optimizer_to_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """Return a copy of the state that an optimiser keeps for each parameter, as named NumPy arrays."""
    arrays: Arrays = {}
    for number, state in optimizer.state_dict()["state"].items():
        arrays |= tensors_to_arrays(f"optimizer.{number}.", state)
    return arrays


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the state of an optimiser to the arrays that `optimizer_to_arrays` returned."""
    states: dict[int, dict[str, Tensor]] = {}
    for name, tensor in arrays_to_tensors("optimizer.", arrays).items():
        number, _, key = name.partition(".")
        states.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict(optimizer.state_dict() | {"state": states})
