"""Search: legal, fair, the same whatever the threads; finds what is obvious, and keeps to `tuned` where nothing is."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agents
from agents import search, tree
from agents.arena import play_blocks
from agents.compiled import NUMBERS
from agents.search import CONFIDENCE, MAX_PLAYOUTS, SearchPlayer, new_room
from agents.tree import ARMS, NO_NODE, Tree, clear, iterate, new_tree
from agents.worlds import SELF, draw_world
from felicity_env import Batch, View
from felicity_env.game import (
    AUCTION,
    MAX_SEATS,
    NUM_CARDS,
    OVER,
    PASS,
    PLACE,
    SETUPS,
    STATE,
    State,
    is_legal,
    num_legal_actions,
)
from felicity_env.information import redact, resample
from felicity_env.kernel import MAX_THREADS, kernel
from felicity_env.random_stream import mix
from tests.helpers import (
    ALL_SETUPS,
    C3,
    C5,
    C8,
    C11,
    C15,
    COMPILED,
    M5,
    M8,
    RABBIT,
    SMALL,
    auction,
    bid,
    decide,
    new_game,
    plain,
    play,
    random_game,
    random_words,
    reachable,
    view_of,
)

ROOT = Path(__file__).resolve().parents[1]
CODES = ("mc:20", "ismcts:20") if COMPILED else ("mc:1", "ismcts:1")
EVERY = 3  # of the positions of a game


def positions(*setups: Any, every: int = EVERY) -> np.ndarray:
    """True states of random games in which somebody is to act; in plain Python late ones, where playouts are short."""
    games = [random_game(setup, seed).states[:-1] for setup in setups for seed in range(2 if COMPILED else 1)]
    return np.concatenate([states[::every] if COMPILED else states[-12::5] for states in games])


def decisions_at(*setups: Any, every: int = EVERY) -> View:
    states = positions(*setups, every=every)
    return view_of(states, random_words(len(states)))


def last_round(state: State) -> State:
    """The same at the end of the game: nothing comes after."""
    state.round_number = state.num_rounds - 1
    return state


# --- as every player --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("playouts", [1, 20] if COMPILED else [1])
@pytest.mark.parametrize("name", ["mc", "ismcts"])
@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_every_action_is_legal_in_every_setup_and_phase(setup, name, playouts):
    states = positions(setup)
    actions = agents.make(f"{name}:{playouts}").act(view_of(states, random_words(len(states))))
    assert all(is_legal(state, int(action)) for state, action in zip(states, actions, strict=True))
    assert set(states["phase"].tolist()) == {PLACE, AUCTION} or not COMPILED


@pytest.mark.parametrize("code", CODES)
def test_an_action_depends_on_its_decision_and_its_word_alone(code):
    """Not on the batch, its order, or what was decided before."""
    player, view = agents.make(code), decisions_at(*SETUPS.values())
    together, order = player.act(view), np.random.default_rng(1).permutation(len(view))
    assert agents.make(code).act(view).tolist() == together.tolist()
    assert player.act(view.take(order)).tolist() == together[order].tolist()
    one_by_one = [int(player.act(view.take(np.array([row])))[0]) for row in range(len(view))]
    assert one_by_one == together.tolist()


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_an_action_is_the_same_with_however_many_threads(learns, threads):
    view = decisions_at(*SETUPS.values())
    alone = SearchPlayer(10 if COMPILED else 1, learns=learns)
    shared = SearchPlayer(10 if COMPILED else 1, learns=learns, threads=threads)
    for part in (view, view.take(np.arange(2)), view.take(np.arange(0))):
        assert shared.act(part).tolist() == alone.act(part).tolist()


def decisions_of(code: str) -> list[int]:
    """Of late positions, in which playouts are short, and one early one."""
    late = [random_game(setup, 3).states[-20:-1:9] for setup in (*SETUPS.values(), ALL_SETUPS[3])]
    states = np.concatenate([*late, random_game(ALL_SETUPS[3], 3).states[:1]])
    return agents.make(code).act(view_of(states, random_words(len(states)))).tolist()


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
def test_a_search_decides_the_same_compiled_and_in_plain_python():
    codes = ("mc:8", "ismcts:8")
    code = f"from tests.test_search import *; print(*[decisions_of(code) for code in {codes}], sep=chr(10))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == [str(decisions_of(code)) for code in codes], done.stderr


@pytest.mark.parametrize("code", CODES)
def test_a_view_is_left_as_it_was_and_an_empty_one_gets_no_actions(code):
    player, view = agents.make(code), decisions_at(SETUPS[3], every=20 * EVERY)
    before = view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()
    actions = player.act(view)
    assert np.issubdtype(actions.dtype, np.integer)
    assert actions.shape == (len(view),)
    assert player.act(view.take(np.array([], np.int64))).shape == (0,)
    assert (view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()) == before


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_an_action_is_the_same_in_all_worlds_that_the_seat_cannot_tell_apart(setup, code):
    player, truth = agents.make(code), positions(setup)
    worlds = resample(redact(truth, truth["seat"]), np.random.default_rng(3))
    words = random_words(len(truth))
    assert (worlds != truth).any() or not COMPILED
    assert player.act(view_of(worlds, words)).tolist() == player.act(view_of(truth, words)).tolist()


@pytest.mark.parametrize("code", CODES)
def test_a_search_holds_on_to_no_game(code):
    player = agents.make(code)
    player.act(Batch(1).view())
    held = reachable(player)
    assert len(held) < 20
    assert not [thing for thing in held if isinstance(thing, Batch | View | np.ndarray | np.void | np.random.Generator)]


# --- what is obvious --------------------------------------------------------------------------------------------------


def alone_at_the_end(*cards: int) -> State:
    """Seat 3 is alone, nobody has bid, the row is open, the game ends with this decision."""
    return last_round(play(auction(4, cards, removed=[RABBIT if RABBIT not in cards else SMALL] * 4), PASS, PASS, PASS))


@pytest.mark.parametrize("code", ["mc:1", "mc:50", "ismcts:1", "ismcts:50"])
@pytest.mark.parametrize(
    ("cards", "action"),
    [
        ((C15, C8, C5, C3), bid(1)),  # 31
        ((M8, C5, C5, RABBIT), bid(1)),  # 2, which makes 1 more
        ((M8, M8, M5, RABBIT), PASS),  # -21
        ((M8, C3, C5, RABBIT), PASS),  # 0
    ],
)
def test_left_alone_at_the_end_it_buys_what_is_worth_more_than_its_price_and_nothing_else(code, cards, action):
    for word in range(5):
        assert decide(agents.make(code), alone_at_the_end(*cards), word) == action


def between_two(*cards: int) -> State:
    """The last auction, two left: seat 3 sees the row; seat 2 has bid its only mouse."""
    state = last_round(play(auction(4, cards), PASS, PASS))
    state.mice[2] = 1
    return play(state, bid(1))


@pytest.mark.parametrize("code", ["mc:2", "mc:50", "ismcts:2", "ismcts:50"])
@pytest.mark.parametrize(
    ("cards", "action"),
    [
        ((C15, C11, C8, C5), bid(2)),  # 39 for itself, or for the other
        ((M8, M8, M5, C3), PASS),
    ],
)
def test_between_two_it_raises_for_a_good_sack_and_leaves_a_bad_one_to_the_other(code, cards, action):
    for word in range(5):
        assert decide(agents.make(code), between_two(*cards), word) == action


@pytest.mark.parametrize("code", ["mc:100", "ismcts:100"])
def test_it_keeps_to_what_tuned_does_where_all_actions_are_worth_the_same(code):
    """The last round, nobody has a mouse: whatever is laid, nobody can buy it."""
    state = last_round(new_game(4))
    state.mice[:], state.pots[:] = 0, 0
    words = random_words(40 if COMPILED else 2)
    view = view_of(np.repeat(np.array([state], STATE), len(words)), words)
    assert agents.make(code).act(view).tolist() == agents.make("tuned").act(view).tolist()
    indifferent = np.repeat(np.array([alone_at_the_end(M8, C3, C3, C3)], STATE), len(words))  # worth 1
    view = view_of(indifferent, words)
    assert agents.make(code).act(view).tolist() == agents.make("tuned").act(view).tolist()


@pytest.mark.skipif(not COMPILED, reason="many games")
@pytest.mark.parametrize("code", ["mc:100", "ismcts:100"])
def test_a_search_wins_far_more_than_its_share_against_random_players(code):
    blocks = play_blocks([agents.make(code), *(agents.make("random") for _ in range(3))], num_blocks=10, seed=1)
    assert blocks.measures["forfeits"].sum() == 0
    assert blocks.mean_of(0).mean() > 0.6


# --- the shortlist and how playouts are shared ------------------------------------------------------------------------


def shortlist_of(state: State, default: int) -> list[int]:
    arms = np.full(NUM_CARDS, -1)
    return arms[: search.shortlist(state, default, arms)].tolist()


def test_while_placing_every_card_in_hand_is_tried_the_default_first():
    state = new_game(4)
    hand = [card for card in range(10) if card != RABBIT]
    for card in hand:
        assert shortlist_of(state, card) == [card, *(other for other in hand if other != card)]


def test_in_the_auction_a_pass_and_a_raise_by_one_are_tried_where_there_are_mice():
    state = play(auction(4), bid(4))
    assert shortlist_of(state, PASS) == [PASS, bid(5)]
    assert shortlist_of(state, bid(5)) == [bid(5), PASS]
    state.mice[1] = 4
    assert shortlist_of(state, PASS) == [PASS]
    assert shortlist_of(alone_at_the_end(C3, C3, C3, C3), PASS) == [PASS, bid(1)]


class Trials:
    """Stands in for playouts: every action is worth what the test says, and noise that is the same for all."""

    def __init__(self, worth: dict[int, float], *, noise: float = 0.0) -> None:
        self.worth, self.noise, self.rng = worth, noise, np.random.default_rng(0)
        self.lists: list[list[int]] = []  # what was tried in each world

    def __call__(self, room: search.Room, count: int, learns: bool, word: Any) -> None:
        arms = room.arms[:count].tolist()
        self.lists.append(arms)
        for k, arm in enumerate(arms[1:], start=1):
            lead = self.worth[arm] - self.worth[arms[0]] + self.noise * self.rng.normal()
            room.leads[k] += lead
            room.squares[k] += lead * lead


def search_by(
    trials: Trials, state: State, playouts: int, default: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, search.Room]:
    """What `search_action`, run as plain Python, makes of these trials."""
    monkeypatch.setattr(search, "_try_in_a_world", trials)
    monkeypatch.setattr(search, "compiled_action", lambda number, state, word: default)
    for name in ("_sort", "_swap", "_is_clear", "shortlist"):
        monkeypatch.setattr(search, name, plain(getattr(search, name)))
    if hasattr(search, "mix"):
        monkeypatch.setattr(search, "mix", lambda word: np.uint64(mix(np.uint64(word))))
    room = new_room(playouts)
    room.states[0] = redact(np.array([state], STATE), int(state.seat))[0]
    return int(plain(search.search_action)(room, playouts, False, np.uint64(0))), room


def holding(count: int) -> State:
    """Seat 0 is to place one of so many cards."""
    state = new_game(4)
    state.hands[0] = (1 << count) - 1
    return state


@pytest.mark.parametrize("cards", range(2, 11))
def test_playouts_are_as_many_as_asked_for_and_the_tree_has_room_for_them(cards, monkeypatch):
    """With too few to try every action once in every round, it still does that."""
    rounds = [cards]
    while rounds[-1] > 2:
        rounds.append((rounds[-1] + 1) // 2)
    for playouts in (1, 2, 3, 5, 8, 13, 19, 20, 24, 26, 39, 40, 100, 1000):
        trials = Trials(dict.fromkeys(range(10), 0.0))
        _, room = search_by(trials, holding(cards), playouts, 0, monkeypatch)
        used = [len(arms) for arms in trials.lists]
        assert sorted(set(used), reverse=True) == rounds
        assert used == sorted(used, reverse=True)
        assert sum(used) < playouts + sum(rounds)
        if playouts >= cards * len(rounds):
            assert playouts - sum(rounds) < sum(used) <= playouts
        assert sum(used) < len(room.tree.children)  # a node for each, and the first


@pytest.mark.parametrize("best", range(10))
@pytest.mark.parametrize("default", [0, 6])
def test_the_best_action_is_found_and_the_default_never_dropped(best, default, monkeypatch):
    trials = Trials({card: 1.0 if card == best else -card / 50 for card in range(10)}, noise=0.3)
    found, _ = search_by(trials, holding(10), 2000, default, monkeypatch)
    assert found == best
    assert all(arms[0] == default for arms in trials.lists)
    assert best in trials.lists[-1]


def test_with_noise_alone_the_default_is_seldom_left(monkeypatch):
    for default in range(10):
        trials = Trials({card: 0.0 if card == default else -0.02 for card in range(10)}, noise=0.1)
        found, _ = search_by(trials, holding(10), 2000, default, monkeypatch)
        assert found == default


def test_the_worse_half_is_dropped_in_each_round(monkeypatch):
    worth = {card: float(card) for card in range(10)}
    trials = Trials(worth)
    found, _ = search_by(trials, holding(9), 360, 3, monkeypatch)
    assert found == 8
    kept = {len(arms): set(arms) for arms in trials.lists}
    assert kept == {9: set(range(9)), 5: {3, 5, 6, 7, 8}, 3: {3, 7, 8}, 2: {3, 8}}


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (holding(1), M8),
        (play(auction(5), bid(15)), PASS),
        (play(auction(3), PASS, bid(15)), PASS),
    ],
)
def test_with_one_legal_action_there_is_nothing_to_try(state, action, monkeypatch):
    assert num_legal_actions(state) == 1
    for code in CODES:  # before anything is replaced: this may compile
        assert decide(agents.make(code), state) == action
    trials = Trials({})
    assert search_by(trials, state, 100, action, monkeypatch)[0] == action
    assert trials.lists == []


def test_actions_are_ordered_by_their_leads_with_the_default_first():
    rng = np.random.default_rng(2)
    for count in range(2, 11):
        room = new_room(1)
        room.arms[:] = rng.permutation(10)
        room.leads[:] = rng.integers(-3, 4, size=10)
        room.leads[0] = -9.0
        room.squares[:] = 100 * room.arms + room.leads
        before = room.arms.copy()
        search._sort(room, count)
        assert room.arms[0] == before[0]
        assert sorted(room.arms[:count].tolist()) == sorted(before[:count].tolist())
        assert room.arms[count:].tolist() == before[count:].tolist()
        assert room.leads[1:count].tolist() == sorted(room.leads[1:count].tolist(), reverse=True)
        assert (room.squares == 100 * room.arms + room.leads).all()


@pytest.mark.parametrize(
    ("leads", "clear"),
    [
        ([0.0] * 10, False),
        ([-1.0] * 10, False),
        ([0.1] * 10, True),
        ([1.0, -1.0] * 50, False),
        ([1.0, -0.9] * 50, False),  # 0.05 +- 0.095
        ([1.0, -0.7] * 50, True),  # 0.15 +- 0.085
        ([-1.0, 0.7] * 50, False),
    ],
)
def test_a_lead_is_clear_if_it_is_more_than_so_many_standard_errors(leads, clear):
    leads = np.array(leads)
    error = leads.std() / np.sqrt(len(leads))
    assert clear == (leads.mean() > CONFIDENCE * error)
    assert search._is_clear(leads.sum(), (leads**2).sum(), len(leads)) == clear


def test_no_lead_is_clear_in_fewer_worlds_than_a_standard_error_takes():
    assert not search._is_clear(9.0, 9.0, 9)
    assert search._is_clear(10.0, 10.0, 10)


# --- words ------------------------------------------------------------------------------------------------------------


@kernel
def _draw_worlds(states, models, room, words):
    for k in range(len(words)):
        draw_world(states[k], models[k], room, words[k])


@pytest.mark.parametrize(("one", "other"), [(1, 1), (1, 2), (2, 1), (3, 2), (3, 1)])
def test_the_worlds_of_a_decision_are_drawn_independently(one, other, monkeypatch):
    """A card in one world and in the next agree as often as they must."""
    words: list[int] = []
    state = auction(4)
    monkeypatch.setattr(Trials, "__call__", lambda self, room, count, learns, word: words.append(int(word)))
    search_by(Trials({}), state, 8000 if COMPILED else 200, PASS, monkeypatch)
    assert len(set(words)) == (4000 if COMPILED else 100)
    known = np.repeat(redact(np.array([state], STATE), int(state.seat)), len(words))
    models = np.zeros((len(words), MAX_SEATS), np.int64)
    _draw_worlds(known, models, np.zeros(1, STATE), np.array(words, np.uint64))
    for of_one, of_other in ((known["row"][:-1, one], known["row"][1:, other]), (models[:-1, one], models[1:, other])):
        chances = [(of_one == value).mean() * (of_other == value).mean() for value in range(10)]
        agree, expected = (of_one == of_other).mean(), sum(chances)
        assert abs(agree - expected) < 5 * np.sqrt(expected * (1 - expected) / len(words))


# --- the tree ---------------------------------------------------------------------------------------------------------


@kernel
def _iterate_in_a_world(tree, states, first, models, scratch, words, values):
    """states: as known, and the world it is played in. words: of the world and of the playout."""
    states[1] = states[0]
    draw_world(states[1], models, scratch, words[0])
    iterate(tree, states[1], first, models, scratch, words[1], values)


class Grown:
    """A tree for a redacted state, and what each iteration did to it."""

    def __init__(self, state: State, room: int = 60) -> None:
        self.tree = new_tree(room)
        clear(self.tree)
        self.states = np.zeros(2, STATE)
        self.states[0] = redact(np.array([state], STATE), int(state.seat))[0]
        self.seat = int(state.seat)
        self.words = random_words(2 * room).reshape(room, 2)
        self.iterations = 0

    def iterate(self, first: int) -> tuple[np.ndarray, np.ndarray, float, int]:
        """What it added to visits and to totals, the utility, and the nodes that are new."""
        visits, totals, size = self.tree.visits.copy(), self.tree.totals.copy(), int(self.tree.size[0])
        values, scratch = np.zeros((2, MAX_SEATS)), np.zeros(1, STATE)
        models = np.zeros(MAX_SEATS, np.int64)
        _iterate_in_a_world(self.tree, self.states, first, models, scratch, self.words[self.iterations], values)
        self.iterations += 1
        assert self.states[1].phase == OVER
        grown = int(self.tree.size[0]) - size
        return self.tree.visits - visits, self.tree.totals - totals, float(values[0, self.seat]), grown

    @property
    def path(self) -> list[tuple[int, int, int]]:
        return [tuple(entry) for entry in self.tree.path[: self.tree.length[0]].tolist()]


ITERATIONS = 50 if COMPILED else 5
OPEN = play(auction(4, (C15, C11, C8, C5)), bid(1), bid(2))  # seat 2 is to bid, its card is the 8


@pytest.mark.parametrize("state", [OPEN, auction(5), auction(3), new_game(4), play(new_game(5), C3, C5)])
def test_an_iteration_counts_each_own_decision_of_the_round_once_and_adds_at_most_a_node(state):
    grown = Grown(state)
    firsts = shortlist_of(grown.states[0], C3 if state.phase == PLACE else PASS)
    for k in range(ITERATIONS):
        visits, totals, value, new = grown.iterate(firsts[k % len(firsts)])
        expected = np.zeros_like(visits)
        for node, card, arm in grown.path:
            expected[node, card, arm] += 1
        assert expected.max(initial=0) <= 1
        assert (visits == expected).all()
        assert totals == pytest.approx(value * visits)
        assert len({node for node, _, _ in grown.path}) == len(grown.path)
        assert new in (0, 1)
    assert grown.tree.size[0] <= ITERATIONS + 1
    children = grown.tree.children[: grown.tree.size[0]]
    assert sorted(children[children != NO_NODE].tolist()) == list(range(1, int(grown.tree.size[0])))


def test_the_first_decision_in_an_auction_is_counted_at_the_first_node_under_the_own_card():
    grown = Grown(OPEN)
    for k in range(ITERATIONS):
        grown.iterate(PASS if k % 3 == 0 else bid(3))
        assert grown.path[0] == (0, C8, min(k % 3, 1))
    assert grown.tree.visits[0, C8].tolist() == [
        len(range(0, ITERATIONS, 3)),
        ITERATIONS - len(range(0, ITERATIONS, 3)),
    ]
    assert grown.tree.visits[:, [card for card in range(10) if card != C8]].sum() == 0


def test_a_pass_that_ends_the_own_part_is_the_last_own_decision_of_the_round():
    grown = Grown(OPEN)
    for _ in range(ITERATIONS):
        grown.iterate(PASS)
        assert grown.path == [(0, C8, 0)]


def test_all_cards_that_may_be_laid_share_the_first_node_with_statistics_of_their_own():
    """The start player lays and then bids first: its first bid is decided at the first node."""
    grown, cards = Grown(new_game(4)), (M8, C3, C15)
    for k in range(ITERATIONS):
        visits, _, _, _ = grown.iterate(cards[k % 3])
        node, card, _ = grown.path[0]
        assert (node, card) == (0, cards[k % 3])
        assert {card for _, card, _ in grown.path} == {cards[k % 3]}
        assert (visits.sum(axis=(0, 2)) > 0).tolist() == [card == cards[k % 3] for card in range(10)]
    by_card = grown.tree.visits[0].sum(axis=1)
    assert by_card.sum() == ITERATIONS
    assert set(np.flatnonzero(by_card)) == set(cards)


def test_nothing_is_learned_from_what_others_decide():
    """The last to lay is the last to bid: whatever the others do first, their nodes hold no visits."""
    grown = Grown(play(new_game(3, start_seat=1), C3, C5))  # seat 0 lays last
    for _ in range(ITERATIONS):
        grown.iterate(C8)
        assert all(node != 0 for node, _, _ in grown.path)
    assert grown.tree.visits[0].sum() == 0
    assert (grown.tree.children[0] != NO_NODE).any()


def test_a_cleared_tree_is_as_a_new_one_to_a_search():
    used, new = Grown(OPEN), Grown(OPEN)
    for k in range(ITERATIONS):
        used.iterate(PASS if k % 2 else bid(3))
    clear(used.tree)
    assert used.tree.size[0] == 1
    assert used.tree.visits[0].sum() == used.tree.totals[0].sum() == 0
    assert (used.tree.children[0] == NO_NODE).all()
    used.iterations = 0
    for k in range(ITERATIONS):
        _, _, *of_used = used.iterate(PASS if k % 2 else bid(3))
        _, _, *of_new = new.iterate(PASS if k % 2 else bid(3))
        assert of_used == of_new
    size = int(new.tree.size[0])
    assert (used.tree.visits[:size] == new.tree.visits[:size]).all()
    assert (used.tree.totals[:size] == new.tree.totals[:size]).all()


def selected(state: State, advice: int, visits: tuple[float, float], totals: tuple[float, float]) -> int:
    learned: Tree = new_tree(1)
    clear(learned)
    learned.visits[0, C8], learned.totals[0, C8] = visits, totals
    return int(tree._select(learned, 0, state, advice))


@pytest.mark.parametrize("advice", [PASS, bid(3)])
def test_a_decision_is_what_the_own_player_advises_until_something_better_is_learned(advice):
    other = PASS if advice != PASS else bid(3)
    arm = min(other - PASS, 1)
    assert selected(OPEN, advice, (0, 0), (0, 0)) == advice
    assert selected(OPEN, advice, (50, 50), (25, 25)) == advice
    better = [10.0, 10.0]
    better[arm] = 90.0
    assert selected(OPEN, advice, (100, 100), tuple(better)) == other
    better[arm] = 0.0
    assert selected(OPEN, advice, (100, 100), tuple(better)) == advice


def test_what_was_learned_with_another_card_does_not_count():
    learned = new_tree(1)
    clear(learned)
    learned.visits[0], learned.totals[0] = 100, [0, 100]
    learned.visits[0, C8], learned.totals[0, C8] = 0, 0
    assert tree._select(learned, 0, OPEN, PASS) == PASS
    learned.visits[0, C8], learned.totals[0, C8] = 100, [0, 100]
    assert tree._select(learned, 0, OPEN, PASS) == bid(3)


def test_who_cannot_raise_passes():
    state = OPEN.copy()
    state.mice[2] = 2
    assert selected(state, PASS, (100, 100), (0, 100)) == PASS
    assert ARMS == 2


def test_the_searching_seat_goes_on_as_tuned():
    assert NUMBERS["tuned"] == SELF


# --- codes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mc", "ismcts"])
def test_a_code_says_how_many_playouts_and_how_many_threads(name):
    for argument, playouts, threads in (("1", 1, 1), (f"{MAX_PLAYOUTS}@1", MAX_PLAYOUTS, 1), ("7@1", 7, 1)):
        player = agents.make(f"{name}:{argument}")
        assert (player.playouts, player.threads, player.learns) == (playouts, threads, name == "ismcts")
    assert agents.make(f"{name}:5@{MAX_THREADS}").threads == MAX_THREADS
    assert agents.PLAYERS[name].help.startswith(f"{name}:N, ")


@pytest.mark.parametrize("name", ["mc", "ismcts"])
@pytest.mark.parametrize("argument", ["", ":"])
def test_without_a_number_it_says_that_it_needs_one(name, argument):
    with pytest.raises(ValueError, match=f"'{name}' needs an argument: {name}:N, .*"):
        agents.make(name + argument)


@pytest.mark.parametrize("name", ["mc", "ismcts"])
@pytest.mark.parametrize(
    "argument", ["x", "-5", "1@2@3", "5.5", "10@", "@", "@2", "1e3", " 5", "5 ", "+5", "٣", "²", "1_0"]
)
def test_what_is_no_number_is_refused_with_what_is_right(name, argument):
    with pytest.raises(ValueError, match="takes N, its playouts for a decision, or N@THREADS, not") as caught:
        agents.make(f"{name}:{argument}")
    assert repr(argument) in str(caught.value)


@pytest.mark.parametrize("name", ["mc", "ismcts"])
@pytest.mark.parametrize("argument", ["0", "000", "10@0", "10@99999", "0@1", f"{MAX_PLAYOUTS + 1}"])
def test_a_number_out_of_range_is_refused_with_the_range(name, argument):
    message = f"takes 1 to {MAX_PLAYOUTS:,} playouts and 1 to {MAX_THREADS} threads, not '{argument}'"
    with pytest.raises(ValueError, match=message):
        agents.make(f"{name}:{argument}")
