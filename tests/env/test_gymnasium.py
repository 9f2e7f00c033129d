"""Gymnasium face: seats, opponents, illegal actions, ends of games, resets, rendering."""

import functools
import sys
import types
from typing import Any

import gymnasium
import numpy as np
import pytest

import agents
from felicity_env.game import NUM_ACTIONS, PASS, RABBIT, STATE
from felicity_env.gymnasium_env import FINAL_KEYS, SeatEnv, SeatVectorEnv
from felicity_env.illegal import ILLEGAL
from felicity_env.observation import OBS_SIZE, describe
from felicity_env.player import RandomPlayer, View
from tests.support.helpers import C3, ODD_SETUPS
from tests.support.seat_games import NO_RABBIT, lowest

BOTH = {"single": SeatEnv, "vector": lambda players=4, **settings: SeatVectorEnv(3, players, **settings)}
both_envs = pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)


def play_out(env: SeatEnv, info: dict[str, Any]) -> tuple[np.ndarray, float, dict[str, Any]]:
    """Play to the end; return the last observation, the sum of the rewards and the last info."""
    total, over = 0.0, False
    while not over:
        observation, reward, over, truncated, info = env.step(lowest(info))
        assert not truncated
        total += reward
    return observation, total, info


class Recorder:
    """Random player that keeps its views."""

    def __init__(self) -> None:
        self.views: list[View] = []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return RandomPlayer().act(view)

    @property
    def seats(self) -> set[int]:
        return {int(seat) for view in self.views for seat in view.seats}


# --- seats ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [3, 4, 5])
def test_the_seat_moves_exactly_one_further_with_each_game(players):
    env, seats = SeatEnv(players), []
    _, info = env.reset(seed=3)
    for _ in range(2 * players + 1):
        seats.append(info["seat"])
        *_, last = play_out(env, info)
        assert last["seat"] == seats[-1]
        _, info = env.reset()
    assert seats == [(seats[0] + game) % players for game in range(2 * players + 1)]


def test_in_every_game_of_the_vector_the_seat_moves_exactly_one_further_with_each_game():
    envs = SeatVectorEnv(8, 5)
    _, infos = envs.reset(seed=3)
    for _ in range(120):
        before = infos["seat"]
        *_, terminated, _, infos = envs.step(lowest(infos))
        np.testing.assert_array_equal(infos["seat"], (before + terminated) % 5)
        if terminated.any():
            np.testing.assert_array_equal(infos["final_info"]["seat"][terminated], before[terminated])
    assert envs.batch.episodes.min() >= 2


def test_the_first_seat_varies_with_the_seed_and_with_the_game():
    env = SeatEnv(5)
    firsts = [env.reset(seed=seed)[1]["seat"] for seed in range(100)]
    assert np.bincount(firsts, minlength=5).min() >= 8
    _, infos = SeatVectorEnv(100, 5).reset(seed=0)
    assert np.bincount(infos["seat"], minlength=5).min() >= 8


@pytest.mark.parametrize("seat", [0, 1, 3, np.int64(2)])
def test_a_fixed_seat_stays(seat):
    env = SeatEnv(4, seat=seat)
    _, info = env.reset(seed=1)
    for _ in range(3):
        assert info["seat"] == seat
        play_out(env, info)
        _, info = env.reset()
    _, infos = SeatVectorEnv(6, 4, seat=seat).reset(seed=1)
    assert infos["seat"].tolist() == [seat] * 6


@pytest.mark.parametrize("seat", [4, -1, True, 1.0, "1"])
@both_envs
def test_a_seat_that_is_not_at_the_table_is_refused(make, seat):
    with pytest.raises(ValueError, match="seat must be None or 0 to 3"):
        make(4, seat=seat)


# --- opponents --------------------------------------------------------------------------------------------------------


def test_one_opponent_takes_all_other_seats():
    player = Recorder()
    env = SeatEnv(5, seat=2, opponents=player)
    _, info = env.reset(seed=1)
    play_out(env, info)
    assert player.seats == {0, 1, 3, 4}


@pytest.mark.parametrize("as_list", [list, tuple])
def test_several_opponents_sit_in_their_order_clockwise_from_the_learner(as_list):
    players = [Recorder(), Recorder(), Recorder()]
    env = SeatEnv(4, seat=2, opponents=as_list(players))
    _, info = env.reset(seed=1)
    play_out(env, info)
    assert [player.seats for player in players] == [{3}, {0}, {1}]


def test_opponents_in_order_keep_their_place_behind_the_learner_when_it_rotates():
    players = [Recorder(), Recorder()]
    env = SeatEnv(3, opponents=players)
    _, info = env.reset(seed=1)
    for _ in range(3):
        for player in players:
            player.views.clear()
        seat = info["seat"]
        play_out(env, info)
        moved = [{int(s) for view in player.views[:3] for s in view.seats} for player in players]
        assert moved == [{(seat + 1) % 3}, {(seat + 2) % 3}]
        _, info = env.reset()


def test_opponents_are_shown_redacted_states_and_asked_for_all_games_at_once():
    player = Recorder()
    envs = SeatVectorEnv(64, 4, opponents=player)
    envs.reset(seed=0)
    assert max(map(len, player.views)) > 16
    for view in player.views:
        assert view.states.dtype == STATE
        for k in range(len(view)):
            others = [seat for seat in range(4) if seat != view.seats[k]]
            assert (view.states["hands"][k, others] == -2).all()


@pytest.mark.parametrize("count", [0, 1, 2, 4])
@both_envs
def test_a_wrong_number_of_opponents_is_refused(make, count):
    with pytest.raises(ValueError, match=f"opponents must be one player or 3 in seating order, not {count}"):
        make(4, opponents=[RandomPlayer()] * count)


@pytest.mark.parametrize("bad", [3, object(), RandomPlayer.act, [RandomPlayer(), RandomPlayer(), None]])
@both_envs
def test_an_opponent_that_cannot_act_is_refused(make, bad):
    with pytest.raises(ValueError, match=r"needs a method act\(view\)|3 in seating order"):
        make(4, opponents=bad)


@both_envs
def test_an_opponent_that_is_a_class_is_refused(make):
    with pytest.raises(ValueError, match=r"a player is an object, not its class: make one, such as RandomPlayer\(\)"):
        make(4, opponents=RandomPlayer)


@both_envs
def test_opponents_are_named_by_their_codes(make):
    named, made = (
        make(4, opponents=["ev", "anchor", "random"]),
        make(4, opponents=[agents.make(code) for code in ("ev", "anchor", "random")]),
    )
    (first, info), (second, _) = named.reset(seed=3), made.reset(seed=3)
    for _ in range(10):
        np.testing.assert_array_equal(first, second)
        action = lowest(info)
        first, *_, info = named.step(action)
        second, *_ = made.step(action)


def test_a_wrong_player_code_is_refused_with_what_is_known():
    with pytest.raises(ValueError, match=r"no player 'evv' \(did you mean 'ev'"):
        SeatEnv(4, opponents="evv")


@pytest.mark.parametrize("found", [None, types.ModuleType("agents", "Agents of somebody else.")])
def test_player_codes_need_the_agents_of_this_project(monkeypatch, found):
    if found:
        found.__path__ = ["/elsewhere/agents"]
    monkeypatch.setitem(sys.modules, "agents", found)
    with pytest.raises(ValueError, match=r"cannot make the opponent 'ev': player codes need .* checkout") as caught:
        SeatEnv(4, opponents="ev")
    assert ("/elsewhere/agents" in str(caught.value)) == bool(found)


@both_envs
def test_a_seed_of_64_bits_is_that_of_its_lower_63(make):
    first, second = (make(4).reset(seed=seed)[0] for seed in (2**64 - 5, 2**63 - 5))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="seed"):
        make(4).reset(seed=2**64)


def test_a_player_sits_in_the_learners_seat():
    env, player = SeatEnv(4, opponents="ev"), agents.make("ev")
    _, info = env.reset(seed=3)
    terminated = False
    while not terminated:
        view = env.view()
        assert view.seats.tolist() == [info["seat"]]
        *_, terminated, _, info = env.step(int(player.act(view)[0]))
    with pytest.raises(ValueError, match="call reset"):
        env.view()


class Cheat:
    def act(self, view: View) -> np.ndarray:
        return np.full(len(view), NUM_ACTIONS - 1)


def test_an_illegal_action_of_an_opponent_is_an_error_and_not_repaired():
    with pytest.raises(ValueError, match=r"game 0: seat . cannot bid 63 \(action 73\)"):
        play_out(env := SeatEnv(4, opponents=Cheat(), illegal="random", seat=0), env.reset(seed=0)[1])


# --- illegal actions --------------------------------------------------------------------------------------------------

ILLEGAL_FIRST = [RABBIT, PASS, PASS + 1, NUM_ACTIONS - 1, NUM_ACTIONS, -1, 10**9, np.int64(-5)]


@pytest.mark.parametrize("action", ILLEGAL_FIRST)
def test_raise_names_the_action_and_what_is_legal_and_changes_nothing(action):
    env, plain = SeatEnv(4, seat=1), SeatEnv(4, seat=1)
    for each in (env, plain):
        each.reset(seed=2, options=NO_RABBIT)
    legal = r"it may place -8 -5 3 5 8 11 15 D d \(actions 0 1 2 3 4 5 6 8 9\)"
    with pytest.raises(
        ValueError, match=rf"seat 1 cannot (play|place|pass|bid) .*{action}\)?: {legal}; legal actions are"
    ):
        env.step(action)
    one, two = env.step(C3), plain.step(C3)
    assert one[0].tobytes() == two[0].tobytes()
    assert one[1:4] == two[1:4]


@pytest.mark.parametrize("action", [None, 2.0, True, "3", [3], np.array([3]), float("nan")])
@pytest.mark.parametrize("illegal", ILLEGAL)
def test_what_is_no_integer_is_refused_whatever_illegal_says(action, illegal):
    env = SeatEnv(4, illegal=illegal)
    env.reset(seed=2)
    with pytest.raises(ValueError, match="an action is an integer from 0 to 73"):
        env.step(action)
    env.step(np.array(lowest(env._info())))


@pytest.mark.parametrize("action", ILLEGAL_FIRST)
def test_terminate_ends_the_game_with_minus_one_and_the_next_reset_goes_on(action):
    env = SeatEnv(4, seat=1, illegal="terminate")
    first, _ = env.reset(seed=2, options=NO_RABBIT)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    np.testing.assert_array_equal(observation, first)  # the game stands where it was given up
    assert np.flatnonzero(info["action_mask"]).tolist() == [PASS]
    assert info["illegal"]
    assert info["rank"] > 0
    with pytest.raises(ValueError, match="call reset"):
        env.step(0)
    _, info = env.reset()
    assert info["action_mask"].sum() > 0
    assert play_out(env, info)[1] >= 0


@pytest.mark.parametrize("action", ILLEGAL_FIRST)
def test_random_plays_a_legal_action_instead_the_same_for_the_same_seed(action):
    results = []
    for _ in range(2):
        env = SeatEnv(4, seat=1, illegal="random")
        env.reset(seed=2, options=NO_RABBIT)
        observation, reward, terminated, *_ = env.step(action)
        assert (reward, terminated) == (0.0, False)
        hand = describe(observation)["hand"] + describe(observation)["played"][0]
        assert len(hand) in (8, 9)
        results.append(observation.tobytes())
    assert results[0] == results[1]


def test_random_leaves_legal_actions_alone():
    one, two = SeatVectorEnv(20, illegal="random"), SeatVectorEnv(20)
    _, infos = one.reset(seed=4)
    two.reset(seed=4)
    for _ in range(60):
        actions = lowest(infos)
        observations, rewards, *_, infos = one.step(actions)
        expected, paid, *_ = two.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(rewards, paid)


def test_info_has_the_same_keys_and_types_at_every_step():
    env = SeatEnv(4)
    _, info = env.reset(seed=1)
    first = {key: type(value) for key, value in info.items()}
    terminated = False
    while not terminated:
        assert info["rank"] == 0
        assert info["score"] == info["mice"] + info["cat_points"]
        *_, terminated, _, info = env.step(int(lowest(info)))
        assert {key: type(value) for key, value in info.items()} == first
    assert info["rank"] > 0


@both_envs
def test_the_metadata_of_an_environment_is_its_own(make):
    one, two = make(4), make(4)
    one.metadata["render_fps"] = 99
    one.metadata["render_modes"].append("hologram")
    assert two.metadata["render_fps"] != 99
    assert "hologram" not in two.metadata["render_modes"]


def test_only_the_games_with_an_illegal_action_are_terminated():
    envs, plain = SeatVectorEnv(5, illegal="terminate"), SeatVectorEnv(5)
    _, infos = envs.reset(seed=4)
    plain.reset(seed=4)
    good = lowest(infos)
    bad = good.copy()
    bad[[1, 4]] = [NUM_ACTIONS, -1]
    observations, rewards, terminated, truncated, infos = envs.step(bad)
    assert terminated.tolist() == [False, True, False, False, True]
    assert rewards.tolist() == [0, -1, 0, 0, -1]
    assert not truncated.any()
    expected, *_ = plain.step(good)
    np.testing.assert_array_equal(observations[[0, 2, 3]], expected[[0, 2, 3]])
    assert envs.batch.episodes.tolist() == [0, 1, 0, 0, 1]
    assert infos["_final_info"].tolist() == terminated.tolist()


def test_the_result_of_a_terminated_game_has_whole_numbers_and_a_win_share():
    envs = SeatVectorEnv(2, 3, illegal="terminate")
    envs.reset(seed=4)
    *_, infos = envs.step(np.array([-1, -1]))
    result = infos["final_info"]
    assert {key: result[key].dtype.kind for key in FINAL_KEYS} == dict.fromkeys(FINAL_KEYS, "i") | {"win_share": "f"}
    assert result["mice"].tolist() == [15, 15]
    assert [len(observation) for observation in infos["final_obs"]] == [OBS_SIZE] * 2


def test_an_illegal_action_in_one_game_of_the_vector_moves_no_game():
    envs = SeatVectorEnv(5)
    _, infos = envs.reset(seed=4)
    actions, states = lowest(infos), envs.batch.states.copy()
    actions[3] = PASS
    with pytest.raises(ValueError, match="game 3: seat"):
        envs.step(actions)
    assert envs.batch.states.tobytes() == states.tobytes()


@pytest.mark.parametrize("illegal", ILLEGAL)
@pytest.mark.parametrize("shape", ["too few", "too many", "a column", "floats", "bools"])
def test_actions_of_a_wrong_shape_or_type_are_refused_by_the_vector_and_move_no_game(illegal, shape):
    envs = SeatVectorEnv(3, illegal=illegal)
    _, infos = envs.reset(seed=4)
    good, states = lowest(infos), envs.batch.states.copy()
    wrong = {
        "too few": good[:2],
        "too many": np.append(good, good),
        "a column": good[:, None],
        "floats": good.astype(float),
        "bools": np.zeros(3, np.bool_),
    }[shape]
    with pytest.raises(ValueError, match="actions must be 3 integers"):
        envs.step(wrong)
    assert envs.batch.states.tobytes() == states.tobytes()


@pytest.mark.parametrize("illegal", ILLEGAL)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint64, list])
def test_the_vector_takes_any_integers(illegal, kind):
    envs = SeatVectorEnv(3, illegal=illegal)
    _, infos = envs.reset(seed=4)
    good = lowest(infos)
    _, rewards, terminated, *_ = envs.step(good.tolist() if kind is list else good.astype(kind))
    assert not rewards.any()
    assert not terminated.any()


@pytest.mark.parametrize("illegal", ["ignore", None, "", True])
@both_envs
def test_an_unknown_way_with_illegal_actions_is_refused(make, illegal):
    with pytest.raises(ValueError, match="illegal must be one of"):
        make(4, illegal=illegal)


# --- ends and copies --------------------------------------------------------------------------------------------------


def test_final_obs_and_final_info_come_where_a_game_ended_and_only_there():
    envs = SeatVectorEnv(10, 3, reward="score")
    _, infos = envs.reset(seed=4)
    ends = 0
    for _ in range(90):
        observations, rewards, terminated, _, infos = envs.step(lowest(infos))
        if not terminated.any():
            assert infos.keys() == {"action_mask", "seat", "illegal"}
            continue
        assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == terminated.tolist()
        for game, over in enumerate(terminated):
            if over:
                check_final(infos, game, rewards[game])
                assert describe(observations[game])["round"] == 0
                ends += 1
            else:
                assert infos["final_obs"][game] is None
    assert ends > 15


def check_final(infos: dict[str, Any], game: int, reward: float) -> None:
    last = describe(infos["final_obs"][game])
    info = {key: infos["final_info"][key][game] for key in FINAL_KEYS}
    assert last["phase"] == "over"
    assert info["mice"] == last["mice"]
    assert info["cat_points"] == last["cat_points"][0]
    assert info["score"] == info["mice"] + info["cat_points"] == reward
    assert 1 <= info["rank"] <= 3
    assert all(infos["final_info"][f"_{key}"][game] for key in FINAL_KEYS)


def test_a_reset_right_after_an_end_tells_of_no_end():
    envs = SeatVectorEnv(4, 3)
    _, infos = envs.reset(seed=4)
    while not envs.games.terminated.any():
        *_, infos = envs.step(lowest(infos))
    for seed in (None, 5):
        _, infos = envs.reset(seed=seed)
        assert infos.keys() == {"action_mask", "seat", "illegal"}
    assert not envs.games.rewards.any()


@both_envs
def test_everything_returned_is_a_copy(make):
    env = make(3)
    observation, info = env.reset(seed=4)
    kept, copies = [(observation, info["action_mask"], env.action_masks())], []
    copies.append([array.copy() for array in kept[0]])
    for _ in range(40):
        observation, reward, terminated, _, info = env.step(lowest(info))
        kept.append((observation, info["action_mask"], env.action_masks(), np.asarray(reward), np.asarray(terminated)))
        copies.append([array.copy() for array in kept[-1]])
        if isinstance(terminated, bool) and terminated:
            observation, info = env.reset()
    for now, then in zip(kept, copies, strict=True):
        for one, other in zip(now, then, strict=True):
            np.testing.assert_array_equal(one, other)


def test_final_observations_are_copies_too():
    envs = SeatVectorEnv(2, 3)
    _, infos = envs.reset(seed=4)
    finals = []
    for _ in range(150):
        *_, infos = envs.step(lowest(infos))
        finals += [(obs, obs.copy()) for obs in infos.get("final_obs", []) if obs is not None]
    assert len(finals) >= 6
    assert all((now == then).all() for now, then in finals)


@both_envs
def test_writing_into_what_was_returned_changes_nothing(make):
    one, two = make(4), make(4)
    (observation, info), _ = one.reset(seed=4), two.reset(seed=4)
    action = lowest(info)
    observation[:] = 9
    info["action_mask"][:] = 0
    one.action_masks()[:] = 0
    np.testing.assert_array_equal(one.step(action)[0], two.step(action)[0])


def test_the_single_env_wants_a_reset_first_and_again_after_the_end():
    env = SeatEnv(3)
    with pytest.raises(ValueError, match=r"no game is being played: call reset\(\)"):
        env.step(0)
    _, info = env.reset(seed=1)
    play_out(env, info)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no game is being played: call reset\(\)"):
            env.step(0)
    assert (env.action_masks() == np.eye(NUM_ACTIONS)[PASS]).all()
    env.reset()
    env.step(int(env.action_masks().argmax()))


@pytest.mark.parametrize("reward", ["win", "margin", "score", "round"])
def test_rewards_of_a_game_add_up_to_what_the_final_info_says(reward):
    env = SeatEnv(4, reward=reward)
    _, info = env.reset(seed=2)
    for _ in range(10):
        _, total, last = play_out(env, info)
        others = env._vector.batch.scores[0, :4].sum() - last["score"]
        expected = {
            "win": last["win_share"],
            "margin": last["score"] - others / 3,
            "score": last["score"],
            "round": last["score"] - 15,
        }
        assert total == pytest.approx(expected[reward])
        _, info = env.reset()


# --- resets -----------------------------------------------------------------------------------------------------------


@both_envs
def test_the_same_seed_gives_the_same_games_and_another_seed_others(make):
    one, two = make(4), make(4)
    two.reset(seed=1)
    (first, info), (same, _) = one.reset(seed=7), two.reset(seed=7)
    np.testing.assert_array_equal(first, same)
    for _ in range(10):
        a, b = one.step(lowest(info)), two.step(lowest(info))
        np.testing.assert_array_equal(a[0], b[0])
        info = a[4]
    one.reset()
    two.reset()
    np.testing.assert_array_equal(one.action_masks(), two.action_masks())
    starts = {one.reset(seed=seed)[0].tobytes() for seed in range(12)}
    assert len(starts) > 6


def test_unseeded_environments_differ():
    starts = [SeatVectorEnv(30, 4).reset()[0].tobytes() for _ in range(2)]
    assert starts[0] != starts[1]
    assert len({SeatEnv(4).reset()[0].tobytes() for _ in range(8)}) > 1


@both_envs
def test_settings_are_given_by_name(make):
    kind = SeatEnv if make is SeatEnv else functools.partial(SeatVectorEnv, 2)
    with pytest.raises(TypeError, match="positional"):
        kind(4, 0)
    with pytest.raises(TypeError, match="positional"):
        kind(4).reset(3)


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", 2**64, 2**64 + 5])
def test_a_seed_that_is_no_integer_in_range_is_refused(seed):
    with pytest.raises((ValueError, gymnasium.error.Error), match=r"[Ss]eed"):
        SeatEnv(4).reset(seed=seed)
    with pytest.raises(ValueError, match="seed must be"):
        SeatVectorEnv(2).reset(seed=seed)


@both_envs
def test_a_deal_holds_for_the_next_game_of_every_index(make):
    env = make(4, seat=2)
    deal = {"removed": [0, 1, 2, 3], "start_seat": 2}
    observation, _ = env.reset(seed=7, options={"deal": deal, "other": 1})
    for one in np.atleast_2d(observation):
        assert describe(one)["hand"] == [card for card in range(10) if card != 2]
        assert describe(one)["position"] == 0
    env.reset(options={"deal": deal})
    observation, _ = env.reset(seed=8)
    assert any(describe(env.reset(seed=seed)[0].reshape(-1, OBS_SIZE)[0])["position"] for seed in range(8))


def test_a_deal_can_be_given_right_after_an_end():
    env = SeatEnv(4, seat=2)
    _, info = env.reset(seed=7)
    play_out(env, info)
    observation, _ = env.reset(options={"deal": {"removed": [0, 0, 9, 0]}})
    assert describe(observation)["hand"] == list(range(9))


@both_envs
def test_an_impossible_deal_is_refused_and_the_game_goes_on_as_it_was(make):
    env, plain = make(4), make(4)
    (_, info), _ = env.reset(seed=7), plain.reset(seed=7)
    for bad in ({"removed": [1, 2]}, {"start_seat": 4}, {"x": 1}, 5):
        with pytest.raises(ValueError, match="game 0: deal"):
            env.reset(options={"deal": bad})
    np.testing.assert_array_equal(env.step(lowest(info))[0], plain.step(lowest(info))[0])


@pytest.mark.parametrize("setup", ODD_SETUPS, ids=range(len(ODD_SETUPS)))
def test_other_setups_are_played(setup):
    env = SeatEnv(setup=setup)
    _, info = env.reset(seed=1)
    for _ in range(3):
        observation, *_ = play_out(env, info)
        assert describe(observation)["num_players"] == setup.seats
        _, info = env.reset()


@pytest.mark.parametrize("players", [2, 6, True, "4", 4.0])
@both_envs
def test_impossible_numbers_of_players_are_refused(make, players):
    with pytest.raises(ValueError, match="num_players"):
        make(players)


# --- rendering --------------------------------------------------------------------------------------------------------


def test_ansi_returns_what_the_learner_sees_to_the_end_and_human_prints_it(capsys):
    ansi, human = SeatEnv(4, render_mode="ansi"), SeatEnv(4, render_mode="human")
    (_, info), _ = ansi.reset(seed=1), human.reset(seed=1)
    over = False
    while not over:
        seat = info["seat"]
        *_, over, _, info = ansi.step(lowest(info))
        assert ("(everything" if over else f"(you are seat {seat})") in ansi.render()
        assert ("game over" in ansi.render()) == over
    shown = capsys.readouterr().out
    assert shown.startswith("FELICITY   round 1")
    assert shown.count("FELICITY") == 1  # printed by reset
    assert human.render() is None
    assert capsys.readouterr().out == shown
    human.step(int(human.action_masks().argmax()))
    assert capsys.readouterr().out.startswith("FELICITY")


def test_the_mice_of_the_others_are_rendered_with_open_mice_alone():
    for open_mice, hidden in ((False, 3), (True, 0)):
        env = SeatEnv(4, seat=2, open_mice=open_mice, render_mode="ansi")
        env.reset(seed=1)
        head, *lines = env.render().split("\n\n")[2].splitlines()
        assert [line[: head.index("mice") + 4].split()[-1] for line in lines].count("??") == hidden


def test_rendering_without_a_mode_warns():
    env = SeatEnv(4)
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_the_vector_names_the_render_modes_that_it_has_and_returns_a_picture_of_each_game():
    modes = SeatVectorEnv.metadata["render_modes"]
    assert sorted(modes) == ["ansi", "rgb_array", "svg"]
    assert SeatVectorEnv(2).render() is None
    envs = SeatVectorEnv(2, 4, seat=1, render_mode="ansi")
    envs.reset(seed=1)
    shown = envs.render()
    assert [text.startswith("FELICITY   round 1") for text in shown] == [True, True]
    assert shown[0] != shown[1]


def test_other_render_modes_are_refused():
    with pytest.raises(TypeError, match="render_mode"):
        SeatEnv(render_mode="depth_array")
    with pytest.raises(TypeError, match="many games cannot be printed"):
        SeatVectorEnv(2, render_mode="human")


def test_render_does_not_show_the_cards_that_others_placed_face_down():
    env = SeatEnv(4, seat=3, render_mode="ansi")
    env.reset(seed=1, options={"deal": {"start_seat": 0}})
    row = next(line for line in env.render().splitlines() if line.startswith("  card"))
    assert row.split() == ["card", "??", "??", "??", "."]
