"""Search players: `mc`, determinised Monte Carlo, and `ismcts`, information-set tree search.

Both decide in the same way. The candidate actions are tried in the same worlds: full states that fit what the seat has
seen and what the others have done (`worlds.py`). Each world is played to its end from every candidate. Sequential
halving (Karnin, Koren and Somekh 2013) distributes the playouts: each of log2(candidates) rounds drops the worse half
of the candidates, so the last two get most of the playouts. The action of `tuned` is the default. It is never dropped,
and another action is only taken if its advantage over the default exceeds `CONFIDENCE` standard errors. Without this
rule, the noise of few playouts makes worse decisions than no search at all.

In `mc` the searching seat plays as `tuned` after the candidate action. In `ismcts` it learns from the playouts how to
play until the round ends (`tree.py`).

The candidates are every card in hand while placing, and a pass and a raise by one in the auction. Each round of
sequential halving tries every candidate at least once, so a small number of playouts may be exceeded by a few.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from agents.compiled import heuristic_action
from agents.playout import play_out, utilities
from agents.tree import Tree, clear, create_tree, iterate
from agents.worlds import SELF, draw_world
from felicity_env.game import MAX_SEATS, NUM_CARDS, PASS, PLACE, STATE, State, highest_legal_bid, step
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.player import View
from felicity_env.random_stream import RandomBits, split

CONFIDENCE = 1.5
MIN_WORLDS = 10  # fewer give no meaningful standard error
MAX_PLAYOUTS = 1_000_000
MAX_THREADS = 256


class Workspace(NamedTuple):
    """Buffers that a search needs for one decision."""

    states: np.ndarray  # STATE [4]: the redacted state, a world, a playout, scratch
    candidates: np.ndarray  # int64 [NUM_CARDS]: candidate actions, the default first
    advantages: np.ndarray  # float64 [NUM_CARDS]: sums of the advantage in utility over the default
    squares: np.ndarray  # float64 [NUM_CARDS]: sums of the squares of these advantages
    models: np.ndarray  # int64 [MAX_SEATS]: compiled player of each seat in this world
    values: np.ndarray  # float64 [2, MAX_SEATS]: see `utilities`
    tree: Tree


def create_workspace(playouts: int) -> Workspace:
    """Allocate the buffers for search decisions with `playouts` playouts each."""
    return Workspace(
        states=np.zeros(4, STATE),
        candidates=np.zeros(NUM_CARDS, np.int64),
        advantages=np.zeros(NUM_CARDS),
        squares=np.zeros(NUM_CARDS),
        models=np.zeros(MAX_SEATS, np.int64),
        values=np.zeros((2, MAX_SEATS)),
        tree=create_tree(playouts + 2 * NUM_CARDS),  # each round tries every candidate at least once
    )


@kernel
def list_candidates(state: State, default: int, candidates: np.ndarray) -> int:
    """Write the actions that a search compares into `candidates`, the default first; return their number."""
    candidates[0] = default
    count = 1
    for card in range(NUM_CARDS if state.phase == PLACE else 0):
        if state.hands[state.seat] >> card & 1 and card != default:
            candidates[count] = card
            count += 1
    if state.phase != PLACE and state.high_bid < highest_legal_bid(state):
        candidates[1] = PASS if default != PASS else PASS + state.high_bid + 1
        count = 2
    return count


@outlined_kernel
def search_action(workspace: Workspace, playouts: int, learns: bool, random_bits: RandomBits) -> int:
    """Return the action that a search chooses in the redacted state `workspace.states[0]`.

    playouts: number of playouts for this decision. learns: true for the player `ismcts`, false for `mc`.
    """
    default = heuristic_action(SELF, workspace.states[0], random_bits)
    count = list_candidates(workspace.states[0], default, workspace.candidates)
    rounds = 0
    while (1 << rounds) < count:
        rounds += 1
    workspace.advantages[:] = 0.0
    workspace.squares[:] = 0.0
    clear(workspace.tree)
    worlds = 0
    while count > 1:
        for _ in range(max(1, playouts // (count * rounds))):
            _try_in_world(workspace, count, learns, split(random_bits, worlds))
            worlds += 1
        if count == 2:
            break
        _sort_candidates(workspace, count)
        count = (count + 1) // 2
    is_better = count == 2 and _is_significant(workspace.advantages[1], workspace.squares[1], worlds)
    return workspace.candidates[1] if is_better else default


@kernel
def _is_significant(advantage, square, worlds):
    """Return whether an action's mean advantage exceeds CONFIDENCE standard errors.

    advantage, square: sums of the advantage and of its square over `worlds` worlds. The result is False for fewer than
    MIN_WORLDS worlds.
    """
    mean = advantage / worlds
    variance = square / worlds - mean * mean
    is_certain = mean * mean * worlds > CONFIDENCE * CONFIDENCE * variance
    return worlds >= MIN_WORLDS and mean > 0 and is_certain


@outlined_kernel
def _try_in_world(workspace, count, learns, random_bits):
    """Draw a world, play it to its end from each candidate action, and add up advantages over the default action.

    The sums are in `workspace`; an advantage is a difference in utility.
    """
    states = workspace.states
    seat = states[0].seat
    states[1] = states[0]
    draw_world(states[1], workspace.models, states[3:], split(random_bits, 0))
    playout_bits = split(random_bits, 1)  # the same for all candidates, so that chance affects their difference less
    default = 0.0
    for k in range(count):
        states[2] = states[1]
        action = workspace.candidates[k]
        if learns:
            iterate(workspace.tree, states[2], action, workspace.models, states[3:], playout_bits, workspace.values)
        else:
            step(states[2], action)
            play_out(states[2], states[3:], workspace.models, playout_bits)
            utilities(states[2], workspace.values)
        value = workspace.values[0, seat]
        if k == 0:
            default = value
        workspace.advantages[k] += value - default
        workspace.squares[k] += (value - default) * (value - default)


@kernel
def _sort_candidates(workspace, count):
    """Sort the candidate actions by advantage, the best first (insertion sort); the default action stays the first."""
    for k in range(2, count):
        index = k
        while index > 1 and workspace.advantages[index] > workspace.advantages[index - 1]:
            _swap_with_previous(workspace.candidates, index)
            _swap_with_previous(workspace.advantages, index)
            _swap_with_previous(workspace.squares, index)
            index -= 1


@kernel
def _swap_with_previous(values, index):
    values[index], values[index - 1] = values[index - 1], values[index]


@kernel
def _search_all(states, seeds, first, last, workspace, playouts, learns, out):
    for k in range(first, last):
        workspace.states[0] = states[k]
        out[k] = search_action(workspace, playouts, learns, seeds[k])


class SearchPlayer:
    """Player that searches: determinised Monte Carlo (`mc`), or information-set tree search (`ismcts`) if `learns`.

    playouts: number of playouts for each decision. threads: number of CPU threads that share the decisions of a view;
    it does not change the actions.
    """

    def __init__(self, playouts: int, *, learns: bool, threads: int = 1) -> None:
        self.playouts, self.learns, self.threads = playouts, learns, threads

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, int64 [B]."""
        actions = np.empty(len(view), np.int64)

        def decide(first: int, last: int) -> None:
            workspace = create_workspace(self.playouts)
            _search_all(view.states, view.seeds, first, last, workspace, self.playouts, self.learns, actions)

        bounds = np.linspace(0, len(view), self.threads + 1).astype(int)
        with ThreadPoolExecutor(self.threads) as pool:  # kernels run without the interpreter lock
            list(pool.map(decide, bounds[:-1], bounds[1:]))
        return actions


def make_search(playouts: int | str, threads: int | str = 1, *, learns: bool) -> SearchPlayer:
    """Make a search player; the numbers of playouts and threads may be text, as in a player code.

    learns: see `SearchPlayer`. Raises `ValueError` naming a number that is wrong.
    """
    return SearchPlayer(
        read_count("playouts for a decision", playouts, MAX_PLAYOUTS),
        threads=read_count("threads", threads, MAX_THREADS),
        learns=learns,
    )


def read_count(name: str, text: int | str, largest: int) -> int:
    """Convert text to a whole number; raise `ValueError` unless it is one from 1 to `largest`.

    name: what is counted, for the message.
    """
    digits = str(text)
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= largest):
        raise ValueError(f"a search takes 1 to {largest:,} {name}, as a whole number, not {text!r}")
    return int(digits)
