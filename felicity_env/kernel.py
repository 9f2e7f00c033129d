"""One decorator: `@kernel` compiles a function with Numba and keeps the machine code between runs.

Numba's own file cache looks only at the file a function stands in, so after an edit of a constant in another module it
would go on serving the old rule. Here the cache folder is named by a digest of every source file of the packages that a
kernel may draw on: any edit compiles anew, everything else starts warm. With `NUMBA_DISABLE_JIT=1` the functions stay
plain Python (for a debugger, or for coverage).

What a kernel may use: integers, loops, ifs, calls, and buffers that the caller owns. No allocation, no exceptions, no
Python objects, no global random state.
"""

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.config

_CONFIG: Any = numba.core.config
MAX_THREADS: int = _CONFIG.NUMBA_NUM_THREADS
_PACKAGE = Path(__file__).resolve().parent
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",  # no test for a zero divisor
    "forceinline": True,
    "_nrt": False,  # no allocation, and so no reference counting of buffers: three times the speed
}
_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


def source_digest(*folders: Path) -> str:
    """Sixteen hex digits that change whenever a Python file directly in one of `folders` does."""
    digest = hashlib.sha256()
    for folder in sorted(set(folders)):
        for source in sorted(folder.glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _writable_root() -> Path:
    """`NUMBA_CACHE_DIR` if set, else the user's cache folder, else the folder for temporary files."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    wanted = Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache)
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        if os.access(wanted, os.W_OK):
            return wanted
    except OSError:
        pass
    return Path(tempfile.gettempdir())


def _packages(function: Callable[..., Any]) -> frozenset[Path]:
    """The folders whose sources the machine code of `function` depends on: its own, and those of kernels it calls."""
    called = (getattr(value, "py_func", None) for value in function.__globals__.values())
    codes = [function.__code__, *(kernel.__code__ for kernel in called if kernel)]
    return frozenset({_PACKAGE, *(Path(code.co_filename).resolve().parent for code in codes)})


@functools.cache
def _cache_folder(package: Path, packages: frozenset[Path]) -> str:
    folder = _writable_root() / "felicity_env" / source_digest(*packages)
    if not folder.exists():
        message = f"{package.name}: compiling for this machine (once per version, some seconds) ..."
        print(message, file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def kernel(function: _FunctionT) -> _FunctionT:
    """Compile `function` on first call, without the interpreter lock, cached on disk by source digest."""
    return _compile(function)


def outlined_kernel(function: _FunctionT) -> _FunctionT:
    """The same for a large function called from many places: not copied into each of them, which takes minutes."""
    return _compile(function, forceinline=False)


def parallel_kernel(function: _FunctionT) -> _FunctionT:
    """The same for a function whose outer loop is a `numba.prange`."""
    return _compile(function, parallel=True)


def _compile(function: _FunctionT, **options: Any) -> _FunctionT:
    if _CONFIG.DISABLE_JIT:
        return function
    package = Path(function.__code__.co_filename).resolve().parent
    saved, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, _cache_folder(package, _packages(function))
    try:
        compiled: Any = numba.njit(cache=True, **_OPTIONS | options)(function)
        return compiled
    finally:
        _CONFIG.CACHE_DIR = saved
