"""Counts of what the threads of a kernel execute and store, taken in its translation to C.

From this follows what a warp (32 threads that execute in step) has to do: a block of instructions is issued as often as
the thread that needs it most often, and a store touches as many sectors (32 bytes) of memory as its threads address.
"""

import ctypes
import re
from typing import Any, NamedTuple

import numpy as np

from experiments.cuda.compiled_kernels import CAPABILITY, compile_kernel
from experiments.cuda.ptx_to_c import translate
from experiments.cuda.translated_gpu import build, pack

WARP, SECTOR = 32, 32  # threads; bytes
_HEAD = """#include <stdint.h>
static uint32_t *visits; static uint64_t *stores; static uint64_t stored;
void begin(uint32_t *a, uint64_t *b) { visits = a; stores = b; stored = 0; }
uint64_t count(void) { return stored; }
#define STORE(number, address) (stores[2 * stored] = number, stores[2 * stored++ + 1] = (uint64_t)(address))
"""


class Trace(NamedTuple):
    """Work of a kernel for one thread, on average over the threads of whole warps."""

    instructions: float  # instructions of PTX that the thread executes
    issued: float  # instructions of PTX that its warp executes
    sectors: float  # sectors that its stores touch, shared with the other threads of the warp


def trace_kernel(kernel: Any, warps: int, *arguments: Any) -> Trace:
    """Run a kernel for the threads of so many warps, and return what it has done. arguments: as at a launch."""
    code, sizes = _instrument(translate(compile_kernel(kernel, arguments, CAPABILITY)))
    library = build(code)
    library.begin.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.count.restype = ctypes.c_uint64
    values = pack(arguments)
    visits, stores = np.zeros(len(sizes), np.uint32), np.zeros((100_000, 2), np.uint64)
    executed = issued = sectors = 0
    for warp in range(warps):
        of_threads, written = [], []
        for thread in range(warp * WARP, (warp + 1) * WARP):
            visits[:] = 0
            library.begin(visits.ctypes.data_as(ctypes.c_void_p), stores.ctypes.data_as(ctypes.c_void_p))
            library.run(values.ctypes.data_as(ctypes.c_void_p), thread, thread + 1)
            of_threads.append(visits.copy())
            written.append(_count_repeats(stores[: library.count()]))
        executed += int((np.sum(of_threads, axis=0) * sizes).sum())
        issued += int((np.max(of_threads, axis=0) * sizes).sum())
        sectors += len(np.unique(np.concatenate(written), axis=0))
    threads = warps * WARP
    return Trace(executed / threads, issued / warps, sectors / threads)


def _count_repeats(stores: np.ndarray) -> np.ndarray:
    """Return (number of the store, how often it was executed before, sector) for each store of a thread."""
    numbers, sectors = stores[:, 0], stores[:, 1] // SECTOR
    repeats = [int((numbers[:k] == number).sum()) for k, number in enumerate(numbers)]
    return np.stack([numbers, np.array(repeats, np.uint64), sectors], axis=1)


def _instrument(code: str) -> tuple[str, np.ndarray]:
    """Add counters to translated code; return it with the number of instructions of each of its blocks.

    A block begins at a label and after a branch.
    """
    start = code.index("static void kernel")
    lines, sizes, stores, is_new = [], [0], 0, True
    for line in code[start : code.index("void run(")].splitlines():
        if line.endswith(": ;"):
            is_new = True
        elif line.startswith("  ") and not re.match(r"  \w+ \w+\d+(, |;)", line):  # no declaration
            if is_new:
                lines.append(f"  visits[{len(sizes)}]++;")
                sizes.append(0)
            sizes[-1] += 1
            is_new = "goto" in line
            if store := re.match(r"  (if \(!?\w+\) )?(?:\{ )?\*\(\w+ \*\)(\(.*?\)) = ", line):
                lines.append(f"  {store[1] or ''}STORE({stores}, {store[2]});")
                stores += 1
        lines.append(line)
    traced = "\n".join(lines)
    return _HEAD + code[:start] + traced + "\n" + code[code.index("void run(") :], np.array(sizes)
