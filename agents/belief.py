"""What a seat can work out about the row: which cards each slot may hold, and what the sack is worth on average.

Every set of cards is the same and every earlier card is public, so what an opponent can have laid is its set without
the cards it has played: each equally likely (the removed one among them), independent of the other slots.
"""

import numpy as np

from felicity_env.game import (
    CARD_VALUES,
    LARGE_DOG,
    NUM_CATS,
    RABBIT,
    SMALL_DOG,
    State,
    count_cards,
    num_slots,
    slot_owner,
)
from felicity_env.kernel import kernel

_CAT_SUMS = np.array(
    [sum(CARD_VALUES[card] for card in range(NUM_CATS) if cards >> card & 1) for cards in range(1 << 10)], np.float64
)


@kernel
def possible_cards(state: State, slot: int) -> int:
    """Bit set of the cards that may lie in `slot` of a redacted state; one bit where the card is known."""
    card = state.row[slot]
    if card >= 0:
        return 1 << card
    return state.deck & ~state.played[slot_owner(state, slot)]


@kernel
def expected_sack(state: State) -> float:
    """Mean worth of the row of a redacted state, exact under the dog rules (R5); slots not yet laid count as unknown.

    The sum of cats is a sum of means. A cat is chased only if there is exactly one dog; then a large dog chases the
    highest cat and a small one the lowest, so their means follow from the distribution of the maximum and the minimum.
    """
    mean = 0.0
    combinations = 1
    seen = 0
    for slot in range(num_slots(state)):
        cards = possible_cards(state, slot)
        mean += _CAT_SUMS[cards] / count_cards(cards)
        combinations *= count_cards(cards)
        seen |= cards
    chased = 0
    for dog in (LARGE_DOG, SMALL_DOG):
        if seen >> dog & 1:
            chased += _chased_in_all(state, dog)
    return mean - chased / combinations


@kernel
def _chased_in_all(state, dog):
    """The worth of the cat that `dog` chases, summed over all combinations of cards.

    Cats are allowed one by one, in the order in which the dog prefers them least. With `one` = combinations in which
    one slot holds the dog and all others the rabbit or an allowed cat, the growth of `one` counts those in which the
    cat just allowed is chased.
    """
    allowed = 1 << RABBIT
    total = 0
    before = _exactly_one(state, dog, allowed)
    for k in range(NUM_CATS):
        cat = k if dog == LARGE_DOG else NUM_CATS - 1 - k
        allowed |= 1 << cat
        one = _exactly_one(state, dog, allowed)
        total += CARD_VALUES[cat] * (one - before)
        before = one
    return total


@kernel
def _exactly_one(state, dog, allowed):
    """Combinations in which one slot holds `dog` and every other slot a card of `allowed`."""
    none, one = 1, 0
    for slot in range(num_slots(state)):
        cards = possible_cards(state, slot)
        fitting = count_cards(cards & allowed)
        one = one * fitting + none * (cards >> dog & 1)
        none *= fitting
    return one
