"""What a seat can work out about the row: which cards each slot may hold, and what the sack is worth on average.

Every set of cards is the same and every earlier card is public, so what an opponent can have laid is its set without
the cards it has played: each equally likely (the removed one among them), independent of the other slots.
"""

import numpy as np

from felicity_env.game import (
    CARD_VALUES,
    LARGE_DOG,
    NUM_CARDS,
    NUM_CATS,
    RABBIT,
    SMALL_DOG,
    State,
    count_cards,
    num_slots,
    slot_owner,
)
from felicity_env.kernel import kernel

_SETS = range(1 << NUM_CARDS)
_CAT_SUMS = np.array([sum(CARD_VALUES[c] for c in range(NUM_CATS) if cards >> c & 1) for cards in _SETS], np.float64)
_CAT_SQUARES = np.array([sum(CARD_VALUES[c] ** 2 for c in range(NUM_CATS) if cards >> c & 1) for cards in _SETS], float)


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
    return sack_moments(state)[0]


@kernel
def sack_moments(state: State) -> tuple[float, float]:
    """Mean and variance of the worth of the row, as `expected_sack`.

    With S = sum of the cats laid and C = the cat chased (0 if none is) the worth is S - C, and its square
    S^2 - 2 S C + C^2: besides the moments of S, which add up over the slots, this takes the combinations in which a cat
    is chased and the sum of S over them.
    """
    mean = variance = 0.0
    combinations = 1
    seen = 0
    for slot in range(num_slots(state)):
        cards = possible_cards(state, slot)
        count = count_cards(cards)
        slot_mean = _CAT_SUMS[cards] / count
        mean += slot_mean
        variance += _CAT_SQUARES[cards] / count - slot_mean * slot_mean
        combinations *= count
        seen |= cards
    chased = square = 0.0
    for dog in (LARGE_DOG, SMALL_DOG):
        if seen >> dog & 1:
            first, second = _chased_in_all(state, dog)
            chased += first
            square += second
    worth = mean - chased / combinations
    return worth, max(0.0, variance + mean * mean + square / combinations - worth * worth)


@kernel
def _chased_in_all(state, dog):
    """Sums over all combinations of cards in which `dog` chases a cat C: of C, and of C^2 - 2 S C.

    Cats are allowed one by one, in the order in which the dog prefers them least. The combinations in which one slot
    holds the dog and all others the rabbit or an allowed cat grow by those in which the cat just allowed is chased.
    """
    allowed = 1 << RABBIT
    first = second = 0.0
    count_before, sum_before = _one_dog(state, dog, allowed)
    for k in range(NUM_CATS):
        cat = k if dog == LARGE_DOG else NUM_CATS - 1 - k
        allowed |= 1 << cat
        count, cats = _one_dog(state, dog, allowed)
        worth = CARD_VALUES[cat]
        first += worth * (count - count_before)
        second += worth * (worth * (count - count_before) - 2 * (cats - sum_before))
        count_before, sum_before = count, cats
    return first, second


@kernel
def _one_dog(state, dog, allowed):
    """Combinations in which one slot holds `dog` and every other a card of `allowed`: their number, their sum of S."""
    none, one = 1, 0
    none_sum = one_sum = 0.0
    for slot in range(num_slots(state)):
        cards = possible_cards(state, slot)
        fitting = count_cards(cards & allowed)
        cats = _CAT_SUMS[cards & allowed]
        has_dog = cards >> dog & 1
        one_sum = one_sum * fitting + one * cats + none_sum * has_dog
        one = one * fitting + none * has_dog
        none_sum = none_sum * fitting + none * cats
        none *= fitting
    return one, one_sum
