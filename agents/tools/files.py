"""Safe writing of files and folders.

Writes are atomic, only one process may use a folder, and a folder made with other settings is refused.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock


class UserError(Exception):
    """Error that the user of a command can fix; the message says what is wrong and what to do."""


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file by `write(temporary)`, and rename it to `path` once it is complete on the disk.

    Raises `UserError` if that fails; the file that was at `path` before is then unchanged.
    """
    temporary = path.with_name(path.name + ".part")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {_reason(error)}; the file that was there is unchanged") from error


def write_json(path: Path, values: Any) -> None:
    """Write `values` to the file `path` as indented JSON, atomically."""
    write_atomically(path, lambda part: part.write_text(json.dumps(values, indent=1) + "\n"))


def _sync_folder(folder: Path) -> None:
    """Flush a folder's list of files to disk, so that a new file survives a power failure (POSIX only)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: OSError) -> str:
    return "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock `folder` for this process until the context or the process ends.

    Raises `UserError` if another process holds the lock.
    """
    try:
        with filelock.FileLock(folder / ".lock", blocking=False):
            yield
    except filelock.Timeout:
        raise UserError(f"another process is at work in {folder}; wait until it ends, or stop it") from None


def check_same_settings(stored: Mapping[str, Any], wanted: Mapping[str, Any], *, where: object, advice: str) -> None:
    """Raise `UserError` unless the settings stored with earlier results equal those wanted now.

    Both are compared as JSON. The message names `where` they are stored, the settings that differ, and the advice.
    """
    plain = json.loads(json.dumps(wanted, default=str))
    if different := [name for name in {**stored, **plain} if stored.get(name) != plain.get(name)]:
        raise UserError(f"{where} was written with other settings ({', '.join(different)}); {advice}")
