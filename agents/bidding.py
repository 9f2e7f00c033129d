"""What all heuristic players share: raise by one up to a limit, and the order in which cards are got rid of."""

import numpy as np

from felicity_env.game import LARGE_DOG, PASS, RABBIT, SMALL_DOG, State, last_pot
from felicity_env.kernel import kernel

WORST_FIRST = np.array([0, 1, LARGE_DOG, RABBIT, SMALL_DOG, 2, 3, 4, 5, 6])  # by what a sack with the card is worth
SPOILERS = 1 << 0 | 1 << 1 | 1 << LARGE_DOG  # cards that spoil a sack


@kernel
def raise_up_to(state: State, limit: float) -> int:
    """Raise by one while that is at most `limit` and at most the mice in hand, else pass."""
    raised = state.high_bid + 1
    return PASS + raised if raised <= min(limit, state.mice[state.seat]) else PASS


@kernel
def place_worst(state: State) -> int:
    """The worst card in hand; while mice are on the table spoilers only when nothing else is left."""
    hand = state.hands[state.seat]
    others = hand & ~SPOILERS
    return worst_of(others if last_pot(state) > 0 and others != 0 else hand)


@kernel
def worst_of(cards: int) -> int:
    """The card of a bit set that is worst in a sack."""
    for card in WORST_FIRST:
        if cards >> card & 1:
            return card
    return PASS  # not reached: a hand is never empty
