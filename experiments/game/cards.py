"""Values of the cards: the effect of a placed card on its round, and of a card in the hand on the whole game."""

import numpy as np

from experiments.game.columns import average
from experiments.game.copies import Copies, PlayedGames, list_deals, play_states, redeal
from felicity_env import Setup
from felicity_env.game import NUM_CARDS, sack_value
from felicity_env.kernel import kernel
from felicity_env.notation import card_text

CARDS = tuple(card_text(card) for card in range(NUM_CARDS))


@kernel
def _sack_values(rows, out):
    for k in range(len(rows)):
        out[k] = sack_value(rows[k], len(rows[k]))


def compute_sack_values(rows: np.ndarray) -> np.ndarray:
    """Compute the value that each row of cards [..., cards] has as a sack, even if nobody bought it."""
    flat = np.ascontiguousarray(rows).reshape(-1, rows.shape[-1])
    out = np.empty(len(flat), np.int64)
    _sack_values(flat, out)
    return out.reshape(rows.shape[:-1])


def compute_card_columns(games: PlayedGames) -> dict[str, np.ndarray]:
    """Return how each placed card is related to its round: the gain of its seat and the value of its row.

    Both are [blocks, cards], with the overall means subtracted. The result also holds how often seats place the same
    card in a round, [blocks]. These are correlations: a player chooses the round in which it places a card, and its
    bids depend on that card. (`anchor` places random cards, so its gain is the effect of the card in the round.)
    """
    placed, gain = games.rounds["cards"][..., : games.seats], games.gain
    rows, values = games.rows, compute_sack_values(games.rows)
    gains = [average(gain, placed == card) for card in range(NUM_CARDS)]
    sacks = [average(values, (rows == card).any(axis=-1)) for card in range(NUM_CARDS)]
    return {
        "gain_of_placer": np.column_stack(gains) - gain.mean(axis=(1, 2, 3))[:, None],
        "sack": np.column_stack(sacks) - values.mean(axis=(1, 2))[:, None],
        "same_card": _same_card_column(placed),
    }


def _same_card_column(placed: np.ndarray) -> np.ndarray:
    """Return the fraction of pairs of seats that place the same card in a round, [blocks]; random cards give 0.1."""
    seats = placed.shape[-1]
    same = (placed[..., None] == placed[..., None, :]).sum(axis=(-2, -1)) - seats
    return same.mean(axis=(1, 2)) / (seats * (seats - 1))


def remove_each_card(setup: Setup, deals: np.ndarray) -> np.ndarray:
    """Return copies of deals in which each card in turn is the one that is removed from seat 0 (R2.4), [B, cards].

    Everything else in a deal stays equal. deals: states [B] at the beginning of games in `setup`.
    """
    changed = np.repeat(deals, NUM_CARDS)
    changed["removed"][:, 0] = np.tile(np.arange(NUM_CARDS), len(deals))
    return redeal(setup, changed).reshape(len(deals), NUM_CARDS)


def compute_holding_columns(copies: Copies) -> dict[str, np.ndarray]:
    """Return the value of holding each card during a game, in win share and in score margin, [blocks, cards].

    This is an experiment. A seat is dealt nine of ten cards, so a seat without one card plays the other nine. The value
    of holding a card is the mean result over all removed cards minus the result when this card is removed, with the
    same rest of the deal and the same random streams. It includes everything that follows in the game.
    """
    games = play_states(copies, copies.setup, remove_each_card(copies.setup, list_deals(copies)))
    results = {"holding_win_share": games.win_share[..., 0], "holding_margin": games.margin[..., 0]}
    return {name: values.mean(axis=1, keepdims=True) - values for name, values in results.items()}
