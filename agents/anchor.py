"""Bids up to the cats that it sees plus 2.9 per hidden card, less what a pass pays; places cards at random.

It never changes, so win shares against it can be compared across versions and papers.
"""

from agents.bidding import raise_up_to
from felicity_env.game import CARD_VALUES, PLACE, State, is_alone, num_slots, pass_pays
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits

HIDDEN_CARD = 2.9  # assumed value of a card that the seat does not see


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the player `anchor`: a random card while placing; later a raise by one or a pass.

    The seat raises if the new bid is at most V - p and at most its mice. V is the sum of the cats that it sees, its own
    face-down card included, plus 2.9 for every card that it does not see; dogs count 0. p is the number of mice that a
    pass pays now. The last seat in an auction without a bid buys the sack if V >= 1.
    """
    if state.phase == PLACE:
        return random_action(state, random_bits)
    value = 0.0
    for slot in range(num_slots(state)):
        card = state.row[slot]
        value += CARD_VALUES[card] if card >= 0 else HIDDEN_CARD
    return raise_up_to(state, value if is_alone(state) else value - pass_pays(state))
