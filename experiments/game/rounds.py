"""Frequencies of dry rounds (no mice on the mouse cards) and void rounds (nobody buys), and prices of sacks."""

import numpy as np

from experiments.game.columns import average
from experiments.game.copies import PlayedGames
from felicity_env.game import NO_SEAT


def is_dry(rounds: np.ndarray) -> np.ndarray:
    """Return a mask that is true for dry rounds: rounds without mice on the mouse cards (R6.2, R6.3)."""
    return rounds["mice"] == 0


def is_void(rounds: np.ndarray) -> np.ndarray:
    """Return a mask that is true for void rounds: rounds in which nobody buys the sack (R4.9)."""
    return rounds["winner"] == NO_SEAT


def compute_round_columns(games: PlayedGames) -> dict[str, np.ndarray]:
    """Return the frequencies of dry rounds (no mice on the mouse cards) and void rounds (nobody buys), and mean prices.

    Columns named `*_by_round` are [blocks, rounds], with a value for each round of the game; all others are [blocks].
    """
    dry, void = is_dry(games.rounds), is_void(games.rounds)
    after_void = dry[..., 1:] & void[..., :-1]
    return {
        "dry": dry.mean(axis=(1, 2)),
        "dry_after_void": after_void.sum(axis=2).mean(axis=1) / dry.shape[2],
        "void": void.mean(axis=(1, 2)),
        "dry_by_round": dry.mean(axis=1),
        "void_by_round": void.mean(axis=1),
        "price": average(games.rounds["price"], ~void),
        "sack_bought": average(games.rounds["value"], ~void),
    }
