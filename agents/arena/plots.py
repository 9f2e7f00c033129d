"""Plots of a tournament: the strength of the players, and their prices, profits and passes in the auctions.

Every figure has one panel for each setup. It is drawn from the stored results and the blocks of the matches.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agents.arena.blocks import Blocks
from agents.arena.estimates import Estimate, estimate_mean, linearise_ratio
from agents.arena.matches import MatchResults
from agents.arena.report import list_pairs, list_players
from agents.tools.figures import save_figure
from felicity_env.setups import setup_name

VALUE_BINS = np.arange(-15, 50, 5)
MIN_SACKS = 30  # a mean over fewer rounds is not drawn


class _Panel(NamedTuple):
    """Panel of a figure, for one setup; `codes` are the players in the order in which they were named."""

    axis: Axes
    setup: str
    num_players: int
    codes: list[str]

    def compute_shift(self, code: str) -> float:
        """Return the distance to move a player's points along the x axis, so that different players do not overlap."""
        return 0.6 * (self.codes.index(code) / max(len(self.codes) - 1, 1) - 0.5)


def _create_panels(results: dict[str, Any], *, height: float) -> tuple[Figure, list[_Panel]]:
    setups = list(results["ratings"])
    size = (4.6 * len(setups) + 0.6, height)
    figure = Figure(size, layout="constrained")
    axes = figure.subplots(1, len(setups), squeeze=False)
    panels = []
    for axis, setup in zip(axes[0], setups, strict=True):
        pairs = list_pairs(results, setup)
        panels.append(_Panel(axis, setup, pairs[0]["num_players"], list_players(pairs)))
        axis.set(title=setup)
        axis.grid(alpha=0.3)
    return figure, panels


def _finish(figure: Figure, path: Path) -> None:
    """Write a figure to a file; add a legend at the right if the last panel has labels."""
    if figure.axes[-1].get_legend_handles_labels()[0]:
        figure.axes[-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    save_figure(figure, path)


def _list_blocks(panel: _Panel, matches: MatchResults, code: str) -> list[Blocks]:
    """Return the measured blocks of each match in which player `code` plays alone against copies of another player."""
    return [
        blocks
        for match, blocks in matches.blocks.items()
        if match.is_pair and match.codes[0] == code and setup_name(match.setup) == panel.setup
    ]


def _list_rounds(panel: _Panel, matches: MatchResults, code: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return records of the games in which player `code` plays alone against copies of another player.

    Returns the rounds, ROUND [games, rounds], the seat of the player, and the index of the deal, both integers [games].
    All matches play the same deals, so games of different matches share a deal.
    """
    tables = _list_blocks(panel, matches, code)
    rounds = np.concatenate([blocks.rounds.reshape(-1, blocks.rounds.shape[2]) for blocks in tables])
    seats = np.concatenate([blocks.seats[:, :, 0].ravel() for blocks in tables])
    deals = [np.repeat(np.arange(len(blocks.rounds)), blocks.rounds.shape[1]) for blocks in tables]
    return rounds, seats, np.concatenate(deals)


def _list_purchases(panel: _Panel, matches: MatchResults, code: str) -> np.ndarray:
    """Return records of rounds: those in which player `code`, alone against copies of another, bought the sack."""
    rounds, seats, _ = _list_rounds(panel, matches, code)
    return rounds[rounds["winner"] == seats[:, None]]


def draw_cross_table(path: Path, results: dict[str, Any], matches: MatchResults) -> None:
    """Draw a heat map of the win share of each player (row) alone against copies of each other player (column)."""
    size = max(len(points) for points in results["ratings"].values())
    figure, panels = _create_panels(results, height=0.5 * size + 1.8)
    for panel in panels:
        axis, codes, par = panel.axis, panel.codes, 1 / panel.num_players
        win_shares = np.full((len(codes), len(codes)), np.nan)
        for pair in results["pairs"]:
            if pair["setup"] == panel.setup:
                cell = codes.index(pair["one"]), codes.index(pair["rest"])
                win_shares[cell] = pair["measures"]["win_share"]["value"]
        axis.grid(False)
        axis.imshow(np.log(np.clip(win_shares / par, 0.1, None)), cmap="RdBu", vmin=-1.6, vmax=1.6)
        for (row, column), value in np.ndenumerate(win_shares):
            if not np.isnan(value):
                color = "white" if abs(np.log(max(value / par, 0.1))) > 1 else "black"
                text = f"{value:.2f}".removeprefix("0")
                axis.text(column, row, text, ha="center", va="center", fontsize=8, color=color)
        axis.set_xticks(range(len(codes)), codes, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axis.set_yticks(range(len(codes)), codes, fontsize=8)
        axis.set(title=f"{panel.setup} (par {par:.2f})", xlabel=f"{panel.num_players - 1} copies of")
    panels[0].axis.set_ylabel("win share of the single player")
    _finish(figure, path)


def draw_ratings(path: Path, results: dict[str, Any], matches: MatchResults) -> None:
    """Draw the Plackett-Luce rating of each player with its 95 % interval."""
    figure, panels = _create_panels(results, height=3.6)
    for panel in panels:
        points = {code: Estimate(**results["ratings"][panel.setup][code]) for code in panel.codes}
        values = list(points.values())
        xs, ys = [point.value for point in values], range(len(values))
        panel.axis.errorbar(xs, ys, xerr=_compute_errors(values), fmt="o", capsize=3)
        panel.axis.set_yticks(range(len(values)), points)
        panel.axis.set_xlabel("rating (400 points: odds of ten to one)")
    _finish(figure, path)


def draw_prices(path: Path, results: dict[str, Any], matches: MatchResults) -> None:
    """Draw the mean price that each player pays for a sack, as a function of the sack's value."""
    figure, panels = _create_panels(results, height=3.8)
    for panel in panels:
        for code in panel.codes:
            bought = _list_purchases(panel, matches, code)
            bins = np.digitize(bought["value"], VALUE_BINS)
            prices = [bought["price"][bins == k] for k in range(1, len(VALUE_BINS))]
            means = [price.mean() if len(price) >= MIN_SACKS else np.nan for price in prices]
            panel.axis.plot(VALUE_BINS[:-1] + 2, means, marker=".", label=code)
        panel.axis.plot(VALUE_BINS[3:], VALUE_BINS[3:], color="grey", linestyle=":", label="price = value")
        panel.axis.set(xlabel="value of the sack bought", ylim=(0, None))
    panels[0].axis.set_ylabel("mean price, mice")
    _finish(figure, path)


def draw_positions(path: Path, results: dict[str, Any], matches: MatchResults) -> None:
    """Draw each player's win share by its position after the start player, minus its mean over all positions."""
    figure, panels = _create_panels(results, height=3.6)
    for panel in panels:
        seats = panel.num_players
        for code in panel.codes:
            tables = _list_blocks(panel, matches, code)
            win_shares = _average_deals([blocks.block_means_by_position(0) for blocks in tables])
            differences = win_shares - win_shares.mean(axis=1, keepdims=True)
            _draw_estimates(panel, code, dict(enumerate(map(estimate_mean, differences.T))))
        panel.axis.set_xticks(range(seats), ["starts", *(f"+{k}" for k in range(1, seats))])
        panel.axis.set_xlabel("position after the start player")
        panel.axis.axhline(0, color="grey", linewidth=0.8)
    panels[0].axis.set_ylabel("win share minus the player's mean")
    _finish(figure, path)


def _average_deals(tables: list[np.ndarray]) -> np.ndarray:
    """Return the mean of the arrays [deals, positions] of several tables, which may have different numbers of deals.

    The mean for a deal is over the tables that played it.
    """
    sums, counts = np.zeros_like(max(tables, key=len)), np.zeros((max(map(len, tables)), 1))
    for values in tables:
        sums[: len(values)] += values
        counts[: len(values)] += 1
    return sums / counts


def draw_profits(path: Path, results: dict[str, Any], matches: MatchResults) -> None:
    """Draw quartiles and mean of each player's profit from a sack that it bought: value minus price."""
    figure, panels = _create_panels(results, height=3.6)
    for panel in panels:
        profits = {}
        for code in panel.codes:
            bought = _list_purchases(panel, matches, code)
            if len(bought):
                profits[code] = bought["value"] - bought["price"]
        if profits:
            labels, values = list(profits), list(profits.values())
            panel.axis.boxplot(values, orientation="horizontal", tick_labels=labels, showfliers=False, showmeans=True)
        panel.axis.axvline(0, color="grey", linewidth=0.8)
        panel.axis.set_xlabel("value minus price of a sack bought (triangle: mean)")
    _finish(figure, path)


def draw_passing(path: Path, results: dict[str, Any], matches: MatchResults) -> None:
    """Draw each player's gain in a round minus the others' mean gain, if it passed first, second, ..., or bought."""
    figure, panels = _create_panels(results, height=3.6)
    for panel in panels:
        for code in panel.codes:
            _draw_estimates(panel, code, _estimate_gains(panel, matches, code))
        passes = [f"pass {k}" for k in range(1, panel.num_players - 1)]
        panel.axis.set_xticks(range(panel.num_players), [*passes, "last pass", "buy"])
        panel.axis.axhline(0, color="grey", linewidth=0.8)
    panels[0].axis.set_ylabel("gain in the round minus the others' mean")
    _finish(figure, path)


def _estimate_gains(panel: _Panel, matches: MatchResults, code: str) -> dict[int, Estimate]:
    """Estimate a player's gain in a round minus the mean gain of the others, by its way to leave the auction.

    The ways are to pass first, to pass second, ..., or to buy the sack. Rounds without mice on the mouse cards are left
    out, and so are ways that occurred in fewer than MIN_SACKS rounds.
    """
    rounds, seats, deals = _list_rounds(panel, matches, code)
    num_players = panel.num_players
    bought = rounds["winner"][:, :, None] == np.arange(num_players)
    gains = rounds["taken"][:, :, :num_players] + bought * (rounds["value"] - rounds["price"])[:, :, None]
    own, passed, buys = (
        np.take_along_axis(values, seats[:, None, None], axis=2)[:, :, 0]
        for values in (gains, rounds["passed"], bought)
    )
    differences = own - (gains.sum(axis=2) - own) / (num_players - 1)
    ways = [(rounds["mice"] > 0) & way for way in (*(passed == k for k in range(1, num_players)), buys)]
    return {k: _estimate_mean(differences, way, deals) for k, way in enumerate(ways) if way.sum() >= MIN_SACKS}


def _estimate_mean(values: np.ndarray, mask: np.ndarray, deals: np.ndarray) -> Estimate:
    """Estimate the mean of `values` [games, rounds] where `mask` is true, with deals as the blocks of the interval.

    deals: index of the deal of each game, [games].
    """
    totals, counts = (np.bincount(deals, each.sum(axis=1)) for each in (values * mask, mask))
    return estimate_mean(linearise_ratio(totals, counts))


def _draw_estimates(panel: _Panel, code: str, estimates: dict[int, Estimate]) -> None:
    """Draw a player's estimates with error bars; the keys of `estimates` are positions on the x axis."""
    xs, values = np.array(list(estimates)) + panel.compute_shift(code), list(estimates.values())
    if values:
        ys = [value.value for value in values]
        panel.axis.errorbar(xs, ys, yerr=_compute_errors(values), fmt="o", markersize=4, capsize=2, label=code)


def _compute_errors(estimates: list[Estimate]) -> np.ndarray:
    """Return the distances from K estimates to the lower and upper bounds of their intervals, [2, K]."""
    bounds = np.array([[point.value - point.low, point.high - point.value] for point in estimates]).T
    return np.maximum(bounds, 0)


PLOTS: dict[str, Callable[[Path, dict[str, Any], MatchResults], None]] = {  # file name: function that draws it
    "cross_table": draw_cross_table,
    "ratings": draw_ratings,
    "prices": draw_prices,
    "positions": draw_positions,
    "profits": draw_profits,
    "passing": draw_passing,
}
