"""What is a seat worth?"""

import numpy as np

from experiments.game.columns import weighted_mean
from experiments.game.copies import Played


def by_place(values: np.ndarray, start_seats: np.ndarray) -> np.ndarray:
    """`values` [..., seats] in turn after the start player: place 0 is the start player's own."""
    seats = values.shape[-1]
    return np.take_along_axis(values, (start_seats[..., None] + np.arange(seats)) % seats, axis=-1)


def seat_columns(played: Played) -> dict[str, np.ndarray]:
    """Columns [blocks, places]: what a place in turn brings.

    The first start player is drawn by chance, so `win_share`, `margin` and `gain_first_round` are effects of the place.
    In later rounds the start player is the last buyer, who tends to have less mice: the others are correlations.
    """
    starts = played.rounds["start_seat"]
    gain, bought = by_place(played.gain, starts), by_place(played.bought, starts)
    return {
        "win_share": by_place(played.win_share, starts[..., 0]).mean(axis=1) - 1 / played.seats,
        "margin": by_place(played.margin, starts[..., 0]).mean(axis=1),
        "gain_first_round": gain[:, :, 0].mean(axis=1),
        "gain": gain.mean(axis=(1, 2)),
        "buys": bought.mean(axis=(1, 2)),
        "gain_of_buyer": _mean_by_place(gain, bought),
        "gain_of_others": _mean_by_place(gain, ~bought),
    }


def _mean_by_place(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Columns [blocks, places] for the mean of those of `values` [blocks, games, rounds, places] that `mask` picks."""
    places = range(values.shape[-1])
    return np.column_stack([weighted_mean(values[..., place], mask[..., place]) for place in places])
