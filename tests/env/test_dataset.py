"""Games as data: files, damaged files, splits, and what seats saw."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

import agents
from agents.data.play import play_games
from felicity_env import felicity_v0, notation
from felicity_env.dataset import ARRAYS, SPLITS, Dataset
from felicity_env.setups import SMALL_SETUPS, find_setup
from tests.support.datasets import assert_equal
from tests.support.experiments import save_random_policy
from tests.support.helpers import COMPILED, ODD_SETUPS

COUNT = 60 if COMPILED else 6  # games
SETUPS = ["standard-3", "standard-4", "standard-5", *SMALL_SETUPS]


@pytest.fixture(scope="module")
def games() -> Dataset:
    return play_games(["ev", "anchor", "random"], find_setup("standard-4"), range(COUNT), seed=4)


def reload(games: Dataset) -> Dataset:
    file = io.BytesIO()
    games.save(file)
    file.seek(0)
    return Dataset.load(file)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", [*map(find_setup, SETUPS), *ODD_SETUPS])
def test_games_are_the_same_after_saving_and_loading(setup):
    games = play_games(["random"], setup, range(20), seed=1)
    assert_equal(reload(games), games)


def test_a_stored_game_is_the_game_that_was_played(games):
    for index in (0, COUNT // 2, COUNT - 1, -1):
        game = games.game(index)
        env = felicity_v0.raw_env(4)
        env.reset(seed=int(games.seeds[index]))
        players = [agents.make(games.players[k]) for k in games.seating[index]]
        while not any(env.terminations.values()):
            seat = int(env.agent_selection.removeprefix("player_"))
            env.step(int(players[seat].act(env.view())[0]))
        assert game == env.game
        assert games.scores[index].tolist() == [env.infos[agent]["score"] for agent in env.possible_agents]
        assert notation.loads(notation.dumps(game)) == game


def test_there_is_no_game_beyond_the_last(games):
    with pytest.raises(IndexError):
        games.game(COUNT)


def damage_rules_version(about):
    about["rules_version"] += 1


def damage_format(about):
    about["format"] = "felicity games 2"


def damage_setup(about):
    about["setup"]["seats"] = 5


def damage_players(about):
    about["players"] = []


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_rules_version, "are of version 2 of the rules, not 1"),
        (damage_format, "format is not 'felicity games 1'"),
        (damage_setup, "5 seats need 4 mouse cards"),
        (damage_players, "players need as many digests"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_the_reason(games, tmp_path, damage, message):
    games.save(tmp_path / "games.npz")
    with np.load(tmp_path / "games.npz") as stored:
        arrays = dict(stored)
    about = json.loads(str(arrays.pop("about")))
    damage(about)
    np.savez(tmp_path / "games.npz", about=np.array(json.dumps(about)), **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        Dataset.load(tmp_path / "games.npz")
    assert "games.npz is no file of games" in str(caught.value)


def test_a_file_without_the_arrays_of_games_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    with pytest.raises(ValueError, match=r"other.npz is no file of games: it lacks about$"):
        Dataset.load(tmp_path / "other.npz")


CHANGES = {
    "an illegal action": ("actions", 0, 73, "game 0 breaks the rules at its decision 0"),
    "no action": ("actions", 3, 200, "game 0 breaks the rules at its decision 3"),
    "a wrong score": ("scores", (2, 1), 99, "game 2 breaks the rules"),
    "a wrong card": ("removed", (1, 2), 10, "the deals have cards"),
    "a wrong seat": ("start_seats", 5, 4, "start_seats must be 0 to 3"),
    "a negative seat": ("start_seats", 5, -1, "start_seats must be 0 to 3"),
    "a wrong player": ("seating", (1, 1), 3, "seating names player 3"),
    "a shorter game": ("lengths", 4, 1, "actions must be uint8"),
}


@pytest.mark.parametrize(("name", "index", "value", "message"), CHANGES.values(), ids=CHANGES)
def test_a_changed_value_is_refused_with_its_place(games, name, index, value, message):
    changed = getattr(games, name).copy()
    changed[index] = value
    with pytest.raises(ValueError, match=message):
        replace(games, **{name: changed}).check_rules()


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_another_type_is_refused_by_its_name(games, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        replace(games, **{name: getattr(games, name).astype(np.float64)})


@pytest.mark.compiled("many games")
def test_damaged_bytes_are_refused_or_change_nothing(games):
    file = io.BytesIO()
    games.take(slice(0, 10)).save(file)
    content, rng = file.getvalue(), np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        try:
            loaded = Dataset.load(io.BytesIO(damaged))
        except ValueError:
            continue
        assert_equal(loaded, games.take(slice(0, 10)))


def test_a_file_that_is_missing_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        Dataset.load(tmp_path / "games.npz")


# --- games ------------------------------------------------------------------------------------------------------------


def test_games_are_taken_by_index_mask_and_slice(games):
    assert_equal(games.take([3, 1]), Dataset.concatenate([games.take([3]), games.take([1])]))
    assert_equal(games.take(np.arange(COUNT) < 5), games.take(slice(0, 5)))
    assert games.take([3, 1]).game(0) == games.game(3)
    assert len(games.take([])) == 0


def test_games_of_other_players_are_not_joined(games):
    other = play_games(["ev"], find_setup("standard-4"), range(3), seed=1)
    with pytest.raises(ValueError, match="need the same setup, players and digests"):
        Dataset.concatenate([games, other])


@pytest.mark.compiled("many games")
def test_each_deal_is_in_one_part_and_all_parts_are_all_games():
    many = play_games(["random"], find_setup("small-2"), range(500), seed=1)  # which has few deals
    parts = {part: many.split(part) for part in SPLITS}
    assert sum(map(len, parts.values())) == 500
    deals = {part: {games.game(k).deal for k in range(len(games))} for part, games in parts.items()}
    assert not deals["train"] & deals["test"]
    assert not deals["train"] & deals["validation"]
    assert not deals["test"] & deals["validation"]


@pytest.mark.compiled("many games")
def test_parts_have_their_sizes():
    many = play_games(["random"], find_setup("standard-5"), range(4000), seed=1)
    assert len(many.split("train")) == pytest.approx(3200, abs=120)
    assert len(many.split("test")) == pytest.approx(400, abs=90)
    with pytest.raises(ValueError, match="the parts are train, validation, test, not 'dev'"):
        many.split("dev")


# --- what seats saw ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", [*map(find_setup, SETUPS), *ODD_SETUPS])
@pytest.mark.parametrize("open_mice", [False, True])
def test_decisions_are_those_of_the_environment(setup, open_mice):
    games = play_games(["random"], setup, range(6), seed=3)
    (decisions,) = games.iter_decisions(open_mice=open_mice)
    row = 0
    for index in range(len(games)):
        game, env = games.game(index), felicity_v0.raw_env(setup=setup, open_mice=open_mice)
        env.reset(options={"deal": vars(game.deal)})
        for number, action in enumerate(game.actions):
            seen = env.observe(env.agent_selection)
            np.testing.assert_array_equal(decisions.observations[row], seen["observation"])
            np.testing.assert_array_equal(decisions.action_masks[row], seen["action_mask"])
            assert (decisions.games[row], decisions.steps[row]) == (index, number)
            assert env.agent_selection == f"player_{decisions.seats[row]}"
            assert decisions.actions[row] == action
            env.step(action)
            row += 1
        rewards = [env.rewards[agent] for agent in env.possible_agents]
        mine = decisions.games == index
        np.testing.assert_array_equal(decisions.win_shares[mine], np.array(rewards)[decisions.seats[mine]])
    assert row == len(decisions.actions)


def test_decisions_of_one_seat_are_those_of_all_seats_that_are_its_own(games):
    for alone, every in zip(games.iter_decisions(seat=2), games.iter_decisions(), strict=True):
        mine = every.seats == 2
        for name in ("games", "steps", "observations", "action_masks", "actions", "win_shares", "is_last"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(every, name)[mine], name)
        assert alone.is_last.sum() == len(np.unique(alone.games))


def test_a_seat_sees_every_step_and_acts_only_in_its_own(games):
    (own,), (every,) = games.iter_decisions(seat=1), games.iter_decisions(seat=1, every_step=True)
    assert (every.seats == 1).all()
    assert len(every.actions) == len(games.actions)
    acts = every.action_masks.any(axis=1)
    np.testing.assert_array_equal(every.observations[acts], own.observations)
    np.testing.assert_array_equal(every.actions[acts], own.actions)


def test_games_at_once_change_nothing(games):
    whole = list(games.iter_decisions())
    parts = list(games.iter_decisions(games_at_once=7))
    for name in whole[0]._fields:
        joined = [np.concatenate([getattr(part, name) for part in some]) for some in (whole, parts)]
        np.testing.assert_array_equal(*joined, name)


@pytest.mark.parametrize(
    ("options", "message"), [({"seat": 4}, "seat must be 0 to 3"), ({"every_step": True}, "needs a seat")]
)
def test_a_seat_that_does_not_exist_is_refused(games, options, message):
    with pytest.raises(ValueError, match=message):
        list(games.iter_decisions(**options))


def test_players_act_again_as_they_did(games):
    view = games.view(range(len(games)))
    playing = games.seating[np.repeat(np.arange(len(games)), games.lengths), view.seats]
    for k, code in enumerate(games.players):
        rows = np.flatnonzero(playing == k)
        np.testing.assert_array_equal(agents.make(code).act(view.take(rows)), games.actions[rows])


def test_the_final_states_are_those_of_the_games(games):
    states = games.final_states(range(2, 5))
    for k in range(3):
        assert states[k].tobytes() == games.game(2 + k).final_states()[0].tobytes()


@pytest.mark.compiled("many games")
def test_probabilities_are_those_of_the_networks_and_unknown_for_others(tmp_path):
    save_random_policy(tmp_path)
    net = f"net:{tmp_path}"
    games = play_games([net, "ev"], find_setup("standard-3"), range(20), seed=2)
    without = play_games([net, "ev"], find_setup("standard-3"), range(20), seed=2, with_probabilities=False)
    np.testing.assert_array_equal(games.actions, without.actions)
    assert without.probabilities.shape == (0,)
    (decisions,) = games.iter_decisions()
    is_net = games.seating[decisions.games, decisions.seats] == 0
    assert np.isnan(decisions.probabilities[~is_net]).all()
    expected = agents.make(net).probabilities(games.view(range(20)))
    taken = expected[np.arange(len(expected)), decisions.actions]
    np.testing.assert_allclose(decisions.probabilities[is_net], taken[is_net], atol=1e-3)
    assert reload(games).probabilities.tobytes() == games.probabilities.tobytes()


@pytest.mark.compiled("many games")
def test_a_greedy_network_took_each_of_its_actions_with_probability_1(tmp_path):
    save_random_policy(tmp_path)
    games = play_games([f"net:{tmp_path},greedy", "ev"], find_setup("standard-3"), range(20), seed=2)
    (decisions,) = games.iter_decisions()
    is_net = games.seating[decisions.games, decisions.seats] == 0
    assert (decisions.probabilities[is_net] == 1).all()
