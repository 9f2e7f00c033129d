"""Writing files and folders safely: atomic writes, one process per folder, folders of other settings refused."""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock


class UserError(Exception):
    """A fault that the user of a command can mend; the message says what is wrong and what to do."""


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Have `write(temporary)` write a file, then move it to `path` once it is whole on the disk.

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
    """Write `values` as indented JSON, atomically."""
    write_atomically(path, lambda part: part.write_text(json.dumps(values, indent=1) + "\n"))


def _sync_folder(folder: Path) -> None:
    """Flush the folder's list of names, so that a new file survives a loss of power (POSIX only)."""
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
    """Lock `folder` for this process; the lock dies with the process.

    Raises `UserError` if another process holds the lock.
    """
    try:
        with filelock.FileLock(folder / ".lock", blocking=False):
            yield
    except filelock.Timeout:
        raise UserError(f"another process is at work in {folder}; wait until it ends, or stop it") from None


def check_same_settings(stored: Mapping[str, Any], wanted: Mapping[str, Any], *, where: object, advice: str) -> None:
    """Raise `UserError` unless the settings found in `where` equal those wanted now.

    Both are compared as JSON shows them. The message names the settings that differ, and then the advice.
    """
    plain = json.loads(json.dumps(wanted, default=str))
    if different := [name for name in {**stored, **plain} if stored.get(name) != plain.get(name)]:
        raise UserError(f"{where} was written with other settings ({', '.join(different)}); {advice}")
