"""Counts of all games that a setup allows ("perft" in chess programs), to test the rules.

The counts are compared with exact numbers from other programs. A decision is a state in which the acting seat has more
than one legal action.
"""

from itertools import permutations, product

import numpy as np

from felicity_env.game import NO_CARD, STATE, Setup, begin, is_terminal, nth_legal_action, num_legal_actions, step
from felicity_env.kernel import kernel


@kernel
def _count_from(stack, depth, counts):
    """Count the finished games and the decisions that can follow the state stack[depth].

    The numbers are added to counts[0] and counts[1]. Deeper entries of `stack`, STATE [N], are overwritten.
    """
    if is_terminal(stack[depth]):
        counts[0] += 1
        return
    actions = num_legal_actions(stack[depth])
    if actions > 1:
        counts[1] += 1
    for n in range(actions):
        stack[depth + 1] = stack[depth]
        step(stack[depth + 1], nth_legal_action(stack[depth + 1], n))
        _count_from(stack, depth + 1, counts)


def perft(setup: Setup, *, start_seat: int = 0) -> tuple[int, int]:
    """Return how many different complete games a setup allows, and how many decisions occur in its game tree.

    All removed cards and all orders of the dummy are tried. The dummy's cards past the last round are never turned, but
    they count as different deals.
    """
    stack = np.zeros(1000, STATE)
    counts = np.zeros(2, np.int64)
    for removed, dummy in product(_removals(setup), _dummy_orders(setup)):
        stack[0] = setup.blank_state()[0]
        stack[0].removed[: setup.seats] = removed
        stack[0].dummy_cards[: len(dummy)] = dummy
        stack[0].start_seat = start_seat
        begin(stack[0])
        _count_from(stack, 0, counts)
    return int(counts[0]), int(counts[1])


def _removals(setup: Setup) -> list[tuple[int, ...]]:
    choices = setup.cards if setup.removed else (NO_CARD,)
    return list(product(choices, repeat=setup.seats))


def _dummy_orders(setup: Setup) -> list[tuple[int, ...]]:
    return list(permutations(setup.cards, setup.hand_size)) if setup.dummy else [()]
