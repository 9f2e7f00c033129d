"""The tree of an information-set search: what the searching seat learns about how to go on in this round.

Single-observer ISMCTS (Cowling, Powley and Whitehouse 2012): every iteration goes down the one tree with another world.
A node is a public history of bids and passes, so all worlds share it; the statistics of the seat's own decisions there
are kept apart for every card that it may have laid. Selection is PUCT (Rosin 2011; Silver et al. 2017) with the seat's
own player as the prior, and means are drawn towards the mean of the node while visits are few. The others do as their
models in that world do, and so does everybody after the round.
"""

from typing import Any, NamedTuple

import numpy as np

from agents.compiled import compiled_action
from agents.playout import play_out, utilities
from felicity_env.game import AUCTION, NUM_CARDS, PASS, State, highest_legal_bid, is_terminal, step
from felicity_env.information import redact_state
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.observation import own_slot
from felicity_env.random_stream import Word, mix, split

ARMS = 2  # in an auction: pass, or raise
PRIOR = 0.9  # of what the seat's own player would do
EXPLORATION = 0.5
PSEUDO_VISITS = 20.0  # of the node's mean in the mean of an action
MAX_DEPTH = 80  # own decisions in an auction: at most 63 bids
NO_NODE = -1


class Tree(NamedTuple):
    """Room for the tree of one decision. Node 0 is the auction as it stands, or as it will open."""

    size: np.ndarray  # int64 [1]: nodes in use
    children: np.ndarray  # int64 [nodes, ARMS]
    visits: np.ndarray  # float64 [nodes, NUM_CARDS, ARMS]: by the card the seat has laid
    totals: np.ndarray  # float64 [nodes, NUM_CARDS, ARMS]: of utility
    path: np.ndarray  # int64 [MAX_DEPTH, 3]: node, card, arm of the seat's own decisions in this iteration
    length: np.ndarray  # int64 [1]: of the path


def new_tree(iterations: int) -> Tree:
    """Room for a search of so many iterations; each adds at most one node."""
    nodes = iterations + 2
    statistics = (nodes, NUM_CARDS, ARMS)
    return Tree(
        size=np.zeros(1, np.int64),
        children=np.zeros((nodes, ARMS), np.int64),
        visits=np.zeros(statistics),
        totals=np.zeros(statistics),
        path=np.zeros((MAX_DEPTH, 3), np.int64),
        length=np.zeros(1, np.int64),
    )


@kernel
def clear(tree: Tree) -> None:
    """Only the auction as it stands."""
    tree.size[0] = 0
    _grow(tree)


@kernel
def _grow(tree):
    """The number of a new node."""
    node = tree.size[0]
    tree.size[0] += 1
    tree.children[node] = NO_NODE
    tree.visits[node] = 0.0
    tree.totals[node] = 0.0
    return node


@outlined_kernel
def iterate(
    tree: Tree, state: State, first: int, models: np.ndarray, scratch: Any, word: Word, values: np.ndarray
) -> None:
    """Play the world `state`, in which the seat plays `first` now, to its end, and learn from it.

    models: the compiled player of each seat. scratch: STATE [1]. values: as `utilities` writes them.
    """
    seat = state.seat
    _descend(tree, state, first, models, scratch, split(word, 0))
    play_out(state, scratch, models, split(word, 1))
    utilities(state, values)
    for k in range(tree.length[0]):
        node, card, arm = tree.path[k]
        tree.visits[node, card, arm] += 1
        tree.totals[node, card, arm] += values[0, seat]


@outlined_kernel
def _descend(tree, state, first, models, scratch, word):
    """From `first` on down the tree, to the end of the round or past the first node that is new."""
    seat, round_number = state.seat, state.round_number
    tree.length[0] = node = 0
    action = first
    while True:
        if state.phase == AUCTION:
            node = _follow(tree, node, state, action, state.seat == seat)
        step(state, action)
        if node == NO_NODE or is_terminal(state) or state.round_number != round_number:
            return
        scratch[0] = state
        redact_state(scratch[0], state.seat)
        word = mix(word)
        action = compiled_action(models[state.seat], scratch[0], split(word, state.seat))
        if state.phase == AUCTION and state.seat == seat:
            action = _select(tree, node, state, action)


@kernel
def _follow(tree, node, state, action, is_own):
    """The next node, or NO_NODE where it had to be made; own decisions are noted on the path."""
    arm = min(action - PASS, 1)
    if is_own:
        entry = tree.path[tree.length[0]]
        entry[0], entry[1], entry[2] = node, state.row[own_slot(state, state.seat)], arm
        tree.length[0] += 1
    child = tree.children[node, arm]
    if child == NO_NODE:
        tree.children[node, arm] = _grow(tree)
    return child


@kernel
def _select(tree, node, state, advice):
    """Pass, or raise by one, given the card laid; the prior is `advice`."""
    raised = PASS + state.high_bid + 1
    if state.high_bid + 1 > highest_legal_bid(state):
        return PASS
    card = state.row[own_slot(state, state.seat)]
    visits, totals = tree.visits[node, card], tree.totals[node, card]
    count = visits[0] + visits[1]
    mean = (totals[0] + totals[1]) / count if count > 0 else 0.0
    best, best_action = -np.inf, PASS
    for arm in range(ARMS):
        prior = PRIOR if min(advice - PASS, 1) == arm else 1 - PRIOR
        value = (totals[arm] + PSEUDO_VISITS * mean) / (visits[arm] + PSEUDO_VISITS)
        value += EXPLORATION * prior * np.sqrt(count + 1) / (1 + visits[arm])
        if value > best:
            best, best_action = value, PASS if arm == 0 else raised
    return best_action
