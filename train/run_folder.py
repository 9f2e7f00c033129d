"""The folder of a run: what is in it, and writes that leave the old file whole when they fail."""

import errno
import fcntl
import json
import os
import platform
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from train.config import Config

PACKAGES = ("felicity-env", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib")
RENDERED = ("experiments/results", "README.md")  # what experiments write does not change what they do
CONFIG, CURVE, EVALUATION = "config.json", "learning_curve.json", "evaluation.json"


class RunError(Exception):
    """Something about a run that its user can mend; the message says what and how."""


def create(config: Config) -> Path:
    """Make the folder of a new run and write its config.json. An existing folder is never touched."""
    folder = config.run or _free_folder(config)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        quoted = shlex.quote(str(folder))
        raise RunError(f"{folder} exists already; choose another --run, or go on with --resume {quoted}") from None
    except OSError as error:
        raise RunError(f"cannot make the run folder {folder}: {error.strerror}") from error
    try:
        write_json(folder / CONFIG, {"config": config.to_json(), **provenance()})
    except RunError:
        folder.rmdir()
        raise
    return folder


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run's folder; `RunError` if one is in it. However this process ends, it is free."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(f"another process is at work in {folder}; wait until it ends, or stop it") from None


def remove_empty(folder: Path) -> None:
    """Take back what `create` made, for a run that could not begin."""
    (folder / CONFIG).unlink(missing_ok=True)
    folder.rmdir()


def _free_folder(config: Config) -> Path:
    seats = "-".join(map(str, config.num_players))
    stem = f"{seats}p-seed{config.seed}-{datetime.now():%Y%m%d-%H%M%S}"
    taken = 0
    while (folder := Path("runs") / (f"{stem}-{taken}" if taken else stem)).exists():
        taken += 1
    return folder


def provenance() -> dict[str, Any]:
    """Where results come from: commit, versions, machine."""
    return {
        "commit": commit(),
        "versions": {"python": platform.python_version()} | {package: version(package) for package in PACKAGES},
        "machine": {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()},
    }


def commit() -> str:
    """The commit of the checkout, with "+" if it has changes other than results; "unknown" outside one."""
    try:
        changes = _git("status", "--porcelain", "--", ":/", *(f":(top,exclude){path}" for path in RENDERED))
        return _git("rev-parse", "--short=12", "HEAD") + ("+" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*words: str) -> str:
    here = Path(__file__).parent
    return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Have `write` make a file beside `path`, and put it in place once it is whole on the disk."""
    temporary = path.with_name(path.name + ".part")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(f"cannot write {path}: {_reason(error)}; the file there before is whole") from error


def _sync_folder(folder: Path) -> None:
    """See to it that a new name in `folder` outlives a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: Exception) -> str:
    if getattr(error, "errno", None) == errno.ENOSPC:
        return "the disk is full"
    return getattr(error, "strerror", None) or str(error)


def write_json(path: Path, values: Any) -> None:
    """`values` as indented JSON, atomically."""
    write_atomically(path, lambda part: part.write_text(json.dumps(values, indent=1) + "\n"))
