"""Every player: legal actions, nothing hidden is seen, nothing is remembered."""

from types import SimpleNamespace

import numpy as np
import pytest

import agents
from agents.compiled import HEURISTICS
from felicity_env import Batch, View
from felicity_env.game import STATE, is_legal
from felicity_env.information import redact, resample
from felicity_env.setups import SETUPS
from tests.support.helpers import ALL_SETUPS, draw_bits, make_view, random_game, reachable
from tests.support.players import MANY, play_batch, small_net


def make_player(name: str) -> agents.Player:
    return small_net(greedy=name == "greedy net") if "net" in name else agents.make(name)


NAMES = (*HEURISTICS, "net", "greedy net")


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_in_every_standard_setup(name):
    player = make_player(name)
    views = play_batch(player, 20 * MANY // 2)
    legal = [view.action_masks[np.arange(len(view)), player.act(view)] for view in views]
    assert np.concatenate(legal).all()
    assert sum(map(len, views)) > 500


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_in_odd_setups_too(name):
    player = make_player(name)
    for setup in ALL_SETUPS:
        states = np.concatenate([random_game(setup, seed).states[:-1] for seed in range(3)])
        actions = player.act(make_view(states, draw_bits(len(states))))
        assert all(is_legal(state, int(action)) for state, action in zip(states, actions, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_an_action_is_the_same_in_all_worlds_that_the_seat_cannot_tell_apart(name):
    player, rng, changed = make_player(name), np.random.default_rng(3), 0
    for setup in SETUPS.values():
        truth = np.concatenate([random_game(setup, seed).states[:-1:7] for seed in range(MANY // 2 + 1)])
        seeds, known = draw_bits(len(truth)), redact(truth, truth["seat"])
        worlds = resample(known, rng)
        changed += int((worlds["hands"] != truth["hands"]).any(axis=1).sum())
        assert (player.act(make_view(worlds, seeds)) == player.act(make_view(truth, seeds))).all()
    assert changed > 5 * MANY


@pytest.mark.parametrize("name", NAMES)
def test_an_action_depends_neither_on_the_size_nor_on_the_order_of_the_batch(name):
    player = make_player(name)
    rng = np.random.default_rng(4)
    for view in play_batch(agents.make("random"), 3 * MANY)[::12]:
        together, order = player.act(view), rng.permutation(len(view))
        assert (player.act(view.take(order)) == together[order]).all()
        one_by_one = [int(player.act(view.take(np.array([row])))[0]) for row in range(len(view))]
        assert one_by_one == together.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_view_gets_no_actions_and_a_view_is_not_changed(name):
    player = make_player(name)
    view = Batch(9, [3, 4, 5] * 3).view()
    before = view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()
    assert player.act(view.take(np.array([], np.int64))).shape == (0,)
    assert player.act(view).shape == (9,)
    assert (view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()) == before


def list_games(root: object) -> list[object]:
    """List the games, views, states and generators that an object refers to."""
    return [
        thing
        for thing in reachable(root)
        if isinstance(thing, Batch | View | np.random.Generator)
        or (isinstance(thing, np.ndarray | np.void) and thing.dtype == STATE)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_player_keeps_a_game(name):
    player = make_player(name)
    play_batch(player, 3)
    assert not list_games(player)


def test_a_player_that_keeps_a_game_would_be_caught():
    assert list_games(SimpleNamespace(memory={"last": [Batch(1).view().states]}))
