"""Illegal actions of learners that do not use the action mask: the nearest legal action and what it costs."""

from typing import Any

import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.game import NUM_ACTIONS, PASS, Setup
from felicity_env.gymnasium_env import SeatEnv, SeatVectorEnv
from felicity_env.illegal import PENALTY, find_nearest
from tests.support.seat_games import NO_RABBIT, lowest


@pytest.mark.parametrize(
    ("legal", "wanted", "played"),
    [
        ([0, 3, 9], 1, 0),
        ([0, 3, 9], 2, 3),
        ([0, 4, 9], 2, 0),  # the lower of two
        ([0, 3, 9], PASS + 5, 9),
        ([PASS, PASS + 4, PASS + 9], PASS + 63, PASS + 9),
        ([PASS, PASS + 4, PASS + 9], PASS + 1, PASS),
        ([PASS, PASS + 4, PASS + 9], PASS + 3, PASS + 4),
        ([PASS], 0, PASS),
        ([2], -(2**62), 2),
        ([2], 2**62, 2),
        ([PASS, NUM_ACTIONS - 2, NUM_ACTIONS - 1], NUM_ACTIONS - 1, NUM_ACTIONS - 1),
        ([PASS, PASS + 20, NUM_ACTIONS - 1], NUM_ACTIONS, NUM_ACTIONS - 1),
        ([0, 1], -1, 0),
    ],
)
def test_the_nearest_legal_action_is_that_with_the_nearest_number(legal, wanted, played):
    masks = np.zeros((1, NUM_ACTIONS), np.int8)
    masks[0, legal] = 1
    assert find_nearest(masks, np.array([wanted])).tolist() == [played]


def test_an_illegal_action_costs_a_tenth_of_a_win():
    assert PENALTY == 0.1


def test_penalise_plays_the_nearest_legal_action_and_says_so():
    envs, plain = SeatVectorEnv(5, illegal="penalise", seat=0), SeatVectorEnv(5, seat=0)
    _, infos = envs.reset(seed=4, options=NO_RABBIT)
    plain.reset(seed=4, options=NO_RABBIT)
    good = lowest(infos)
    bad = good.copy()
    bad[[1, 4]] = [NUM_ACTIONS, -1]
    good[1] = np.flatnonzero(infos["action_mask"][1])[-1]
    observations, rewards, terminated, _, infos = envs.step(bad)
    expected, *_ = plain.step(good)
    np.testing.assert_array_equal(observations, expected)
    assert rewards.tolist() == [0, -PENALTY, 0, 0, -PENALTY]
    assert infos["illegal"].tolist() == [False, True, False, False, True]
    assert not terminated.any()
    *_, infos = envs.step(lowest(infos))
    assert not infos["illegal"].any()
    envs.step(np.full(5, NUM_ACTIONS))
    assert not envs.reset()[1]["illegal"].any()


def test_a_learner_that_plays_only_illegal_actions_finishes_its_games():
    env = SeatEnv(4, illegal="penalise")
    for seed in range(3):
        env.reset(seed=seed)
        rewards, terminated = [], False
        while not terminated:
            _, reward, terminated, _, info = env.step(NUM_ACTIONS + 5)
            rewards.append(reward)
            assert info["illegal"]
        assert not env.reset()[1]["illegal"]
        assert all(reward == -PENALTY for reward in rewards[:-1])
        assert rewards[-1] in (-PENALTY, 1 - PENALTY)


# --- PettingZoo -------------------------------------------------------------------------------------------------------


def play_out(env: Any, choose: Any) -> dict[str, float]:
    """Play a game to its end by the actions that `choose(mask)` gives; return the sum of each agent's rewards."""
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        totals[agent] += reward
        env.step(None if termination or truncation else int(choose(observation["action_mask"])))
    return totals


@pytest.mark.parametrize("reward", ["win", "round"])
def test_every_illegal_action_costs_an_agent_the_penalty_once(reward):
    env, plain = (felicity_v0.env(4, reward=reward, illegal=way) for way in ("penalise", "raise"))
    counts = dict.fromkeys(env.possible_agents, 0)
    rng, played = np.random.default_rng(3), []

    def choose(mask: np.ndarray) -> int:
        wanted = int(rng.integers(NUM_ACTIONS))
        counts[env.agent_selection] += mask[wanted] == 0
        played.append(find_nearest(mask[None], np.array([wanted]))[0])
        return wanted

    env.reset(seed=5)
    totals = play_out(env, choose)
    plain.reset(seed=5)
    expected = play_out(plain, lambda mask: played.pop(0))
    assert sum(counts.values()) > 50
    for agent, count in counts.items():
        assert totals[agent] == pytest.approx(expected[agent] - PENALTY * count)


def test_infos_say_until_the_agent_acts_again_whether_its_action_was_illegal():
    env = felicity_v0.env(4, illegal="penalise")
    env.reset(seed=5)
    agent = env.agent_selection
    env.step(PASS)
    assert env.infos[agent] == {"illegal": True}
    assert env.rewards == {other: -PENALTY * (other == agent) for other in env.agents}
    env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert not any(env.rewards.values())
    while env.agent_selection != agent:
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    env.step(int(env.observe(agent)["action_mask"].argmax()))
    assert env.infos[agent] == {"illegal": False}


@pytest.mark.parametrize("action", [1.5, "pass", None, True])
def test_what_is_no_integer_is_refused_also_if_illegal_actions_are_penalised(action):
    env = felicity_v0.env(4, illegal="penalise").env.env  # without the checks of the outer wrappers
    env.reset(seed=5)
    with pytest.raises(ValueError, match="cannot play"):
        env.step(action)
    assert not any(env.unwrapped.rewards.values())


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, NUM_ACTIONS + 1])
def test_numbers_next_to_those_of_actions_are_illegal_too(action):
    env = felicity_v0.env(4, illegal="penalise").env.env  # without the checks of the outer wrappers
    env.reset(seed=5)
    legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
    agent = env.agent_selection
    env.step(action)
    assert env.unwrapped.infos[agent] == {"illegal": True}
    assert env.unwrapped.game.actions == (legal[0 if action < 0 else -1],)


RICH = Setup(seats=2, mouse_cards=(1,), bank=1, mice=63, rounds=1)  # the highest bid is legal


def test_minus_one_does_not_stand_for_the_highest_bid():
    env = felicity_v0.env(setup=RICH, illegal="penalise").env.env
    env.reset(seed=5)
    for _ in range(2):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    agent = env.agent_selection
    assert env.observe(agent)["action_mask"][-1] == 1
    env.step(-1)
    assert env.unwrapped.infos[agent] == {"illegal": True}
    assert env.unwrapped.game.actions[-1] == PASS


def test_minus_one_does_not_stand_for_the_highest_bid_of_a_learner():
    envs = SeatVectorEnv(20, setup=RICH, illegal="penalise")
    _, infos = envs.reset(seed=1)
    *_, infos = envs.step(lowest(infos))
    assert infos["action_mask"][:, -1].any()
    *_, infos = envs.step(np.full(20, -1))
    assert infos["illegal"].all()


def test_a_random_legal_action_is_not_the_nearest():
    nearest, drawn = (SeatVectorEnv(20, illegal=way) for way in ("penalise", "random"))
    for envs in (nearest, drawn):
        envs.reset(seed=1)
    observations = [envs.step(np.full(20, NUM_ACTIONS))[0] for envs in (nearest, drawn)]
    assert (observations[0] != observations[1]).any(axis=1).sum() > 10


def test_after_the_end_an_action_is_refused_also_if_illegal_actions_are_penalised():
    env = felicity_v0.env(setup="tiny-2", illegal="penalise").env.env
    env.reset(seed=5)
    while not any(env.terminations.values()):
        env.step(PASS)
    with pytest.raises(ValueError, match=r"the game is over: player_. can only step None, not 10"):
        env.step(PASS)
    env.step(None)
    env.step(None)
    with pytest.raises(ValueError, match="no game is being played"):
        env.step(PASS)


def test_raise_leaves_the_wrapped_game_unchanged():
    env = felicity_v0.env(4, illegal="raise")
    env.reset(seed=5)
    before = env.unwrapped.game
    with pytest.raises(ValueError, match="cannot pass"):
        env.step(PASS)
    assert env.unwrapped.game == before


@pytest.mark.parametrize("way", ["random", "penalize", ""])
def test_other_ways_are_refused_with_those_that_exist(way):
    with pytest.raises(ValueError, match=r"illegal must be one of \['terminate', 'penalise', 'raise'\]"):
        felicity_v0.env(4, illegal=way)
