"""Fast start of `python -m train` in tests: processes are forked from a server that has imported the modules."""

import multiprocessing
import os
import runpy
import sys
from importlib import import_module
from multiprocessing.connection import Connection
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


class Popen:
    """Forked process that executes `python -m NAME ...`, with what experiments use of `subprocess.Popen`.

    stdout: file to which the process appends its output and its errors, if given. preexec_fn: not called, because the
    parent of the process is the server.
    """

    def __init__(self, command: list[str], *, stdout: IO[bytes] | None, stderr: Any, preexec_fn: Any) -> None:
        _, option, name, *arguments = command
        assert (option, stderr) == ("-m", stdout)
        self._process = _SERVER.Process(target=_run_module, args=(name, arguments, stdout and stdout.name))
        self._process.start()
        self.terminate = self._process.terminate

    def wait(self) -> int:
        """Wait until the process ends, and return its exit status."""
        self._process.join()
        return self._process.exitcode or 0


def _train_and_wait(waiting: Connection, place: tuple[str, str, str], turn: int, arguments: list[str]) -> None:
    from train.__main__ import main

    module, owner, name = place
    holder = getattr(import_module(module), owner)
    function, calls = getattr(holder, name), []

    def wait_at_turn(*values: Any, **options: Any) -> Any:
        calls.append(name)
        if len(calls) == turn:
            waiting.send(True)
            waiting.recv()
        return function(*values, **options)

    setattr(holder, name, wait_at_turn)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        main(arguments)


def kill_training(place: tuple[str, str, str], turn: int, arguments: list[str]) -> None:
    """Execute `python -m train` with these arguments in a forked process, and kill it before call `turn` of a function.

    place: the module, the name of a module or class in it, and the name of the function there. Raises `EOFError` if
    the process ends before.
    """
    waiting, other = _SERVER.Pipe()
    process = _SERVER.Process(target=_train_and_wait, args=(other, place, turn, arguments))
    process.start()
    other.close()
    try:
        waiting.recv()
    finally:
        process.kill()
        process.join()
        waiting.close()
