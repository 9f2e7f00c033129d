"""Learning curves of training runs: `python -m train curves RUN RUN` compares runs in one picture.

A panel shows the win share of one trained player against copies of an opponent, over the number of decisions, with 95 %
bands and par. Runs with other seeds differ by chance, so draw conclusions from several seeds of each setting.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Annotated, Any

import tyro
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agents.checkpoint_file import CURVE
from agents.tools.figures import save_figure
from agents.tools.files import UserError, describe_error, explain_os_errors
from agents.tools.markdown import format_estimate
from agents.tools.settings import require

Curve = Sequence[Mapping[str, Any]]  # points with `timesteps`, `seconds` and `results`


@dataclass(frozen=True)
class Config:
    """Plot the learning curves of runs in one picture, and print where each has arrived."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Run folders, finished or not, or patterns such as 'runs/trial*'. Of several, files and folders without a
    learning curve are left out."""
    against: tuple[str, ...] = ()
    """Codes of opponents. Default: all that every run was measured against."""
    out: Path = Path("runs/curves.png")
    """File of the picture, which ends in .png, .svg or .pdf."""

    def __post_init__(self) -> None:
        require(bool(self.runs), "name at least one run folder")
        require(len({*self.runs}) == len(self.runs), "name each run once")
        require(self.out.suffix in (".png", ".svg", ".pdf"), f"--out must end in .png, .svg or .pdf, not {self.out}")


def main(config: Config) -> None:
    """Write the picture, and print a table with the last point of each run."""
    console, runs = Console(), find_runs(config.runs)
    if without := [run for run in runs if run.is_dir() and not (run / CURVE).exists()]:
        runs = [run for run in runs if run not in without] or runs
        console.print(f"without a learning curve: {', '.join(map(str, without))}", highlight=False, soft_wrap=True)
    names = name_runs(runs)
    curves = {name: read_curve(run) for name, run in names.items()}
    panels = find_panels(curves, config.against)
    with explain_os_errors(f"cannot create {config.out.parent}"):
        config.out.parent.mkdir(parents=True, exist_ok=True)
    save_figure(draw_runs(curves, panels), config.out)
    console.print(build_table(curves, panels))
    console.print(f"written: {config.out}", highlight=False, soft_wrap=True)


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Return the paths, with those that a pattern matches in its place.

    If there are several, files are left out, because a pattern also matches the pictures of earlier comparisons. Raises
    `UserError` if nothing matches a pattern.
    """
    found: list[Path] = []
    for path in paths:
        matches = sorted(glob(str(path)))
        if not matches and set("*?[") & set(str(path)) and not path.exists():
            raise UserError(f"no file or folder matches {str(path)!r}")
        found += map(Path, matches or [path])
    return [path for path in found if not path.is_file()] or found


def name_runs(runs: Sequence[Path]) -> dict[str, Path]:
    """Return the runs by name: that of the folder, or the whole path if two folders have the same name."""
    counts = Counter(run.name for run in runs)
    return {run.name if counts[run.name] == 1 else str(run): run for run in runs}


def read_curve(run: Path) -> Curve:
    """Read the learning curve of a run; raise `UserError` if it has none, or if its file is damaged."""
    path = run / CURVE
    try:
        curve = json.loads(path.read_text())
        _find_win_shares(curve[-1])
    except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
        reason = describe_error(error) if isinstance(error, OSError) else f"{path} is damaged"
        raise UserError(f"{run} has no learning curve: {reason}") from error
    return curve


def _find_win_shares(point: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the win shares of a point of a curve by setup and opponent; each also has `par`."""
    return {
        (result["setup"], code): {**win_share, "par": result["par"]}
        for result in point["results"]
        for code, win_share in result["win_share"].items()
    }


def find_panels(curves: Mapping[str, Curve], against: Sequence[str] = ()) -> list[tuple[str, str]]:
    """List the pairs of a setup and an opponent that every run was measured with.

    against: opponents to keep; () keeps all. Raises `UserError` if there is no such pair.
    """
    measured = [_find_win_shares(curve[0]) for curve in curves.values()]
    known = {code for each in measured for _, code in each}
    require(set(against) <= known, f"--against must be of {', '.join(sorted(known))}, not {', '.join(against)}")
    panels = [
        pair for pair in measured[0] if all(pair in each for each in measured) if not against or pair[1] in against
    ]
    if not panels:
        pairs = ["; ".join(map(" against ".join, each)) or "nothing" for each in measured]
        found = "".join(f"\n{run}: {text}" for run, text in zip(curves, pairs, strict=True))
        raise UserError(f"the runs were not all measured in the same setup against the same opponent:{found}")
    return panels


def draw_runs(curves: Mapping[str, Curve], panels: Sequence[tuple[str, str]]) -> Figure:
    """Draw a panel for each setup and opponent, with a line for each run, {name: curve}."""
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(5.5 * columns, 4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):  # an odd number leaves one empty
        for run, curve in curves.items():
            _draw_line(axis, curve, panel, run)
        _finish_panel(axis, next(iter(curves.values())), panel, title=f"{panel[0]}: one against copies of {panel[1]}")
    for axis in axes[len(panels) :]:
        axis.remove()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def plot_learning_curve(curve: Curve, path: Path) -> None:
    """Plot the learning curve of a run to a file: a panel for each setup, with a line for each opponent."""
    pairs = list(_find_win_shares(curve[0]))
    setups = list(dict.fromkeys(setup for setup, _ in pairs))
    figure = Figure(figsize=(5.5 * len(setups), 4), layout="constrained")
    for axis, setup in zip(figure.subplots(1, len(setups), squeeze=False)[0], setups, strict=True):
        own = [pair for pair in pairs if pair[0] == setup]
        for pair in own:
            _draw_line(axis, curve, pair, pair[1])
        _finish_panel(axis, curve, own[0], title=f"{setup}: one against the rest")
        axis.legend()
    save_figure(figure, path)


def _draw_line(axis: Axes, curve: Curve, panel: tuple[str, str], name: str) -> None:
    win_shares = [_find_win_shares(point)[panel] for point in curve]
    steps = [point["timesteps"] / 1e6 for point in curve]
    axis.plot(steps, [each["value"] for each in win_shares], marker="o", markersize=3, label=name)
    axis.fill_between(steps, [each["low"] for each in win_shares], [each["high"] for each in win_shares], alpha=0.2)


def _finish_panel(axis: Axes, curve: Curve, panel: tuple[str, str], *, title: str) -> None:
    axis.axhline(_find_win_shares(curve[0])[panel]["par"], color="grey", linestyle=":", label="par")
    axis.set(title=title, xlabel="million decisions", ylabel="win share", ylim=(0, 1))
    axis.grid(alpha=0.3)


def build_table(curves: Mapping[str, Curve], panels: Sequence[tuple[str, str]]) -> Table:
    """Build a table for the terminal: decisions and win shares at the last point of each run."""
    setups = list(dict.fromkeys(setup for setup, _ in panels))
    where = f", {setups[0]}" if len(setups) == 1 else ""
    title = f"Last points: one against copies of the other, 95 % intervals{where}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, min_width=min(len(title), 80))
    table.add_column("run", overflow="fold")
    table.add_column("decisions", justify="right")
    table.add_column("other", overflow="fold")
    table.add_column("win share", justify="right", no_wrap=True)
    for run, curve in curves.items():
        first = run, f"{curve[-1]['timesteps']:,}"
        win_shares = _find_win_shares(curve[-1])
        for k, panel in enumerate(panels):
            other = panel[1] if len(setups) == 1 else f"{panel[1]} in {panel[0]}"
            table.add_row(*(("", "") if k else first), other, format_estimate(win_shares[panel]))
    return table
