"""Code of users: functions in modules or in files, such as those that make players.

A file can import the modules beside it. Files in two folders may have helpers of the same name: each file gets those of
its own folder, when it is imported and when one of its functions is called by `call_own`.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

_modules: dict[str, dict[str, ModuleType]] = defaultdict(dict)  # of each folder of users' files, by their names
_added: list[str] = []  # folders that users' files, or this module for them, have added to `sys.path`


def load_own(code: str) -> Callable[..., Any]:
    """Import a user's module, and return one of its functions.

    code: FILE.py:FUNCTION or MODULE:FUNCTION. Raises `AttributeError` if there is no such function, `ValueError` if the
    code has another form, and whatever the import raises.
    """
    module, colon, function = code.rpartition(":")
    if not colon:
        raise ValueError(f"{code!r} is not FILE.py:FUNCTION or MODULE:FUNCTION")
    found = getattr(import_own(module), function, None)
    if not callable(found):
        raise AttributeError(f"it has no function {function}")
    return found


def call_own(code: str) -> Any:
    """Call a user's function, given as in `load_own`, without arguments, and return its value."""
    module = code.rpartition(":")[0]
    function = load_own(code)
    if not module.endswith(".py"):
        return function()
    with _hide_others(Path(module).resolve()):
        return function()


def import_own(module: str) -> ModuleType:
    """Import and return a user's module, given by its dotted name or by the path of a file that ends in .py.

    The folder that contains the file is added to `sys.path`, so that the file can import the modules beside it. A file
    `__init__.py` is imported as the package that it is, so that it can import the files beside it relatively.
    """
    if not module.endswith(".py"):
        return importlib.import_module(module)
    path = Path(module).resolve()
    name = f"{name_file(path)}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name not in sys.modules:
        with _hide_others(path):
            _execute(name, path)
    return sys.modules[name]


def name_file(path: Path) -> str:
    """Return the name of a Python file without `.py`; for an `__init__.py`, return the name of its folder."""
    return path.parent.name if path.stem == "__init__" else path.stem


def find_import_hint(module: str, error: BaseException) -> str:
    """Return a hint for the message of an error, if a user's file imports a file beside it in the wrong way."""
    path = Path(module)
    if isinstance(error, ModuleNotFoundError) and path.stem == "__init__" and _has_module(path.parent, str(error.name)):
        return f" (in a folder with an __init__.py, write: from .{error.name} import ...)"
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        return " (a single file imports the files beside it without the dot: from helpers import ...)"
    return ""


def _execute(name: str, path: Path) -> None:
    """Import a file as the module `name`."""
    places = [str(path.parent)] if path.stem == "__init__" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=places)
    if spec is None or spec.loader is None or not path.exists():
        raise ImportError(f"there is no file {path}")
    loaded = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise


@contextmanager
def _hide_others(path: Path) -> Iterator[None]:
    """Let imports find the modules beside a user's file, and none that lie beside a file in another folder."""
    here, beside = str(path.parent), str(path.parent.parent if path.stem == "__init__" else path.parent)
    others = [modules for folder, modules in _modules.items() if folder != here]
    hidden = {name: module for modules in others for name, module in modules.items() if sys.modules.get(name) is module}
    folders = [folder for folder in _added if folder in sys.path and folder not in (here, beside)]
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(_modules[here])
    sys.path[:] = [folder for folder in sys.path if folder not in folders]
    loaded, known = {*sys.modules}, [*sys.path]
    if beside not in sys.path:
        sys.path.append(beside)
    try:
        yield
    finally:
        for name in sys.modules.keys() - loaded:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(here + os.sep):
                _modules[here][name] = sys.modules[name]
        _added.extend(folder for folder in sys.path if folder not in (*known, *_added))
        sys.path += folders  # for imports inside functions that are called later
        sys.modules.update({name: module for name, module in hidden.items() if name not in sys.modules})


def _has_module(folder: Path, name: str) -> bool:
    """Return whether a folder has a file or a folder for a module of this name."""
    stem = folder / name.partition(".")[0]
    return stem.with_suffix(".py").exists() or stem.is_dir()


def describe_exception(error: BaseException) -> str:
    """Return the kind and the text of an exception in one line, and where in the user's own code it was raised."""
    root = Path(__file__).parents[1]
    packages = (root / "agents", root / "felicity_env")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages" not in frame.filename]
    own = [frame for frame in frames if not any(map(Path(frame.filename).is_relative_to, packages))]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{place}"
