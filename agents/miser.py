"""Weak on purpose: plays as `ev`, but never pays more than 3 mice.

How much a best response or a search gains against it shows whether that method works.
"""

from agents.bidding import place_worst, raise_up_to
from agents.ev import break_even_bid
from felicity_env.game import PLACE, State
from felicity_env.kernel import kernel
from felicity_env.random_stream import RandomBits

LIMIT = 3.0  # mice


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the acting seat in a redacted state."""
    if state.phase == PLACE:
        return place_worst(state)
    return raise_up_to(state, min(LIMIT, break_even_bid(state)))
