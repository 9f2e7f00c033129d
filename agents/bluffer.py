"""Deliberately weak player: bids as `ev`, but 10 mice more if its own card spoils the sack; places its worst card."""

from agents.bidding import SPOILERS, raise_up_to, worst_card
from agents.ev import break_even_bid
from felicity_env.game import PLACE, State
from felicity_env.kernel import kernel
from felicity_env.observation import own_slot
from felicity_env.random_stream import RandomBits

EXTRA = 10.0  # mice above the break-even bid


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the seat to act, given a state with only what this seat may know."""
    if state.phase == PLACE:
        return worst_card(state.hands[state.seat])
    limit = break_even_bid(state)
    return raise_up_to(state, limit + EXTRA if has_spoiled(state) else limit)


@kernel
def has_spoiled(state: State) -> bool:
    """Return whether the acting seat has spoiled the sack: its card is face down and is -8, -5 or the large dog."""
    slot = own_slot(state, state.seat)
    return slot >= state.face_up and (SPOILERS >> state.row[slot]) & 1 == 1
