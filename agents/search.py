"""Search agents: `mc:N`, determinised Monte Carlo, and `ismcts:N`, information-set tree search, with N playouts.

(A few more where N is small: every action of the list is tried at least once in each round.)

Both think alike about a decision. A shortlist of actions is tried on the same worlds, which fit what the seat knows and
are drawn by belief (`worlds.py`): each is played to its end from every action of the list. Sequential halving (Karnin,
Koren and Somekh 2013) shares the playouts: in each of log2(actions) rounds the worse half of the list is dropped, so
the last two get most of them. One action is never dropped, what `tuned` would do: another must be ahead of it by
`CONFIDENCE` standard errors, or the noise of few playouts would make worse decisions than no search at all.

In `mc:N` the seat itself goes on as `tuned`; in `ismcts:N` it learns within the N playouts how to go on (`tree.py`).

The shortlist: while placing, every card in hand; in the auction a pass and a raise by one.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from agents.compiled import compiled_action
from agents.playout import play_out, utilities
from agents.tree import Tree, clear, iterate, new_tree
from agents.worlds import SELF, draw_world
from felicity_env import NUM_ACTIONS, View
from felicity_env.game import MAX_SEATS, NUM_CARDS, PASS, PLACE, STATE, State, highest_legal_bid, step
from felicity_env.kernel import MAX_THREADS, kernel, outlined_kernel
from felicity_env.random_stream import Word, split

CONFIDENCE = 1.5
LEAST_WORLDS = 10  # before a standard error means anything
MAX_PLAYOUTS = 1_000_000


class Room(NamedTuple):
    """Where one decision is thought over."""

    states: np.ndarray  # STATE [4]: as known, a world, a playout, one to work in
    arms: np.ndarray  # int64 [NUM_CARDS]: the shortlist, the default first
    leads: np.ndarray  # float64 [NUM_CARDS]: of utility over the default, summed
    squares: np.ndarray  # float64 [NUM_CARDS]: of those leads, summed
    models: np.ndarray  # int64 [MAX_SEATS]: who plays each seat in this world
    values: np.ndarray  # float64 [2, MAX_SEATS]
    tree: Tree


def new_room(playouts: int) -> Room:
    """For decisions with so many playouts."""
    return Room(
        states=np.zeros(4, STATE),
        arms=np.zeros(NUM_CARDS, np.int64),
        leads=np.zeros(NUM_CARDS),
        squares=np.zeros(NUM_CARDS),
        models=np.zeros(MAX_SEATS, np.int64),
        values=np.zeros((2, MAX_SEATS)),
        tree=new_tree(playouts + 2 * NUM_CARDS),  # each round tries every action at least once
    )


@kernel
def shortlist(state: State, default: int, arms: np.ndarray) -> int:
    """Write the actions worth trying in a redacted state into `arms`, the default first; how many there are."""
    arms[0] = default
    count = 1
    for card in range(NUM_CARDS if state.phase == PLACE else 0):
        if state.hands[state.seat] >> card & 1 and card != default:
            arms[count] = card
            count += 1
    if state.phase != PLACE and state.high_bid < highest_legal_bid(state):
        arms[1] = PASS if default != PASS else PASS + state.high_bid + 1
        count = 2
    return count


@outlined_kernel
def search_action(room: Room, playouts: int, learns: bool, word: Word) -> int:
    """What to do in the redacted state room.states[0]."""
    default = compiled_action(SELF, room.states[0], word)
    count = shortlist(room.states[0], default, room.arms)
    halvings = 0
    while (1 << halvings) < count:
        halvings += 1
    room.leads[:] = 0.0
    room.squares[:] = 0.0
    clear(room.tree)
    tried = 0
    while count > 1:
        for _ in range(max(1, playouts // (count * halvings))):
            _try_in_a_world(room, count, learns, split(word, tried))
            tried += 1
        if count == 2:
            break
        _sort(room, count)
        count = (count + 1) // 2
    return room.arms[1] if count == 2 and _is_clear(room.leads[1], room.squares[1], tried) else default


@kernel
def _is_clear(lead, square, count):
    """Whether a mean lead in `count` worlds is more than CONFIDENCE standard errors."""
    mean = lead / count
    variance = square / count - mean * mean
    is_certain = mean * mean * count > CONFIDENCE * CONFIDENCE * variance
    return count >= LEAST_WORLDS and mean > 0 and is_certain


@outlined_kernel
def _try_in_a_world(room, count, learns, word):
    """Play one world to its end from each action of the list, and add up how far it is ahead of the default."""
    states = room.states
    seat = states[0].seat
    states[1] = states[0]
    draw_world(states[1], room.models, states[3:], split(word, 0))
    default = 0.0
    for k in range(count):
        states[2] = states[1]
        if learns:
            iterate(room.tree, states[2], room.arms[k], room.models, states[3:], split(word, 1), room.values)
        else:
            step(states[2], room.arms[k])
            play_out(states[2], states[3:], room.models, split(word, 1))
            utilities(states[2], room.values)
        value = room.values[0, seat]
        if k == 0:
            default = value
        room.leads[k] += value - default
        room.squares[k] += (value - default) * (value - default)


@kernel
def _sort(room, count):
    """Order all but the default by their leads, the best first (insertion sort)."""
    for k in range(2, count):
        place = k
        while place > 1 and room.leads[place] > room.leads[place - 1]:
            _swap(room.arms, place)
            _swap(room.leads, place)
            _swap(room.squares, place)
            place -= 1


@kernel
def _swap(values, place):
    values[place], values[place - 1] = values[place - 1], values[place]


@kernel
def _act_on(states, seeds, first, last, room, playouts, learns, out):
    for k in range(first, last):
        room.states[0] = states[k]
        out[k] = search_action(room, playouts, learns, seeds[k])


@kernel
def _lead_on(states, seeds, first, last, room, worlds, out):
    for k in range(first, last):
        room.states[0] = states[k]
        count = shortlist(states[k], compiled_action(SELF, room.states[0], seeds[k]), room.arms)
        room.leads[:] = 0.0
        for tried in range(worlds if count > 1 else 0):
            _try_in_a_world(room, count, False, split(seeds[k], tried))
        for place in range(count):
            out[k, room.arms[place]] = room.leads[place] / worlds


@kernel
def _list_on(states, seeds, arms, defaults, tried):
    for k in range(len(states)):
        count = shortlist(states[k], compiled_action(SELF, states[k], seeds[k]), arms)
        defaults[k] = arms[0]
        for place in range(count):
            tried[k, arms[place]] = True


def shortlists(view: View) -> tuple[np.ndarray, np.ndarray]:
    """What `tuned` would do, integers [B], and which actions a search looks at, bool [B, NUM_ACTIONS]."""
    defaults, tried = np.empty(len(view), np.int64), np.zeros((len(view), NUM_ACTIONS), np.bool_)
    _list_on(view.states, view.seeds, np.zeros(NUM_CARDS, np.int64), defaults, tried)
    return defaults, tried


def leads(view: View, *, worlds: int, threads: int = 1) -> np.ndarray:
    """How much more each action of the shortlist brings than what `tuned` would do, played out in `worlds` worlds each.

    float32 [B, NUM_ACTIONS], in wins; NaN for the other actions. A sample: the more worlds, the nearer to what `mc`
    goes by.
    """
    found = np.full((len(view), NUM_ACTIONS), np.nan, np.float32)

    def judge(first: int, last: int) -> None:
        _lead_on(view.states, view.seeds, first, last, new_room(1), worlds, found)

    _in_threads(threads, len(view), judge)
    return found


def _in_threads(threads: int, count: int, work: Callable[[int, int], None]) -> None:
    """Have `work(first, last)` done for parts of `count`; kernels run without the interpreter lock."""
    ends = np.linspace(0, count, threads + 1).astype(int)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


class SearchPlayer:
    """`mc:N`, or with `learns` `ismcts:N`. The decisions of a view are thought over one by one, or in several threads.

    The number of threads changes the time it takes and nothing else.
    """

    def __init__(self, playouts: int, *, learns: bool, threads: int = 1) -> None:
        self.playouts, self.learns, self.threads = playouts, learns, threads

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.empty(len(view), np.int64)

        def decide(first: int, last: int) -> None:
            room = new_room(self.playouts)
            _act_on(view.states, view.seeds, first, last, room, self.playouts, self.learns, actions)

        _in_threads(self.threads, len(view), decide)
        return actions


def search_player(argument: str, *, learns: bool) -> SearchPlayer:
    """From "N" or "N@THREADS"; raises `ValueError` saying what is wrong with it."""
    numbers = argument.split("@")
    if len(numbers) > 2 or not all(number.isascii() and number.isdigit() for number in numbers):
        raise ValueError(f"a search takes N, its playouts for a decision, or N@THREADS, not {argument!r}")
    playouts, threads = int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 1
    if not 1 <= playouts <= MAX_PLAYOUTS or not 1 <= threads <= MAX_THREADS:
        most = f"1 to {MAX_PLAYOUTS:,} playouts and 1 to {MAX_THREADS} threads"
        raise ValueError(f"a search takes {most}, not {argument!r}")
    return SearchPlayer(playouts, learns=learns, threads=threads)
