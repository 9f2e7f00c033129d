"""Counts of the trees of reduced games: exact numbers on which two other, independent programs agreed."""

import pytest

from felicity_env.game import Setup
from tests.support.perft import perft

REDUCED = {"rounds": 2, "cards": (0, 3, 8)}  # which three cards does not matter to the count
TREES = {
    "two seats and a dummy": (
        Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=4, **REDUCED),
        (32_184, 13_986),
    ),
    "three seats, three mice": (Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=3, **REDUCED), (151_848, 81_621)),
    "three seats, five mice": (Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=5, **REDUCED), (3_153_384, 1_587_573)),
}


SLOW = pytest.mark.compiled("millions of positions")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[SLOW] if counts[0] > 1_000_000 else []) for name, (_, counts) in TREES.items()]
)
def test_the_tree_of_a_reduced_game_has_exactly_the_known_size(name):
    setup, counts = TREES[name]
    assert perft(setup) == counts


def test_the_size_of_the_tree_does_not_depend_on_who_starts():
    setup, counts = TREES["three seats, three mice"]
    assert [perft(setup, start_seat=seat) for seat in (1, 2)] == [counts, counts]
