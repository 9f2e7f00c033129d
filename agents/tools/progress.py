"""Progress display for a long computation that is done in parts."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

SECONDS_A_LINE = 30  # between two lines about work that goes on


class PartsProgress:
    """Context manager that shows a progress bar on a terminal, or else prints lines; nothing before the first report.

    A line is printed after each tenth of the parts, and after a part if the last line is 30 seconds old. unit: word for
    the parts, such as "decisions".
    """

    def __init__(self, console: Console, unit: str = "parts") -> None:
        self.console, self.unit, self._tenths, self._printed = console, unit, 0, time.monotonic()
        self._start: tuple[int, float] | None = None  # parts done at the first `count`, and when it was
        self.bar = Progress(
            TextColumn(f"{{task.completed}}/{{task.total}} {unit}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None, visible=False, left="")

    def __enter__(self) -> "PartsProgress":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def count(self, done: int, total: int) -> None:
        """Show how many of all parts are done; the time left is estimated from those done since the first call."""
        now = time.monotonic()
        first, started = self._start = self._start or (done, now)
        self.report(done, total, None if done == first else (now - started) / (done - first) * (total - done))

    def report(self, done: int, total: int, seconds_left: float | None) -> None:
        """Show how many of all parts are done, and the estimated seconds left (None while they are unknown)."""
        left = "" if seconds_left is None else f"about {format_duration(seconds_left)} left"
        self.bar.update(self.task, completed=done, total=total, visible=True, left=left)
        tenths, now = done * 10 // max(total, 1), time.monotonic()
        is_due = tenths > self._tenths or now - self._printed >= SECONDS_A_LINE
        if is_due and not self.console.is_terminal:
            self._tenths, self._printed = tenths, now
            self.console.print(f"{done}/{total} {self.unit}  {left}", highlight=False)


def format_duration(seconds: float) -> str:
    """Format a number of seconds for people: as `40 s`, `12 min` or `3.5 h`."""
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
