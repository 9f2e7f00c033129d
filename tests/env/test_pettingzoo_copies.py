"""PettingZoo AEC face: a copy or a restored clone plays on equally and shares nothing."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.game import Setup
from felicity_env.game_record import Deal, Game
from felicity_env.information import MAX_EVENTS, encode_information_state
from felicity_env.observation import describe
from felicity_env.pettingzoo_env import raw_env
from felicity_env.setups import standard_setup
from tests.support.aec_games import (
    both_faces,
    check_keys,
    choose,
    every_size,
    everything_shown,
    new_env,
    play_out,
    play_some,
    same,
)


def through_pickle(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


COPIES = {"deepcopy": copy.deepcopy, "pickle": through_pickle}


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("reward", ["win", "round"])
@pytest.mark.parametrize("steps", [0, 3, 4, 47, 10_000])
@both_faces
def test_a_copy_in_mid_game_plays_on_equal_and_then_diverges_on_its_own(make, duplicate, reward, steps):
    original = make(num_players=4, reward=reward)
    original.reset(seed=5)
    play_some(original, steps)
    twin = duplicate(original)
    for _ in range(12):
        assert same(everything_shown(original), everything_shown(twin))
        over = original.agents and original.terminations[original.agent_selection]
        if not original.agents:
            break
        action = None if over else choose(original, np.random.default_rng(1))
        original.step(action)
        twin.step(action)
    check_divergence(original, twin)


def check_divergence(original: Any, twin: Any) -> None:
    for env in (original, twin):
        env.reset(seed=6)
    before = everything_shown(original)
    play_some(twin, 20)
    assert same(everything_shown(original), before)
    play_some(original, 20, seed=0)
    assert same(everything_shown(original), everything_shown(twin))
    for env in (original, twin):
        env.reset()
    assert same(everything_shown(original), everything_shown(twin))  # the stream was copied too


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
@both_faces
def test_a_copy_shares_nothing_that_play_changes(make, duplicate):
    original = make()
    original.reset(seed=5)
    play_some(original, 30)
    before = everything_shown(original)
    twin = duplicate(original)
    play_out(twin, seed=3)
    assert same(everything_shown(original), before)
    unplayed = duplicate(make())
    unplayed.reset(seed=5)
    play_some(unplayed, 30)
    assert same(everything_shown(unplayed), before)


@every_size
def test_restore_takes_everything_back_history_included(players):
    env = play_some(new_env(players, reward="round"), 37)
    saved, shown = env.clone(), everything_shown(env)
    memories = [env.information_state(seat) for seat in range(players)]
    frozen = copy.deepcopy(saved)
    for length in (1, 20, 10_000):
        play_some(env, length, seed=length)
        assert not same(everything_shown(env), shown)
        env.restore(saved)
        assert same(everything_shown(env), shown)
        assert [env.information_state(seat) for seat in range(players)] == memories
    assert same(saved, frozen)


def test_a_clone_of_a_game_that_is_over_restores_the_steps_of_the_dead():
    env = play_out(new_env(3))
    env.step(None)
    saved = env.clone()
    env.step(None)
    env.step(None)
    assert env.agents == []
    env.restore(saved)
    assert env.agents == ["player_1", "player_2"]
    check_keys(env)


def test_a_clone_goes_into_another_environment_of_the_same_setup_and_only_there():
    env = play_some(new_env(4, seed=8), 50)
    other = raw_env(4)
    other.restore(env.clone())
    assert same(everything_shown(other), everything_shown(env))
    assert other.information_state(2) == env.information_state(2)
    play_some(other, 30)
    assert len(env.game.actions) == 50
    stranger = new_env(3)
    before = stranger.clone()
    with pytest.raises(ValueError, match="this environment plays"):
        stranger.restore(env.clone())
    assert same(stranger.clone(), before)


def test_clones_and_games_go_into_an_environment_of_an_equal_setup_that_is_another_object():
    first, second, third = (raw_env(setup=Setup(seats=2, mouse_cards=(6,), bank=27, rounds=2)) for _ in range(3))
    first.reset(seed=1)
    second.restore(first.clone())
    third.load(first.game)
    assert same(everything_shown(second), everything_shown(first))
    assert same(everything_shown(third), everything_shown(first))


def test_a_clone_can_be_pickled():
    env = play_some(new_env(5), 60)
    restored = raw_env(5)
    restored.restore(through_pickle(env.clone()))
    assert same(everything_shown(restored), everything_shown(env))


def test_a_clone_of_the_wrapped_environment_is_that_of_the_raw_one():
    env = felicity_v0.env()
    env.reset(seed=2)
    play_some(env, 20)
    saved, shown = env.clone(), everything_shown(env)
    play_some(env, 10, seed=9)
    env.restore(saved)
    env.last()
    assert same(everything_shown(env), shown)
    play_out(env)
    assert all(info for info in env.infos.values())


@every_size
def test_a_game_loaded_in_mid_game_stands_where_it_stood_and_is_remembered(players):
    for steps in (0, 5, 41, 10_000):
        env = play_some(new_env(players, reward="round"), steps)
        other = new_env(players, seed=77, reward="round")
        other.load(env.game)
        assert same(everything_shown(other), everything_shown(env))
        assert other.information_state(1) == env.information_state(1)
        play_out(other)
        play_out(env)
        assert same(everything_shown(other), everything_shown(env))


BAD_GAMES = {
    "an illegal action": (Game(standard_setup(4), Deal((0, 0, 0, 0), (), 0), (1, 1, 1, 1, 74)), "action 5 of the game"),
    "a card gone": (
        Game(standard_setup(4), Deal((0, 0, 0, 0), (), 0), (0,)),
        "action 1 of the game: seat 0 cannot place -8",
    ),
    "another setup": (Game(standard_setup(3), Deal((0, 0, 0), tuple(range(9)), 0)), "this environment plays"),
    "start seat": (Game(standard_setup(4), Deal((0, 0, 0, 0), (), 400), (1,)), "start_seat"),
    "too few cards": (Game(standard_setup(4), Deal((0, 0), (), 0), (1,)), "needs 4 cards"),
    "no such card": (Game(standard_setup(4), Deal((0, 0, 0, 12), (), 0), (1,)), "12 is no card"),
}


@pytest.mark.parametrize(("game", "message"), BAD_GAMES.values(), ids=BAD_GAMES)
def test_a_game_that_cannot_be_played_here_is_not_loaded(game, message):
    env = play_some(new_env(4), 10)
    before = env.clone()
    with pytest.raises(ValueError, match=message):
        env.load(game)
    assert same(env.clone(), before)


@every_size
def test_the_information_state_begins_with_the_own_hand_and_grows_with_the_game(players):
    env, rng = new_env(players), np.random.default_rng(0)
    lengths = [len(env.information_state(0))]
    events = env.information_state(0)
    assert events[0] == ("seat", 0, players)
    assert events[1] == ("hand", tuple(describe(env.observe("player_0")["observation"])["hand"]))
    while not any(env.terminations.values()):
        env.step(choose(env, rng))
        longer = env.information_state(0)
        assert longer[: len(events)] == events
        events = longer
        lengths.append(len(events))
    assert lengths == sorted(set(lengths))
    assert encode_information_state(events).shape[0] == MAX_EVENTS
