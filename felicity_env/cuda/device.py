"""GPU as a batch of games uses it: memory that torch and Numba share, and kernels on torch's current stream.

The kernels run in order with all that torch does there, so nothing has to wait.
"""

from importlib.util import find_spec
from typing import Any

import numba.core.config
import torch
from numba import cuda as _cuda

cuda: Any = _cuda  # its functions have no types
_CONFIG: Any = numba.core.config
_THREADS_A_BLOCK = 128


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
