"""Safe writing of files: a file is written completely or not at all, by one process in a folder.

Results are not written among results of other settings.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

LOCK = ".lock"  # file in a folder at which one process works


class UserError(Exception):
    """Error that the user of a command can fix; the message says what is wrong and what to do."""


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file by `write(temporary)`, then rename it to `path`, so that `path` is never half written.

    If that fails, a file at `path` stays unchanged, and `UserError` is raised.
    """
    temporary, kept = path.with_name(path.name + ".part"), path.exists()
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        unchanged = "; the file that was there is unchanged" if kept else ""
        raise UserError(f"cannot write {path}: {_reason(error)}{unchanged}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text to the file `path` in UTF-8, atomically."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


@contextmanager
def explain_os_errors(what: str) -> Iterator[None]:
    """Turn an error of the operating system inside this context into a `UserError` that begins with `what`."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what}: {_reason(error)}") from error


def write_json(path: Path, values: Any) -> None:
    """Write `values` to the file `path` as indented JSON, atomically."""
    write_text(path, json.dumps(values, indent=1) + "\n")


def shorten_path(path: Path) -> Path:
    """Return a path relative to the current folder if the path lies below it, and unchanged if not."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _sync_folder(folder: Path) -> None:
    """Flush a folder's list of files to disk, so that a new file survives a power failure (POSIX only)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def describe_error(error: Exception) -> str:
    """Return the text of an error for users; for an error of the operating system it names the file.

    An example is `there is no file runs/x`.
    """
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file {error.filename}"
    return f"{error.filename}: {_reason(error)}" if isinstance(error, OSError) and error.filename else str(error)


def _reason(error: OSError) -> str:
    return "the disk is full" if error.errno == errno.ENOSPC else (error.strerror or str(error)).lower()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock `folder` for this process until the context ends; raise `UserError` if another process holds the lock."""
    with _lock(folder / LOCK, f"at work in {folder}"):
        yield


def is_locked(folder: Path) -> bool:
    """Return whether another process is at work in a folder that `lock_folder` locks."""
    if not (folder / LOCK).exists():
        return False
    try:
        with lock_folder(folder):
            return False
    except UserError:
        return True


@contextmanager
def lock_output(path: Path) -> Iterator[None]:
    """Lock the file that a command will write until the context ends, by a file beside it, which is then deleted.

    Raises `UserError` if another process holds the lock.
    """
    lock = path.with_name(path.name + ".lock")
    with _lock(lock, f"writing {path}"):
        try:
            yield
        finally:
            with suppress(PermissionError):  # Windows keeps open files; there, filelock deletes it when it is released
                lock.unlink(missing_ok=True)


@contextmanager
def _lock(path: Path, work: str) -> Iterator[None]:
    try:
        with filelock.FileLock(path, blocking=False):
            yield
    except filelock.Timeout:
        raise UserError(f"another process is {work}; wait until it ends, or stop it") from None


def check_same_settings(stored: Mapping[str, Any], wanted: Mapping[str, Any], *, where: object, advice: str) -> None:
    """Raise `UserError` unless stored settings are equal, as JSON, to those wanted.

    The message names the settings that differ, says `where` they are stored, and ends with `advice`.
    """
    stored, wanted = (json.loads(json.dumps(settings, default=str)) for settings in (stored, wanted))
    if different := [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]:
        raise UserError(f"{where} was written with other settings ({', '.join(different)}); {advice}")
