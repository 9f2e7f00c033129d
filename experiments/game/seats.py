"""Value of a seat by its position in the order of play; position 0 is the start player."""

import numpy as np

from experiments.game.columns import average
from experiments.game.copies import PlayedGames


def order_by_position(values: np.ndarray, start_seats: np.ndarray) -> np.ndarray:
    """Return `values` [..., seats] rearranged into the order of play; position 0 is the start player."""
    seats = values.shape[-1]
    return np.take_along_axis(values, (start_seats[..., None] + np.arange(seats)) % seats, axis=-1)


def compute_seat_columns(games: PlayedGames) -> dict[str, np.ndarray]:
    """Return the win share, margin, gains and purchases of each position in the order of play, [blocks, positions].

    The first start player is random, so `win_share`, `margin` and `gain_first_round` are effects of the position. In
    later rounds the start player is the last buyer, who tends to have fewer mice; the other columns are correlations.
    """
    starts = games.rounds["start_seat"]
    gain, bought = order_by_position(games.gain, starts), order_by_position(games.bought, starts)
    return {
        "win_share": order_by_position(games.win_share, starts[..., 0]).mean(axis=1) - 1 / games.seats,
        "margin": order_by_position(games.margin, starts[..., 0]).mean(axis=1),
        "gain_first_round": gain[:, :, 0].mean(axis=1),
        "gain": gain.mean(axis=(1, 2)),
        "buys": bought.mean(axis=(1, 2)),
        "gain_of_buyer": _average_by_position(gain, bought),
        "gain_of_others": _average_by_position(gain, ~bought),
    }


def _average_by_position(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return for each position in the order of play the mean of `values` where `mask` is true, [blocks, positions].

    values, mask: [blocks, games, rounds, positions].
    """
    positions = range(values.shape[-1])
    return np.column_stack([average(values[..., position], mask[..., position]) for position in positions])
