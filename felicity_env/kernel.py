"""Compilation of functions (kernels) with Numba; the machine code is kept on disk for later processes.

Numba's own file cache looks only at the file of the function: after an edit of a constant in another module it would
still use the old machine code. Here every module has a cache folder named by the digest of its code and of all project
code that it imports. After an edit only the code that depends on it is compiled again. Without a cache that can be read
and written, code is compiled in every process. With `NUMBA_DISABLE_JIT=1` kernels stay plain Python, for a debugger or
coverage. With `FELICITY_QUIET=1` nothing is printed when code is compiled.

A kernel may use integers, floats, loops, ifs, calls, and buffers that the caller owns: no allocation, no exceptions, no
Python objects, no global random state.
"""

import atexit
import contextlib
import functools
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.caching
import numba.core.config

from felicity_env.code_digest import code_digest, project_root

_CONFIG: Any = numba.core.config
_CACHING: Any = numba.core.caching  # Numba's declared types of these classes are wrong
MAX_THREADS: int = _CONFIG.NUMBA_NUM_THREADS
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",  # no check for division by zero
    "forceinline": True,
    "_nrt": False,  # no allocation, so no reference counting of buffers: three times the speed
}
_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


# --- compilation ------------------------------------------------------------------------------------------------------


def kernel(function: _FunctionT) -> _FunctionT:
    """Compile a function with Numba at its first call, and keep the machine code on disk.

    The compiled function runs without Python's interpreter lock, and is inlined into compiled functions that call it.
    """
    return _compile(function)


def outlined_kernel(function: _FunctionT) -> _FunctionT:
    """Compile a function as `kernel` does, but without inlining it into its callers.

    Inlining would make large functions with many callers take minutes to compile.
    """
    return _compile(function, forceinline=False)


def parallel_kernel(function: _FunctionT) -> _FunctionT:
    """Compile a function as `kernel` does, and run its outer loop, a `numba.prange`, in parallel threads."""
    return _compile(function, parallel=True)


def uncached_kernel(function: _FunctionT) -> _FunctionT:
    """Compile a function as `kernel` does, but without keeping the machine code on disk.

    It is for functions that are made while the program runs, because Numba cannot cache those.
    """
    if _CONFIG.DISABLE_JIT:
        return function
    compiled: Any = numba.njit(**_OPTIONS)(function)
    return compiled


def _compile(function: _FunctionT, **options: Any) -> _FunctionT:
    if _CONFIG.DISABLE_JIT:
        return function
    compiled: Any = numba.njit(**_OPTIONS | options)(function)
    with contextlib.suppress(OSError):  # there is no place for a cache, as `_cache_root` has printed
        compiled._cache = _Cache(function)
    return compiled


# --- the cache --------------------------------------------------------------------------------------------------------


class _Locator(_CACHING._CacheLocator):
    """Answers to Numba's questions where a function's machine code lies, and for which version of its source."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> "_Locator":
        """Return the locator for a function."""
        return cls(function)

    def get_cache_path(self) -> str:
        """Return the folder of the machine code."""
        return _cache_folder(_source(self._function))

    def get_source_stamp(self) -> str:
        """Return the version of the source; it stands in the name of the folder already."""
        return ""

    def get_disambiguator(self) -> str:
        """Return the line of the function, which tells functions with the same name apart."""
        return str(self._function.__code__.co_firstlineno)


class _Files(_CACHING.FunctionCache._impl_class):
    """Numba's way to write and read machine code, in the place that `_Locator` names."""

    _locator_classes = (_Locator,)


class _Cache(_CACHING.FunctionCache):
    """Numba's file cache for one function, which reports compilations and tolerates damaged files and a full disk."""

    _impl_class = _Files

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None if there is none or its files are damaged."""
        try:
            code = super().load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle raises anything
            _report_once(f"the cache of compiled code is damaged and is made anew ({type(error).__name__})")
            self._empty()
            code = None
        if code is None:
            _announce_compilation(_source(self._py_func))
        return code

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the machine code for a signature on disk.

        If that fails, the next process compiles the function again.
        """
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, ValueError) as error:
            _report_once(f"compiled code cannot be kept in {self.cache_path}: {error}")

    def _empty(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


def _report_once(message: str) -> None:
    _print_once(f"felicity_env: {message}")


@functools.cache
def _print_once(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


@functools.cache
def _cache_folder(source: Path) -> str:
    """Create and return the folder for the compiled code of a Python file."""
    folder = _cache_root() / code_digest(source)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _report_once(f"compiled code cannot be kept in {folder}: {error.strerror}")
    return str(folder)


def _source(function: Callable[..., Any]) -> Path:
    return Path(function.__code__.co_filename).resolve()


def _announce_compilation(source: Path) -> None:
    """Print that the package of a Python file is compiled, which takes a while; print it only once per package.

    Nothing is printed if `FELICITY_QUIET` is set.
    """
    package = source.relative_to(project_root(source)).parts[0]
    if not os.environ.get("FELICITY_QUIET"):
        _print_once(f"{package}: compiling for this machine what is used for the first time (some seconds) ...")


@functools.cache
def _cache_root() -> Path:
    """Return the folder that holds compiled code: `felicity_env` in `NUMBA_CACHE_DIR` or in the user's cache folder.

    If that folder cannot be used, it is a temporary folder for this process. Numba's index files are pickles, so
    another user who can write to the folder could run code as this user. Such a folder is not used. Raises `OSError` if
    no temporary folder can be made either.
    """
    try:
        folder = _find_cache_parent() / "felicity_env"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(folder) and os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):  # the folder cannot be made, or no home folder is known
        pass
    _report_once("no cache folder of this user can be written to, so code is compiled in every process")
    private = Path(tempfile.mkdtemp(prefix="felicity_env-"))  # its mode is 0o700
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


def _find_cache_parent() -> Path:
    """Return the folder in which the cache of compiled code is created.

    It is `NUMBA_CACHE_DIR` if that is set, and the user's cache folder if not. Raises `RuntimeError` if no home folder
    is known.
    """
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else Path.home() / ".cache"


def _is_private(folder: Path) -> bool:
    """Return whether a folder belongs to this user and nobody else may write to it.

    Outside POSIX the result is always True.
    """
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
