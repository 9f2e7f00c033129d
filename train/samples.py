"""Samples in compressed files: written one file at a time, so that what takes hours goes on where it stopped."""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from train import run_folder

Samples = dict[str, np.ndarray]  # by name: [K, ...]


def keep(path: Path, samples: Iterator[Samples], size: int) -> None:
    """Write the first `size` samples into a file, unless it is there already."""
    if path.exists():
        return
    found: list[Samples] = []
    while sum(len(next(iter(some.values()))) for some in found) < size:
        found.append(next(samples))
    arrays = {name: np.concatenate([some[name] for some in found])[:size] for name in found[0]}
    run_folder.write_atomically(path, lambda file: _write(file, arrays))


def _write(path: Path, arrays: Samples) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType] - no array has that name


def kept(paths: Sequence[Path]) -> dict[str, Tensor]:
    """All samples in these files, by name: [N, ...]."""
    parts = [read(path) for path in paths]
    return {name: torch.from_numpy(np.concatenate([part[name] for part in parts])) for name in parts[0]}


def read(path: Path) -> Samples:
    """The samples in a file; raises `RunError` naming it if it is damaged."""
    try:
        with path.open("rb") as file:
            return dict(np.load(file))
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise run_folder.RunError(f"{path} is damaged ({error}); delete it, and it is made again") from error


def files_of(run: Path) -> list[Path]:
    """The files of a run's samples, in order."""
    return sorted((run / "samples").glob("*.npz"))
