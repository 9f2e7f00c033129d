"""Waiting for what another process or a page does."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], *, seconds: float = 120) -> None:
    """Wait for a condition; fail if it does not come true in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not true after {seconds} seconds"
        time.sleep(0.02)
