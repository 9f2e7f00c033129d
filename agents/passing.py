"""Passive baseline: never bids; places cards at random."""

from felicity_env.game import PASS, PLACE, State
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return a random card from the hand while placing cards, and a pass in the auction."""
    return random_action(state, random_bits) if state.phase == PLACE else PASS
