"""Game tree of a small game as flat arrays, one level after another; `GameTree.from_setup` enumerates every deal.

Nodes are numbered by level: the roots (one for each deal) come first, and the children of a node are consecutive.
Forced moves, those of a seat with a single legal action, are played at once and have no node. Decision nodes that a
seat cannot tell apart, even if it remembers all it has seen (perfect recall), form one information set. Each
information set has a range in a table of actions, so a policy of all seats is one array with a probability for each
entry of that table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from felicity_env.game import (
    AUCTION,
    MAX_ROUNDS,
    MAX_SEATS,
    PLACE,
    STATE,
    Setup,
    State,
    is_terminal,
    nth_legal_action,
    num_legal_actions,
    num_slots,
    step,
)
from felicity_env.game_record import Deal, initial_states
from felicity_env.information import redact
from felicity_env.kernel import kernel
from felicity_env.random_stream import RandomBits, mix
from felicity_env.rewards import compute_win_shares

MAX_NODES = 30_000_000


class Tree(NamedTuple):
    """Arrays of a game tree with N nodes, I information sets and A entries in the table of actions, for kernels.

    A terminal node has seat -1 and no children.
    """

    levels: np.ndarray  # int64 [L + 1]: level l has the nodes levels[l] to levels[l + 1] - 1
    weights: np.ndarray  # float64 [number of roots]: probability of each root
    first_child: np.ndarray  # int64 [N]
    num_children: np.ndarray  # int64 [N]
    seats: np.ndarray  # int8 [N]: seat to act
    sets: np.ndarray  # int64 [N]: information set of a decision node, else -1
    returns: np.ndarray  # float64 [N, seats]: win shares at a terminal node, else 0
    first_action: np.ndarray  # int64 [I + 1]: set i has the entries first_action[i] to first_action[i + 1] - 1


@dataclass(frozen=True)
class GameTree:
    """Tree of a small game, with what a policy needs to be written as a table.

    tree: the arrays. states: the position of each information set as its seat knows it, STATE [I]. actions: the action
    of each entry of the table, int64 [A].
    """

    tree: Tree
    states: np.ndarray
    actions: np.ndarray

    @classmethod
    def from_setup(cls, setup: Setup) -> "GameTree":
        """Return the tree of all games of a setup; raise `ValueError` if it has more than `MAX_NODES` nodes."""
        states = np.concatenate([initial_states(setup, deal) for deal in list_deals(setup)])
        return cls.from_states(states, np.full(len(states), 1 / len(states)))

    @classmethod
    def from_states(cls, states: np.ndarray, weights: np.ndarray) -> "GameTree":
        """Return the tree of the games that continue from `states`, STATE [R], with probabilities `weights` [R].

        A seat knows of the start what `redact` leaves of it, and the weights. Raises `ValueError` if the tree has more
        than `MAX_NODES` nodes.
        """
        return _build(states, np.asarray(weights, np.float64))

    @property
    def num_seats(self) -> int:
        """Number of seats."""
        return self.tree.returns.shape[1]

    @property
    def num_sets(self) -> int:
        """Number of information sets of all seats together."""
        return len(self.states)

    @property
    def entry_sets(self) -> np.ndarray:
        """Information set of each entry of the table of actions, int64 [A]."""
        return np.repeat(np.arange(self.num_sets), np.diff(self.tree.first_action))

    def read_row(self, policy: np.ndarray, node: int) -> dict[int, float]:
        """Return {action: probability} of a policy at a decision node."""
        number = self.tree.sets[node]
        entries = slice(self.tree.first_action[number], self.tree.first_action[number + 1])
        return dict(zip(self.actions[entries].tolist(), policy[entries].tolist(), strict=True))

    def merge_sets(self, keys: np.ndarray) -> "tuple[GameTree, np.ndarray]":
        """Return the tree of a game in which seats forget more, and where the entries of the table of actions went.

        keys: array [I, ...]; information sets with equal rows become one set, and must have the same legal actions. The
        second result gives for each entry of this table the one of the new table, int64 [A]. So `policy[entries]` is a
        policy on the new tree, written as one on this tree.
        """
        _, examples, numbers = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        numbers, sizes = numbers.reshape(-1), np.diff(self.tree.first_action)
        first_action = np.concatenate([[0], np.cumsum(sizes[examples])])
        within = np.arange(len(self.actions)) - self.tree.first_action[self.entry_sets]
        entries = first_action[numbers[self.entry_sets]] + within
        actions = np.empty(first_action[-1], np.int64)
        actions[entries] = self.actions
        sets = np.where(self.tree.sets >= 0, numbers[self.tree.sets], -1)
        tree = self.tree._replace(sets=sets, first_action=first_action)
        return GameTree(tree, self.states[examples], actions), entries

    def uniform_policy(self) -> np.ndarray:
        """Return the policy that takes every legal action with equal probability, float64 [A]."""
        return 1 / np.diff(self.tree.first_action)[self.entry_sets]


def list_deals(setup: Setup) -> Iterator[Deal]:
    """Yield every deal of a setup: removed cards, turned cards of the dummy and start seat; all are equally likely."""
    removals = list(product(setup.cards, repeat=setup.seats)) if setup.removed else [()]
    orders = list(permutations(setup.cards, min(setup.hand_size, MAX_ROUNDS))) if setup.dummy else [()]
    for removed, dummy, start_seat in product(removals, orders, range(setup.seats)):
        yield Deal(removed, dummy, start_seat)


# --- what a seat has seen, as a number --------------------------------------------------------------------------------


@kernel
def extend_memory(memory: np.ndarray, before: State, action: int, after: State) -> None:
    """Add to `memory`, uint64 [MAX_SEATS], what each seat sees of a step: actions that are not hidden, cards turned up.

    Equal numbers mean that a seat has seen the same, but for collisions of 64 bits.
    """
    is_over = is_terminal(after) or after.round_number != before.round_number
    turned = num_slots(before) if is_over else after.face_up
    for seat in range(before.num_seats):
        hidden = before.phase == PLACE and seat != before.seat
        bits = _append(memory[seat], 0 if hidden else 1 + action)
        for slot in range(before.face_up, turned):
            # A row that is over is cleared, but the auction was open before, so its cards were complete.
            bits = _append(bits, before.row[slot] if before.phase == AUCTION else after.row[slot])
        memory[seat] = bits


@kernel
def _append(bits: RandomBits, number: int) -> RandomBits:
    return mix(bits ^ mix(np.uint64(number + 2)))


def _memory_of_start(states: np.ndarray) -> np.ndarray:
    """Return what each seat knows at the roots as numbers, uint64 [R, MAX_SEATS], equal where it knows the same."""
    memory = np.zeros((len(states), MAX_SEATS), np.uint64)
    for seat in range(int(states["num_seats"][0])):
        known = redact(states, seat).view(np.uint8).reshape(len(states), STATE.itemsize)
        _, numbers = np.unique(known, axis=0, return_inverse=True)
        memory[:, seat] = numbers.reshape(-1) + (np.uint64(seat + 1) << np.uint64(40))
    return memory


# --- building ---------------------------------------------------------------------------------------------------------


@kernel
def _play_forced_moves(states, memory, scratch):
    """Play the forced moves in each state, until a seat has more than one legal action or the game is over."""
    for k in range(len(states)):
        while not is_terminal(states[k]) and num_legal_actions(states[k]) == 1:
            scratch[0] = states[k]
            action = nth_legal_action(states[k], 0)
            step(states[k], action)
            extend_memory(memory[k], scratch[0], action, states[k])


@kernel
def _count_children(states, out):
    for k in range(len(states)):
        out[k] = 0 if is_terminal(states[k]) else num_legal_actions(states[k])


@kernel
def _write_children(states, memory, counts, out_states, out_memory):
    """Write the state after each legal action of each state, in order, and what the seats know then."""
    child = 0
    for k in range(len(states)):
        for n in range(counts[k]):
            action = nth_legal_action(states[k], n)
            out_states[child] = states[k]
            for seat in range(states[k].num_seats):
                out_memory[child, seat] = memory[k, seat]
            step(out_states[child], action)
            extend_memory(out_memory[child], states[k], action, out_states[child])
            child += 1


@kernel
def _write_actions(states, out):
    """Write the legal actions of all states into `out`, one state after the other."""
    k = 0
    for number in range(len(states)):
        for n in range(num_legal_actions(states[number])):
            out[k] = nth_legal_action(states[number], n)
            k += 1


@dataclass
class _Level:
    """Nodes of one level while the tree is built: their states, and what each seat has seen, uint64 [n, MAX_SEATS]."""

    states: np.ndarray
    memory: np.ndarray

    def __post_init__(self) -> None:
        _play_forced_moves(self.states, self.memory, np.zeros(1, STATE))
        self.counts = np.empty(len(self.states), np.int64)
        _count_children(self.states, self.counts)

    def expand(self) -> "_Level":
        """Return the next level."""
        size = int(self.counts.sum())
        below = np.empty(size, STATE), np.empty((size, MAX_SEATS), np.uint64)
        _write_children(self.states, self.memory, self.counts, *below)
        return _Level(*below)

    def number_sets(self, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the information set of each node (from `first`; -1: terminal), and one node of each set."""
        sets, decides = np.full(len(self.states), -1), np.flatnonzero(self.counts)
        keys = self.memory[decides, self.states["seat"][decides]]
        _, examples, numbers = np.unique(keys, return_index=True, return_inverse=True)
        sets[decides] = first + numbers
        return sets, decides[examples]

    def compute_returns(self) -> np.ndarray:
        """Return the win shares of the seats at terminal nodes, 0 elsewhere, float64 [n, seats]."""
        return compute_win_shares(self.states)[:, : int(self.states["num_seats"][0])]


def _build(states: np.ndarray, weights: np.ndarray) -> GameTree:
    level, columns, examples = _Level(states.copy(), _memory_of_start(states)), [], []
    num_nodes = num_sets = 0
    while len(level.states):
        first_child = num_nodes + len(level.states)
        if first_child + level.counts.sum() > MAX_NODES:
            raise ValueError(f"the game is too large: its tree has more than {MAX_NODES:,} nodes")
        sets, chosen = level.number_sets(num_sets)
        examples.append(redact(level.states[chosen], level.states["seat"][chosen]))
        children = first_child + np.cumsum(level.counts) - level.counts
        columns.append((children, level.counts, level.states["seat"].astype(np.int8), sets, level.compute_returns()))
        num_nodes, num_sets = first_child, num_sets + len(chosen)
        level = level.expand()
    known = np.concatenate(examples)
    sizes = np.empty(num_sets, np.int64)
    _count_children(known, sizes)
    actions = np.empty(int(sizes.sum()), np.int64)
    _write_actions(known, actions)
    levels = np.cumsum([0, *(len(column[0]) for column in columns)])
    nodes = map(np.concatenate, zip(*columns, strict=True))  # the arrays of `Tree` with an entry for each node
    tree = Tree._make([levels, weights, *nodes, np.concatenate([[0], np.cumsum(sizes)])])
    return GameTree(tree, known, actions)
