"""Raises up to the expected value of the sack, without regard to what a pass pays; places cards at random."""

from agents.bidding import raise_up_to
from agents.sack_value import expected_sack_value
from felicity_env.game import PLACE, State
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the seat to act, given a state with only what this seat may know."""
    if state.phase == PLACE:
        return random_action(state, random_bits)
    return raise_up_to(state, expected_sack_value(state))
