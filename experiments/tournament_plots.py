"""The plots of a tournament: how strong the players are, and what they do that makes them so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agents.estimates import Estimate, bootstrap
from experiments.matches import Played

Draw = Callable[[Path, dict[str, Any], Played], None]
VALUE_BINS = np.arange(-15, 50, 5)
LEAST_SACKS = 30  # in a bin, for a mean worth drawing


def panels(results: dict[str, Any], *, height: float) -> tuple[Figure, list[tuple[int, Axes]]]:
    """A figure with a panel for each number of players."""
    tables = [int(n) for n in results["ratings"]]
    size = (4.6 * len(tables) + 0.6, height)
    figure, axes = plt.subplots(1, len(tables), figsize=size, layout="constrained", squeeze=False)
    return figure, list(zip(tables, axes[0], strict=True))


def save(figure: Figure, path: Path) -> None:
    """Write and forget."""
    figure.savefig(path, dpi=100)
    plt.close(figure)


def codes_at(results: dict[str, Any], n: int) -> list[str]:
    """The players at tables of n, in the order they were named."""
    return list(dict.fromkeys(pair["one"] for pair in results["pairs"] if pair["num_players"] == n))


def draw_cross_table(folder: Path, results: dict[str, Any], played: Played) -> None:
    """Heat map of the win share of one against copies of another."""
    size = max(len(codes_at(results, int(n))) for n in results["ratings"])
    figure, axes = panels(results, height=0.5 * size + 1.8)
    for n, axis in axes:
        codes = codes_at(results, n)
        shares = np.full((len(codes), len(codes)), np.nan)
        for pair in results["pairs"]:
            if pair["num_players"] == n:
                shares[codes.index(pair["one"]), codes.index(pair["rest"])] = pair["measures"]["win_share"]["value"]
        axis.imshow(np.log(np.clip(shares * n, 0.1, None)), cmap="RdBu", vmin=-1.6, vmax=1.6)
        for (row, column), share in np.ndenumerate(shares):
            if not np.isnan(share):
                ink = "white" if abs(np.log(max(share * n, 0.1))) > 1 else "black"
                axis.text(
                    column, row, f"{share:.2f}".removeprefix("0"), ha="center", va="center", fontsize=8, color=ink
                )
        axis.set_xticks(range(len(codes)), codes, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
        axis.set_yticks(range(len(codes)), codes, fontsize=8)
        axis.set(title=f"{n} players (par {1 / n:.2f})", xlabel=f"{n - 1} copies of")
    axes[0][1].set_ylabel("win share of one")
    save(figure, folder / "cross_table.png")


def draw_ratings(folder: Path, results: dict[str, Any], played: Played) -> None:
    """Plackett-Luce ratings with intervals."""
    figure, axes = panels(results, height=3.6)
    for n, axis in axes:
        points = results["ratings"][str(n)]
        codes = [code for code in codes_at(results, n) if code in points]
        values = np.array([[points[c]["low"], points[c]["value"], points[c]["high"]] for c in codes]).T
        places = np.arange(len(codes))
        axis.errorbar(
            values[1], places, xerr=np.maximum([values[1] - values[0], values[2] - values[1]], 0), fmt="o", capsize=3
        )
        axis.set_yticks(places, codes)
        axis.set(title=f"{n} players", xlabel="rating (400 points: odds of ten to one)")
        axis.grid(alpha=0.3)
    save(figure, folder / "ratings.png")


def rounds_of(played: Played, code: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rounds [games, rounds] in which `code` sat alone against others at tables of n, and its seat [games]."""
    tables = [b for match, b in played.blocks.items() if match.num_players == n and _is_alone(match.codes, code)]
    rounds = np.concatenate([blocks.rounds.reshape(-1, blocks.rounds.shape[2]) for blocks in tables])
    return rounds, np.concatenate([blocks.seats[:, :, 0].ravel() for blocks in tables])


def _is_alone(codes: tuple[str, ...], code: str) -> bool:
    return codes[0] == code and len(set(codes)) == 2


def draw_prices(folder: Path, results: dict[str, Any], played: Played) -> None:
    """What each player pays for sacks of what worth."""
    figure, axes = panels(results, height=3.8)
    for n, axis in axes:
        for code in codes_at(results, n):
            rounds, seats = rounds_of(played, code, n)
            bought = rounds[rounds["winner"] == seats[:, None]]
            bins = np.digitize(bought["value"], VALUE_BINS)
            means = [bought["price"][bins == k].mean() if (bins == k).sum() >= LEAST_SACKS else np.nan for k in _BINS]
            axis.plot(VALUE_BINS[:-1] + 2, means, marker=".", label=code)
        axis.plot(VALUE_BINS[3:], VALUE_BINS[3:], color="grey", linestyle=":", label="price = worth")
        axis.set(title=f"{n} players", xlabel="worth of the sack bought", ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0][1].set_ylabel("mean price, mice")
    _legend(axes[-1][1])
    save(figure, folder / "prices.png")


_BINS = range(1, len(VALUE_BINS))


def draw_places(folder: Path, results: dict[str, Any], played: Played) -> None:
    """Win share by place after the first start player, less the player's mean over all places."""
    figure, axes = panels(results, height=3.6)
    for n, axis in axes:
        for code in codes_at(results, n):
            tables = [b for m, b in played.blocks.items() if m.num_players == n and _is_alone(m.codes, code)]
            shares = _mean_by_deal([blocks.by_place(0) for blocks in tables])
            estimates = [bootstrap(values) for values in (shares - shares.mean(axis=1, keepdims=True)).T]
            _points(axis, np.arange(n) + _shift(code, results, n), estimates, code)
        axis.axhline(0, color="grey", linewidth=0.8)
        axis.set_xticks(range(n), ["starts", *(f"+{k}" for k in range(1, n))])
        axis.set(title=f"{n} players", xlabel="place at the start of the game")
        axis.grid(alpha=0.3)
    axes[0][1].set_ylabel("win share less the player's mean")
    _legend(axes[-1][1])
    save(figure, folder / "places.png")


def _mean_by_deal(tables: list[np.ndarray]) -> np.ndarray:
    """Mean of values [deals, places] over the tables that played each deal; some played fewer deals."""
    sums, counts = np.zeros_like(max(tables, key=len)), np.zeros((max(map(len, tables)), 1))
    for values in tables:
        sums[: len(values)] += values
        counts[: len(values)] += 1
    return sums / counts


def _shift(code: str, results: dict[str, Any], n: int) -> float:
    """So that the points of different players do not hide each other."""
    codes = codes_at(results, n)
    return 0.6 * (codes.index(code) / max(len(codes) - 1, 1) - 0.5)


def _legend(axis: Axes) -> None:
    """Beside the last panel, if anything was drawn."""
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def _points(axis: Axes, places: np.ndarray, estimates: list[Any], label: str) -> None:
    if not estimates:
        return
    values = np.array([[e.low, e.value, e.high] for e in estimates]).T
    errors = np.maximum([values[1] - values[0], values[2] - values[1]], 0)
    axis.errorbar(places, values[1], yerr=errors, fmt="o", markersize=4, capsize=2, label=label)


def draw_profits(folder: Path, results: dict[str, Any], played: Played) -> None:
    """What sacks bring their buyers: quartiles and mean of worth less price."""
    figure, axes = panels(results, height=3.6)
    for n, axis in axes:
        codes = [code for code in codes_at(results, n) if _profits(played, code, n).size]
        profits = [_profits(played, code, n) for code in codes]
        if codes:
            axis.boxplot(profits, orientation="horizontal", tick_labels=codes, showfliers=False, showmeans=True)
        axis.axvline(0, color="grey", linewidth=0.8)
        axis.set(title=f"{n} players", xlabel="worth less price of a sack bought (triangle: mean)")
        axis.grid(alpha=0.3)
    save(figure, folder / "profits.png")


def _profits(played: Played, code: str, n: int) -> np.ndarray:
    rounds, seats = rounds_of(played, code, n)
    bought = rounds[rounds["winner"] == seats[:, None]]
    return bought["value"] - bought["price"]


def draw_passing(folder: Path, results: dict[str, Any], played: Played) -> None:
    """What a round with mice brings to who passes first, second, ... and to who buys, beside what the others get."""
    figure, axes = panels(results, height=3.6)
    for n, axis in axes:
        for code in codes_at(results, n):
            estimates, shift = _leads(played, code, n), _shift(code, results, n)
            drawn = [(k + shift, estimate) for k, estimate in enumerate(estimates) if estimate]
            _points(axis, np.array([place for place, _ in drawn]), [estimate for _, estimate in drawn], code)
        axis.axhline(0, color="grey", linewidth=0.8)
        axis.set_xticks(range(n), [*(f"pass {k}" for k in range(1, n - 1)), "last pass", "buy"])
        axis.set(title=f"{n} players")
        axis.grid(alpha=0.3)
    axes[0][1].set_ylabel("gain in the round less the others' mean")
    _legend(axes[-1][1])
    save(figure, folder / "passing.png")


def _leads(played: Played, code: str, n: int) -> list[Estimate | None]:
    """Own gain less the others' mean in rounds with mice, by how the seat left: as k-th to pass, or as the buyer.

    None where it hardly ever happened.
    """
    rounds, seats = rounds_of(played, code, n)
    bought = rounds["winner"][:, :, None] == np.arange(n)
    gains = rounds["taken"][:, :, :n] + bought * (rounds["value"] - rounds["price"])[:, :, None]
    own, passed, buys = (
        np.take_along_axis(values, seats[:, None, None], axis=2)[:, :, 0]
        for values in (gains, rounds["passed"], bought)
    )
    lead = own - (gains.sum(axis=2) - own) / (n - 1)
    ways = [*(passed == k for k in range(1, n)), buys]
    return [_mean_where(lead, (rounds["mice"] > 0) & way) for way in ways]


def _mean_where(values: np.ndarray, chosen: np.ndarray) -> Estimate | None:
    """Mean of `values` [games, rounds] where `chosen`, its interval over games by linearising the ratio."""
    if chosen.sum() < LEAST_SACKS:
        return None
    sums, counts = (values * chosen).sum(axis=1), chosen.sum(axis=1)
    mean = sums.sum() / counts.sum()
    return bootstrap(mean + (sums - mean * counts) / counts.mean())


ALL: tuple[Draw, ...] = (draw_cross_table, draw_ratings, draw_prices, draw_places, draw_profits, draw_passing)
NAMES = ("cross_table", "ratings", "prices", "places", "profits", "passing")
