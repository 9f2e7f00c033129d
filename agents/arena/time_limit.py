"""Time limits for the decisions of players, which may be slow or never return."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any


class TimeLimitExceeded(BaseException):
    """Raised inside a call that takes too long; no `Exception`, so that a player cannot catch it by accident."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `TimeLimitExceeded` in the block once it has taken so many seconds, or when it ends if it took longer.

    A block is interrupted only where the system has interval timers (POSIX) and in the main thread of a process.
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
