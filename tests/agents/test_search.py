"""Search players: legal, fair, independent of threads; they find obvious actions, and else keep to `tuned`."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agents
from agents import search
from agents.arena.blocks import play_blocks
from agents.search import CONFIDENCE, SearchPlayer, create_workspace, make_search
from agents.worlds import draw_world
from felicity_env import Batch, View
from felicity_env.game import (
    AUCTION,
    MAX_SEATS,
    NUM_CARDS,
    PASS,
    PLACE,
    STATE,
    State,
    is_legal,
    num_legal_actions,
)
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from felicity_env.setups import SETUPS, standard_setup
from tests.support.helpers import (
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
    draw_bits,
    make_view,
    new_game,
    plain,
    play,
    random_game,
    reachable,
)

ROOT = Path(__file__).resolve().parents[2]
CODES = ("mc:20", "ismcts:20") if COMPILED else ("mc:1", "ismcts:1")
EVERY = 3  # of the positions of a game


def positions(*setups: Any, every: int = EVERY) -> np.ndarray:
    """Return true states of random games that are not over; in plain Python late ones, where playouts are short."""
    games = [random_game(setup, seed).states[:-1] for setup in setups for seed in range(2 if COMPILED else 1)]
    return np.concatenate([states[::every] if COMPILED else states[-12::5] for states in games])


def view_positions(*setups: Any, every: int = EVERY) -> View:
    states = positions(*setups, every=every)
    return make_view(states, draw_bits(len(states)))


def last_round(state: State) -> State:
    """Turn the round of a state into the last one."""
    state.round_number = state.num_rounds - 1
    return state


# --- as every player --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("playouts", [1, 20] if COMPILED else [1])
@pytest.mark.parametrize("name", ["mc", "ismcts"])
@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_every_action_is_legal_in_every_setup_and_phase(setup, name, playouts):
    states = positions(setup)
    actions = agents.make(f"{name}:{playouts}").act(make_view(states, draw_bits(len(states))))
    assert all(is_legal(state, int(action)) for state, action in zip(states, actions, strict=True))
    assert set(states["phase"].tolist()) == {PLACE, AUCTION} or not COMPILED


@pytest.mark.parametrize("code", CODES)
def test_an_action_depends_on_its_decision_and_its_random_bits_alone(code):
    """Compare decisions across batches, orders and earlier decisions."""
    player, view = agents.make(code), view_positions(*SETUPS.values())
    together, order = player.act(view), np.random.default_rng(1).permutation(len(view))
    assert agents.make(code).act(view).tolist() == together.tolist()
    assert player.act(view.take(order)).tolist() == together[order].tolist()
    one_by_one = [int(player.act(view.take(np.array([row])))[0]) for row in range(len(view))]
    assert one_by_one == together.tolist()


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("threads", [2, 3, 64])
def test_an_action_does_not_depend_on_the_number_of_threads(learns, threads):
    view = view_positions(*SETUPS.values())
    alone = SearchPlayer(10 if COMPILED else 1, learns=learns)
    shared = SearchPlayer(10 if COMPILED else 1, learns=learns, threads=threads)
    for part in (view, view.take(np.arange(2)), view.take(np.arange(0))):
        assert shared.act(part).tolist() == alone.act(part).tolist()


def decide_positions(code: str) -> list[int]:
    """Return the actions in late positions, where playouts are short, and in one early one."""
    late = [random_game(setup, 3).states[-20:-1:9] for setup in (*SETUPS.values(), ALL_SETUPS[3])]
    states = np.concatenate([*late, random_game(ALL_SETUPS[3], 3).states[:1]])
    return agents.make(code).act(make_view(states, draw_bits(len(states)))).tolist()


@pytest.mark.compiled("there is nothing compiled to compare with")
def test_a_search_decides_the_same_compiled_and_in_plain_python():
    codes = ("mc:8", "ismcts:8")
    code = f"from tests.agents.test_search import *; print(*[decide_positions(code) for code in {codes}], sep=chr(10))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == [str(decide_positions(code)) for code in codes], done.stderr


@pytest.mark.parametrize("code", CODES)
def test_a_view_is_not_changed_and_an_empty_one_gets_no_actions(code):
    player, view = agents.make(code), view_positions(standard_setup(3), every=20 * EVERY)
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
    seeds = draw_bits(len(truth))
    assert (worlds != truth).any() or not COMPILED
    assert player.act(make_view(worlds, seeds)).tolist() == player.act(make_view(truth, seeds)).tolist()


@pytest.mark.parametrize("code", CODES)
def test_a_search_keeps_no_game(code):
    player = agents.make(code)
    player.act(Batch(1).view())
    things = reachable(player)
    assert len(things) < 20
    assert not [
        thing for thing in things if isinstance(thing, Batch | View | np.ndarray | np.void | np.random.Generator)
    ]


# --- obvious actions --------------------------------------------------------------------------------------------------


def alone_at_the_end(*cards: int) -> State:
    """Return a state in which seat 3 is alone without a bid, the row is open, and the game ends with this decision."""
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
def test_left_alone_at_the_end_it_buys_a_sack_if_its_value_exceeds_the_price(code, cards, action):
    for bits in range(5):
        assert decide(agents.make(code), alone_at_the_end(*cards), bits) == action


def between_two(*cards: int) -> State:
    """Return the last auction with two seats left: seat 3 sees the row; seat 2 has bid its only mouse."""
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
    for bits in range(5):
        assert decide(agents.make(code), between_two(*cards), bits) == action


@pytest.mark.parametrize("code", ["mc:100", "ismcts:100"])
def test_it_keeps_to_the_action_of_tuned_where_all_actions_have_the_same_value(code):
    """Use a last round in which nobody has a mouse, so that nobody can buy whatever is placed."""
    state = last_round(new_game(4))
    state.mice[:], state.pots[:] = 0, 0
    seeds = draw_bits(40 if COMPILED else 2)
    view = make_view(np.repeat(np.array([state], STATE), len(seeds)), seeds)
    assert agents.make(code).act(view).tolist() == agents.make("tuned").act(view).tolist()
    indifferent = np.repeat(np.array([alone_at_the_end(M8, C3, C3, C3)], STATE), len(seeds))  # value 1
    view = make_view(indifferent, seeds)
    assert agents.make(code).act(view).tolist() == agents.make("tuned").act(view).tolist()


@pytest.mark.compiled("many games")
@pytest.mark.parametrize("code", ["mc:100", "ismcts:100"])
def test_a_search_wins_far_more_than_par_against_random_players(code):
    blocks = play_blocks([agents.make(code), *(agents.make("random") for _ in range(3))], num_deals=10, seed=1)
    assert blocks.measures["forfeits"].sum() == 0
    assert blocks.block_means(0).mean() > 0.6


# --- candidates and the distribution of playouts ----------------------------------------------------------------------


def get_candidates(state: State, default: int) -> list[int]:
    candidates = np.full(NUM_CARDS, -1)
    return candidates[: search.list_candidates(state, default, candidates)].tolist()


def test_while_placing_every_card_in_hand_is_tried_the_default_first():
    state = new_game(4)
    hand = [card for card in range(10) if card != RABBIT]
    for card in hand:
        assert get_candidates(state, card) == [card, *(other for other in hand if other != card)]


def test_in_the_auction_a_pass_and_a_raise_by_one_are_tried_where_there_are_mice():
    state = play(auction(4), bid(4))
    assert get_candidates(state, PASS) == [PASS, bid(5)]
    assert get_candidates(state, bid(5)) == [bid(5), PASS]
    state.mice[1] = 4
    assert get_candidates(state, PASS) == [PASS]
    assert get_candidates(alone_at_the_end(C3, C3, C3, C3), PASS) == [PASS, bid(1)]


class Trials:
    """Stand-in for playouts: every action has the value that the test gives it, plus noise."""

    def __init__(self, values: dict[int, float], *, noise: float = 0.0) -> None:
        self.values, self.noise, self.rng = values, noise, np.random.default_rng(0)
        self.lists: list[list[int]] = []  # candidates of each world

    def __call__(self, workspace: search.Workspace, count: int, learns: bool, random_bits: Any) -> None:
        candidates = workspace.candidates[:count].tolist()
        self.lists.append(candidates)
        for k, candidate in enumerate(candidates[1:], start=1):
            advantage = self.values[candidate] - self.values[candidates[0]] + self.noise * self.rng.normal()
            workspace.advantages[k] += advantage
            workspace.squares[k] += advantage * advantage


def search_by(
    trials: Trials, state: State, playouts: int, default: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, search.Workspace]:
    """Return the action of `search_action`, run as plain Python with these trials, and its workspace."""
    monkeypatch.setattr(search, "_try_in_world", trials)
    monkeypatch.setattr(search, "heuristic_action", lambda number, state, bits: default)
    for name in ("_sort_candidates", "_swap_with_previous", "_is_significant", "list_candidates"):
        monkeypatch.setattr(search, name, plain(getattr(search, name)))
    workspace = create_workspace(playouts)
    workspace.states[0] = redact(np.array([state], STATE), int(state.seat))[0]
    return int(plain(search.search_action)(workspace, playouts, False, np.uint64(0))), workspace


def give_cards(count: int) -> State:
    """Return a state in which seat 0 has to place one of `count` cards."""
    state = new_game(4)
    state.hands[0] = (1 << count) - 1
    return state


@pytest.mark.parametrize("cards", range(2, 11))
def test_the_number_of_playouts_is_the_one_asked_for_and_the_tree_has_a_node_for_each(cards, monkeypatch):
    """Check also that with too few playouts every candidate is still tried once in every round."""
    rounds = [cards]
    while rounds[-1] > 2:
        rounds.append((rounds[-1] + 1) // 2)
    for playouts in (1, 2, 3, 5, 8, 13, 19, 20, 24, 26, 39, 40, 100, 1000):
        trials = Trials(dict.fromkeys(range(10), 0.0))
        _, workspace = search_by(trials, give_cards(cards), playouts, 0, monkeypatch)
        used = [len(candidates) for candidates in trials.lists]
        assert sorted(set(used), reverse=True) == rounds
        assert used == sorted(used, reverse=True)
        assert sum(used) < playouts + sum(rounds)
        if playouts >= cards * len(rounds):
            assert playouts - sum(rounds) < sum(used) <= playouts
        assert sum(used) < len(workspace.tree.children)  # a node for each, and the first


@pytest.mark.parametrize("best", range(10))
@pytest.mark.parametrize("default", [0, 6])
def test_the_best_action_is_found_and_the_default_never_dropped(best, default, monkeypatch):
    trials = Trials({card: 1.0 if card == best else -card / 50 for card in range(10)}, noise=0.3)
    action, _ = search_by(trials, give_cards(10), 2000, default, monkeypatch)
    assert action == best
    assert all(candidates[0] == default for candidates in trials.lists)
    assert best in trials.lists[-1]


def test_with_noise_alone_the_default_is_seldom_left(monkeypatch):
    for default in range(10):
        trials = Trials({card: 0.0 if card == default else -0.02 for card in range(10)}, noise=0.1)
        action, _ = search_by(trials, give_cards(10), 2000, default, monkeypatch)
        assert action == default


def test_the_worse_half_is_dropped_in_each_round(monkeypatch):
    trials = Trials({card: float(card) for card in range(10)})
    action, _ = search_by(trials, give_cards(9), 360, 3, monkeypatch)
    assert action == 8
    rounds = {len(candidates): set(candidates) for candidates in trials.lists}
    assert rounds == {9: set(range(9)), 5: {3, 5, 6, 7, 8}, 3: {3, 7, 8}, 2: {3, 8}}


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (give_cards(1), M8),
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


def test_candidates_are_sorted_by_their_advantages_with_the_default_first():
    rng = np.random.default_rng(2)
    for count in range(2, 11):
        workspace = create_workspace(1)
        workspace.candidates[:] = rng.permutation(10)
        workspace.advantages[:] = rng.integers(-3, 4, size=10)
        workspace.advantages[0] = -9.0
        workspace.squares[:] = 100 * workspace.candidates + workspace.advantages
        before = workspace.candidates.copy()
        search._sort_candidates(workspace, count)
        assert workspace.candidates[0] == before[0]
        assert sorted(workspace.candidates[:count].tolist()) == sorted(before[:count].tolist())
        assert workspace.candidates[count:].tolist() == before[count:].tolist()
        assert workspace.advantages[1:count].tolist() == sorted(workspace.advantages[1:count].tolist(), reverse=True)
        assert (workspace.squares == 100 * workspace.candidates + workspace.advantages).all()


@pytest.mark.parametrize(
    ("advantages", "significant"),
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
def test_an_advantage_is_significant_if_it_exceeds_a_number_of_standard_errors(advantages, significant):
    values = np.array(advantages)
    error = values.std() / np.sqrt(len(values))
    assert significant == (values.mean() > CONFIDENCE * error)
    assert search._is_significant(values.sum(), (values**2).sum(), len(values)) == significant


def test_no_advantage_is_significant_in_fewer_worlds_than_a_standard_error_needs():
    assert not search._is_significant(9.0, 9.0, 9)
    assert search._is_significant(10.0, 10.0, 10)


# --- random bits ------------------------------------------------------------------------------------------------------


@kernel
def _draw_worlds(states, models, scratch, seeds):
    for k in range(len(seeds)):
        draw_world(states[k], models[k], scratch, seeds[k])


@pytest.mark.parametrize(("one", "other"), [(1, 1), (1, 2), (2, 1), (3, 2), (3, 1)])
def test_the_worlds_of_a_decision_are_drawn_independently(one, other, monkeypatch):
    """Check that cards of one world and of the next agree as often as independent ones."""
    seeds: list[int] = []
    state = auction(4)
    monkeypatch.setattr(Trials, "__call__", lambda self, workspace, count, learns, bits: seeds.append(int(bits)))
    search_by(Trials({}), state, 8000 if COMPILED else 200, PASS, monkeypatch)
    assert len(set(seeds)) == (4000 if COMPILED else 100)
    known = np.repeat(redact(np.array([state], STATE), int(state.seat)), len(seeds))
    models = np.zeros((len(seeds), MAX_SEATS), np.int64)
    _draw_worlds(known, models, np.zeros(1, STATE), np.array(seeds, np.uint64))
    rows = known["row"]
    for this, following in ((rows[:-1, one], rows[1:, other]), (models[:-1, one], models[1:, other])):
        chances = [(this == value).mean() * (following == value).mean() for value in range(10)]
        agree, expected = (this == following).mean(), sum(chances)
        assert abs(agree - expected) < 5 * np.sqrt(expected * (1 - expected) / len(seeds))


# --- making a search --------------------------------------------------------------------------------------------------


def test_a_search_is_made_of_numbers_or_of_their_text():
    for player in (make_search(7, 2, learns=True), make_search("7", "2", learns=True)):
        assert (player.playouts, player.threads, player.learns) == (7, 2, True)
    assert make_search("7", learns=False).threads == 1


@pytest.mark.parametrize("value", [0, -1, "0", "x", "", "1.5", 1.5, True, None, 10**9])
def test_a_search_refuses_what_is_no_number_in_its_range(value):
    for arguments in ((value,), (5, value)):
        with pytest.raises(ValueError, match=r"a search takes 1 to .*, as a whole number, not"):
            make_search(*arguments, learns=False)
