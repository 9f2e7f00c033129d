"""How often are rounds dry (without mice) or void (nobody buys), and what is a sack sold for?"""

import numpy as np

from experiments.game.columns import weighted_mean
from experiments.game.copies import Played
from felicity_env.game import NO_SEAT


def is_dry(rounds: np.ndarray) -> np.ndarray:
    """Whether there are no mice on the mouse cards (R6.2, R6.3)."""
    return rounds["mice"] == 0


def is_void(rounds: np.ndarray) -> np.ndarray:
    """Whether nobody buys (R4.9)."""
    return rounds["winner"] == NO_SEAT


def round_columns(played: Played) -> dict[str, np.ndarray]:
    """Shares of dry and void rounds: columns [blocks, rounds] by number, [blocks] of all."""
    dry, void = is_dry(played.rounds), is_void(played.rounds)
    after_void = dry[..., 1:] & void[..., :-1]
    return {
        "dry": dry.mean(axis=(1, 2)),
        "dry_after_void": after_void.sum(axis=2).mean(axis=1) / dry.shape[2],
        "void": void.mean(axis=(1, 2)),
        "dry_by_round": dry.mean(axis=1),
        "void_by_round": void.mean(axis=1),
        "price": weighted_mean(played.rounds["price"], ~void),
        "sack_bought": weighted_mean(played.rounds["value"], ~void),
    }
