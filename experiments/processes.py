"""Processes that train the runs of an experiment: they save and stop when the experiment is stopped."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Lock
from typing import IO, Any

from agents.tools.files import UserError
from agents.tools.startup import INTERRUPTED
from train.config import Config

_LIBC: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def _end_with_parent() -> None:
    """Ask Linux for SIGTERM, at which this process saves and stops, when the parent ends, even if it is killed."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


# Elsewhere a process whose parent is killed trains on to its end.
_PREPARE = _end_with_parent if _LIBC else None


class TrainingProcesses:
    """Processes that train side by side, each started in a thread of its own and stopped together."""

    def __init__(self) -> None:
        self._lock, self._is_stopping = Lock(), False
        self._running: set[subprocess.Popen[bytes]] = set()

    def train(self, folder: Path, config: Config, log: Path | None) -> None:
        """Start the training run in `folder`, or continue it from its last checkpoint, and wait until it ends.

        The command `python -m train --resume FOLDER` does this. config: settings of the run, whose players may be in
        modules of the user. log: file for the output of the process, or None to show it. Raises `UserError` if
        training fails, and `KeyboardInterrupt` if the user stopped it.
        """
        players = {*config.weights, *config.against}
        command = [sys.executable, "-m", "train", "--resume", str(folder), "--allow", *sorted(players)]
        if log is None:
            status = self._run(command, None)
        else:
            with log.open("ab") as file:
                status = self._run(command, file)
        if status == INTERRUPTED or self._is_stopping:
            raise KeyboardInterrupt
        if status:
            raise UserError(f"training in {folder} failed with exit status {status}; see {log or 'above'}")

    def _run(self, command: list[str], output: IO[bytes] | None) -> int:
        """Run a command, unless the processes are to stop, and return its exit status."""
        with self._lock:
            if self._is_stopping:
                return INTERRUPTED
            process = subprocess.Popen(command, stdout=output, stderr=output, preexec_fn=_PREPARE)
            self._running.add(process)
        status = process.wait()
        self._running.discard(process)
        return status

    def stop(self) -> None:
        """Ask all processes that run to save and stop, and let no other start."""
        with self._lock:
            self._is_stopping = True
            if os.name == "posix":  # elsewhere Ctrl-C has reached them all, and `terminate` would not let them save
                for process in self._running.copy():
                    process.terminate()
