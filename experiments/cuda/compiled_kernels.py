"""Kernels for GPUs as NVIDIA's compiler makes them, without a GPU: PTX, and the resources that they take."""

import re
import struct
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numba

from agents.tools.command import explain_missing_extra, install_command
from agents.tools.files import UserError
from felicity_env.cuda.device import cuda

with explain_missing_extra("compiling for a GPU", "cuda-compiler"):
    import numba_cuda  # noqa: F401  # pyright: ignore[reportMissingImports]
    from cuda.pathfinder import find_nvidia_binary_utility  # pyright: ignore[reportMissingImports]

INSTRUCTION_BYTES = 16  # of machine code, since Volta
EXECUTABLE = 4  # flag of a section (ELF)
CAPABILITY = (9, 0)  # of an H100 or H200


class Resources(NamedTuple):
    """Resources that a kernel takes on a GPU."""

    registers: int  # of each thread; 32-bit
    stack: int  # bytes of each thread
    spills: int  # bytes that each thread stores because it has too few registers
    constants: int  # bytes of constant memory, which serves one address at a time
    tables: int  # bytes of constants in global memory
    instructions: int  # of the machine code


def compile_kernel(kernel: Any, arguments: tuple[Any, ...], capability: tuple[int, int]) -> str:
    """Return the optimised PTX of a kernel for GPUs of a compute capability, such as (9, 0).

    kernel: a function that `cuda.jit` has decorated. arguments: arguments as at a launch, with arrays of NumPy.
    """
    # numba-cuda asks the device for its capability when it compiles a function that the kernel calls.
    device = SimpleNamespace(compute_capability=capability)
    signature = numba.void(*map(numba.typeof, arguments))
    with patch("numba.cuda.dispatcher.get_current_device", return_value=device):
        ptx, _ = cuda.compile_ptx(kernel.py_func, signature, device=False, cc=capability)
    return ptx


def measure_resources(ptx: str) -> Resources:
    """Return the resources that a kernel takes, given its PTX: assemble it for the GPUs that the PTX names."""
    assembler = find_nvidia_binary_utility("ptxas")
    if assembler is None:
        raise UserError(f"ptxas is missing: {install_command('cuda-compiler')}")
    architecture = re.search(r"\.target (\w+)", ptx)
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        command = [assembler, f"-arch={architecture and architecture[1]}", "-v", str(source), "-o", str(binary)]
        report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        instructions = _code_size(binary.read_bytes()) // INSTRUCTION_BYTES
    constants, tables = (
        sum(map(int, re.findall(rf"^\.{space} .*?\[(\d+)\]", ptx, re.MULTILINE))) for space in ("const", "global")
    )
    patterns = r"Used (\d+) registers", r"(\d+) bytes stack frame", r"(\d+) bytes spill stores"
    registers, stack, spills = (int((re.search(pattern, report) or ["", "0"])[1]) for pattern in patterns)
    return Resources(registers, stack, spills, constants, tables, instructions)


def count_instructions(ptx: str) -> int:
    """Return the number of instructions in PTX."""
    return len(re.findall(r"^\t+(?!\.)[@a-z].*;", ptx, re.MULTILINE))


def _code_size(binary: bytes) -> int:
    """Return the number of bytes of executable code in a file of the form ELF, 64 bits."""
    first, size, count = struct.unpack_from("<Q", binary, 40)[0], *struct.unpack_from("<HH", binary, 58)
    sections = [struct.unpack_from("<IIQQQQ", binary, first + k * size) for k in range(count)]
    return sum(section[5] for section in sections if section[2] & EXECUTABLE)
