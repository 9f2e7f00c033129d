"""Moves that several heuristics share: a raise by one up to a limit, and the worst card to place."""

import numpy as np

from felicity_env.game import LARGE_DOG, PASS, RABBIT, SMALL_DOG, State, last_pot
from felicity_env.kernel import kernel

WORST_FIRST = np.array([0, 1, LARGE_DOG, RABBIT, SMALL_DOG, 2, 3, 4, 5, 6])  # cards by the value they add to a sack
SPOILERS = 1 << 0 | 1 << 1 | 1 << LARGE_DOG  # bit set of the cards that lower the value of a sack most


@kernel
def raise_up_to(state: State, limit: float) -> int:
    """Return a raise by one if that is at most `limit` and at most the mice in hand, else a pass."""
    raised = state.high_bid + 1
    return PASS + raised if raised <= min(limit, state.mice[state.seat]) else PASS


@kernel
def place_worst(state: State) -> int:
    """Return the worst card in hand, but keep spoilers for a dry round while there is another card."""
    hand = state.hands[state.seat]
    others = hand & ~SPOILERS
    return worst_card(others if last_pot(state) > 0 and others != 0 else hand)


@kernel
def worst_card(cards: int) -> int:
    """Return the card of a bit set that adds least to the value of a sack."""
    for card in WORST_FIRST:
        if cards >> card & 1:
            return card
    return PASS  # not reached: a hand is never empty
