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

from agents.belief import expected_sack
from agents.bidding import place_worst, raise_up_to
from felicity_env.game import PLACE, State, is_alone, last_pot, pass_pays
from felicity_env.kernel import kernel

STANDS = 2 / 3
START_COST = 1.0


@kernel
def ev_action(state: State) -> int:
    """The action of the seat to act in a redacted state; alone with no bid, it buys what is worth its price."""
    return place_worst(state) if state.phase == PLACE else raise_up_to(state, highest_worthwhile(state))


@kernel
def highest_worthwhile(state: State) -> float:
    """The highest bid that is no worse than passing."""
    value = expected_sack(state)
    if is_alone(state):
        return value
    if state.round_number + 1 < state.num_rounds:
        value -= START_COST
    return value - (pass_pays(state) - (1 - STANDS) * last_pot(state)) / STANDS
