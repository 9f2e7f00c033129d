"""Device that runs kernels as NVIDIA's compiler has optimised them, translated to C, on a CPU.

`use_translated_gpu` lets `felicity_env.cuda.Batch` play on it, with the whole of its code.
"""

import ctypes
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
import torch

from experiments.cuda.compiled_kernels import CAPABILITY, compile_kernel
from experiments.cuda.ptx_to_c import translate

_OPTIONS = ("-O1", "-shared", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-w")


class TranslatedGpu:
    """Device for `felicity_env.cuda.Batch`: each kernel is compiled to PTX, translated to C, and run on the CPU."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        self._functions: dict[Any, Any] = {}

    def as_array(self, tensor: torch.Tensor) -> Any:
        """Return the memory of a tensor as kernels take it."""
        return tensor.numpy()

    def launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        """Run a kernel with `threads` threads, one after the other."""
        key = kernel, tuple(map(numba.typeof, arguments))
        if key not in self._functions:
            self._functions[key] = build(translate(compile_kernel(kernel, arguments, CAPABILITY))).run
        values = pack(arguments)
        self._functions[key](values.ctypes.data_as(ctypes.c_void_p), 0, threads)


def pack(arguments: tuple[Any, ...]) -> np.ndarray:
    """Return the arguments of a kernel as translated code takes them, uint64 [numbers]."""
    return np.array([value % 2**64 for argument in arguments for value in flatten(argument)], np.uint64)


def flatten(argument: Any) -> list[int]:
    """Return an argument of a kernel as the integers that numba-cuda passes for it."""
    if isinstance(argument, tuple):
        return [value for part in argument for value in flatten(part)]
    if isinstance(argument, np.ndarray):
        place = argument.ctypes.data
        return [0, 0, argument.size, argument.itemsize, place, *argument.shape, *argument.strides]
    return [int(np.float64(argument).view(np.uint64)) if isinstance(argument, float) else int(argument)]


def build(code: str) -> Any:
    """Compile translated code and return it as a library with the function `run`."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "kernel.c"), Path(folder, "kernel.so")
        source.write_text(code)
        subprocess.run(["gcc", *_OPTIONS, "-o", str(library), str(source), "-lm"], check=True)
        loaded = ctypes.CDLL(str(library))
    loaded.run.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32]
    return loaded


@contextmanager
def use_translated_gpu() -> Iterator[None]:
    """Let every `felicity_env.cuda.Batch` that is made inside this context play on a `TranslatedGpu`."""
    with patch("felicity_env.cuda.batch.find_gpu", lambda index: GPU):
        yield


GPU = TranslatedGpu()  # it keeps the kernels that it has compiled
