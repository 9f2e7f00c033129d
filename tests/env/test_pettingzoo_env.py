"""PettingZoo AEC face: actions accepted, rewards paid, observations and infos, spaces and arguments."""

import copy
import inspect
import json
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from pettingzoo import AECEnv

from felicity_env import Batch, felicity_v0, notation
from felicity_env.game import NUM_ACTIONS, PASS, Setup
from felicity_env.game_record import DEAL_KEYS
from felicity_env.gymnasium_env import SeatEnv, SeatVectorEnv
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE, describe
from felicity_env.pettingzoo_env import raw_env
from felicity_env.rewards import REWARDS
from felicity_env.setups import standard_setup
from tests.support.aec_games import (
    FACES,
    both_faces,
    check_keys,
    choose,
    every_reward,
    every_size,
    everything_shown,
    in_auction,
    new_env,
    play_out,
    read_mask,
    same,
)
from tests.support.helpers import ALL_SETUPS, C3, C8, COMPILED, ODD_SETUPS, RABBIT, bid

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
    "timedelta64": np.timedelta64(3),
    "array(timedelta64)": np.array(3, "m8"),
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


def read_refusal(env: raw_env, action: Any) -> str:
    """Return the message with which `action` is refused; nothing may have changed."""
    before, shown = env.clone(), everything_shown(env)
    with pytest.raises(ValueError, match=r"^seat \d cannot (play|place|pass|bid) ") as error:
        env.step(action)
    assert same(env.clone(), before)
    assert same(everything_shown(env), shown)
    return str(error.value)


@pytest.mark.parametrize("action", BAD_ACTIONS.values(), ids=BAD_ACTIONS)
def test_a_bad_action_is_refused_with_seat_action_and_what_is_legal_and_nothing_changes(action):
    env = new_env(seed=1)
    seat = env.agent_selection[-1]
    message = read_refusal(env, action)
    hand = np.flatnonzero(read_mask(env)).tolist()
    legal = f"{notation.cards_text(hand)} (actions {' '.join(map(str, hand))})"
    assert message == f"seat {seat} cannot play {action!r}: it may place {legal}"
    message = read_refusal(in_auction(), action)
    assert message == f"seat 1 cannot play {action!r}: it may pass (action 10) or bid 6 to 15 (actions 16 to 25)"


@pytest.mark.parametrize("action", [bid(1), bid(4), bid(5), bid(16), bid(63), C3, RABBIT])
def test_in_the_auction_a_bid_not_above_the_highest_or_over_the_mice_and_any_card_is_refused(action):
    text = notation.action_text(action)
    assert read_refusal(in_auction(), action) == (
        f"seat 1 cannot {text} (action {action}): it may pass (action 10) or bid 6 to 15 (actions 16 to 25)"
    )


@pytest.mark.parametrize("action", [RABBIT, PASS, bid(1), bid(63)])
def test_while_placing_a_card_not_in_hand_a_pass_and_a_bid_are_refused(action):
    env = raw_env(4)
    env.reset(options={"deal": {"removed": [RABBIT] * 4, "start_seat": 2}})
    legal = "it may place -8 -5 3 5 8 11 15 D d (actions 0 1 2 3 4 5 6 8 9)"
    assert read_refusal(env, action) == f"seat 2 cannot {notation.action_text(action)} (action {action}): {legal}"


def test_a_card_that_was_placed_cannot_be_placed_again():
    env = in_auction()
    for action in (PASS, PASS, PASS):
        env.step(action)
    assert env.agent_selection == "player_0"
    assert "may place" in read_refusal(env, C3)


def test_who_has_no_mice_above_the_bid_is_told_that_it_may_only_pass():
    env = in_auction()
    env.step(bid(15))
    assert read_refusal(env, bid(16)) == f"seat 2 cannot bid 16 (action {bid(16)}): it may only pass (action 10)"


def test_every_action_is_accepted_exactly_where_the_mask_has_a_one():
    env, rng = new_env(3, seed=5), np.random.default_rng(0)
    for _ in range(40):
        before = env.clone()
        for action, legal in enumerate(read_mask(env)):
            if legal:
                env.step(action)
                env.restore(before)
            else:
                read_refusal(env, action)
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
    env = play_out(new_env(3))
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


# --- playing ----------------------------------------------------------------------------------------------------------


def compute_returns(env: raw_env, reward: str) -> list[float]:
    """Compute each seat's return from the final state by the definitions in `REWARDS`."""
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
@every_size
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
        assert list(earned.values()) == pytest.approx(compute_returns(env.unwrapped, reward))
    assert len(enders) == players or not COMPILED


@every_size
def test_the_round_reward_is_paid_at_the_end_of_each_round_and_tells_what_the_round_brought(players):
    env, rng, paid_rounds = new_env(players, reward="round"), np.random.default_rng(1), 0
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
    env, rng = new_env(reward=reward), np.random.default_rng(2)
    while not any(env.terminations.values()):
        dense = reward == "round" and env.clone()["_states"][0].row_size == 0
        if not dense:
            assert set(env.rewards.values()) == {0.0}
        env.step(choose(env, rng))
    env.reset()
    assert set(env.rewards.values()) == set(env._cumulative_rewards.values()) == {0.0}


@every_size
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
                assert info.keys() == {"score", "cat_points", "mice", "rank", "win_share"}
            env.step(None if termination else choose(env, rng))
        assert ends == env.possible_agents


@every_size
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
@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_observations_and_states_are_in_their_spaces_at_every_step_and_at_the_end(setup, open_mice):
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


def test_the_spaces_are_the_same_for_all_numbers_of_players_with_closed_and_open_mice():
    envs = [raw_env(players, open_mice=open_mice) for players in (3, 4, 5) for open_mice in (False, True)]
    envs += [raw_env(setup=setup) for setup in ODD_SETUPS]
    spaces = [env.observation_space(agent) for env in envs for agent in env.possible_agents]
    assert all(space == spaces[0] for space in spaces)
    assert spaces[0]["observation"].shape == (OBS_SIZE,)
    assert all(env.state_space.shape == (PRIVILEGED_SIZE,) for env in envs)


@every_size
def test_the_mask_of_a_seat_that_is_not_to_act_is_zero_and_that_of_the_actor_never(players):
    env, rng = new_env(players), np.random.default_rng(4)
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
    env = new_env()
    before = env.clone()
    for array in (*env.observe(env.agent_selection).values(), env.state()):
        array[:] = 1
    assert same(env.clone(), before)


@every_size
def test_infos_are_empty_in_mid_game_and_tell_the_result_at_the_end(players):
    env, rng = new_env(players), np.random.default_rng(1)
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
        assert info["win_share"] == env.rewards[agent]
        assert all(type(value) is (float if key == "win_share" else int) for key, value in info.items())


def test_seats_with_the_same_score_and_cats_share_a_rank_and_more_cats_break_a_tie():
    setup = Setup(seats=3, mouse_cards=(0, 0), bank=0, mice=9, rounds=1, cards=(C3, C8), removed=0)
    env = raw_env(setup=setup)
    env.reset(seed=0, options={"deal": {"start_seat": 0}})
    for action in (C3, C3, C3, bid(9), PASS, PASS):
        env.step(action)
    assert env.infos["player_0"] == {"score": 9, "cat_points": 9, "mice": 0, "rank": 1, "win_share": 1.0}
    loser = {"score": 9, "cat_points": 0, "mice": 9, "rank": 2, "win_share": 0.0}
    assert env.infos["player_1"] == env.infos["player_2"] == loser
    assert env.rewards == {"player_0": 1.0, "player_1": 0.0, "player_2": 0.0}


def test_a_shared_victory_pays_each_winner_its_part():
    env = raw_env(setup=Setup(seats=3, mouse_cards=(0, 0), bank=0, mice=5, rounds=1, cards=(C3, C8), removed=0))
    env.reset(seed=0)
    for action in (C3, C3, C3, PASS, PASS, PASS):
        env.step(action)
    assert env.rewards == pytest.approx(dict.fromkeys(env.possible_agents, 1 / 3))
    assert {info["rank"] for info in env.infos.values()} == {1}


SEEING = ("observe", "information_state", "observation_space", "action_space")


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array])
@pytest.mark.parametrize("method", SEEING)
def test_a_seat_is_taken_wherever_an_agent_is(method, kind):
    env = in_auction(3)
    for seat, agent in enumerate(env.possible_agents):
        assert same(getattr(env, method)(kind(seat)), getattr(env, method)(agent))


def test_the_wrapped_environment_takes_seats_too():
    env = felicity_v0.env()
    env.reset(seed=1)
    assert same(env.observe(2), env.observe("player_2"))
    assert env.action_space(2) is env.action_space("player_2")
    assert env.unwrapped.information_state(2) == env.unwrapped.information_state("player_2")


@pytest.mark.parametrize(
    "agent", ["player_3", "player_-1", "0", 3, 4, -1, True, 1.0, None, ["player_0"], np.array([0])]
)
@pytest.mark.parametrize("method", SEEING)
def test_what_is_neither_agent_nor_seat_is_refused(method, agent):
    with pytest.raises(ValueError, match=r"no agent or seat .*; agents are \['player_0', .*\], seats 0 to 2"):
        getattr(new_env(3), method)(agent)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_players": 2}, "num_players"),
        ({"num_players": 6}, "num_players"),
        ({"num_players": True}, "num_players"),
        ({"num_players": 4.0}, "num_players"),
        ({"num_players": "4"}, "num_players"),
        ({"num_players": [4]}, "num_players"),
        ({"reward": "sparse"}, "reward must be one of"),
        ({"reward": None}, "reward must be one of"),
        ({"setup": "standard-6"}, "no setup 'standard-6'; there are standard-3"),
        ({"setup": "missing.json"}, "no setup can be read from missing.json: No such file"),
        ({"num_players": 3, "setup": "standard-5"}, "num_players is 3, but the setup has 5 seats: give only one"),
    ],
)
@both_faces
def test_impossible_arguments_are_refused_by_name(make, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings)


@both_faces
def test_other_render_modes_are_refused_by_name(make):
    with pytest.raises(TypeError, match=r"render_mode must be None or one of 'human', .*, not 'depth_array'"):
        make(render_mode="depth_array")


# --- the interface ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [felicity_v0.env, raw_env, SeatEnv, SeatVectorEnv, Batch])
def test_every_public_constructor_spells_out_its_arguments(make):
    parameters = inspect.signature(make).parameters
    assert {"num_players", "reward", "open_mice", "setup"} <= parameters.keys()
    assert all(
        parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) for parameter in parameters.values()
    )


def test_env_takes_the_arguments_of_raw_env():
    parameters = dict(inspect.signature(felicity_v0.env).parameters)
    assert parameters.pop("illegal").default == "terminate"
    assert parameters == inspect.signature(raw_env).parameters


def test_the_reference_of_raw_env_names_sizes_rewards_options_infos_and_methods():
    reference = raw_env.__doc__ or ""
    named = [f"[{OBS_SIZE}]", f"[{NUM_ACTIONS}]", f"[{PRIVILEGED_SIZE}]", f"Discrete({NUM_ACTIONS})"]
    named += [f'"{reward}":' for reward in REWARDS] + [f'"{key}"' for key in DEAL_KEYS]
    named += [*inspect.signature(raw_env).parameters, *play_out(new_env()).infos["player_0"]]
    own = {
        name: value for name, value in vars(raw_env).items() if not name.startswith("_") and name not in vars(AECEnv)
    }
    named += [f"{name}(" for name, value in own.items() if callable(value)]
    assert [name for name in named if name not in reference] == []


JSON = {"seats": 3, "mouse_cards": [1, 5], "bank": 30, "rounds": 2}


@both_faces
def test_a_setup_is_given_by_name_or_by_file(make, tmp_path):
    (tmp_path / "short.json").write_text(json.dumps(JSON))
    own = Setup(seats=3, mouse_cards=(1, 5), bank=30, rounds=2)
    for setup, expected in {"standard-5": standard_setup(5), str(tmp_path / "short.json"): own}.items():
        assert make(setup=setup).unwrapped.setup == expected
        assert SeatVectorEnv(2, setup=setup).setup == expected
        env = SeatEnv(setup=setup, render_mode="ansi")
        env.reset(seed=1)
        assert f"of {expected.rounds}: " in env.render()
