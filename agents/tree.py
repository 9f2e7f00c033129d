"""Search tree of the player `ismcts`: statistics on how the searching seat should continue the round.

Single-observer information-set MCTS (Cowling, Powley and Whitehouse 2012): every iteration descends the same tree with
another world (possible full state). A node is a public history of bids and passes, so all worlds share it; the
statistics of the searching seat's decisions are separate for each card that it may have placed. Selection is PUCT
(Rosin 2011; Silver et al. 2017); its prior favours the action of the player assumed for the searching seat. While a
choice has few visits, its mean is shrunk towards the mean of the node. The other seats play as the players that the
world assumes for them (`worlds.py`), and so do all seats after the round.
"""

from typing import NamedTuple

import numpy as np

from agents.playout import model_action, play_out, utilities
from felicity_env.game import AUCTION, NUM_CARDS, PASS, State, highest_legal_bid, is_terminal, step
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.observation import own_slot
from felicity_env.random_stream import RandomBits, mix, split

CHOICES = 2  # in an auction: pass (0) or raise (1)
PRIOR = 0.9  # prior probability of the action that the seat's own model takes
EXPLORATION = 0.5  # PUCT constant, in units of utility
PSEUDO_VISITS = 20.0  # weight of the node's mean in the mean of a choice, in visits
MAX_DEPTH = 80  # most decisions of a seat in one auction: at most 63 bids
NO_NODE = -1


class Tree(NamedTuple):
    """Search tree of one decision; a node is a point of the auction, identified by the bids and passes before it.

    Node 0 is the auction as it is now, or the beginning of the auction if cards are still being placed.
    """

    size: np.ndarray  # int64 [1]: number of nodes in use
    children: np.ndarray  # int64 [nodes, CHOICES]: node after each choice, or NO_NODE
    visits: np.ndarray  # float64 [nodes, NUM_CARDS, CHOICES]: by the card that the seat has placed
    totals: np.ndarray  # float64 [nodes, NUM_CARDS, CHOICES]: sums of utility
    path: np.ndarray  # int64 [MAX_DEPTH, 3]: node, card and choice of each own decision in this iteration
    length: np.ndarray  # int64 [1]: number of own decisions in `path`


def create_tree(iterations: int) -> Tree:
    """Allocate a search tree for `iterations` iterations, each of which adds at most one node."""
    nodes = iterations + 2
    statistics = (nodes, NUM_CARDS, CHOICES)
    return Tree(
        size=np.zeros(1, np.int64),
        children=np.zeros((nodes, CHOICES), np.int64),
        visits=np.zeros(statistics),
        totals=np.zeros(statistics),
        path=np.zeros((MAX_DEPTH, 3), np.int64),
        length=np.zeros(1, np.int64),
    )


@kernel
def clear(tree: Tree) -> None:
    """Remove all nodes of the search tree except an empty node 0."""
    tree.size[0] = 0
    _add_node(tree)


@kernel
def _add_node(tree):
    """Append an empty node to the search tree and return its index."""
    node = tree.size[0]
    tree.size[0] += 1
    tree.children[node] = NO_NODE
    tree.visits[node] = 0.0
    tree.totals[node] = 0.0
    return node


@outlined_kernel
def iterate(
    tree: Tree,
    state: State,
    first: int,
    models: np.ndarray,
    scratch: np.ndarray,
    random_bits: RandomBits,
    values: np.ndarray,
) -> None:
    """Play the game in `state` to its end, beginning with the action `first`, and add the result to the search tree.

    scratch, models: see `model_action`. values: see `utilities`.
    """
    seat = state.seat
    _descend(tree, state, first, models, scratch, split(random_bits, 0))
    play_out(state, scratch, models, split(random_bits, 1))
    utilities(state, values)
    for k in range(tree.length[0]):
        node, card, choice = tree.path[k]
        tree.visits[node, card, choice] += 1
        tree.totals[node, card, choice] += values[0, seat]


@outlined_kernel
def _descend(tree, state, first, models, scratch, random_bits):
    """Play the action `first`, then follow the search tree until the round ends or a new node has been added.

    The searching seat's actions in the auction are chosen by the statistics of the tree; all others by the assumed
    players.
    """
    seat, round_number = state.seat, state.round_number
    tree.length[0] = node = 0
    action = first
    while True:
        if state.phase == AUCTION:
            node = _follow(tree, node, state, action, state.seat == seat)
        step(state, action)
        if node == NO_NODE or is_terminal(state) or state.round_number != round_number:
            return
        random_bits = mix(random_bits)
        action = model_action(state, scratch, models, random_bits)
        if state.phase == AUCTION and state.seat == seat:
            action = _select(tree, node, state, action)


@kernel
def _follow(tree, node, state, action, is_own):
    """Return the node after `action`; if the search tree does not have it yet, add it and return NO_NODE.

    is_own: whether it is a decision of the searching seat, which is also recorded in `tree.path`.
    """
    choice = min(action - PASS, 1)
    if is_own:
        entry = tree.path[tree.length[0]]
        entry[0], entry[1], entry[2] = node, state.row[own_slot(state, state.seat)], choice
        tree.length[0] += 1
    child = tree.children[node, choice]
    if child == NO_NODE:
        tree.children[node, choice] = _add_node(tree)
    return child


@kernel
def _select(tree, node, state, advice):
    """Return the action that PUCT chooses for the searching seat in an auction: a pass, or a raise by one.

    The statistics are those for the seat's own card. The prior favours `advice`, the action of the assumed player.
    """
    raised = PASS + state.high_bid + 1
    if state.high_bid + 1 > highest_legal_bid(state):
        return PASS
    card = state.row[own_slot(state, state.seat)]
    visits, totals = tree.visits[node, card], tree.totals[node, card]
    count = visits[0] + visits[1]
    mean = (totals[0] + totals[1]) / count if count > 0 else 0.0
    best, best_action = -np.inf, PASS
    for choice in range(CHOICES):
        prior = PRIOR if min(advice - PASS, 1) == choice else 1 - PRIOR
        value = (totals[choice] + PSEUDO_VISITS * mean) / (visits[choice] + PSEUDO_VISITS)
        value += EXPLORATION * prior * np.sqrt(count + 1) / (1 + visits[choice])
        if value > best:
            best, best_action = value, PASS if choice == 0 else raised
    return best_action
