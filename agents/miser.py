"""Plays as `ev`, but never bids more than 3 mice; weak on purpose."""

from agents.bidding import place_worst, raise_up_to
from agents.ev import break_even_bid
from felicity_env.game import PLACE, State
from felicity_env.kernel import kernel
from felicity_env.random_stream import RandomBits

LIMIT = 3.0  # mice


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the seat to act, given a state with only what this seat may know."""
    if state.phase == PLACE:
        return place_worst(state)
    return raise_up_to(state, min(LIMIT, break_even_bid(state)))
