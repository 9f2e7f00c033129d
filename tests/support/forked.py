"""Fast start of `python -m train` in tests: processes are forked from a server that has imported the modules."""

import multiprocessing
import os
import runpy
import subprocess
import sys
from typing import IO, Any

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["torch._dynamo", "train.command", "train.selfplay", "experiments.runs"])


def _run_module(name: str, arguments: list[str], output: str | None) -> None:
    if output:
        handle = os.open(output, os.O_WRONLY | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(handle, stream)
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def run(command: list[str], *, check: bool, stdout: IO[str] | None = None, stderr: Any = None) -> Any:
    """Execute `python -m NAME ...` in a forked process, and return its result as `subprocess.run` does.

    stdout: file to which the process appends its output and its errors, if given.
    """
    _, option, name, *arguments = command
    assert (option, check, stderr) == ("-m", False, stdout)
    process = _SERVER.Process(target=_run_module, args=(name, arguments, stdout and stdout.name))
    process.start()
    process.join()
    return subprocess.CompletedProcess(command, process.exitcode or 0)
