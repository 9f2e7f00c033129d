"""What torch holds as named NumPy arrays, for checkpoints, and back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from agents.network import Layers
from train.run_folder import RunError

Arrays = dict[str, np.ndarray]


def arrays_of(prefix: str, tensors: Mapping[str, Tensor]) -> Arrays:
    """Copies of the tensors, their names after `prefix`."""
    return {prefix + name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def tensors_of(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """The inverse of `arrays_of`."""
    found = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): torch.from_numpy(array.copy()) for name, array in found.items()}


def optimizer_arrays(optimizer: torch.optim.Optimizer) -> Arrays:
    """What the optimiser remembers of each parameter."""
    arrays: Arrays = {}
    for number, memory in optimizer.state_dict()["state"].items():
        arrays |= arrays_of(f"optimizer.{number}.", memory)
    return arrays


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Mapping[str, np.ndarray]) -> None:
    """The inverse of `optimizer_arrays`."""
    memories: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors_of("optimizer.", arrays).items():
        number, _, key = name.partition(".")
        memories.setdefault(int(number), {})[key] = tensor
    optimizer.load_state_dict(optimizer.state_dict() | {"state": memories})


def layers_arrays(policies: Sequence[Layers]) -> Arrays:
    """The layers of older selves."""
    arrays: Arrays = {}
    for k, layers in enumerate(policies):
        for j, (weight, bias) in enumerate(layers):
            arrays |= {f"past.{k}.{j}.weight": weight, f"past.{k}.{j}.bias": bias}
    return arrays


def layers_of(arrays: Mapping[str, np.ndarray]) -> Iterator[Layers]:
    """The inverse of `layers_arrays`."""
    k = 0
    while f"past.{k}.0.weight" in arrays:
        layers, j = [], 0
        while f"past.{k}.{j}.weight" in arrays:
            layers.append((arrays[f"past.{k}.{j}.weight"], arrays[f"past.{k}.{j}.bias"]))
            j += 1
        yield layers
        k += 1


@contextmanager
def fits(folder: Path) -> Iterator[None]:
    """While a checkpoint is taken up: whatever does not fit is said in one line."""
    try:
        yield
    except (KeyError, ValueError, RuntimeError, TypeError) as error:
        raise RunError(f"the checkpoint in {folder} does not fit the run's config.json: {error}") from error
