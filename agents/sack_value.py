"""Exact mean and variance of the value of the sack, from what a seat knows about the placed cards.

All sets of cards are equal, and every card of an earlier round is public. An opponent's face-down card may therefore be
any card of its set that it has not yet played. The card removed from the set is unknown, so it cannot be ruled out. All
these cards are equally likely, and the cards in different slots are independent.
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
    """Return the cards that a slot of the row may hold, as an integer with one bit for each card.

    If the card in the slot is known, only its bit is set.
    """
    card = state.row[slot]
    if card >= 0:
        return 1 << card
    return state.deck & ~state.played[slot_owner(state, slot)]


@kernel
def expected_sack_value(state: State) -> float:
    """Return the expected value of the sack, exact under the rules for dogs (R5), from what the seat to act knows.

    Empty slots count as unknown cards. The expected sum of the cats is the sum of the means of the slots. A cat is
    chased only if there is exactly one dog: a large dog chases the highest cat and a small dog the lowest. The mean of
    the chased cat therefore follows from the distribution of the maximum or the minimum.
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
    """Return two sums over all combinations of cards in which `dog` chases a cat: of C, and of C^2 - 2 S C.

    C is the value of the chased cat, and S is the sum of the cats in the row; `sack_moments` needs both sums. Cats are
    allowed one by one, beginning with the cat that the dog chases last. When a cat is allowed, new combinations become
    possible, and in exactly these the dog chases that cat.
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
    """Count the combinations of cards with `dog` in one slot and only `allowed` cards in the other slots.

    Returns their number, and the sum of the values of the cats in all of them. allowed: set of cards, an integer with
    one bit for each card.
    """
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
