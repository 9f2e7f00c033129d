"""Display of the progress of a training run, and lines about work that goes on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from agents.tools.progress import SECONDS_A_LINE, format_duration

YARDSTICK = "anchor"  # opponent of the win share that the progress bar shows


class Progress:
    """Display of the progress of a training run: a bar on a terminal, elsewhere a line every half minute.

    Each new point of the learning curve is also printed as a line. total: number of decisions to learn from in the run.
    timesteps: number already learned from. Use it as a context manager.
    """

    def __init__(self, console: Console, total: int, timesteps: int) -> None:
        self.console, self.total, self.timesteps = console, total, timesteps
        self._first, self._started = timesteps, time.monotonic()
        self._last_line = self._started
        self.bar = Bar(
            TextColumn("{task.percentage:>3.0f}%"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[strength]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("", total=total, completed=timesteps, speed="", left="", strength="")

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def advance_to(self, timesteps: int, part: float = 0.0) -> None:
        """Show in the progress bar that the run has learned from `timesteps` decisions.

        part: number of decisions to add for the work that is already done on an unfinished update.
        """
        self.timesteps = timesteps
        done, now = timesteps + part, time.monotonic()
        speed = (done - self._first) / max(now - self._started, 1e-3)
        left = f"{format_duration((self.total - done) / speed)} left" if speed > 0 else ""
        left = left if done < self.total else "then evaluation"
        shown = f"{speed:,.0f}/s" if speed > 0 else ""
        self.bar.update(self.task, completed=min(done, self.total), speed=shown, left=left)
        if not self.console.is_terminal and now - self._last_line >= SECONDS_A_LINE:
            self._last_line = now
            self.print(f"{min(1.0, done / self.total):5.1%}  {shown}  {left}")

    def show_strength(self, point: dict[str, Any]) -> None:
        """Print a new point of the learning curve, and show its win share against one opponent in the progress bar."""
        results = point["results"]
        texts = [
            f"{result['setup']} vs " + " ".join(f"{c} {s['value']:.2f}" for c, s in result["win_share"].items())
            for result in results
        ]
        self.print(f"{point['timesteps']:>11,}/{self.total:,}  {point['seconds']:.0f} s  {'; '.join(texts)}")
        codes = results[0]["win_share"]
        yardstick = YARDSTICK if YARDSTICK in codes else next(iter(codes))
        win_shares = "/".join(f"{result['win_share'][yardstick]['value']:.2f}" for result in results)
        self.bar.update(self.task, strength=f"{yardstick} {win_shares}")

    def print(self, text: str) -> None:
        """Print a line of text above the progress bar."""
        self.console.print(text, highlight=False, soft_wrap=True)


@contextmanager
def report_waiting(work: str, report: Callable[[str], Any]) -> Iterator[None]:
    """Call `report` every half minute with a line of text that says that some work goes on, until this context ends.

    A thread does so, because a single call into an evaluation takes minutes if the opponents are slow. work: what is
    done, such as "evaluating".
    """
    is_done, started = Event(), time.monotonic()

    def watch() -> None:
        while not is_done.wait(SECONDS_A_LINE):
            report(f"{work} ... (for {format_duration(time.monotonic() - started)} so far)")

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_done.set()
        watcher.join()
