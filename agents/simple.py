"""Players that are one idea each: the lowest rungs of the ladder, and three that show a weakness on purpose.

`reckless`, `miser` and `bluffer` are there to be exploited: how much a best response or a search gains on them says
whether it works.
"""

from agents.belief import expected_sack
from agents.bidding import SPOILERS, place_worst, raise_up_to, worst_of
from agents.ev import highest_worthwhile
from felicity_env.game import PASS, PLACE, State
from felicity_env.kernel import kernel
from felicity_env.observation import own_slot
from felicity_env.random_stream import Word
from felicity_env.view import random_action

RECKLESS_EXTRA = 10.0  # mice that `reckless` pays above the worth of a sack
MISER_LIMIT = 3.0  # mice that `miser` pays at most
BLUFF_EXTRA = 10.0  # mice that `bluffer` goes above the worth of a sack it has spoiled itself


@kernel
def pass_action(state: State, word: Word) -> int:
    """`pass`: a uniformly random card, and never a bid."""
    return random_action(state, word) if state.phase == PLACE else PASS


@kernel
def greedy_action(state: State, word: Word) -> int:
    """`greedy`: a uniformly random card; bids up to the exact expected value of the sack, blind to what a pass pays."""
    return random_action(state, word) if state.phase == PLACE else raise_up_to(state, expected_sack(state))


@kernel
def reckless_action(state: State, word: Word) -> int:
    """`reckless`: overpays for every sack; a uniformly random card."""
    if state.phase == PLACE:
        return random_action(state, word)
    return raise_up_to(state, expected_sack(state) + RECKLESS_EXTRA)


@kernel
def miser_action(state: State) -> int:
    """`miser`: as `ev`, but hoards: no sack is worth more than a few mice to it."""
    if state.phase == PLACE:
        return place_worst(state)
    return raise_up_to(state, min(MISER_LIMIT, highest_worthwhile(state)))


@kernel
def bluffer_action(state: State) -> int:
    """`bluffer`: always lays its worst card, and bids up the sacks it has spoiled; others as `ev`."""
    seat = state.seat
    if state.phase == PLACE:
        return worst_of(state.hands[seat])
    limit = highest_worthwhile(state)
    return raise_up_to(state, limit + BLUFF_EXTRA if _has_spoiled(state) else limit)


@kernel
def _has_spoiled(state):
    """Whether the acting seat's own card, still face down, spoils the sack."""
    slot = own_slot(state, state.seat)
    return slot >= state.face_up and (SPOILERS >> state.row[slot]) & 1 == 1
