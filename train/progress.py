"""The progress bar of a run: decisions, speed, time left, strength."""

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

YARDSTICK = "anchor"


class Progress:
    """A bar (on a terminal), and a line at every measurement. Use as a context."""

    def __init__(self, console: Console, total: int, done: int) -> None:
        self.console, self.total, self.done = console, total, done
        self.bar = Bar(
            TextColumn("{task.percentage:>3.0f}%"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[strength]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("", total=total, completed=done, speed="", strength="")

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def advance_to(self, timesteps: int) -> None:
        """`timesteps` decisions are done."""
        speed = self.bar.tasks[0].finished_speed or self.bar.tasks[0].speed
        self.bar.update(self.task, completed=timesteps, speed=f"{speed:,.0f}/s" if speed else "")
        self.done = timesteps

    def show_strength(self, point: dict[str, Any]) -> None:
        """A new point of the learning curve: a line of its own, and the yardstick beside the bar."""
        tables = "; ".join(
            f"{result['num_players']}p vs " + " ".join(f"{c} {s['value']:.2f}" for c, s in result["win_share"].items())
            for result in point["results"]
        )
        self.say(f"{self.done:>11,}/{self.total:,}  {point['seconds']:.0f} s  {tables}")
        codes = point["results"][0]["win_share"]
        yardstick = YARDSTICK if YARDSTICK in codes else next(iter(codes))
        shares = "/".join(f"{result['win_share'][yardstick]['value']:.2f}" for result in point["results"])
        self.bar.update(self.task, strength=f"{yardstick} {shares}")

    def say(self, text: str) -> None:
        """A line above the bar."""
        self.console.print(text, highlight=False)
