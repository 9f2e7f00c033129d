"""Exact values on a game tree: of a policy, and of a best response to it; NashConv is what best responses add."""

import numpy as np

from experiments.exact.tree import GameTree, Tree
from felicity_env.kernel import kernel


@kernel
def write_reach(tree: Tree, policy: np.ndarray, seat: int, own: np.ndarray, others: np.ndarray) -> None:
    """Write the probability that `seat`, and that chance and all other seats, play towards each node; float64 [N]."""
    for root in range(len(tree.weights)):
        own[root], others[root] = 1.0, tree.weights[root]
    for node in range(len(tree.seats)):
        for k in range(tree.num_children[node]):
            probability, child = policy[tree.first_action[tree.sets[node]] + k], tree.first_child[node] + k
            acts = tree.seats[node] == seat
            own[child] = own[node] * (probability if acts else 1.0)
            others[child] = others[node] * (1.0 if acts else probability)


@kernel
def _write_values_between(tree, first, last, seat, policy, values):
    """Write the values of the nodes from `last` - 1 down to `first`; their children have their values already."""
    for node in range(last - 1, first - 1, -1):
        value = tree.returns[node, seat]
        for k in range(tree.num_children[node]):
            value += policy[tree.first_action[tree.sets[node]] + k] * values[tree.first_child[node] + k]
        values[node] = value


@kernel
def write_values(tree: Tree, policy: np.ndarray, seat: int, values: np.ndarray) -> None:
    """Write the expected win share of `seat` from each node on, if all seats follow `policy`; float64 [N]."""
    _write_values_between(tree, 0, len(tree.seats), seat, policy, values)


@kernel
def _sum_action_values(tree, first, last, seat, others, values, sums):
    """Add up the values of the actions of `seat` in its information sets with nodes from `first` to `last` - 1."""
    for node in range(first, last):
        if tree.seats[node] == seat:
            for k in range(tree.num_children[node]):
                entry = tree.first_action[tree.sets[node]] + k
                sums[entry] += others[node] * values[tree.first_child[node] + k]


@kernel
def _choose_best(tree, first, last, seat, sums, response):
    """Let the response take the action with the greatest sum, at the nodes of `seat` from `first` to `last` - 1."""
    for node in range(first, last):
        if tree.seats[node] == seat:
            start, best = tree.first_action[tree.sets[node]], 0
            for k in range(tree.num_children[node]):
                response[start + k] = 0.0
                best = k if sums[start + k] > sums[start + best] else best
            response[start + best] = 1.0


@kernel
def write_best_response(
    tree: Tree, seat: int, others: np.ndarray, values: np.ndarray, sums: np.ndarray, response: np.ndarray
) -> None:
    """Replace in `response` [A], a policy of all seats, that of `seat` by a best response; write values [N].

    others: as `write_reach` writes it. An information set has nodes of one level only, because every action is seen by
    all seats; so all its nodes have their values before the best action is chosen.
    """
    sums[:] = 0.0
    for level in range(len(tree.levels) - 2, -1, -1):
        first, last = tree.levels[level], tree.levels[level + 1]
        _sum_action_values(tree, first, last, seat, others, values, sums)
        _choose_best(tree, first, last, seat, sums, response)
        _write_values_between(tree, first, last, seat, response, values)


def compute_values(game: GameTree, policy: np.ndarray) -> np.ndarray:
    """Return the expected win share of each seat if all follow `policy`, float64 [seats]."""
    nodes, roots = np.empty(len(game.tree.seats)), len(game.tree.weights)
    values = []
    for seat in range(game.num_seats):
        write_values(game.tree, policy, seat, nodes)
        values.append(float(game.tree.weights @ nodes[:roots]))
    return np.array(values)


def find_best_response(game: GameTree, policy: np.ndarray, seat: int) -> tuple[np.ndarray, float]:
    """Return a best response of `seat` to `policy` in all other seats, as a policy of all seats, and its win share."""
    own, others, values = (np.empty(len(game.tree.seats)) for _ in range(3))
    write_reach(game.tree, policy, seat, own, others)
    response = policy.copy()
    write_best_response(game.tree, seat, others, values, np.empty(len(policy)), response)
    return response, float(game.tree.weights @ values[: len(game.tree.weights)])


def compute_gains(game: GameTree, policy: np.ndarray) -> np.ndarray:
    """Return what a best response of each seat adds to its win share, float64 [seats]; their sum is the NashConv."""
    responses = [find_best_response(game, policy, seat)[1] for seat in range(game.num_seats)]
    return np.array(responses) - compute_values(game, policy)
