"""Logs of a training run: files that name what could not be written, and a function of the user's own."""

import sys
from collections.abc import Callable
from typing import Any

from stable_baselines3.common.logger import KVWriter, Logger

from agents.own_code import load_own
from agents.tools.files import explain_os_errors


class RunLogger(Logger):
    """Logger of a training run that raises `UserError`, with the name of the folder, if it cannot write its files."""

    def dump(self, step: int = 0) -> None:
        """Write the recorded values to the log files; `step` is the number of decisions learned from so far."""
        with explain_os_errors(f"cannot write the logs in {self.dir}"):
            super().dump(step)

    def close(self) -> None:
        """Close the log files of the training run."""
        with explain_os_errors(f"cannot write the logs in {self.dir}"):
            super().close()


class FunctionWriter(KVWriter):
    """Output of a logger that calls a user's function with {name: value} and the number of decisions learned from.

    If the function raises an exception, that is printed, and the function is not called again: the run goes on.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self._function: Callable[[dict[str, Any], int], Any] | None = load_own(code)

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:  # the names are those of Stable-Baselines3
        """Call the function with all logged values."""
        if self._function is None:
            return
        try:
            self._function(dict(key_values), step)
        except Exception as error:  # foreign code raises anything
            print(f"{self.code} raised {type(error).__name__}: {error}; it is not called again", file=sys.stderr)
            self._function = None

    def close(self) -> None:
        """Do nothing: the function has its own files."""
