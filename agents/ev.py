"""Expected-value bidder: weighs the exact expected value of the sack against what a pass pays now and later.

A raise to b wins the sack for b if nobody outbids it. If somebody does, a later pass can still take the last mouse
card. The probability that nobody does is assumed to be `STANDS`. A raise is then no worse than a pass if

    STANDS * (value - b) + (1 - STANDS) * last >= now

where `now` and `last` are the mice on the next and on the last mouse card. The winner places and bids first in the next
round, which is the worst position and costs about `START_COST` mice.

The cards -8, -5 and the large dog spoil a sack. The player keeps them for a dry round, in which nobody is paid for
staying out of the auction. In other rounds it places the worst of its other cards.
"""

from agents.bidding import place_worst, raise_up_to
from agents.sack_value import expected_sack_value
from felicity_env.game import PLACE, State, is_alone, last_pot, pass_pays
from felicity_env.kernel import kernel
from felicity_env.random_stream import RandomBits

STANDS = 2 / 3
START_COST = 1.0


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the seat to act, given a state with only what this seat may know."""
    return place_worst(state) if state.phase == PLACE else raise_up_to(state, break_even_bid(state))


@kernel
def break_even_bid(state: State) -> float:
    """Return the highest bid, in mice, that is expected to be no worse than a pass.

    It follows from the inequality in the module's docstring. If all other seats have passed, it is the expected value
    of the sack.
    """
    value = expected_sack_value(state)
    if is_alone(state):
        return value
    if state.round_number + 1 < state.num_rounds:
        value -= START_COST
    return value - (pass_pays(state) - (1 - STANDS) * last_pot(state)) / STANDS
