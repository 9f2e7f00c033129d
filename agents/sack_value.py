"""Exact mean and variance of the value of the sack, from what a seat knows about the placed cards.

All sets of cards are equal and every earlier card is public. So an opponent's face-down card is one of its set without
the cards it has played, the removed one included: all equally likely, and independent of the other slots.
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
    """Return the cards that a slot of the row may hold, as an integer with one bit per card; one bit if it is known."""
    card = state.row[slot]
    if card >= 0:
        return 1 << card
    return state.deck & ~state.played[slot_owner(state, slot)]


@kernel
def expected_sack_value(state: State) -> float:
    """Return the expected value of the sack, exact under the rules for dogs (R5), from what the seat to act knows.

    Empty slots count as unknown cards. The sum of the cats is a sum of means. A cat is chased only if there is exactly
    one dog: a large dog chases the highest cat and a small dog the lowest. So the mean of the chased cat follows from
    the distribution of the maximum or the minimum.
    """
    return sack_moments(state)[0]


@kernel
def sack_moments(state: State) -> tuple[float, float]:
    """Return mean and variance of the value of the sack, from what the seat to act knows; see `expected_sack_value`.

    S is the sum of the cats in the row and C the cat that is chased (0 if none is). The value is S - C and its square
    S^2 - 2 S C + C^2. The moments of S add up over the slots. The other terms need the number of combinations in which
    a cat is chased, and the sum of S over them.
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
            first, second = _sum_chased_cats(state, dog)
            chased += first
            square += second
    value = mean - chased / combinations
    return value, max(0.0, variance + mean * mean + square / combinations - value * value)


@kernel
def _sum_chased_cats(state, dog):
    """Return the sums of C and of C^2 - 2 S C over all combinations of cards in which `dog` chases a cat C.

    S is the sum of the cats in the row. Cats are allowed one by one, beginning with the one that the dog chases last.
    Each newly allowed cat is the chased one in exactly those combinations that its permission adds.
    """
    allowed = 1 << RABBIT
    first = second = 0.0
    count_before, sum_before = _count_with_one_dog(state, dog, allowed)
    for k in range(NUM_CATS):
        cat = k if dog == LARGE_DOG else NUM_CATS - 1 - k
        allowed |= 1 << cat
        count, cats = _count_with_one_dog(state, dog, allowed)
        value = CARD_VALUES[cat]
        first += value * (count - count_before)
        second += value * (value * (count - count_before) - 2 * (cats - sum_before))
        count_before, sum_before = count, cats
    return first, second


@kernel
def _count_with_one_dog(state, dog, allowed):
    """Return the number of combinations of `dog` in one slot with `allowed` cards in the others, and their sum of S."""
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
