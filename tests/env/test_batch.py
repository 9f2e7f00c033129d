"""`Batch`: buffers, checks, ends of games, deals, views, seeds and memory."""

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from felicity_env.batch import Batch
from felicity_env.buffers import MAX_DECISIONS, observe_everything_parallel, play_parallel, play_random_parallel
from felicity_env.game import HIDDEN, MAX_SEATS, NO_SEAT, NUM_ACTIONS, PASS, RABBIT, STATE, is_terminal, score
from felicity_env.information import redact
from felicity_env.kernel import MAX_THREADS
from felicity_env.observation import OBS_SIZE, PRIVILEGED_AT, PRIVILEGED_SIZE, describe, observe_everything
from felicity_env.player import RandomPlayer
from felicity_env.random_stream import MAX_SEED, decision_seed, game_seed
from felicity_env.setups import standard_setup
from tests.support.helpers import C3, COMPILED, LARGE, ODD_SETUPS

BUFFERS = {
    "observations": ((OBS_SIZE,), np.float32),
    "action_masks": ((NUM_ACTIONS,), np.int8),
    "seats": ((), np.int64),
    "rewards": ((MAX_SEATS,), np.float64),
    "terminated": ((), np.bool_),
    "scores": ((MAX_SEATS,), np.int64),
    "states": ((), STATE),
    "final_states": ((), STATE),
    "game_seeds": ((), np.uint64),
    "episodes": ((), np.int64),
}
MOST_BYTES = 2048  # a game


def make_batch(num_games: int, **settings: Any) -> Batch:
    return Batch(num_games, [3 + game % 3 for game in range(num_games)], **settings)


def contents(batch: Batch) -> dict[str, bytes]:
    """Return the bytes of every buffer, private ones included."""
    return {name: array.tobytes() for name, array in batch.buffers._asdict().items()} | {"seed": str(batch.seed)}


def first_legal(batch: Batch) -> np.ndarray:
    return batch.action_masks.argmax(1)


# --- buffers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_games", [1, 2, 33])
def test_buffers_have_their_shapes_and_types_and_are_used_again_in_place(num_games):
    batch = make_batch(num_games)
    arrays = {name: getattr(batch, name) for name in BUFFERS}
    for name, (shape, dtype) in BUFFERS.items():
        assert arrays[name].shape == (num_games, *shape), name
        assert arrays[name].dtype == dtype, name
        assert arrays[name].flags.c_contiguous
    batch.step(first_legal(batch))
    batch.play_random(200)
    batch.reset()
    batch.restart(np.array([0]))
    batch.reset(seed=5)
    for name, array in arrays.items():
        assert getattr(batch, name) is array, name


def test_a_new_batch_stands_at_the_first_decision_of_every_game():
    batch = make_batch(9)
    assert batch.num_players.tolist() == [3, 4, 5] * 3
    assert batch.seed == 0
    assert not batch.rewards.any()
    assert not batch.terminated.any()
    assert not batch.episodes.any()
    assert (batch.seats == batch.states["start_seat"]).all()
    assert (batch.action_masks.sum(1) == 9).all()
    assert (batch.action_masks[:, PASS:] == 0).all()


@pytest.mark.parametrize("setup", [None, *ODD_SETUPS])
def test_a_game_takes_at_most_two_kibibytes(setup):
    batch = Batch(100, None if setup else 5, setup=setup)
    arrays = [value for value in vars(batch).values() if isinstance(value, np.ndarray)]
    owned = {id(array): array.nbytes for array in (*arrays, *batch.buffers)}
    assert 1000 < sum(owned.values()) / 100 <= MOST_BYTES


@pytest.mark.parametrize("setup", ODD_SETUPS, ids=range(len(ODD_SETUPS)))
def test_other_setups_are_played_by_all_games(setup):
    batch = Batch(8, setup=setup, reward="round")
    batch.play_random(400)
    assert (batch.num_players == setup.seats).all()
    assert batch.episodes.min() >= 1
    total = batch.final_states["mice"].sum(1) + batch.final_states["bank"] + batch.final_states["pots"].sum(1)
    assert (total == setup.total_mice).all()


# --- what is refused --------------------------------------------------------------------------------------------------

BAD_ARGUMENTS = {
    "no games": ({"num_games": 0}, "num_games"),
    "fewer games": ({"num_games": -1}, "num_games"),
    "2.5 games": ({"num_games": 2.5}, "num_games"),
    "True games": ({"num_games": True}, "num_games"),
    "no threads": ({"threads": 0}, "threads"),
    "too many threads": ({"threads": MAX_THREADS + 1}, "threads"),
    "1.5 threads": ({"threads": 1.5}, "threads"),
    "reward": ({"reward": "sparse"}, "reward must be one of"),
    "2 players": ({"num_players": 2}, r"num_players must be one of \[3, 4, 5\], not 2"),
    "6 players": ({"num_players": 6}, "num_players"),
    "True players": ({"num_players": True}, "num_players"),
    "4.0 players": ({"num_players": 4.0}, "num_players"),
    "text players": ({"num_players": "4"}, "num_players"),
    "a list with 6": ({"num_players": [3, 4, 6]}, "num_players must be one of .*, not 6"),
    "a list with True": ({"num_players": [3, 4, True]}, "num_players"),
    "a list with 4.5": ({"num_players": [3, 4, 4.5]}, "num_players"),
    "a list of lists": ({"num_players": [[3], [4], [5]]}, "num_players"),
    "a short list": ({"num_players": [3, 4]}, "num_players must be one for all games or one per game: 3, not 2"),
    "a long list": ({"num_players": [3, 4, 5, 5]}, "num_players must be one for all games or one per game: 3, not 4"),
    "seed -1": ({"seed": -1}, "seed must be"),
    "seed 2**63": ({"seed": 2**63}, "seed must be"),
    "seed 1.0": ({"seed": 1.0}, "seed must be"),
    "seed True": ({"seed": True}, "seed must be"),
    "seed text": ({"seed": "1"}, "seed must be"),
}


@pytest.mark.parametrize(("settings", "message"), BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_impossible_arguments_are_refused_by_name(settings, message):
    with pytest.raises(ValueError, match=message):
        Batch(**({"num_games": 3} | settings))


def test_no_random_actions_at_all_change_nothing():
    batch = Batch(num_games=2, num_players=4)
    before = contents(batch)
    batch.play_random(0)
    assert contents(batch) == before


def test_a_seed_that_is_refused_by_reset_changes_nothing():
    batch = make_batch(3)
    batch.play_random(7)
    before = contents(batch)
    for seed in (-1, 2**63, 0.5, True, "0"):
        with pytest.raises(ValueError, match="seed must be"):
            batch.reset(seed=seed)
    assert contents(batch) == before


MALFORMED = {
    "too few": [0, 0],
    "too many": [0, 0, 0, 0],
    "one number": 0,
    "a column": [[0], [0], [0]],
    "floats": [0.0, 0.0, 0.0],
    "bools": [False, False, False],
    "text": ["0", "0", "0"],
    "None": None,
    "with None": [0, None, 0],
    "huge": [0, 0, 2**70],
    "empty": [],
}


@pytest.mark.parametrize("actions", MALFORMED.values(), ids=MALFORMED)
def test_actions_of_a_wrong_shape_or_type_are_refused_and_nothing_moves(actions):
    batch = make_batch(3)
    before = contents(batch)
    with pytest.raises(ValueError, match="actions must be 3 integers"):
        batch.step(np.array(actions) if actions != MALFORMED["huge"] else actions)
    assert contents(batch) == before


BAD_ACTIONS = [-1, -64, NUM_ACTIONS, 10**9, PASS, PASS + 1, RABBIT, 2**62, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("threads", [1, min(2, MAX_THREADS)])
@pytest.mark.parametrize("action", BAD_ACTIONS)
def test_an_illegal_action_names_game_seat_and_what_is_legal_and_nothing_moves_anywhere(action, threads):
    batch = make_batch(4, threads=threads)
    batch.reset(deals=[{"removed": [RABBIT] * int(n), "start_seat": 1} for n in batch.num_players])
    actions = first_legal(batch)
    actions[2] = action
    before = contents(batch)
    legal = r"it may place -8 -5 3 5 8 11 15 D d \(actions 0 1 2 3 4 5 6 8 9\)"
    with pytest.raises(ValueError, match=rf"^game 2: seat 1 cannot .*{action}\)?: {legal}$"):
        batch.step(actions)
    with pytest.raises(ValueError, match="game 2: seat 1 cannot"):
        batch.step(actions[[3, 2]], np.array([3, 2]))
    assert contents(batch) == before
    actions[2] = C3
    batch.step(actions)
    assert batch.states["row_size"].tolist() == [2, 1, 1, 2]


def test_unsigned_actions_that_do_not_fit_are_refused_as_they_were_given():
    batch = Batch(2)
    with pytest.raises(ValueError, match=f"game 0: seat . cannot play {2**64 - 1}"):
        batch.step(np.array([2**64 - 1, 0], np.uint64))


def test_an_illegal_bid_is_answered_with_the_bids_that_are_legal():
    batch = Batch(1)
    while batch.states["phase"][0] == 0:
        batch.step(first_legal(batch))
    batch.step([PASS + 7])
    for action in (PASS + 7, PASS + 16, C3):
        with pytest.raises(ValueError, match=r"it may pass \(action 10\) or bid 8 to 15 \(actions 18 to 25\)"):
            batch.step([action])


@pytest.mark.parametrize(
    "kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, list, tuple]
)
def test_actions_of_any_integer_type_are_the_same(kind):
    batch, plain = make_batch(6), make_batch(6)
    for _ in range(60):
        actions = RandomPlayer().act(plain.view())
        plain.step(actions)
        batch.step(kind(actions.tolist()) if kind in (list, tuple) else actions.astype(kind))
    assert contents(batch) == contents(plain)


def test_actions_need_not_be_contiguous_in_memory():
    batch, plain = make_batch(6), make_batch(6)
    spread = np.repeat(first_legal(batch), 3).reshape(6, 3)
    batch.step(spread[:, 1])
    plain.step(first_legal(plain))
    assert contents(batch) == contents(plain)


BAD_INDICES = {
    "out of range": [0, 3],
    "negative": [-1, 0],
    "repeated": [1, 1],
    "floats": [0.0, 1.0],
    "bools": [True, False],
    "two dimensions": [[0], [1]],
    "one number": 1,
    "huge": [0, 2**40],
}


@pytest.mark.parametrize("indices", BAD_INDICES.values(), ids=BAD_INDICES)
def test_indices_out_of_range_repeated_or_of_another_type_are_refused_and_nothing_moves(indices):
    batch = make_batch(3)
    before = contents(batch)
    for method in (
        lambda: batch.step(first_legal(batch)[:2], indices),
        lambda: batch.restart(indices),
        lambda: batch.view(indices),
    ):
        with pytest.raises(ValueError, match="indices must be"):
            method()
    assert contents(batch) == before


def test_no_indices_at_all_are_no_step():
    batch, none = make_batch(3), np.zeros(0, np.int64)
    before = contents(batch)
    batch.step(none, none)
    batch.restart(none)
    assert len(batch.view(none)) == 0
    assert contents(batch) == before


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["win", "margin", "score", "round"])
def test_at_an_end_scores_rewards_and_final_state_are_of_the_game_that_ended_and_the_next_has_begun(reward):
    batch, ends = make_batch(12, reward=reward, seed=3), 0
    for _ in range(300):
        episodes = batch.episodes.copy()
        last = batch.states.copy()
        actions = RandomPlayer().act(batch.view())
        batch.step(actions)
        assert (batch.terminated == (batch.episodes > episodes)).all()
        for game in np.flatnonzero(batch.terminated).tolist():
            check_end(batch, game, last[game], int(actions[game]))
            ends += 1
        if reward != "round":
            assert not batch.rewards[~batch.terminated].any()
    assert ends > 24


def check_end(batch: Batch, game: int, last: Any, action: int) -> None:
    state, seats = batch.final_states[game], int(batch.num_players[game])
    assert is_terminal(state)
    assert state.removed.tolist() == last.removed.tolist()
    assert state.round_number == last.round_number == 8
    scores = [int(score(state, seat)) for seat in range(seats)]
    assert batch.scores[game].tolist() == scores + [0] * (MAX_SEATS - seats)
    assert not batch.rewards[game, seats:].any()
    paid = batch.rewards[game, :seats]
    if batch.reward == "win":
        assert paid.sum() == pytest.approx(1)
        assert scores[int(paid.argmax())] == max(scores)
    elif batch.reward == "margin":
        assert paid.sum() == pytest.approx(0)
        assert paid[0] - paid[1] == pytest.approx((scores[0] - scores[1]) * seats / (seats - 1))
    elif batch.reward == "score":
        assert paid.tolist() == scores
    else:
        assert paid.tolist() == state.gain[:seats].tolist()
    assert batch.states[game].row_size == batch.states[game].has_dummy
    assert batch.game_seeds[game] == game_seed(3, game, int(batch.episodes[game]))
    assert describe(batch.observations[game])["round"] == 0


def test_round_rewards_of_a_game_add_up_to_score_less_the_mice_of_the_start():
    batch = make_batch(9, reward="round", seed=1)
    earned = np.zeros((9, MAX_SEATS))
    for _ in range(250):
        batch.play_random(1)
        earned += batch.rewards
        for game in np.flatnonzero(batch.terminated):
            seats = batch.num_players[game]
            assert (earned[game, :seats] == batch.scores[game, :seats] - 15).all()
            earned[game] = 0
    assert batch.episodes.min() >= 1


# --- reset, deals, restart --------------------------------------------------------------------------------------------


def list_game_seeds(seed: int, episodes: Any) -> list[int]:
    return [game_seed(seed, game, int(episode)) for game, episode in enumerate(episodes)]


def test_reset_without_a_seed_goes_to_the_next_episode_of_every_game():
    batch = make_batch(6, seed=4)
    assert batch.game_seeds.tolist() == list_game_seeds(4, [0] * 6)
    batch.play_random(100)
    episodes = batch.episodes.copy()
    assert len(set(episodes)) > 1  # some games are further than others
    batch.reset()
    assert (batch.episodes == episodes + 1).all()
    assert batch.game_seeds.tolist() == list_game_seeds(4, episodes + 1)
    assert not batch.rewards.any()
    assert not batch.terminated.any()
    batch.reset(seed=MAX_SEED)
    assert batch.seed == MAX_SEED
    assert batch.game_seeds.tolist() == list_game_seeds(MAX_SEED, [0] * 6)


def test_reset_with_a_seed_is_a_new_batch_of_that_seed():
    batch = make_batch(6, seed=4)
    batch.play_random(55)
    batch.reset(seed=0)
    fresh = make_batch(6, seed=0)
    for _ in range(2):
        assert batch.observations.tobytes() == fresh.observations.tobytes()
        assert batch.states.tobytes() == fresh.states.tobytes()
        assert batch.view().seeds.tolist() == fresh.view().seeds.tolist()
        batch.play_random(140)
        fresh.play_random(140)
    assert batch.episodes.min() >= 1


def test_restart_gives_some_games_up_and_leaves_the_others():
    batch = make_batch(6, seed=4)
    batch.play_random(20)
    before, observations = batch.states.copy(), batch.observations.copy()
    batch.restart(np.array([4, 1]))
    assert batch.episodes.tolist() == [0, 1, 0, 0, 1, 0]
    assert batch.game_seeds.tolist() == list_game_seeds(4, batch.episodes)
    others = [0, 2, 3, 5]
    assert batch.states[others].tobytes() == before[others].tobytes()
    assert batch.observations[others].tobytes() == observations[others].tobytes()
    fresh = make_batch(6, seed=4)
    fresh.reset()
    for name in ("states", "observations", "action_masks", "seats"):
        assert getattr(batch, name)[[1, 4]].tobytes() == getattr(fresh, name)[[1, 4]].tobytes()
    assert batch.view([1, 4]).seeds.tolist() == fresh.view([1, 4]).seeds.tolist()


def test_deals_hold_for_the_first_game_alone_and_what_is_not_overridden_is_drawn_as_ever():
    plain, batch = make_batch(6, seed=2), make_batch(6, seed=9)
    deals = [{"start_seat": 2}, None, {"removed": [LARGE] * 5}, {"dummy": list(range(9))}, {}, {"removed": [C3] * 5}]
    batch.reset(seed=2, deals=deals)
    drawn = plain.states
    assert batch.states["start_seat"].tolist() == [2, *drawn["start_seat"][1:]]
    assert batch.seats.tolist() == batch.states["start_seat"].tolist()
    assert batch.states["removed"][2].tolist() == [LARGE] * 5
    assert batch.states["dummy_cards"][3].tolist() == list(range(9))
    for game in (0, 1, 3, 4):
        assert batch.states["removed"][game].tolist() == drawn["removed"][game].tolist()
    assert batch.states[[1, 4]].tobytes() == drawn[[1, 4]].tobytes()
    for game, seat in enumerate(batch.seats):
        hand = np.flatnonzero(batch.states["hands"][game, seat] >> np.arange(10) & 1).tolist()
        assert describe(batch.observations[game])["hand"] == hand
        assert np.flatnonzero(batch.action_masks[game]).tolist() == hand
    for each in (plain, batch):
        each.reset()
    assert batch.states.tobytes() == plain.states.tobytes()


def test_deals_without_a_seed_are_dealt_in_the_next_episode():
    batch = Batch(2, 4, seed=2)
    batch.reset(deals=[{"start_seat": 3}, None])
    assert batch.episodes.tolist() == [1, 1]
    assert batch.game_seeds.tolist() == list_game_seeds(2, [1, 1])
    assert batch.seats[0] == 3


BAD_DEALS = {
    "impossible": ([None, {"removed": [0, 1, 2]}, None], r"game 1: deal\['removed'\] needs 4 cards"),
    "a card": ([None, None, {"removed": [0, 1, 2, 3, 10]}], "game 2: .*10 is no card"),
    "a key": ([{"seat": 1}, None, None], "game 0: deal has unknown keys"),
    "no mapping": ([None, 7, None], "game 1: deal must be a mapping"),
    "dummy for four": ([None, {"dummy": list(range(9))}, None], "game 1: .*needs 0 cards"),
    "a short list": ([None, None], "deals must have one entry a game: 3, not 2"),
    "a long list": ([None] * 4, "deals must have one entry a game: 3, not 4"),
}


@pytest.mark.parametrize(("deals", "message"), BAD_DEALS.values(), ids=BAD_DEALS)
@pytest.mark.parametrize("seed", [None, 5])
def test_an_impossible_deal_names_its_game_and_changes_nothing(deals, message, seed):
    batch = make_batch(3, reward="round")
    batch.play_random(60)
    before = contents(batch)
    with pytest.raises(ValueError, match=message):
        batch.reset(seed=seed, deals=deals)
    assert contents(batch) == before


# --- looking ----------------------------------------------------------------------------------------------------------


def test_observe_writes_what_other_seats_see_into_out():
    batch = make_batch(9, open_mice=True)
    batch.play_random(33)
    out = np.full((9, OBS_SIZE), np.nan, np.float32)
    assert batch.observe(batch.seats, out) is out
    np.testing.assert_array_equal(out, batch.observations)
    others = (batch.seats + 1) % batch.num_players
    batch.observe(others, out)
    for game, seat in enumerate(others):
        seen = describe(out[game])
        assert seen["mice"] == batch.states["mice"][game, seat]
        assert sum(1 << card for card in seen["hand"]) == batch.states["hands"][game, seat]
    np.testing.assert_array_equal(batch.observe(1), batch.observe([1] * 9, out))


@pytest.mark.parametrize("seats", [3, 4, -1, [0, 0], 1.0, True, "0", None, [0, 1, 2, 3, 4]])
def test_seats_that_are_not_at_the_table_cannot_be_observed(seats):
    with pytest.raises(ValueError, match=r"seats must be|broadcast"):
        Batch(3, 3).observe(seats)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((2, OBS_SIZE), np.float32),
        np.empty((3, OBS_SIZE)),
        np.empty((3, OBS_SIZE), np.float16),
        np.empty(OBS_SIZE, np.float32),
        [[0.0] * OBS_SIZE] * 3,
    ],
    ids=["short", "float64", "float16", "flat", "list"],
)
def test_an_out_buffer_that_does_not_fit_is_refused(out):
    batch = Batch(3, 3)
    with pytest.raises(ValueError, match="out must be float32"):
        batch.observe(0, out)
    with pytest.raises(ValueError, match="out must be float32"):
        batch.privileged(out)


def test_privileged_contains_the_truth():
    batch = make_batch(9)
    batch.play_random(31)
    out = np.full((9, PRIVILEGED_SIZE), np.nan, np.float32)
    assert batch.privileged(out) is out
    for game in range(9):
        state, seat, seats = batch.states[game], int(batch.seats[game]), int(batch.num_players[game])
        hands = out[game, PRIVILEGED_AT.other_hands :][: (MAX_SEATS - 1) * 10].reshape(-1, 10)
        for place in range(1, seats):
            truth = state.hands[(seat + place) % seats] >> np.arange(10) & 1
            assert hands[place - 1].tolist() == truth.tolist()
        row = out[game, PRIVILEGED_AT.full_row :][: 5 * 10].reshape(-1, 10)
        assert [int(card.argmax()) for card in row[: state.row_size]] == state.row[: state.row_size].tolist()
        seen = describe(out[game, :OBS_SIZE])
        assert seen["hand"] == np.flatnonzero(batch.action_masks[game]).tolist() or seen["phase"] != "place"


def test_privileged_numbers_of_a_finished_game_are_relative_to_seat_0():
    batch = make_batch(3, autoreset=False)
    while (batch.seats != NO_SEAT).any():
        batch.play_random(1)
    expected = np.empty(PRIVILEGED_SIZE, np.float32)
    for game, row in enumerate(batch.privileged()):
        observe_everything(batch.states[game], 0, expected)
        np.testing.assert_array_equal(row, expected)


def test_a_view_holds_the_redacted_states_in_the_order_of_the_indices():
    batch = make_batch(9, seed=6)
    batch.play_random(30)
    indices = np.array([7, 0, 4])
    view = batch.view(indices)
    assert len(view) == 3
    assert view.seats.tolist() == batch.seats[indices].tolist()
    assert view.states.tobytes() == redact(batch.states[indices], batch.seats[indices]).tobytes()
    np.testing.assert_array_equal(view.action_masks, batch.action_masks[indices])
    np.testing.assert_array_equal(view.observations(), batch.observations[indices])
    np.testing.assert_array_equal(view.take(np.array([1])).seeds, batch.view([0]).seeds)
    for k, (game, seat) in enumerate(zip(indices, view.seats, strict=True)):
        for other in range(batch.num_players[game]):
            if other != seat:
                assert view.states["hands"][k, other] == HIDDEN
                assert view.states["removed"][k, other] == HIDDEN


def test_writing_into_a_view_changes_nothing_in_the_batch():
    batch = make_batch(3)
    before = contents(batch)
    view = batch.view()
    for array in (view.states["hands"], view.seats, view.seeds, view.action_masks, view.observations()):
        array[:] = 0
    assert contents(batch) == before


# --- seeds for the players --------------------------------------------------------------------------------------------


def test_the_seed_of_a_decision_depends_on_game_seat_and_number_of_the_decision():
    batch, decisions = make_batch(6, seed=5), np.zeros((6, MAX_SEATS), np.int64)
    for _ in range(150):
        expected = [
            decision_seed(batch.game_seeds[game], seat, decisions[game, seat]) for game, seat in enumerate(batch.seats)
        ]
        assert batch.view().seeds.tolist() == [int(seed) for seed in expected]
        decisions[np.arange(6), batch.seats] += 1
        batch.play_random(1)
        decisions[batch.terminated] = 0
    assert batch.episodes.min() >= 1


def test_seeds_do_not_depend_on_the_size_of_the_batch_the_indices_or_the_order_of_play():
    large, small = make_batch(12, seed=5), make_batch(3, seed=5)
    for _ in range(100):
        seeds = small.view().seeds.tolist()
        assert large.view().seeds[:3].tolist() == seeds
        assert large.view([2, 1, 0]).seeds.tolist() == seeds[::-1]
        small.step(first_legal(small))
        for game in (2, 0, 1):
            large.step(first_legal(large)[[game]], [game])


def test_seeds_of_different_games_seats_and_decisions_differ():
    batch, seen = make_batch(30, seed=5), []
    for _ in range(300 if COMPILED else 60):
        seen += batch.view().seeds.tolist()
        batch.play_random(1)
    assert len(set(seen)) == len(seen)


def test_looking_twice_gives_the_same_seed():
    batch = make_batch(3)
    assert batch.view().seeds.tolist() == batch.view().seeds.tolist()


def test_standard_games_have_the_standard_setups():
    batch = make_batch(3)
    for game, players in enumerate((3, 4, 5)):
        blank = standard_setup(players).blank_state()[0]
        state = batch.states[game]
        assert (state.num_seats, state.deck, state.num_rounds) == (blank.num_seats, blank.deck, blank.num_rounds)
        assert state.mouse_cards.tolist() == blank.mouse_cards.tolist()
        assert state.bank + state.pots.sum() == standard_setup(players).bank


# --- records, positions, games that stay finished ---------------------------------------------------------------------


def test_a_recorded_game_replays_to_the_position_of_the_batch():
    batch = Batch(6, [3, 4, 5] * 2, seed=3, record=True)
    for _ in range(150):
        batch.play_random(1)
        for index in range(6):
            assert batch.game(index).final_states()[0].tobytes() == batch.states[index].tobytes()
    assert (batch.episodes > 0).any()


def test_a_record_has_room_for_a_game_in_which_every_bid_is_made():
    assert MAX_DECISIONS == 9 * (5 + 63 + 5)  # cards, bids and passes of each round


def test_a_batch_that_keeps_no_actions_says_how_to_keep_them():
    with pytest.raises(ValueError, match="make the batch with record=True"):
        Batch(2).game(0)


def test_without_autoreset_a_finished_game_stays_and_takes_no_more_actions():
    batch, endless = Batch(5, 3, seed=8, autoreset=False), Batch(5, 3, seed=8)
    while (batch.seats != NO_SEAT).any():
        batch.play_random(1)
        endless.play_random(1)
    batch.play_random(3)
    assert (batch.episodes == 0).all()
    assert not batch.action_masks.any()
    assert all(is_terminal(state) for state in batch.states)
    with pytest.raises(ValueError, match="the game is over"):
        batch.step(np.full(5, PASS))


def test_games_without_autoreset_are_those_with_it():
    batch, endless = Batch(5, 4, seed=8, autoreset=False), Batch(5, 4, seed=8)
    over = np.zeros(5, bool)
    final = endless.final_states.copy()
    while not over.all():
        batch.play_random(1)
        endless.play_random(1)
        ended = endless.terminated & ~over
        final[ended] = endless.final_states[ended]
        over |= ended
    assert batch.states.tobytes() == final.tobytes() == batch.final_states.tobytes()


def test_games_begin_at_given_positions_with_given_seeds():
    source = Batch(4, 5, seed=2)
    source.play_random(30)
    batch = Batch(4, 5, seed=99)
    batch.start(pickle.loads(pickle.dumps(source.states)), source.game_seeds.copy())
    assert batch.states.tobytes() == source.states.tobytes()
    assert batch.observations.tobytes() == source.observations.tobytes()
    assert batch.buffers.decisions.sum() == 0


def view_as_bytes(states: np.ndarray) -> np.ndarray:
    return states.view(f"V{STATE.itemsize}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda states, seeds: (states[:2], seeds), "states must be 4 records of STATE"),
        (lambda states, seeds: (np.tile(states, 2), seeds), "states must be 4 records of STATE"),
        (lambda states, seeds: (states[:, None], seeds), "states must be 4 records of STATE"),
        (lambda states, seeds: (view_as_bytes(states), seeds), "states must be 4 records of STATE"),
        (lambda states, seeds: (states["mice"][:, 0].copy(), seeds), "states must be 4 records of STATE"),
        (lambda states, seeds: (states, seeds[:2]), r"seeds must be 4 integers uint64, not uint64 \[2\]"),
        (lambda states, seeds: (states, np.tile(seeds, 2)), r"seeds must be 4 integers uint64, not uint64 \[8\]"),
        (lambda states, seeds: (states, seeds.astype(np.int64)), "seeds must be 4 integers uint64, not int64"),
        (lambda states, seeds: (states, seeds.astype(np.uint32)), "seeds must be 4 integers uint64, not uint32"),
        (lambda states, seeds: (states, seeds.astype(float)), "seeds must be 4 integers uint64, not float64"),
    ],
)
def test_positions_and_seeds_of_another_form_begin_no_games(change, message):
    batch = Batch(4, 5, seed=99)
    before = contents(batch)
    with pytest.raises(ValueError, match=message):
        batch.start(*change(batch.states.copy(), batch.game_seeds.copy()))
    assert contents(batch) == before


def test_a_game_begun_at_a_later_position_has_no_record():
    source = Batch(2, 4, seed=2)
    first = source.states.copy()
    source.play_random(30)
    batch = Batch(2, 4, seed=99, record=True)
    batch.start(np.stack([first[0], source.states[1]]), source.game_seeds.copy())
    assert batch.game(0).actions == ()
    with pytest.raises(ValueError, match="game 1 began at a position after its first decision"):
        batch.game(1)


def test_setups_are_taken_by_name_by_file_and_one_per_game(tmp_path):
    path = tmp_path / "small.json"
    path.write_text('{"seats": 2, "mouse_cards": [3], "bank": 20, "rounds": 4}')
    batch = Batch(3, setup=["standard-3", str(path), standard_setup(5)])
    assert batch.num_players.tolist() == [3, 2, 5]
    assert Batch(2, setup="standard-5").num_players.tolist() == [5, 5]
    with pytest.raises(ValueError, match="no setup 'huge'; there are standard-3, standard-4, standard-5"):
        Batch(2, setup="huge")
    path.write_text('{"seats": 2, "mouse_card": [3], "bank": 20}')
    with pytest.raises(ValueError, match="mouse_card is no field of a setup"):
        Batch(1, setup=str(path))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda batch: Batch(2, seed=None), "seed must be an integer from 0"),
        (lambda batch: Batch(2, setup=4), "no setup 4"),
        (lambda batch: batch.play_random("3"), "num_steps must be an integer from 0, not '3'"),
        (lambda batch: batch.play_random(-1), "num_steps must be an integer from 0, not -1"),
        (lambda batch: batch.game(2), "index must be an integer from 0 to 1, not 2"),
        (lambda batch: batch.game(5), "index must be an integer from 0 to 1, not 5"),
        (lambda batch: batch.game(-1), "index must be an integer from 0 to 1, not -1"),
        (lambda batch: batch.step(np.array([3, 3], "m8")), "actions must be 2 integers, not timedelta64"),
        (lambda batch: batch.observe(0, out=np.broadcast_to(np.float32(0), (2, OBS_SIZE))), "out must be writeable"),
        (lambda batch: batch.observe(0, out=np.zeros((OBS_SIZE, 2), np.float32).T), "out must be writeable and contig"),
    ],
)
def test_wrong_arguments_are_refused_in_a_line(call, message):
    batch = Batch(2, record=True)
    before = batch.clone()
    with pytest.raises(ValueError, match=message) as caught:
        call(batch)
    assert "\n" not in str(caught.value)
    assert all(np.array_equal(batch.clone()[name], array) for name, array in before.items())


@pytest.mark.parametrize(
    "change",
    [
        lambda batch, saved: batch.play_random(1),
        lambda batch, saved: batch.step(first_legal(batch)),
        lambda batch, saved: batch.reset(seed=3),
        lambda batch, saved: batch.start(batch.states[::-1].copy(), batch.game_seeds.copy()),
        lambda batch, saved: batch.restart([1]),
        lambda batch, saved: batch.restore(saved),
    ],
    ids=["play_random", "step", "reset", "start", "restart", "restore"],
)
def test_a_second_thread_that_changes_games_is_refused_and_the_first_goes_on(change):
    batch, saved = Batch(2), Batch(2, seed=1).clone()
    before = contents(batch)
    with batch.turn:  # as while another thread is in a step
        with pytest.raises(RuntimeError, match="another thread is playing in this batch"):
            change(batch, saved)
        assert contents(batch) == before
    change(batch, saved)
    assert contents(batch) != before


@pytest.mark.parametrize("num_games", [1, 2, 7])
def test_three_threads_play_and_show_each_game_once_however_many_the_machine_has(num_games):
    one, three = (Batch(num_games, setup="small-2", seed=3) for _ in range(2))
    shown = np.empty((num_games, PRIVILEGED_SIZE), np.float32)
    for _ in range(5):
        actions = first_legal(one)
        one.step(actions)
        play_parallel(three.buffers, np.arange(num_games), actions, 3, three.settings)
        assert contents(one) == contents(three)
        one.play_random(2)
        play_random_parallel(three.buffers, 2, 3, three.settings)
        assert contents(one) == contents(three)
        observe_everything_parallel(three.states, three.seats, 3, shown)
        np.testing.assert_array_equal(shown, one.privileged())


def test_threads_that_share_a_batch_get_an_error_or_play_whole_steps():
    batch, errors = Batch(256, seed=1), []

    def play() -> None:
        for _ in range(50):
            try:
                batch.play_random(5)
            except RuntimeError as error:
                errors.append(error)

    threads = [threading.Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    twin = Batch(256, seed=1)
    twin.play_random(5 * (150 - len(errors)))
    assert twin.states.tobytes() == batch.states.tobytes()


def test_a_copied_batch_plays_on_by_itself():
    batch = Batch(4, seed=3)
    batch.play_random(20)
    for copy_of in (copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        copy_of.play_random(10)
        assert copy_of.seed == batch.seed
    assert batch.episodes.sum() == 0
