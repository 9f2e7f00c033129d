"""The PettingZoo AEC face keeps its promises: actions, rewards, ends, copies, deals, seeds, rendering, secrecy."""

import copy
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.aec import raw_env
from felicity_env.game import NO_CARD, NUM_ACTIONS, PASS, SETUPS, Setup, slot_owner
from felicity_env.information import MAX_EVENTS, encode_information_state, redact, resample
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE, describe
from felicity_env.random_stream import MAX_SEED
from felicity_env.rewards import REWARDS
from felicity_env.transcript import Deal, Game
from tests.helpers import C3, C8, COMPILED, M8, ODD_SETUPS, RABBIT, SMALL, bid

FACES = {"env": felicity_v0.env, "raw_env": felicity_v0.raw_env}
every_table = pytest.mark.parametrize("players", [3, 4, 5])
every_reward = pytest.mark.parametrize("reward", REWARDS)
both_faces = pytest.mark.parametrize("make", FACES.values(), ids=FACES)


def dealt(players: int = 4, *, seed: int = 1, **settings: Any) -> raw_env:
    env = raw_env(players, **settings)
    env.reset(seed=seed)
    return env


def mask_of(env: Any) -> np.ndarray:
    return env.observe(env.agent_selection)["action_mask"]


def choose(env: Any, rng: np.random.Generator) -> int:
    """A random legal action; in the auction often a pass or the lowest bid."""
    legal = np.flatnonzero(mask_of(env))
    return int(legal[0] if rng.random() < 0.4 else rng.choice(legal[:2]) if rng.random() < 0.5 else rng.choice(legal))


def play_some(env: Any, steps: int, *, seed: int = 0) -> Any:
    """Up to `steps` decisions, stopping when the game is over."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if any(env.terminations.values()):
            break
        env.step(choose(env, rng))
    return env


def play_out(env: Any, *, seed: int = 0) -> Any:
    return play_some(env, 10_000, seed=seed)


def in_auction(players: int = 4, **settings: Any) -> raw_env:
    """The first auction open, the bid at 5, the second seat to act."""
    env = raw_env(players, **settings)
    dealt_so = {"removed": [RABBIT] * players, "start_seat": 0}
    env.reset(seed=1, options={"deal": dealt_so})
    for card in [C3, C8, M8, SMALL, C3][:players]:
        env.step(card)
    env.step(bid(5))
    return env


def same(one: Any, other: Any) -> bool:
    """Whether two values, arrays inside, are equal to the last byte."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def everything_shown(env: Any) -> dict[str, Any]:
    """What the public methods tell, all seats."""
    raw = env.unwrapped
    return {
        "agents": env.agents[:],
        "turn": env.agent_selection,
        "observations": {agent: raw.observe(agent) for agent in raw.possible_agents},
        "rewards": dict(env.rewards),
        "due": dict(raw._cumulative_rewards),
        "over": (dict(env.terminations), dict(env.truncations)),
        "infos": copy.deepcopy(env.infos),
        "state": raw.state(),
        "game": raw.game,
    }


# --- actions ----------------------------------------------------------------------------------------------------------

BAD_ACTIONS = {
    "-1": -1,
    "74": NUM_ACTIONS,
    "1e9": 10**9,
    "2**63": 2**63,
    "2**64": 2**64,
    "-2**70": -(2**70),
    "2.0": 2.0,
    "True": True,
    "False": False,
    "nan": float("nan"),
    "inf": float("inf"),
    "None": None,
    "'3'": "3",
    "[3]": [3],
    "(3,)": (3,),
    "array([3])": np.array([3]),
    "array(3.0)": np.array(3.0),
    "array(True)": np.array(True),
    "array([])": np.array([]),
    "np.float32": np.float32(3),
    "np.bool": np.bool_(True),
    "uint64": np.uint64(2**64 - 1),
    "int8": np.int8(-1),
    "complex": 3 + 0j,
    "object": object(),
    "bytes": b"\x03",
}


def refused(env: raw_env, action: Any) -> str:
    """The message with which `action` is refused; nothing may have changed."""
    before, shown = env.clone(), everything_shown(env)
    with pytest.raises(ValueError, match="cannot play") as error:
        env.step(action)
    assert same(env.clone(), before)
    assert same(everything_shown(env), shown)
    return str(error.value)


@pytest.mark.parametrize("action", BAD_ACTIONS.values(), ids=BAD_ACTIONS)
def test_a_bad_action_is_refused_with_seat_action_and_what_is_legal_and_nothing_changes(action):
    env = dealt(seed=1)
    seat = env.agent_selection[-1]
    message = refused(env, action)
    hand = np.flatnonzero(mask_of(env)).tolist()
    assert message == f"seat {seat} cannot play {action!r}: it may place cards {hand}"
    message = refused(in_auction(), action)
    assert message == f"seat 1 cannot play {action!r}: it may pass (10) or bid 6 to 15 mice (16 to 25)"


@pytest.mark.parametrize("action", [bid(1), bid(4), bid(5), bid(16), bid(63), C3, RABBIT])
def test_in_the_auction_a_bid_not_above_the_highest_or_over_the_mice_and_any_card_is_refused(action):
    assert refused(in_auction(), action) == (
        f"seat 1 cannot play {action}: it may pass (10) or bid 6 to 15 mice (16 to 25)"
    )


@pytest.mark.parametrize("action", [RABBIT, PASS, bid(1), bid(63)])
def test_while_placing_a_card_not_in_hand_a_pass_and_a_bid_are_refused(action):
    env = raw_env(4)
    env.reset(options={"deal": {"removed": [RABBIT] * 4, "start_seat": 2}})
    assert refused(env, action) == f"seat 2 cannot play {action}: it may place cards [0, 1, 2, 3, 4, 5, 6, 8, 9]"


def test_a_card_that_was_placed_cannot_be_placed_again():
    env = in_auction()
    for action in (PASS, PASS, PASS):
        env.step(action)
    assert env.agent_selection == "player_0"
    assert "may place" in refused(env, C3)


def test_who_has_no_mice_above_the_bid_is_told_that_it_may_only_pass():
    env = in_auction()
    env.step(bid(15))
    assert refused(env, bid(16)) == f"seat 2 cannot play {bid(16)}: it may only pass (10)"


def test_every_action_is_accepted_exactly_where_the_mask_has_a_one():
    env, rng = dealt(3, seed=5), np.random.default_rng(0)
    for _ in range(40):
        before = env.clone()
        for action, legal in enumerate(mask_of(env)):
            if legal:
                env.step(action)
                env.restore(before)
            else:
                refused(env, action)
        env.step(choose(env, rng))


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]  # Discrete contains no uint64


@pytest.mark.parametrize(("make", "kind"), [*product(FACES.values(), INTEGERS), (raw_env, np.uint64)])
def test_numpy_integers_of_all_widths_and_zero_dimensional_arrays_are_played_as_ints(make, kind):
    env, plain = make(), make()
    for each in (env, plain):
        each.reset(seed=2)
    rng = np.random.default_rng(0)
    for k in range(30):
        action = choose(plain, rng)
        plain.step(action)
        env.step(kind(action) if k % 2 else np.array(action, kind))
        assert same(everything_shown(env), everything_shown(plain))
    assert all(type(action) is int for action in env.unwrapped.game.actions)


@both_faces
def test_an_action_sampled_from_the_action_space_with_the_mask_is_accepted(make):
    env = make(num_players=3)
    env.reset(seed=0)
    for agent in env.agent_iter():
        observation, _, termination, _, _ = env.last()
        env.step(None if termination else env.action_space(agent).sample(observation["action_mask"]))
    assert env.agents == []


def test_stepping_before_reset_raises():
    with pytest.raises(ValueError, match=r"no game is being played: call reset\(\)"):
        raw_env().step(0)


def test_after_the_end_only_none_is_accepted_and_after_everybody_left_nothing():
    env = play_out(dealt(3))
    before = env.clone()
    for action in (0, PASS, -1, "x", 2.0):
        with pytest.raises(ValueError, match="the game is over: player_0 can only step None"):
            env.step(action)
        assert same(env.clone(), before)
    for _ in range(3):
        env.step(None)
    for action in (None, 0):
        with pytest.raises(ValueError, match="no game is being played"):
            env.step(action)


@pytest.mark.parametrize("action", [RABBIT, PASS, bid(1), bid(63)])
@every_reward
def test_an_illegal_action_ends_the_wrapped_game_with_minus_one_for_the_offender_alone(action, reward):
    env = felicity_v0.env(reward=reward)
    env.reset(seed=1, options={"deal": {"removed": [RABBIT] * 4, "start_seat": 2}})
    gymnasium.logger.min_level, level = gymnasium.logger.ERROR, gymnasium.logger.min_level
    env.step(action)
    gymnasium.logger.min_level = level
    assert all(env.terminations.values())
    returns = {}
    for agent in env.agent_iter():
        _, returns[agent], termination, _, _ = env.last()
        assert termination
        env.step(None)
    assert returns == {"player_0": 0, "player_1": 0, "player_2": -1, "player_3": 0}
    assert env.agents == []
    env.reset(seed=1)
    assert not any(env.terminations.values())


@pytest.mark.parametrize("action", [-1, NUM_ACTIONS, 2.0, None, "3"])
def test_the_wrapped_environment_asserts_that_actions_are_in_the_space(action):
    env = felicity_v0.env()
    env.reset(seed=1)
    with pytest.raises(AssertionError, match="action"):
        env.step(action)


def test_the_wrapped_environment_wants_a_reset_first():
    env = felicity_v0.env()
    for method in (lambda: env.step(0), lambda: env.observe("player_0"), env.state):
        with pytest.raises((AssertionError, AttributeError), match=r"reset"):
            method()


# --- the course of play -----------------------------------------------------------------------------------------------


def returns_of(env: raw_env, reward: str) -> list[float]:
    """What each seat should have earned, from the final state by the words of `REWARDS`."""
    state = env.clone()["_states"][0]
    seats = env.setup.seats
    scores = [int(state.cat_points[seat] + state.mice[seat]) for seat in range(seats)]
    keys = [(scores[seat], int(state.cat_points[seat])) for seat in range(seats)]
    if reward == "win":
        return [(key == max(keys)) / keys.count(max(keys)) for key in keys]
    if reward == "margin":
        return [own - (sum(scores) - own) / (seats - 1) for own in scores]
    return [own - (env.setup.mice if reward == "round" else 0) for own in scores]


@every_reward
@every_table
@both_faces
def test_rewards_seen_through_last_add_up_to_each_seats_return_whoever_ends_the_game(make, players, reward):
    enders, rng = set(), np.random.default_rng(players)
    for game in range(60 if COMPILED else 3):
        env = make(num_players=players, reward=reward)
        env.reset(seed=game)
        earned = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, paid, termination, _, _ = env.last(observe=False)
            earned[agent] += paid
            if not termination:
                ender = agent
            env.step(None if termination else choose(env, rng))
        enders.add(ender)
        assert list(earned.values()) == pytest.approx(returns_of(env.unwrapped, reward))
    assert len(enders) == players or not COMPILED


@every_table
def test_the_round_reward_is_paid_at_the_end_of_each_round_and_tells_what_the_round_brought(players):
    env, rng, paid_rounds = dealt(players, reward="round"), np.random.default_rng(1), 0
    setup = env.setup
    wealth = np.full(players, setup.mice)
    while not any(env.terminations.values()):
        before = env.clone()["_states"][0]
        env.step(choose(env, rng))
        state = env.clone()["_states"][0]
        now = (state.mice + state.cat_points)[:players]
        round_over = state.round_number != before.round_number or any(env.terminations.values())
        assert list(env.rewards.values()) == list((now - wealth) * float(round_over))
        paid_rounds += round_over
        wealth = now.copy() if round_over else wealth
    assert paid_rounds == setup.rounds
    assert list(env.clone()["_states"][0].gain[:players]) == list(env.rewards.values())


@every_reward
def test_rewards_are_zero_when_nothing_is_due_and_never_stale(reward):
    env, rng = dealt(reward=reward), np.random.default_rng(2)
    while not any(env.terminations.values()):
        dense = reward == "round" and env.clone()["_states"][0].row_size == 0
        if not dense:
            assert set(env.rewards.values()) == {0.0}
        env.step(choose(env, rng))
    env.reset()
    assert set(env.rewards.values()) == set(env._cumulative_rewards.values()) == {0.0}


@every_table
@both_faces
def test_each_seat_gets_one_terminal_view_and_one_none_step(make, players):
    for game in range(20 if COMPILED else 2):
        env, ends, rng = make(num_players=players), [], np.random.default_rng(game)
        env.reset(seed=game)
        for agent in env.agent_iter():
            observation, _, termination, truncation, info = env.last()
            assert not truncation
            if termination:
                ends.append(agent)
                assert describe(observation["observation"])["phase"] == "over"
                assert info.keys() == {"score", "cat_points", "mice", "rank"}
            env.step(None if termination else choose(env, rng))
        assert ends == env.possible_agents


def check_keys(env: Any) -> None:
    for name in ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos"):
        assert list(getattr(env.unwrapped, name)) == env.agents, name
    assert env.agent_selection in env.agents or not env.agents
    assert env.num_agents == len(env.agents)


@every_table
@both_faces
def test_dictionary_keys_are_the_agents_after_every_step_and_spaces_stay_the_same_objects(make, players):
    env, rng = make(num_players=players), np.random.default_rng(0)
    spaces = {agent: (env.observation_space(agent), env.action_space(agent)) for agent in env.possible_agents}
    for _ in range(2):
        env.reset(seed=3)
        check_keys(env)
        for agent in env.agent_iter():
            over = env.terminations[agent]
            env.step(None if over else choose(env, rng))
            check_keys(env)
        assert env.agents == []
        for name, (observation_space, action_space) in spaces.items():
            assert env.observation_space(name) is observation_space
            assert env.action_space(name) is action_space


@pytest.mark.parametrize("open_mice", [False, True])
@pytest.mark.parametrize("setup", [*SETUPS.values(), *ODD_SETUPS])
def test_observations_and_states_lie_in_their_spaces_at_every_step_and_at_the_end(setup, open_mice):
    env, rng = raw_env(setup=setup, open_mice=open_mice), np.random.default_rng(0)
    env.reset(seed=7)
    state_space = env.state_space
    for agent in env.agent_iter():
        for other in env.possible_agents:
            assert env.observation_space(other).contains(env.observe(other))
        assert env.state().dtype == np.float32
        assert state_space.contains(env.state())
        env.step(None if env.terminations[agent] else choose(env, rng))
    assert env.state_space is state_space
    assert env.observation_space("player_0").contains(env.observe("player_0"))
    assert state_space.contains(env.state())


def test_the_spaces_are_the_same_for_all_tables_with_closed_and_open_mice():
    envs = [raw_env(players, open_mice=open_mice) for players in (3, 4, 5) for open_mice in (False, True)]
    envs += [raw_env(setup=setup) for setup in ODD_SETUPS]
    spaces = [env.observation_space(agent) for env in envs for agent in env.possible_agents]
    assert all(space == spaces[0] for space in spaces)
    assert spaces[0]["observation"].shape == (OBS_SIZE,)
    assert all(env.state_space.shape == (PRIVILEGED_SIZE,) for env in envs)


@every_table
def test_the_mask_of_a_seat_that_is_not_to_act_is_zero_and_that_of_the_actor_never(players):
    env, rng = dealt(players), np.random.default_rng(4)
    while not any(env.terminations.values()):
        for agent in env.agents:
            mask = env.observe(agent)["action_mask"]
            assert mask.dtype == np.int8
            assert mask.any() == (agent == env.agent_selection)
        env.step(choose(env, rng))
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)


@both_faces
def test_kept_observations_infos_and_states_do_not_change(make):
    env, rng, kept, copies = make(num_players=3, reward="round"), np.random.default_rng(0), [], []
    for game in range(2):
        env.reset(seed=game)
        for _agent in env.agent_iter():
            observation, _, termination, _, info = env.last()
            kept.append((observation, info, env.state(), env.rewards))
            copies.append(copy.deepcopy(kept[-1]))
            env.step(None if termination else choose(env, rng))
    for now, then in zip(kept, copies, strict=True):
        assert same(now[0], then[0])
        assert same(now[2], then[2])
        assert now[1] == then[1]


def test_writing_into_an_observation_changes_nothing_in_the_game():
    env = dealt()
    before = env.clone()
    for array in (*env.observe(env.agent_selection).values(), env.state()):
        array[:] = 1
    assert same(env.clone(), before)


@every_table
def test_infos_are_empty_in_mid_game_and_tell_the_result_at_the_end(players):
    env, rng = dealt(players), np.random.default_rng(1)
    while not any(env.terminations.values()):
        assert env.infos == {agent: {} for agent in env.possible_agents}
        env.step(choose(env, rng))
    state = env.clone()["_states"][0]
    for seat, agent in enumerate(env.possible_agents):
        info = env.infos[agent]
        assert info["mice"] == state.mice[seat]
        assert info["cat_points"] == state.cat_points[seat]
        assert info["score"] == info["mice"] + info["cat_points"]
        keys = [(other["score"], other["cat_points"]) for other in env.infos.values()]
        assert info["rank"] == 1 + sum(key > keys[seat] for key in keys)
        assert all(type(value) is int for value in info.values())


def test_seats_with_the_same_score_and_cats_share_a_rank_and_more_cats_break_a_tie():
    setup = Setup(seats=3, mouse_cards=(0, 0), bank=0, mice=9, rounds=1, cards=(C3, C8), removed=0)
    env = raw_env(setup=setup)
    env.reset(seed=0, options={"deal": {"start_seat": 0}})
    for action in (C3, C3, C3, bid(9), PASS, PASS):
        env.step(action)
    assert env.infos["player_0"] == {"score": 9, "cat_points": 9, "mice": 0, "rank": 1}
    assert env.infos["player_1"] == env.infos["player_2"] == {"score": 9, "cat_points": 0, "mice": 9, "rank": 2}
    assert env.rewards == {"player_0": 1.0, "player_1": 0.0, "player_2": 0.0}


def test_a_shared_victory_pays_each_winner_its_share():
    env = raw_env(setup=Setup(seats=3, mouse_cards=(0, 0), bank=0, mice=5, rounds=1, cards=(C3, C8), removed=0))
    env.reset(seed=0)
    for action in (C3, C3, C3, PASS, PASS, PASS):
        env.step(action)
    assert env.rewards == pytest.approx(dict.fromkeys(env.possible_agents, 1 / 3))
    assert {info["rank"] for info in env.infos.values()} == {1}


def test_an_agent_that_is_not_there_cannot_be_observed():
    env = dealt(3)
    for agent in ("player_3", "player_-1", 0, None, ["player_0"]):
        with pytest.raises(ValueError, match="no agent"):
            env.observe(agent)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_players": 2}, "num_players"),
        ({"num_players": 6}, "num_players"),
        ({"num_players": True}, "num_players"),
        ({"num_players": 4.0}, "num_players"),
        ({"num_players": "4"}, "num_players"),
        ({"num_players": [4]}, "num_players"),
        ({"num_players": None}, "num_players"),
        ({"reward": "sparse"}, "reward must be one of"),
        ({"reward": None}, "reward must be one of"),
        ({"render_mode": "rgb_array"}, "render_mode"),
    ],
)
@both_faces
def test_impossible_arguments_are_refused_by_name(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


# --- copies -----------------------------------------------------------------------------------------------------------


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


@every_table
def test_restore_takes_everything_back_history_included(players):
    env = play_some(dealt(players, reward="round"), 37)
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
    env = play_out(dealt(3))
    env.step(None)
    saved = env.clone()
    env.step(None)
    env.step(None)
    assert env.agents == []
    env.restore(saved)
    assert env.agents == ["player_1", "player_2"]
    check_keys(env)


def test_a_clone_goes_into_another_environment_of_the_same_setup_and_only_there():
    env = play_some(dealt(4, seed=8), 50)
    other = raw_env(4)
    other.restore(env.clone())
    assert same(everything_shown(other), everything_shown(env))
    assert other.information_state(2) == env.information_state(2)
    play_some(other, 30)
    assert len(env.game.actions) == 50
    stranger = dealt(3)
    before = stranger.clone()
    with pytest.raises(ValueError, match="this environment plays"):
        stranger.restore(env.clone())
    assert same(stranger.clone(), before)


def test_a_clone_can_be_pickled():
    env = play_some(dealt(5), 60)
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


@every_table
def test_a_game_loaded_in_mid_game_stands_where_it_stood_and_is_remembered(players):
    for steps in (0, 5, 41, 10_000):
        env = play_some(dealt(players, reward="round"), steps)
        other = dealt(players, seed=77, reward="round")
        other.load(env.game)
        assert same(everything_shown(other), everything_shown(env))
        assert other.information_state(1) == env.information_state(1)
        play_out(other)
        play_out(env)
        assert same(everything_shown(other), everything_shown(env))


BAD_GAMES = {
    "an illegal action": (Game(SETUPS[4], Deal((0, 0, 0, 0), (), 0), (1, 1, 1, 1, 74)), "action 5 of the game"),
    "a card gone": (Game(SETUPS[4], Deal((0, 0, 0, 0), (), 0), (0,)), "action 1 of the game: seat 0 cannot play 0"),
    "another setup": (Game(SETUPS[3], Deal((0, 0, 0), tuple(range(9)), 0)), "this environment plays"),
    "start seat": (Game(SETUPS[4], Deal((0, 0, 0, 0), (), 400), (1,)), "start_seat"),
    "too few cards": (Game(SETUPS[4], Deal((0, 0), (), 0), (1,)), "needs 4 cards"),
    "no such card": (Game(SETUPS[4], Deal((0, 0, 0, 12), (), 0), (1,)), "12 is no card"),
}


@pytest.mark.parametrize(("game", "message"), BAD_GAMES.values(), ids=BAD_GAMES)
def test_a_game_that_cannot_be_played_here_is_not_loaded(game, message):
    env = play_some(dealt(4), 10)
    before = env.clone()
    with pytest.raises(ValueError, match=message):
        env.load(game)
    assert same(env.clone(), before)


@every_table
def test_the_information_state_begins_with_the_own_hand_and_grows_with_the_game(players):
    env, rng = dealt(players), np.random.default_rng(0)
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


# --- deals ------------------------------------------------------------------------------------------------------------

DUMMY_ORDER = [9, 0, 8, 1, 7, 2, 6, 3, 5]


def true_deal(env: raw_env) -> Deal:
    return Deal.from_state(env.clone()["_states"][0])


@every_table
def test_a_whole_deal_is_dealt_as_wished(players):
    wishes = {"removed": [2, 7, 7, 0, 9][:players], "dummy": DUMMY_ORDER if players == 3 else [], "start_seat": 2}
    env = raw_env(players)
    env.reset(seed=3, options={"deal": wishes})
    assert true_deal(env) == Deal(tuple(wishes["removed"]), tuple(wishes["dummy"]), 2)
    assert env.agent_selection == "player_2"
    for seat, agent in enumerate(env.possible_agents):
        hand = describe(env.observe(agent)["observation"])["hand"]
        assert hand == [card for card in range(10) if card != wishes["removed"][seat]]


@pytest.mark.parametrize(
    "wish", [{"removed": [1, 2, 3]}, {"dummy": DUMMY_ORDER}, {"start_seat": 0}, {"start_seat": 2}, {}]
)
def test_a_key_left_out_of_the_deal_is_drawn_as_without_it(wish):
    for seed in range(10):
        plain, wished = dealt(3, seed=seed), raw_env(3)
        wished.reset(seed=seed, options={"deal": wish})
        drawn = true_deal(plain)
        expected = {key: tuple(value) if isinstance(value, list) else value for key, value in wish.items()}
        assert true_deal(wished) == Deal(**({k: getattr(drawn, k) for k in drawn.__match_args__} | expected))


def test_a_deal_may_be_given_in_tuples_arrays_and_numpy_integers():
    env = raw_env(3)
    wishes = {"removed": np.array([1, 2, 3], np.int8), "dummy": tuple(DUMMY_ORDER), "start_seat": np.uint8(1)}
    env.reset(options={"deal": wishes})
    assert true_deal(env) == Deal((1, 2, 3), tuple(DUMMY_ORDER), 1)
    assert type(env.game.deal.start_seat) is int


def test_unknown_options_are_ignored_and_a_deal_of_none_is_drawn():
    plain = true_deal(dealt(seed=4))
    for options in (None, {}, {"options": 1}, {"deal": None}, {"seat": 3, "deal": {}}):
        env = raw_env(4)
        env.reset(seed=4, options=options)
        assert true_deal(env) == plain


BAD_DEALS = {
    "unknown key": (4, {"start": 1}, "unknown keys"),
    "key no text": (4, {3: 1}, "unknown keys"),
    "no mapping": (4, [1, 2, 3, 4], "must be a mapping"),
    "text": (4, "removed", "must be a mapping"),
    "too few removed": (4, {"removed": [1, 2, 3]}, "needs 4 cards"),
    "too many removed": (4, {"removed": [1, 2, 3, 4, 5]}, "needs 4 cards"),
    "none removed": (4, {"removed": []}, "needs 4 cards"),
    "card 10": (4, {"removed": [1, 2, 3, 10]}, "10 is no card"),
    "card -1": (4, {"removed": [1, 2, 3, -1]}, "-1 is no card"),
    "card 2.0": (4, {"removed": [1, 2, 3, 2.0]}, r"2\.0 is no card"),
    "card True": (4, {"removed": [1, 2, 3, True]}, "True is no card"),
    "card None": (4, {"removed": [1, 2, 3, None]}, "None is no card"),
    "card nan": (4, {"removed": [1, 2, 3, float("nan")]}, "nan is no card"),
    "card list": (4, {"removed": [[1], 2, 3, 4]}, "is no card"),
    "card text": (4, {"removed": "1234"}, "must be a list of cards"),
    "a number": (4, {"removed": 3}, "must be a list of cards"),
    "an array without length": (4, {"removed": np.array(3)}, "must be a list of cards"),
    "a set": (4, {"removed": {1, 2, 3, 4}}, "must be a list of cards"),
    "removed None": (4, {"removed": None}, "must be a list of cards"),
    "dummy without dummy": (4, {"dummy": DUMMY_ORDER}, r"deal\['dummy'\] needs 0 cards"),
    "short dummy": (3, {"dummy": DUMMY_ORDER[:8]}, "needs 9 cards"),
    "long dummy": (3, {"dummy": [*DUMMY_ORDER, 4]}, "needs 9 cards"),
    "double dummy": (3, {"dummy": [9, 9, *DUMMY_ORDER[2:]]}, "repeats a card"),
    "dummy card": (3, {"dummy": [11, *DUMMY_ORDER[1:]]}, "11 is no card"),
    "seat 4": (4, {"start_seat": 4}, "start_seat.*0 to 3"),
    "seat -1": (4, {"start_seat": -1}, "start_seat.*0 to 3"),
    "seat 1.0": (4, {"start_seat": 1.0}, "start_seat"),
    "seat True": (4, {"start_seat": True}, "start_seat"),
    "seat text": (4, {"start_seat": "1"}, "start_seat"),
    "seat list": (4, {"start_seat": [1]}, "start_seat"),
    "seat None": (4, {"start_seat": None}, "start_seat"),
    "seat huge": (4, {"start_seat": 2**70}, "start_seat"),
}


@pytest.mark.parametrize(("players", "wishes", "message"), BAD_DEALS.values(), ids=BAD_DEALS)
@pytest.mark.parametrize("seed", [None, 9])
def test_an_impossible_deal_is_refused_by_its_fault_and_leaves_the_environment_as_it_was(
    players, wishes, message, seed
):
    for steps in (12, 10_000):
        env = play_some(dealt(players, reward="round"), steps)
        before, shown = env.clone(), everything_shown(env)
        with pytest.raises(ValueError, match=message):
            env.reset(seed=seed, options={"deal": wishes})
        assert same(env.clone(), before)
        assert same(everything_shown(env), shown)


def test_a_card_that_is_not_in_the_set_of_a_small_setup_cannot_be_dealt():
    env = raw_env(setup=ODD_SETUPS[2])
    with pytest.raises(ValueError, match=r"7 is no card of this game; cards are \[0, 3, 8\]"):
        env.reset(options={"deal": {"removed": [0, 3, 7]}})
    assert env.agents == []
    with pytest.raises(ValueError, match="needs 0 cards"):
        raw_env(setup=ODD_SETUPS[1]).reset(options={"deal": {"removed": [1, 2]}})


# --- seeds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32, 2**53, MAX_SEED, np.int64(5), np.uint64(MAX_SEED), np.uint8(7)])
def test_the_same_seed_deals_the_same_game(seed):
    one, two = dealt(seed=seed), dealt(seed=int(seed))
    play_some(two, 9)
    two.reset(seed=seed)
    assert same(everything_shown(one), everything_shown(two))


def test_different_seeds_deal_different_games():
    deals = {true_deal(dealt(3, seed=seed)) for seed in [*range(200), 2**31, 2**32, 2**32 + 1, 2**62, MAX_SEED]}
    assert len(deals) == 205


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64, 1.0, 0.5, True, False, "1", float("nan"), [1], np.float32(1)])
def test_a_seed_that_is_no_integer_in_range_is_refused_and_nothing_changes(seed):
    env = play_some(dealt(), 12)
    before = env.clone()
    with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 2\*\*63 - 1"):
        env.reset(seed=seed)
    assert same(env.clone(), before)


def deals_of_resets(env: raw_env, count: int) -> list[Deal]:
    deals = []
    for _ in range(count):
        env.reset()
        deals.append(true_deal(env))
    return deals


def test_an_unseeded_reset_goes_on_in_the_stream_of_the_last_seed():
    one, two = dealt(3, seed=4), dealt(3, seed=4)
    play_some(two, 30)
    deals = deals_of_resets(one, 30)
    assert deals == deals_of_resets(two, 30)
    assert len({true_deal(dealt(3, seed=4)), *deals}) == 31
    assert deals_of_resets(dealt(3, seed=5), 30) != deals


def test_an_environment_never_seeded_deals_something_else_each_time():
    firsts = [deals_of_resets(raw_env(3), 2) for _ in range(8)]
    assert len({deal for deals in firsts for deal in deals}) == 16


def test_an_unseeded_reset_after_a_deal_or_a_refused_one_stays_in_step():
    one, two = dealt(3, seed=4), dealt(3, seed=4)
    with pytest.raises(ValueError, match="start_seat"):
        two.reset(options={"deal": {"start_seat": 9}})
    assert deals_of_resets(one, 2) == deals_of_resets(two, 2)
    one.reset()
    two.reset(options={"deal": {"start_seat": 1}})
    assert deals_of_resets(one, 2) == deals_of_resets(two, 2)


def test_global_random_states_are_left_alone():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global generator is what is looked at
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    env = felicity_v0.env()
    env.reset()
    play_out(env)
    env.reset(seed=3)
    play_out(env)
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == before  # noqa: NPY002
    random.seed(2)
    again = play_out(dealt(seed=3))
    random.seed(3)
    assert same(everything_shown(again), everything_shown(play_out(dealt(seed=3))))


DIGEST = """
import hashlib
from felicity_env import felicity_v0
digest = hashlib.sha256()
for players in (3, 4, 5):
    env = felicity_v0.env(num_players=players, reward="round")
    env.reset(seed=0)
    for game in range(5):
        for agent in env.agent_iter():
            observation, reward, termination, _, info = env.last()
            digest.update(observation["observation"].tobytes() + repr((agent, reward, sorted(info.items()))).encode())
            legal = observation["action_mask"].nonzero()[0]
            env.step(None if termination else legal[len(legal) // 2])
        env.reset()
print(digest.hexdigest())
"""


@pytest.mark.skipif(not COMPILED, reason="three slow processes")
def test_other_processes_with_other_hash_seeds_play_the_same_games(monkeypatch):
    digests = set()
    for hash_seed in ("0", "4242"):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        done = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


# --- rendering --------------------------------------------------------------------------------------------------------


def test_rendering_without_a_mode_warns_and_returns_nothing():
    env = dealt()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_ansi_returns_the_text_and_prints_nothing(capsys):
    env, rng = dealt(render_mode="ansi"), np.random.default_rng(0)
    while not any(env.terminations.values()):
        assert env.render().startswith("FELICITY   round")
        env.step(choose(env, rng))
    assert "game over" in env.render()
    assert capsys.readouterr().out == ""


def test_human_prints_what_ansi_returns_after_every_step(capsys):
    human, ansi = dealt(render_mode="human"), dealt(render_mode="ansi")
    capsys.readouterr()
    for k in range(15):
        for env in (human, ansi):
            env.step(choose(env, np.random.default_rng(k)))
        assert capsys.readouterr().out == ansi.render() + "\n"
    assert human.render() is None
    assert capsys.readouterr().out == ansi.render() + "\n"


def test_a_wrapped_environment_renders_the_same():
    wrapped, raw = felicity_v0.env(render_mode="ansi"), raw_env(render_mode="ansi")
    for env in (wrapped, raw):
        env.reset(seed=3)
    assert wrapped.render() == raw.render()


@pytest.mark.parametrize("setup", ODD_SETUPS, ids=range(len(ODD_SETUPS)))
def test_other_setups_render_to_the_end(setup):
    env, rng = raw_env(setup=setup, render_mode="ansi"), np.random.default_rng(0)
    env.reset(seed=1)
    while not any(env.terminations.values()):
        assert f"of {setup.rounds}" in env.render()
        assert len(env.render_all()) > 100
        env.step(choose(env, rng))
    assert "game over" in env.render()
    assert "game over" in env.render_all()


def test_render_shows_the_own_face_down_card_and_no_others_while_render_all_shows_all():
    env = raw_env(4, render_mode="ansi")
    env.reset(options={"deal": {"removed": [RABBIT] * 4, "start_seat": 0}})
    for card in (C3, C8, M8, SMALL):
        env.step(card)
    env.step(bid(1))
    assert env.agent_selection == "player_1"
    row = next(line for line in env.render().splitlines() if line.startswith("  card"))
    assert row.split() == ["card", "3", "(8)", "??", "??"]
    row = next(line for line in env.render_all().splitlines() if line.startswith("  card"))
    assert row.split() == ["card", "3", "(8)", "(-8)", "(d)"]


# --- secrecy ----------------------------------------------------------------------------------------------------------


def world_actions(env: raw_env, world: np.void) -> list[int]:
    """The history with the cards of `world` for those placed in this round."""
    actions, rounds = list(env.game.actions), [int(state.round_number) for _, state in env.game.states()]
    first = rounds.index(int(world["round_number"]))
    for k in range(int(world["row_size"] - world["has_dummy"])):
        actions[first + k] = int(world["row"][k + world["has_dummy"]])
    return actions


def in_world(env: raw_env, world: np.ndarray) -> raw_env:
    """The same environment if `world` [1] is the truth."""
    seats, saved = env.setup.seats, env.clone()
    removed = tuple(int(card) for card in world["removed"][0][:seats] if card != NO_CARD)
    dummy = tuple(int(card) for card in world["dummy_cards"][0] if card != NO_CARD)
    saved["_states"] = world
    saved["_deal"] = Deal(removed, dummy, saved["_deal"].start_seat)
    saved["_actions"] = world_actions(env, world[0])
    other = raw_env(setup=env.setup, reward=env.reward, open_mice=env.open_mice, render_mode=env.render_mode)
    other.restore(saved)
    return other


def shown_to(env: raw_env, seat: int) -> tuple:
    """All that reaches the player in `seat`, as bytes and text."""
    agent = env.possible_agents[seat]
    seen = env.observe(agent)
    mine = env.agent_selection == agent
    return (
        seen["observation"].tobytes(),
        seen["action_mask"].tobytes(),
        env.infos[agent],
        env.rewards,
        env._cumulative_rewards,
        env.agent_selection,
        env.render() if mine else None,
        env.information_state(seat),
    )


def positions(env: raw_env, every: int) -> Iterator[raw_env]:
    """The environment at every so many decisions of a game, and at the end."""
    rng, k = np.random.default_rng(3), 0
    while not any(env.terminations.values()):
        if k % every == 0:
            yield env
        env.step(choose(env, rng))
        k += 1
    yield env


@pytest.mark.parametrize("open_mice", [False, True])
@pytest.mark.parametrize("setup", [*SETUPS.values(), ODD_SETUPS[0], ODD_SETUPS[3]])
def test_a_seat_is_shown_the_same_in_every_world_that_fits(setup, open_mice):
    env, rng = raw_env(setup=setup, reward="round", open_mice=open_mice, render_mode="ansi"), np.random.default_rng(1)
    others = 0
    env.reset(seed=2)
    for _ in positions(env, every=5 if COMPILED else 25):
        for seat in range(setup.seats):
            truth = env.clone()["_states"]
            world = resample(redact(truth, seat), rng)
            elsewhere = in_world(env, world)
            assert elsewhere.game.final_states().tobytes() == world.tobytes()
            assert shown_to(elsewhere, seat) == shown_to(env, seat)
            others += world.tobytes() != truth.tobytes()
    assert others > (2 if COMPILED else 0)


def test_the_privileged_state_tells_worlds_apart():
    env, rng = dealt(4), np.random.default_rng(1)
    worlds = [in_world(env, resample(redact(env.clone()["_states"], 0), rng)) for _ in range(4)]
    assert len({world.state().tobytes() for world in worlds}) > 1
    assert len({world.render_all() for world in worlds}) > 1


def test_the_owner_of_a_face_down_card_sees_it_and_the_others_do_not():
    env = in_auction()
    state = env.clone()["_states"][0]
    for seat in range(4):
        row = describe(env.observe(f"player_{seat}")["observation"])["row"]
        seen = [slot for slot, card in enumerate(row) if card is not None]
        assert seen == [slot for slot in range(4) if slot < state.face_up or slot_owner(state, slot) == seat]
