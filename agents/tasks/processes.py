"""Pools of workers on this machine: processes that never outlive the one that started them, or this process alone."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from agents.tasks.pool import Done, Lost
from agents.tools.threads import use_one_blas_thread

SECONDS_TO_END = 5  # for a thread whose process has ended


def start_worker() -> None:
    """Prepare a worker process: it ignores Ctrl-C, ends with its parent, and uses one thread for matrix products."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the process that waits for this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_blas_thread()


def _end_with_parent() -> None:
    """Wait until the parent process has ended, however it ended, and end this process too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def run_timed(function: Callable[..., Any], *arguments: Any) -> Done:
    """Return the result of `function(*arguments)` with the seconds it took."""
    started = time.monotonic()
    value = function(*arguments)
    return Done(value, time.monotonic() - started)


class ThisProcess:
    """Pool without other processes: tasks run in `wait`, one after the other."""

    size = capacity = 1

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Callable[..., Any], tuple[Any, ...]]] = deque()

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def submit(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Keep a task until `wait`."""
        self._waiting.append((number, function, arguments))

    def wait(self) -> list[tuple[int, Done | Lost]]:
        """Run the task that has waited longest, and return its number and result."""
        number, function, arguments = self._waiting.popleft()
        return [(number, run_timed(function, *arguments))]

    def close(self, *, cancel: bool) -> None:
        """Do nothing: there are no workers."""


class ProcessPool:
    """Pool of processes. Each has a queue of its own, so that a task that ends its process is known."""

    def __init__(self, size: int) -> None:
        self.size, self.capacity = size, 2 * size
        self._executors = [_start_executor() for _ in range(size)]
        self._queues: list[dict[Future[Done], int]] = [{} for _ in range(size)]  # number of each task, first one first
        self._found: list[tuple[int, Done | Lost]] = []  # results that `wait` is still to return

    def share(self, value: Any) -> Any:
        """Return the value itself."""
        return value

    def submit(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Give a task to the process that has the fewest."""
        worker = min(range(self.size), key=lambda k: len(self._queues[k]))
        with _hold_ctrl_c():  # the first task of a process starts it
            try:
                future = self._executors[worker].submit(run_timed, function, *arguments)
            except BrokenProcessPool:  # it has died since the last `wait`
                self._found += self._replace(worker)
                future = self._executors[worker].submit(run_timed, function, *arguments)
        self._queues[worker][future] = number

    def wait(self) -> list[tuple[int, Done | Lost]]:
        """Wait until a task has ended or a process has died, and return what happened to which tasks."""
        if self._found:
            found, self._found = self._found, []
            return found
        done, _ = wait([future for queue in self._queues for future in queue], return_when=FIRST_COMPLETED)
        results: list[tuple[int, Done | Lost]] = []
        for worker, queue in enumerate(self._queues):
            for future in [future for future in queue if future in done]:
                if isinstance(future.exception(), BrokenProcessPool):
                    results += self._replace(worker)
                    break
                results.append((queue.pop(future), future.result()))
        return results

    def _replace(self, worker: int) -> list[tuple[int, Done | Lost]]:
        """Start a process in place of one that has died; the first task that it had not finished is at fault."""
        queue, results = self._queues[worker], []
        wait(queue)
        at_fault = True
        for future, number in queue.items():
            if future.exception() is None:
                results.append((number, future.result()))
                continue
            results.append((number, Lost("its process ended", at_fault)))
            at_fault = False
        self._executors[worker], self._queues[worker] = _start_executor(), {}
        return results

    def close(self, *, cancel: bool) -> None:
        """End all processes. cancel: end them at once, although tasks are running."""
        queues: list[Any] = [executor._result_queue for executor in self._executors]  # pyright: ignore
        threads: list[Any] = [executor._executor_manager_thread for executor in self._executors]  # pyright: ignore
        for executor in self._executors:
            executor.shutdown(wait=not cancel, cancel_futures=True)
        if cancel:
            for process in multiprocessing.active_children():
                process.terminate()
            for queue in queues:  # a thread that reads half a result, of a process that has ended, would wait for ever
                queue._writer.close()
            for thread in filter(None, threads):  # one that ends while Python ends would show a traceback
                thread.join(timeout=SECONDS_TO_END)


@contextmanager
def _hold_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C wait until the context ends, where the system allows it.

    A process that starts in it never hears Ctrl-C, so that it shows no traceback before `start_worker` is called.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_executor() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), start_worker)
