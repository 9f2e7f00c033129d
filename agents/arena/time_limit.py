"""Time limits for the decisions of players, which may be slow or never return."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any


class TimeLimitExceeded(BaseException):
    """Exception that interrupts a call that takes too long.

    It derives from `BaseException`, so that a player's `except Exception` does not catch it by accident.
    """


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitExceeded` in the `with` block if the block takes longer than `seconds`.

    The block is interrupted where the system has interval timers (POSIX), in the main thread of a process. Elsewhere
    the exception is raised when the block ends.
    """
    started = time.monotonic()
    can_interrupt = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    with _alarm_after(seconds) if can_interrupt else nullcontext():
        yield
    if time.monotonic() - started > seconds:
        raise TimeLimitExceeded


@contextmanager
def _alarm_after(seconds: float) -> Iterator[None]:
    previous = signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _raise(number: int, frame: Any) -> None:
    raise TimeLimitExceeded
