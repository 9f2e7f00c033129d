"""GPU as a batch of games uses it: memory that torch and Numba share, and kernels on torch's current stream.

The kernels run in order with all that torch does there, so nothing has to wait.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numba.core.config
import torch
from numba import cuda as _cuda

cuda: Any = _cuda  # its functions have no types
_CONFIG: Any = numba.core.config
_THREADS_A_BLOCK = 128


def _keep_tables_in_global_memory() -> None:
    """Let numba-cuda compile arrays of constants into global memory, where it compiles them into constant memory.

    Constant memory serves one address at a time, and the threads of a warp look up different rows of a table: the
    kernel that writes observations would mostly wait for it.
    """
    context: Any = import_module("numba.cuda.target").CUDATargetContext
    spaces: Any = import_module("numba.cuda.cudadrv.nvvm")
    make_constant_array = context.make_constant_array

    def make_global_array(self: Any, builder: Any, kind: Any, array: Any) -> Any:
        usual, spaces.ADDRSPACE_CONSTANT = spaces.ADDRSPACE_CONSTANT, spaces.ADDRSPACE_GLOBAL
        try:
            return make_constant_array(self, builder, kind, array)
        finally:
            spaces.ADDRSPACE_CONSTANT = usual

    context.make_constant_array = make_global_array


if find_spec("numba_cuda") and not _CONFIG.ENABLE_CUDASIM:
    _keep_tables_in_global_memory()
    _CUDA_CONFIG: Any = import_module("numba.cuda.core.config")
    _CUDA_CONFIG.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a batch may have few games


class Gpu:
    """GPU with a certain index: its memory and its kernels. torch owns the memory, and Numba sees the same memory."""

    def __init__(self, index: int) -> None:
        self.device = torch.device("cuda", index)

    def as_array(self, tensor: torch.Tensor) -> Any:
        """Return the memory of a tensor as kernels take it."""
        return cuda.as_cuda_array(tensor, sync=False)

    def launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        """Run a kernel with at least `threads` threads on torch's current stream."""
        with torch.cuda.device(self.device):
            pointer = torch.cuda.current_stream().cuda_stream
            stream = cuda.external_stream(pointer) if pointer else cuda.default_stream()
            kernel[-(-threads // _THREADS_A_BLOCK), _THREADS_A_BLOCK, stream](*arguments)


class Simulator:
    """Numba's simulator of a GPU, which runs kernels in plain Python, in the memory of the CPU."""

    device = torch.device("cpu")

    def as_array(self, tensor: torch.Tensor) -> Any:
        """Return the memory of a tensor as kernels take it."""
        return tensor.numpy()

    def launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        """Run a kernel with `threads` threads, one after the other."""
        kernel[threads, 1](*arguments)


def find_gpu(index: int) -> Gpu | Simulator:
    """Return the GPU with this index, or the simulator if `NUMBA_ENABLE_CUDASIM` is set.

    Raises `RuntimeError` in one line that says what is missing if there is no such GPU, or if Numba cannot use it.
    """
    if _CONFIG.ENABLE_CUDASIM:
        if not _CONFIG.DISABLE_JIT:
            raise RuntimeError("Numba's simulator runs the rules in plain Python: set NUMBA_DISABLE_JIT=1, too")
        return Simulator()
    if torch.version.cuda is None:
        raise RuntimeError("felicity_env.cuda needs torch with CUDA, and this torch is a build for CPUs only")
    count = torch.cuda.device_count()
    if not 0 <= index < count:
        found = f"torch finds {count} CUDA devices" if count else "torch finds no CUDA device here"
        raise RuntimeError(f"felicity_env.cuda cannot use device {index!r}: {found}")
    if find_spec("numba_cuda") is None:
        raise RuntimeError("felicity_env.cuda needs the extra `cuda`: pip install 'felicity-env[cuda]'")
    if not cuda.is_available():
        raise RuntimeError("felicity_env.cuda needs a CUDA driver that numba-cuda can use, and finds none here")
    return Gpu(index)
