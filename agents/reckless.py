"""Deliberately weak player: pays up to 10 mice more than the expected value of a sack; places cards at random."""

from agents.bidding import raise_up_to
from agents.sack_value import expected_sack_value
from felicity_env.game import PLACE, State
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits

EXTRA = 10.0  # mice above the expected value


@kernel
def overbid_action(state: State, random_bits: RandomBits, extra: float) -> int:
    """Return a random card while placing, and in an auction a raise by one or a pass.

    The acting seat raises if the new bid is at most `extra` mice above the expected value of the sack, and at most its
    mice.
    """
    if state.phase == PLACE:
        return random_action(state, random_bits)
    return raise_up_to(state, expected_sack_value(state) + extra)


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the seat to act, given a state with only what this seat may know."""
    return overbid_action(state, random_bits, EXTRA)
