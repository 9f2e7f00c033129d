"""Search tree of `ismcts`: what an iteration adds, what is shared between cards, and how a decision is selected."""

import numpy as np
import pytest

from agents import tree as search_tree
from agents.tree import CHOICES, NO_NODE, Tree, clear, create_tree, iterate
from agents.worlds import draw_world
from felicity_env.game import MAX_SEATS, OVER, PASS, PLACE, STATE, State
from felicity_env.information import redact
from felicity_env.kernel import kernel
from tests.support.helpers import C3, C5, C8, C11, C15, COMPILED, M8, auction, bid, draw_bits, new_game, play


@kernel
def _iterate_in_world(tree, states, first, models, scratch, seeds, values):
    """Run an iteration. states: the redacted state, and the world. seeds: of the world and of the playout."""
    states[1] = states[0]
    draw_world(states[1], models, scratch, seeds[0])
    iterate(tree, states[1], first, models, scratch, seeds[1], values)


class TreeUnderTest:
    """Tree for a redacted state, with the changes of each iteration."""

    def __init__(self, state: State, iterations: int = 60) -> None:
        self.tree = create_tree(iterations)
        clear(self.tree)
        self.states = np.zeros(2, STATE)
        self.states[0] = redact(np.array([state], STATE), int(state.seat))[0]
        self.seat = int(state.seat)
        self.seeds = draw_bits(2 * iterations).reshape(iterations, 2)
        self.iterations = 0

    def iterate(self, first: int) -> tuple[np.ndarray, np.ndarray, float, int]:
        """Run an iteration; return its additions to visits and totals, the utility, and the number of new nodes."""
        visits, totals, size = self.tree.visits.copy(), self.tree.totals.copy(), int(self.tree.size[0])
        values, scratch = np.zeros((2, MAX_SEATS)), np.zeros(1, STATE)
        models = np.zeros(MAX_SEATS, np.int64)
        _iterate_in_world(self.tree, self.states, first, models, scratch, self.seeds[self.iterations], values)
        self.iterations += 1
        assert self.states[1].phase == OVER
        added = int(self.tree.size[0]) - size
        return self.tree.visits - visits, self.tree.totals - totals, float(values[0, self.seat]), added

    @property
    def path(self) -> list[tuple[int, int, int]]:
        return [tuple(entry) for entry in self.tree.path[: self.tree.length[0]].tolist()]


def list_first_actions(state: State) -> list[int]:
    """List the actions with which iterations may begin."""
    if state.phase == PLACE:
        return [card for card in range(10) if state.hands[state.seat] >> card & 1]
    return [PASS, bid(state.high_bid + 1)]


ITERATIONS = 50 if COMPILED else 5
OPEN = play(auction(4, (C15, C11, C8, C5)), bid(1), bid(2))  # seat 2 is to bid, its card is the 8


@pytest.mark.parametrize("state", [OPEN, auction(5), auction(3), new_game(4), play(new_game(5), C3, C5)])
def test_an_iteration_counts_each_own_decision_of_the_round_once_and_adds_at_most_a_node(state):
    tree = TreeUnderTest(state)
    firsts = list_first_actions(state)
    for k in range(ITERATIONS):
        visits, totals, value, new = tree.iterate(firsts[k % len(firsts)])
        expected = np.zeros_like(visits)
        for node, card, choice in tree.path:
            expected[node, card, choice] += 1
        assert expected.max(initial=0) <= 1
        assert (visits == expected).all()
        assert totals == pytest.approx(value * visits)
        assert len({node for node, _, _ in tree.path}) == len(tree.path)
        assert new in (0, 1)
    assert tree.tree.size[0] <= ITERATIONS + 1
    children = tree.tree.children[: tree.tree.size[0]]
    assert sorted(children[children != NO_NODE].tolist()) == list(range(1, int(tree.tree.size[0])))


def test_the_first_decision_in_an_auction_is_counted_at_the_first_node_under_the_own_card():
    tree = TreeUnderTest(OPEN)
    for k in range(ITERATIONS):
        tree.iterate(PASS if k % 3 == 0 else bid(3))
        assert tree.path[0] == (0, C8, min(k % 3, 1))
    assert tree.tree.visits[0, C8].tolist() == [
        len(range(0, ITERATIONS, 3)),
        ITERATIONS - len(range(0, ITERATIONS, 3)),
    ]
    assert tree.tree.visits[:, [card for card in range(10) if card != C8]].sum() == 0


def test_a_pass_is_the_last_own_decision_of_the_round():
    tree = TreeUnderTest(OPEN)
    for _ in range(ITERATIONS):
        tree.iterate(PASS)
        assert tree.path == [(0, C8, 0)]


def test_all_cards_that_may_be_placed_share_the_first_node_with_separate_statistics():
    """Use the start player, which places and then bids first: it decides its first bid at the first node."""
    tree, cards = TreeUnderTest(new_game(4)), (M8, C3, C15)
    for k in range(ITERATIONS):
        visits, _, _, _ = tree.iterate(cards[k % 3])
        node, card, _ = tree.path[0]
        assert (node, card) == (0, cards[k % 3])
        assert {card for _, card, _ in tree.path} == {cards[k % 3]}
        assert (visits.sum(axis=(0, 2)) > 0).tolist() == [card == cards[k % 3] for card in range(10)]
    by_card = tree.tree.visits[0].sum(axis=1)
    assert by_card.sum() == ITERATIONS
    assert set(np.flatnonzero(by_card)) == set(cards)


def test_nothing_is_learned_about_the_decisions_of_others():
    """Use the last seat to place and bid: the nodes of the earlier actions of others have no visits."""
    tree = TreeUnderTest(play(new_game(3, start_seat=1), C3, C5))  # seat 0 places last
    for _ in range(ITERATIONS):
        tree.iterate(C8)
        assert all(node != 0 for node, _, _ in tree.path)
    assert tree.tree.visits[0].sum() == 0
    assert (tree.tree.children[0] != NO_NODE).any()


def test_a_cleared_tree_works_like_a_new_one():
    used, new = TreeUnderTest(OPEN), TreeUnderTest(OPEN)
    for k in range(ITERATIONS):
        used.iterate(PASS if k % 2 else bid(3))
    clear(used.tree)
    assert used.tree.size[0] == 1
    assert used.tree.visits[0].sum() == used.tree.totals[0].sum() == 0
    assert (used.tree.children[0] == NO_NODE).all()
    used.iterations = 0
    for k in range(ITERATIONS):
        action = PASS if k % 2 else bid(3)
        assert used.iterate(action)[2:] == new.iterate(action)[2:]
    size = int(new.tree.size[0])
    assert (used.tree.visits[:size] == new.tree.visits[:size]).all()
    assert (used.tree.totals[:size] == new.tree.totals[:size]).all()


def select(state: State, advice: int, visits: tuple[float, float], totals: tuple[float, float]) -> int:
    learned: Tree = create_tree(1)
    clear(learned)
    learned.visits[0, C8], learned.totals[0, C8] = visits, totals
    return int(search_tree._select(learned, 0, state, advice))


@pytest.mark.parametrize("advice", [PASS, bid(3)])
def test_a_decision_follows_the_own_model_until_something_better_is_learned(advice):
    other = PASS if advice != PASS else bid(3)
    choice = min(other - PASS, 1)
    assert select(OPEN, advice, (0, 0), (0, 0)) == advice
    assert select(OPEN, advice, (50, 50), (25, 25)) == advice
    better = [10.0, 10.0]
    better[choice] = 90.0
    assert select(OPEN, advice, (100, 100), tuple(better)) == other
    better[choice] = 0.0
    assert select(OPEN, advice, (100, 100), tuple(better)) == advice


def test_what_was_learned_with_another_card_does_not_count():
    learned = create_tree(1)
    clear(learned)
    learned.visits[0], learned.totals[0] = 100, [0, 100]
    learned.visits[0, C8], learned.totals[0, C8] = 0, 0
    assert search_tree._select(learned, 0, OPEN, PASS) == PASS
    learned.visits[0, C8], learned.totals[0, C8] = 100, [0, 100]
    assert search_tree._select(learned, 0, OPEN, PASS) == bid(3)


def test_a_seat_that_cannot_raise_passes():
    state = OPEN.copy()
    state.mice[2] = 2
    assert select(state, PASS, (100, 100), (0, 100)) == PASS
    assert CHOICES == 2
