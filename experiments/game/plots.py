"""Figures of the question `anatomy` (value of seats, cards and mouse cards), drawn from its stored results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.game.cards import CARDS
from experiments.game.mouse_card import MICE, TIMES_TAKEN
from felicity_env.game import MAX_ROUNDS, MAX_SEATS


class Panel(NamedTuple):
    """Description of one row of a figure: the estimates that it shows, axis labels, ticks and a baseline."""

    answer: str
    y_label: str
    x_label: str
    ticks: Sequence[Any]
    baseline: Callable[[int], float] | None = None  # function of the number of seats; height of a reference line


def _zero(num_players: int) -> float:
    return 0.0


def _par(num_players: int) -> float:
    return 1 / num_players


_POSITIONS = ("starts", *range(1, MAX_SEATS))
_TIMES = (*TIMES_TAKEN[:-1], f"{TIMES_TAKEN[-1]}+")
_ROUNDS = range(1, MAX_ROUNDS + 1)
FIGURES = {
    "seats": (
        Panel("win_share", "win share minus par", "position after the first start player", _POSITIONS, _zero),
        Panel(
            "gain_first_round", "points gained in round 1", "position after the first start player", _POSITIONS, _zero
        ),
    ),
    "cards": (
        Panel("holding_win_share", "win share from holding it", "card", CARDS, _zero),
        Panel("gain_of_placer", "placer's points in the round\n(minus the average)", "card", CARDS, _zero),
    ),
    "rounds": (
        Panel("dry_by_round", "fraction of dry rounds", "round", _ROUNDS),
        Panel("void_by_round", "fraction of void rounds", "round", _ROUNDS),
    ),
    "last_mouse_card": (
        Panel("win_share_by_times", "win share", "times it takes the last mouse card", _TIMES, _par),
        Panel("if_price", "mean price, mice", "if the last mouse card held .. mice", MICE),
    ),
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def draw_figures(results: Mapping[str, Any]) -> dict[str, Figure]:
    """Draw all figures of the question `anatomy` from its results; return them by name."""
    figures = {name: draw_figure(name, results["tables"]) for name in FIGURES}
    return figures | {"non_buyers": draw_non_buyers(results["non_buyers"])}


def draw_figure(name: str, answers: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the figure with this name from `FIGURES`; `answers` holds the estimates for each setup and player.

    The figure has a row for each panel, a column for each setup, and a colour for each player.
    """
    columns, panels = _by_setup(answers), FIGURES[name]
    figure, axes = _create_axes(len(panels), len(columns))
    for panel, line in zip(panels, axes, strict=True):
        for rows, axis in zip(columns.values(), line, strict=True):
            _draw_panel(axis, panel, rows)
        line[0].set_ylabel(panel.y_label)
    for (title, _), axis in zip(columns.items(), axes[0], strict=True):
        axis.set_title(title)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(MARKERS))
    return figure


def _by_setup(answers: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the result rows of each setup, by name of the setup; setups with the fewest seats come first."""
    ordered = sorted(answers, key=lambda row: row["num_players"])
    return {name: [row for row in ordered if row["setup"] == name] for name in {row["setup"]: 0 for row in ordered}}


def _create_axes(rows: int, columns: int) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(3.9 * columns, 0.6 + 2.8 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey="row")


def _draw_panel(axis: Axes, panel: Panel, rows: Sequence[Mapping[str, Any]]) -> None:
    for k, row in enumerate(rows):
        shift = 0.6 * ((k + 0.5) / len(rows) - 0.5)
        _draw_points(axis, row[panel.answer], shift=shift, fmt=MARKERS[k % len(MARKERS)], label=row["player"])
    if panel.baseline:
        axis.axhline(panel.baseline(rows[0]["num_players"]), color="grey", linestyle=":", zorder=0)
    num_ticks = len(rows[0][panel.answer])
    axis.set_xticks(range(num_ticks), [str(tick) for tick in panel.ticks[:num_ticks]])
    axis.set_xlabel(panel.x_label)
    axis.grid(alpha=0.3)


def _draw_points(axis: Axes, estimates: Sequence[Any], *, shift: float, fmt: str, label: str) -> None:
    """Draw the estimates of one player with error bars; `shift` moves them sideways, so that players do not overlap."""
    known = [(tick, estimate) for tick, estimate in enumerate(estimates) if estimate]
    values = np.array([[estimate[key] for key in ("value", "low", "high")] for _, estimate in known])
    spread = np.abs(values[:, 1:] - values[:, :1]).T
    ticks = np.array([tick for tick, _ in known]) + shift
    axis.errorbar(ticks, values[:, 0], spread, fmt=fmt, markersize=4, capsize=2, linewidth=1, label=label)


def draw_non_buyers(answers: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw how often players win without buying a sack, against the number of mice that their opponents overbid."""
    columns = _by_setup(answers)
    figure, axes = _create_axes(1, len(columns))
    for (title, rows), axis in zip(columns.items(), axes[0], strict=True):
        for row in rows:
            _draw_curve(axis, row)
        axis.axhline(1 / rows[0]["num_players"], color="grey", linestyle=":", label="par")
        axis.set(title=title, xlabel="mice that the others bid above the value", ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("fraction of games won\nwithout a sack")
    axes[0, 0].legend()
    return figure


def _draw_curve(axis: Axes, row: Mapping[str, Any]) -> None:
    value, low, high = ([estimate[key] for estimate in row["win_share"]] for key in ("value", "low", "high"))
    (line,) = axis.plot(row["extras"], value, label=row["one"])
    axis.fill_between(row["extras"], low, high, color=line.get_color(), alpha=0.25, linewidth=0)
