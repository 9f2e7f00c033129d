"""Exact ground: trees of small games, best responses and equilibria, compared with other ways to compute them."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from experiments.exact.tree import GameTree, list_deals
from experiments.exact.values import compute_values, find_best_response
from felicity_env.game import Setup, is_terminal, rank
from felicity_env.game_record import initial_states, list_legal_actions
from felicity_env.information import Recall

TINY = Setup(seats=2, mouse_cards=(1,), bank=2, mice=1, rounds=1, cards=(0, 8, 5))
SMALL = {
    "two seats": Setup(seats=2, mouse_cards=(2,), bank=4, mice=2, rounds=2, cards=(0, 3, 8)),
    "two seats and a dummy": Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=2, rounds=2, cards=(0, 3, 8)),
    "three seats": Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=1, rounds=2, cards=(0, 3, 8)),
}


@pytest.fixture(scope="module")
def games():
    return {name: GameTree.from_setup(setup) for name, setup in SMALL.items()}


def walk(recall):
    """Yield (what the seat to act has seen, legal actions) at each decision of the games that continue from here."""
    if is_terminal(recall.state):
        return
    legal = list_legal_actions(recall.state)
    if len(legal) > 1:
        yield str(recall.events[int(recall.state.seat)]), legal
    for action in legal:
        after = Recall.__new__(Recall)
        after._states, after.actions = recall._states.copy(), list(recall.actions)
        after.events = [list(events) for events in recall.events]
        after.play(action)
        yield from walk(after)


@pytest.mark.parametrize("name", SMALL)
def test_information_sets_are_decisions_at_which_a_seat_has_seen_the_same(name, games):
    nodes = defaultdict(int)
    actions = {}
    for deal in list_deals(SMALL[name]):
        for seen, legal in walk(Recall(initial_states(SMALL[name], deal))):
            nodes[seen] += 1
            actions[seen] = legal
    tree = games[name].tree
    decisions = tree.sets[tree.sets >= 0]
    assert games[name].num_sets == len(nodes)
    assert sorted(np.bincount(decisions)) == sorted(nodes.values())
    assert len(games[name].actions) == sum(map(len, actions.values()))


def win_shares(state):
    ranks = np.array([rank(state, seat) for seat in range(state.num_seats)])
    return (ranks == 1) / (ranks == 1).sum()


def play_out(deal, plans):
    """Return the win shares if each seat plays by its plan, {what it has seen: action}, in this deal."""
    recall = Recall(initial_states(TINY, deal))
    while not is_terminal(recall.state):
        seat = int(recall.state.seat)
        legal = list_legal_actions(recall.state)
        recall.play(legal[0] if len(legal) == 1 else plans[seat][str(recall.events[seat])])
    return win_shares(recall.state)


def test_a_best_response_equals_the_best_of_all_plans():
    deals = [deal for deal in list_deals(TINY) if deal.start_seat == 0]
    states = np.concatenate([initial_states(TINY, deal) for deal in deals])
    game = GameTree.from_states(states, np.full(len(deals), 1 / len(deals)))
    seen = {}
    for deal in deals:
        for events, legal in walk(Recall(initial_states(TINY, deal))):
            seen.setdefault(events, legal)
    own = [events for events in seen if events.startswith("[('seat', 0")]
    last = {events: legal[-1] for events, legal in seen.items()}
    policy = np.zeros(len(game.actions))
    policy[game.tree.first_action[1:] - 1] = 1.0  # both seats take their last legal action
    best = max(
        np.mean([play_out(deal, (last | dict(zip(own, plan, strict=True)), last))[0] for deal in deals])
        for plan in product(*(seen[events] for events in own))
    )
    assert find_best_response(game, policy, 0)[1] == pytest.approx(best, abs=1e-12)
    assert best > compute_values(game, policy)[0]
