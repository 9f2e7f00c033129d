"""`anchor`: a fixed yardstick. It never changes, so shares against it can be compared across versions and papers."""

from agents.bidding import raise_up_to
from felicity_env.game import CARD_VALUES, PLACE, State, is_alone, num_slots, pass_pays
from felicity_env.kernel import kernel
from felicity_env.view import random_action

UNSEEN_CARD = 2.9  # what it takes a card it does not see to be worth


@kernel
def anchor_action(state: State, word: int) -> int:
    """Place a uniformly random card; raise by one while that is at most V - p and at most its mice, else pass.

    V: the cats it sees, its own face-down card included, dogs ignored, and 2.9 for every card it does not see.
    p: what passing pays now. Alone with no bid it buys if V >= 1.
    """
    if state.phase == PLACE:
        return random_action(state, word)
    value = 0.0
    for slot in range(num_slots(state)):
        card = state.row[slot]
        value += CARD_VALUES[card] if card >= 0 else UNSEEN_CARD
    return raise_up_to(state, value if is_alone(state) else value - pass_pays(state))
