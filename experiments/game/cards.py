"""What is a card worth?"""

import numpy as np

from experiments.game.columns import weighted_mean
from experiments.game.copies import Played, Table, base_deals, begun, play_changed
from felicity_env import SETUPS
from felicity_env.game import NUM_CARDS, sack_value
from felicity_env.kernel import kernel
from felicity_env.notation import card_text

CARDS = tuple(card_text(card) for card in range(NUM_CARDS))


@kernel
def _sack_values(rows, out):
    for k in range(len(rows)):
        out[k] = sack_value(rows[k], len(rows[k]))


def sack_values(rows: np.ndarray) -> np.ndarray:
    """What each row [..., cards] is worth, bought or not."""
    flat = np.ascontiguousarray(rows).reshape(-1, rows.shape[-1])
    out = np.empty(len(flat), np.int64)
    _sack_values(flat, out)
    return out.reshape(rows.shape[:-1])


def card_columns(played: Played) -> dict[str, np.ndarray]:
    """Columns [blocks, cards]: the placer's gain, the worth of a row with the card, each less that over all rounds.

    What goes along with a card, not what it brings: a player chooses the round that it lays a card in, and bids by what
    it laid. (`anchor` lays its cards at random; there the gain is the card's effect in the round.)
    """
    placed, gain = played.rounds["cards"][..., : played.seats], played.gain
    rows, values = played.rows, sack_values(played.rows)
    gains = [weighted_mean(gain, placed == card) for card in range(NUM_CARDS)]
    sacks = [weighted_mean(values, (rows == card).any(axis=-1)) for card in range(NUM_CARDS)]
    return {
        "gain_of_placer": np.column_stack(gains) - gain.mean(axis=(1, 2, 3))[:, None],
        "sack": np.column_stack(sacks) - values.mean(axis=(1, 2))[:, None],
        "same_card": _same_card(placed),
    }


def _same_card(placed: np.ndarray) -> np.ndarray:
    """A column [blocks]: how often two seats lay the same card in a round; it is 0.1 if they lay by chance."""
    seats = placed.shape[-1]
    same = (placed[..., None] == placed[..., None, :]).sum(axis=(-2, -1)) - seats
    return same.mean(axis=(1, 2)) / (seats * (seats - 1))


def lacking_deals(deals: np.ndarray) -> np.ndarray:
    """Each of `deals` [B] ten times, [B, cards]: seat 0 lacks (R2.4) each card in turn, and nothing else is changed."""
    changed = np.repeat(deals, NUM_CARDS)
    changed["removed"][:, 0] = np.tile(np.arange(NUM_CARDS), len(deals))
    setup = SETUPS[int(deals["num_seats"][0])]
    return begun(setup, changed).reshape(len(deals), NUM_CARDS)


def holding_columns(table: Table) -> dict[str, np.ndarray]:
    """Columns [blocks, cards]: what it is worth to a seat to hold a card, in win share and margin.

    An experiment: nine of ten cards are dealt, so a seat that lacks a card plays the other nine. The worth of holding a
    card is the average over which card it lacks, less the result when it lacks this one, everything else in the deal
    and the players' random draws being equal. It counts all that follows in the game, what the others make of it too.
    """
    played = play_changed(table, SETUPS[table.seats], lacking_deals(base_deals(table)))
    results = {"holding_win_share": played.win_share[..., 0], "holding_margin": played.margin[..., 0]}
    return {name: values.mean(axis=1, keepdims=True) - values for name, values in results.items()}
