"""The figures, drawn from the answers as they are stored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.game.cards import CARDS
from experiments.game.mouse_card import MICE, TIMES_TAKEN
from felicity_env.game import MAX_ROUNDS, MAX_SEATS


class Panel(NamedTuple):
    """A row of a figure: an answer, point by point."""

    answer: str
    y_label: str
    x_label: str
    ticks: Sequence[Any]
    base: Callable[[int], float] | None = None  # a line to compare with, for a number of seats


def _zero(seats: int) -> float:
    return 0.0


def _par(seats: int) -> float:
    return 1 / seats


_PLACES = ("starts", *range(1, MAX_SEATS))
_TIMES = (*TIMES_TAKEN[:-1], f"{TIMES_TAKEN[-1]}+")
_ROUNDS = range(1, MAX_ROUNDS + 1)
FIGURES = {
    "seats": (
        Panel("win_share", "win share less par", "place after the first start player", _PLACES, _zero),
        Panel("gain", "points gained in a round", "place after the round's start player", _PLACES, _zero),
    ),
    "cards": (
        Panel("holding_win_share", "win share from holding it", "card", CARDS, _zero),
        Panel("gain_of_placer", "placer's points in the round\n(less the average)", "card", CARDS, _zero),
    ),
    "rounds": (
        Panel("dry_by_round", "share of dry rounds", "round", _ROUNDS),
        Panel("void_by_round", "share of void rounds", "round", _ROUNDS),
    ),
    "last_mouse_card": (
        Panel("win_share_by_times", "win share", "times it takes the last mouse card", _TIMES, _par),
        Panel("if_price", "mean price, mice", "if the last mouse card held .. mice", MICE),
    ),
}
STYLES = ("o", "s", "^", "D", "v", "P", "X", "*")


def figures(results: Mapping[str, Any]) -> dict[str, Figure]:
    """All figures by name."""
    drawn = {name: figure_of(name, results["tables"]) for name in FIGURES}
    return drawn | {"non_buyers": non_buyers_figure(results["non_buyers"])}


def figure_of(name: str, answers: Sequence[Mapping[str, Any]]) -> Figure:
    """A row for each panel of a figure, a column for each number of seats, a colour for each player."""
    columns, panels = _seats_in(answers), FIGURES[name]
    figure, axes = _axes(len(panels), len(columns))
    for panel, line in zip(panels, axes, strict=True):
        for seats, axis in zip(columns, line, strict=True):
            _draw_panel(axis, panel, seats, [row for row in answers if row["num_players"] == seats])
        line[0].set_ylabel(panel.y_label)
    for seats, axis in zip(columns, axes[0], strict=True):
        axis.set_title(f"{seats} players")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(STYLES))
    return figure


def _seats_in(answers: Sequence[Mapping[str, Any]]) -> list[int]:
    return sorted({row["num_players"] for row in answers})


def _axes(rows: int, columns: int) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(3.9 * columns, 0.6 + 2.8 * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey="row")


def _draw_panel(axis: Axes, panel: Panel, seats: int, shown: Sequence[Mapping[str, Any]]) -> None:
    for k, row in enumerate(shown):
        shift = 0.6 * ((k + 0.5) / len(shown) - 0.5)
        _draw_points(axis, row[panel.answer], shift=shift, fmt=STYLES[k % len(STYLES)], label=row["player"])
    if panel.base:
        axis.axhline(panel.base(seats), color="grey", linestyle=":", zorder=0)
    places = len(shown[0][panel.answer])
    axis.set_xticks(range(places), [str(tick) for tick in panel.ticks[:places]])
    axis.set_xlabel(panel.x_label)
    axis.grid(alpha=0.3)


def _draw_points(axis: Axes, estimates: Sequence[Any], *, shift: float, fmt: str, label: str) -> None:
    """Points with their intervals, beside those of other series."""
    known = [(place, estimate) for place, estimate in enumerate(estimates) if estimate]
    values = np.array([[estimate[key] for key in ("value", "low", "high")] for _, estimate in known])
    spread = np.abs(values[:, 1:] - values[:, :1]).T
    places = np.array([place for place, _ in known]) + shift
    axis.errorbar(places, values[:, 0], spread, fmt=fmt, markersize=4, capsize=2, linewidth=1, label=label)


def non_buyers_figure(answers: Sequence[Mapping[str, Any]]) -> Figure:
    """Victories without a sack over how reckless the others are."""
    columns = _seats_in(answers)
    figure, axes = _axes(1, len(columns))
    for seats, axis in zip(columns, axes[0], strict=True):
        for row in answers:
            if row["num_players"] == seats:
                _draw_curve(axis, row)
        axis.axhline(1 / seats, color="grey", linestyle=":", label="par")
        axis.set(title=f"one against {seats - 1}", xlabel="mice the others bid above the worth", ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("share of games won\nwithout a sack")
    axes[0, 0].legend()
    return figure


def _draw_curve(axis: Axes, row: Mapping[str, Any]) -> None:
    value, low, high = ([estimate[key] for estimate in row["win_share"]] for key in ("value", "low", "high"))
    (line,) = axis.plot(row["extras"], value, label=row["one"])
    axis.fill_between(row["extras"], low, high, color=line.get_color(), alpha=0.25, linewidth=0)
