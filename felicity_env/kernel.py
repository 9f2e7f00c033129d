"""Compilation of functions (kernels) with Numba, and digests of the code that a result depends on.

`@kernel` compiles a function and keeps the machine code between runs. Numba's own file cache looks only at the file of
the function: after an edit of a constant in another module it would still use the old machine code. Here every module
has a cache folder named by the digest of its code and of all project code that it imports. After an edit only the code
that depends on it is compiled again. With `NUMBA_DISABLE_JIT=1` kernels stay plain Python, for a debugger or coverage.

A kernel may use integers, floats, loops, ifs, calls, and buffers that the caller owns: no allocation, no exceptions, no
Python objects, no global random state.
"""

import ast
import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
import numba.core.config

_CONFIG: Any = numba.core.config
MAX_THREADS: int = _CONFIG.NUMBA_NUM_THREADS
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",  # no check for division by zero
    "forceinline": True,
    "_nrt": False,  # no allocation, so no reference counting of buffers: three times the speed
}
PROJECT = ("felicity_env", "agents", "train", "experiments")  # packages that digests follow
_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


# --- digests of code --------------------------------------------------------------------------------------------------


def code_digest(*sources: Path) -> str:
    """Return 16 hex digits that change with the code of these Python files or of any project file that they import.

    Imports are followed through the file's own package and those of `PROJECT`, also imports inside functions. A string
    that is the dotted name of a module, as in a table of modules to import later, counts as an import. Comments, layout
    and prose do not count; prose is every string that contains a blank: docstrings, help texts, error messages. All
    else counts, also entries of tables such as `setups.SETUPS` or `rewards.REWARDS`.
    """
    digest = hashlib.sha256()
    for path in sorted(_import_closure(frozenset(path.resolve() for path in sources))):
        digest.update(f"{path.parent.name}/{path.name}\0{_read_module(path).code}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _import_closure(sources: frozenset[Path]) -> frozenset[Path]:
    """Return the given Python files and all project files that they import, directly or indirectly."""
    closure: set[Path] = set()
    waiting = list(sources)
    while waiting:
        path = waiting.pop()
        if path not in closure:
            closure.add(path)
            waiting += _read_module(path).imports
    return frozenset(closure)


class _Module:
    """Parsed Python file: its code without prose and comments, and the project files that it imports."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_bytes())
        root = _project_root(path)
        packages = {*PROJECT, path.relative_to(root).parts[0]}
        names = {
            name for node in ast.walk(tree) for name in _list_imported_names(node) if name.split(".")[0] in packages
        }
        self.imports = [file for name in sorted(names) if (file := _module_file(root, name))]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                node.value = ""
        self.code = ast.dump(tree)


_read_module = functools.cache(_Module)


def _project_root(path: Path) -> Path:
    """Return the folder that contains the top-level package of a Python file."""
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def _list_imported_names(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a syntax node imports, or the string if it is a string constant with a dot."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        yield node.value


def _module_file(root: Path, name: str) -> Path | None:
    """Return the file of `package.module` or `package.module.function`; None if there is none below `root`."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for size in range(len(parts), 0, -1):
        stem = root.joinpath(*parts[:size])
        for file in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
            if file.exists():
                return file
    return None


# --- compilation ------------------------------------------------------------------------------------------------------


def kernel(function: _FunctionT) -> _FunctionT:
    """Compile a function at its first call, kept on disk; it runs without the interpreter lock and is inlined."""
    return _compile(function)


def outlined_kernel(function: _FunctionT) -> _FunctionT:
    """Compile like `kernel`, but without inlining: large functions with many callers would take minutes to compile."""
    return _compile(function, forceinline=False)


def parallel_kernel(function: _FunctionT) -> _FunctionT:
    """Compile like `kernel`, for a function whose outer loop is a `numba.prange` and runs in parallel threads."""
    return _compile(function, parallel=True)


def uncached_kernel(function: _FunctionT) -> _FunctionT:
    """Compile like `kernel`, but not kept on disk: for functions made at run time, which Numba cannot cache."""
    if _CONFIG.DISABLE_JIT:
        return function
    compiled: Any = numba.njit(**_OPTIONS)(function)
    return compiled


def _compile(function: _FunctionT, **options: Any) -> _FunctionT:
    if _CONFIG.DISABLE_JIT:
        return function
    saved, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, _cache_folder(Path(function.__code__.co_filename).resolve())
    try:
        compiled: Any = numba.njit(cache=True, **_OPTIONS | options)(function)
        return compiled
    finally:
        _CONFIG.CACHE_DIR = saved


@functools.cache
def _cache_folder(source: Path) -> str:
    """Return the folder for the compiled code of a Python file; if it is new, say on stderr that code is compiled."""
    folder = _writable_root() / "felicity_env" / code_digest(source)
    if not folder.exists():
        _announce_compilation(source.relative_to(_project_root(source)).parts[0])
        folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


@functools.cache
def _announce_compilation(package: str) -> None:
    message = f"{package}: compiling for this machine (once per version, some seconds) ..."
    print(message, file=sys.stderr, flush=True)


def _writable_root() -> Path:
    """Return the folder `NUMBA_CACHE_DIR`, or else the user's cache folder; if not writable, the temporary folder."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    wanted = Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache)
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        if os.access(wanted, os.W_OK):
            return wanted
    except OSError:
        pass
    return Path(tempfile.gettempdir())
