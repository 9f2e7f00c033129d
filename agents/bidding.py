"""Decision rules that several heuristics share: raise by one up to a limit, and place the worst card."""

import numpy as np

from felicity_env.game import LARGE_DOG, PASS, RABBIT, SMALL_DOG, State, is_dry
from felicity_env.kernel import kernel

WORST_FIRST = np.array([0, 1, LARGE_DOG, RABBIT, SMALL_DOG, 2, 3, 4, 5, 6])  # cards by the value they add to a sack
SPOILERS = 1 << 0 | 1 << 1 | 1 << LARGE_DOG  # bit set of the cards that lower the value of a sack most


@kernel
def raise_up_to(state: State, limit: float) -> int:
    """Return a raise of the highest bid by one, or a pass if the new bid would exceed `limit` or the seat's mice."""
    raised = state.high_bid + 1
    return PASS + raised if raised <= min(limit, state.mice[state.seat]) else PASS


@kernel
def place_worst(state: State) -> int:
    """Return the card in hand that adds least to a sack; spoilers (-8, -5, large dog) are kept for a dry round.

    In a round that is not dry a spoiler is returned only if no other card is left.
    """
    hand = state.hands[state.seat]
    others = hand & ~SPOILERS
    return worst_card(hand if is_dry(state) or others == 0 else others)


@kernel
def worst_card(cards: int) -> int:
    """Return the card of a set that is worth least in a sack; the set is an integer with one bit per card."""
    for card in WORST_FIRST:
        if cards >> card & 1:
            return card
    return PASS  # not reached: a hand is never empty
