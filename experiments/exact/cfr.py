"""CFR+ (Tammelin 2014, arXiv:1407.5042) on a game tree: its average policy approaches an equilibrium with two seats.

With more seats there is no guarantee, but the policies found are hard to exploit in practice.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.exact.tree import GameTree, Tree
from experiments.exact.values import write_reach, write_values
from felicity_env.kernel import kernel


@kernel
def _add_regrets(tree, seat, others, values, added):
    """Add to `added` [A] by how much more each action of `seat` would have won than its policy."""
    for node in range(len(tree.seats)):
        if tree.seats[node] == seat:
            for k in range(tree.num_children[node]):
                gain = values[tree.first_child[node] + k] - values[node]
                added[tree.first_action[tree.sets[node]] + k] += others[node] * gain


@kernel
def _add_policy(tree, policy, seat, own, weight, total):
    for node in range(len(tree.seats)):
        if tree.seats[node] == seat:
            for k in range(tree.num_children[node]):
                entry = tree.first_action[tree.sets[node]] + k
                total[entry] += weight * own[node] * policy[entry]


@kernel
def _normalise(tree, amounts, policy):
    """Write amounts of 0 or more as probabilities in each information set; uniform where all are 0."""
    for number in range(len(tree.first_action) - 1):
        first, last = tree.first_action[number], tree.first_action[number + 1]
        total = 0.0
        for entry in range(first, last):
            total += amounts[entry]
        for entry in range(first, last):
            policy[entry] = amounts[entry] / total if total > 0 else 1 / (last - first)


@kernel
def _iterate(tree, number, regrets, policy, total, own, others, values, added):
    """Make one iteration: each seat in turn adds its regrets, which never fall below 0, and plays by them."""
    for seat in range(tree.returns.shape[1]):
        write_reach(tree, policy, seat, own, others)
        write_values(tree, policy, seat, values)
        added[:] = 0.0
        _add_regrets(tree, seat, others, values, added)
        _add_policy(tree, policy, seat, own, number, total)
        for entry in range(len(regrets)):
            regrets[entry] = max(regrets[entry] + added[entry], 0.0)
        _normalise(tree, regrets, policy)


def solve(game: GameTree, num_iterations: int) -> Iterator[np.ndarray]:
    """Yield the average policy [A] after each iteration of CFR+, weighted by the number of the iteration."""
    tree: Tree = game.tree
    policy = game.uniform_policy()
    regrets, total, added = (np.zeros(len(policy)) for _ in range(3))
    own, others, values = (np.empty(len(tree.seats)) for _ in range(3))
    for number in range(1, num_iterations + 1):
        _iterate(tree, number, regrets, policy, total, own, others, values, added)
        average = np.empty(len(policy))
        _normalise(tree, total, average)
        yield average


def average_policies(game: GameTree, policies: Sequence[np.ndarray]) -> np.ndarray:
    """Return the policy [A] that plays like a seat that follows one of the `policies` [A], drawn before the game.

    Each policy counts in an information set as often as its seat gets there by it (Kuhn's theorem).
    """
    total, average = np.zeros(len(policies[0])), np.empty(len(policies[0]))
    own, others = (np.empty(len(game.tree.seats)) for _ in range(2))
    for policy in policies:
        for seat in range(game.num_seats):
            write_reach(game.tree, policy, seat, own, others)
            _add_policy(game.tree, policy, seat, own, 1.0, total)
    _normalise(game.tree, total, average)
    return average
