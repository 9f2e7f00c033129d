"""`ev`: bids by the exact expected value of the sack, and knows what a pass pays now and later.

A raise to b either stands, and brings the sack for b, or is outbid, and then a later pass can still bring the last
mouse card. With the chance `STANDS` that it stands, raising beats passing when

    STANDS * (value - b) + (1 - STANDS) * last >= now

where `now` and `last` are the mice on the next and on the last mouse card. The winner must place and bid first in the
next round, the worst place at the table, which costs `START_COST`.

Cards: -8, -5 and the large dog, which spoil a sack, wait for a round without mice, in which nobody is paid for staying
out of it; in other rounds it places the worst of its other cards and so keeps good ones for the end, and leaves the
sacks to those who pay for them.
"""

import numpy as np

from agents.belief import expected_sack
from felicity_env.game import LARGE_DOG, PASS, PLACE, RABBIT, SMALL_DOG, State, is_alone, pass_pays
from felicity_env.kernel import kernel

STANDS = 2 / 3
START_COST = 1.0
WORST_FIRST = np.array([0, 1, LARGE_DOG, RABBIT, SMALL_DOG, 2, 3, 4, 5, 6])  # by what a sack with the card is worth
SPOILERS = 1 << 0 | 1 << 1 | 1 << LARGE_DOG


@kernel
def ev_action(state: State) -> int:
    """The action of the seat to act in a redacted state."""
    return place_worst(state) if state.phase == PLACE else raise_or_pass(state)


@kernel
def place_worst(state: State) -> int:
    """The worst card in hand; while mice are on the table spoilers only when nothing else is left."""
    hand = state.hands[state.seat]
    others = hand & ~SPOILERS
    choice = others if state.pots[0] > 0 and others != 0 else hand
    for card in WORST_FIRST:
        if choice >> card & 1:
            return card
    return PASS  # not reached: a hand is never empty


@kernel
def raise_or_pass(state: State) -> int:
    """Raise by one while that beats a pass, see above; alone with no bid, buy what is worth at least its price."""
    raised = state.high_bid + 1
    return PASS + raised if raised <= min(highest_worthwhile(state), state.mice[state.seat]) else PASS


@kernel
def highest_worthwhile(state: State) -> float:
    """The highest bid that is no worse than passing."""
    value = expected_sack(state)
    if is_alone(state):
        return value
    if state.round_number + 1 < state.num_rounds:
        value -= START_COST
    last = state.pots[state.num_seats - 2]
    return value - (pass_pays(state) - (1 - STANDS) * last) / STANDS
