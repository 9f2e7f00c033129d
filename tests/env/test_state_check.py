"""Checks of states from outside: every position of a game passes, a damaged one is refused before it is played."""

import pickle

import numpy as np
import pytest

from felicity_env import SETUPS, Batch, View, redact
from felicity_env.buffers import MAX_DECISIONS
from felicity_env.game import HIDDEN, NO_SEAT, STATE, num_legal_actions
from felicity_env.state_check import FAULTS, check_games, check_states, find_fault
from tests.support.helpers import ALL_SETUPS


def check_all(batch: Batch) -> None:
    check_games(batch.states, batch.buffers.blanks, batch.buffers.setup_numbers)
    for seat in range(batch.num_players.min()):
        check_states(redact(batch.states, seat))


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_every_position_of_random_games_passes_masked_and_unmasked(setup):
    batch = Batch(10, setup=setup, seed=3, autoreset=False)
    while (batch.seats != NO_SEAT).any():
        check_all(batch)
        batch.play_random(1)
    check_all(batch)


def test_random_bytes_and_zeros_are_no_position():
    rng = np.random.default_rng(0)
    states = np.frombuffer(rng.bytes(STATE.itemsize * 2000), np.uint8).view(STATE)
    assert all(find_fault(state) for state in states)
    assert find_fault(np.zeros(1, STATE)[0])


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("num_seats", 6, 1),
        ("round_number", 9, 2),
        ("seat", 4, 2),
        ("phase", 3, 2),
        ("row_size", 2, 3),
        ("hands", [0, 0, 0, 0, 0], 4),
        ("played", [3, 3, 3, 3, 0, 0], 4),
        ("dummy_cards", [1] * 9, 5),
        ("face_up", 3, 6),
        ("high_bid", 60, 6),
        ("pots", [63, 0, 0, 0], 6),
        ("mice", [-1, 10, 10, 10, 0], 7),
        ("cat_points", [30000, 0, 0, 0, 0], 7),
        ("last_winner", 4, 8),
    ],
)
def test_a_damaged_field_is_named_by_what_it_breaks(field, value, fault):
    batch = Batch(1, seed=2)
    while batch.states[0].phase != 1 or batch.states[0].round_number < 2:
        batch.play_random(1)
    states = batch.states.copy()
    states[field] = value
    with pytest.raises(ValueError, match=FAULTS[fault]):
        check_states(states)


def test_a_game_needs_all_its_cards_and_its_own_setup():
    batch = Batch(1, seed=2)
    buffers = batch.buffers
    with pytest.raises(ValueError, match="it lacks cards, which are masked"):
        check_games(redact(batch.states, 0), buffers.blanks, buffers.setup_numbers)
    with pytest.raises(ValueError, match="it has another setup"):
        check_games(batch.states, SETUPS["standard-5"].blank_state(), buffers.setup_numbers)
    richer = batch.states.copy()
    richer["bank"] += 1
    with pytest.raises(ValueError, match="it has another setup, or other mice"):
        check_games(richer, buffers.blanks, buffers.setup_numbers)


def test_a_seat_with_a_masked_hand_still_has_possible_cards():
    batch = Batch(1, seed=2)
    batch.play_random(60)
    states = redact(batch.states, 0)
    assert (states["hands"] == HIDDEN).any()
    check_states(states)
    states["played"][0, 1] = (1 << 10) - 1
    with pytest.raises(ValueError, match="the cards of a seat"):
        check_states(states)


# --- views that a user makes ------------------------------------------------------------------------------------------


def make_arrays() -> dict[str, np.ndarray]:
    batch = Batch(3, seed=1)
    batch.play_random(40)
    view = batch.view()
    return {"states": view.states.copy(), "seats": view.seats.copy(), "seeds": view.seeds.copy()}


def test_a_view_made_of_the_arrays_of_another_holds_the_same_decisions():
    arrays = make_arrays()
    view = View(**arrays)
    assert all(np.array_equal(getattr(view, name), array) for name, array in arrays.items())
    assert view.action_masks.sum(axis=1).tolist() == [num_legal_actions(state) for state in view.states]
    assert 0 in view.seats


def test_a_view_is_made_of_arrays_that_come_from_a_pickle():
    arrays = make_arrays()
    assert View(**pickle.loads(pickle.dumps(arrays))).states.tobytes() == arrays["states"].tobytes()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("states", lambda a: a.view(np.uint8), "states must be a row of records of STATE"),
        ("states", lambda a: a.view(f"V{STATE.itemsize}"), "states must be a row of records of STATE"),
        ("states", lambda a: a[None], "states must be a row of records of STATE"),
        ("states", np.zeros_like, "seats must be the seats to act"),
        ("seats", lambda a: a - 1, "seats must be the seats to act"),
        ("seats", lambda a: np.append(a, 0), "seats must be the seats to act"),
        ("seats", lambda a: a[:, None], "seats must be the seats to act"),
        ("seats", lambda a: a.astype(float)[:2], "seats must be the seats to act"),
        ("seats", lambda a: a[:2], "seats must be the seats to act in the 3 states"),
        ("seats", lambda a: a + 1, "seats must be the seats to act"),
        ("seats", lambda a: a.astype(float), "seats must be the seats to act"),
        ("seeds", lambda a: a.astype(np.int64), "seeds must be 3 integers uint64"),
        ("seeds", lambda a: a.astype(np.uint32), "seeds must be 3 integers uint64"),
        ("seeds", lambda a: a.astype(float), "seeds must be 3 integers uint64"),
        ("seeds", lambda a: a[:1], "seeds must be 3 integers uint64"),
        ("seeds", lambda a: np.append(a, a), "seeds must be 3 integers uint64"),
    ],
)
def test_a_view_of_wrong_arrays_is_refused(name, change, message):
    arrays = make_arrays()
    with pytest.raises(ValueError, match=message):
        View(**arrays | {name: change(arrays[name])})


def test_a_view_of_damaged_or_finished_states_is_refused():
    arrays = make_arrays()
    arrays["states"]["hands"] = 0
    with pytest.raises(ValueError, match="is no position of a game: the cards of a seat"):
        View(**arrays)
    finished = Batch(1, seed=1, autoreset=False)
    finished.play_random(700)
    states = redact(finished.states, 0)
    with pytest.raises(ValueError, match="no position to play: the game is over"):
        View(states, states["seat"].astype(np.int64), np.zeros(1, np.uint64))


# --- a batch restores nothing that it has not checked -----------------------------------------------------------------


def damage(saved: dict, name: str, change) -> dict:
    changed = {key: array.copy() for key, array in saved.items()}
    changed[name] = change(changed[name])
    return changed


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("states", np.zeros_like, "no position of its game"),
        ("states", lambda a: np.random.default_rng(1).integers(256, size=a.shape, dtype=np.uint8), "no position"),
        ("episodes", lambda a: a - 5, "episodes of the saved games must be 0 to"),
        ("decisions", lambda a: a + 10**6, "decisions of the saved games must be 0 to"),
        ("lengths", lambda a: a + 10**6, "lengths of the saved games must be 0 to"),
        ("first_states", np.zeros_like, "no position of its game"),
        ("settings", lambda a: a + 1, "other settings: settings differs"),
        ("episodes", lambda a: a - 1, "episodes of the saved games must be 0 to"),
        ("decisions", lambda a: np.full_like(a, MAX_DECISIONS + 1), "decisions of the saved games must be 0 to"),
        ("episodes", lambda a: a.astype(np.int32), "episodes of the saved games must be int64"),
        ("episodes", lambda a: np.append(a, 0), "episodes of the saved games must be int64"),
        ("first_states", lambda a: np.tile(a, (2, 1)), "first_states of the saved games must be uint8"),
        ("states", lambda a: a[:1], "states of the saved games must be uint8"),
        ("game_seeds", lambda a: a.astype(float), "game_seeds of the saved games must be uint64"),
    ],
)
def test_a_damaged_clone_is_refused_and_changes_nothing(name, change, message):
    batch = Batch(4, seed=1, record=True)
    batch.play_random(30)
    saved = batch.clone()
    other = Batch(4, seed=2, record=True)
    before = other.clone()
    with pytest.raises(ValueError, match=message):
        other.restore(damage(saved, name, change))
    assert all(np.array_equal(other.clone()[key], array) for key, array in before.items())
    other.restore(saved)
    assert other.game(2) == batch.game(2)


def end_with_an_illegal_action(saved: dict) -> None:
    saved["actions"][2, 30], saved["lengths"][2] = -1, 31


def forget_the_last_action(saved: dict) -> None:
    saved["lengths"][2] = 29


def fill_the_record(saved: dict) -> None:
    saved["lengths"][2] = MAX_DECISIONS


def swap_first_states(saved: dict) -> None:
    saved["first_states"][2:] = saved["first_states"][:1:-1].copy()


def change_the_first_action(saved: dict) -> None:
    saved["actions"][2, 0] ^= 1


@pytest.mark.parametrize(
    "change",
    [end_with_an_illegal_action, forget_the_last_action, fill_the_record, swap_first_states, change_the_first_action],
)
def test_a_clone_whose_recorded_actions_do_not_lead_to_its_states_is_refused(change):
    batch, other = (Batch(4, seed=seed, record=True) for seed in (1, 2))
    batch.play_random(30)
    saved, before = batch.clone(), other.clone()
    other.restore(saved)
    other.restore(before)
    change(saved)
    with pytest.raises(ValueError, match="the recorded actions of game 2 do not lead from its first"):
        other.restore(saved)
    assert all(np.array_equal(other.clone()[key], array) for key, array in before.items())


@pytest.mark.parametrize("settings", [{}, {"record": True}, {"autoreset": False}])
def test_a_restored_batch_plays_on_as_the_one_that_was_saved(settings):
    first, second = (Batch(3, setup="small-2", seed=seed, **settings) for seed in (5, 6))
    first.play_random(25)
    saved = first.clone()
    assert all(array.dtype.kind in "iu" for array in saved.values())
    second.restore(saved)
    assert second.seed == 5
    for _ in range(30):
        going = first.seats != NO_SEAT  # the last observation of a finished game is not saved
        for name in ("states", "seats", "action_masks", "episodes"):
            assert getattr(second, name).tobytes() == getattr(first, name).tobytes(), name
        assert (second.observations[going] == first.observations[going]).all()
        first.play_random(1)
        second.play_random(1)


def test_a_clone_that_lacks_an_array_or_whose_first_state_is_over_is_refused():
    batch = Batch(2, setup="small-2", seed=5, record=True, autoreset=False)
    batch.play_random(40)
    saved = batch.clone()
    batch.restore(saved | {"decisions": np.full_like(saved["decisions"], MAX_DECISIONS)})
    with pytest.raises(ValueError, match="decisions of the saved games must be int64"):
        batch.restore({name: array for name, array in saved.items() if name != "decisions"})
    with pytest.raises(ValueError, match="the game is over"):
        batch.restore(saved | {"first_states": saved["states"]})
    going = Batch(2, setup="small-2", seed=5)
    with pytest.raises(ValueError, match="the game is over"):
        going.restore(going.clone() | {"states": saved["states"]})


@pytest.mark.parametrize(
    "settings", [{"num_players": 3}, {"reward": "round"}, {"open_mice": True}, {"autoreset": False}]
)
def test_a_clone_of_another_batch_is_refused(settings):
    saved = Batch(4, seed=1).clone()
    with pytest.raises(ValueError, match="other settings"):
        Batch(4, seed=1, **settings).restore(saved)


def test_games_do_not_begin_at_positions_that_cannot_be_played():
    batch = Batch(2, seed=1, autoreset=False)
    seeds = batch.game_seeds.copy()
    with pytest.raises(ValueError, match="game 0 is no position of its game"):
        batch.start(np.zeros(2, STATE), seeds)
    finished = Batch(2, seed=1, autoreset=False)
    finished.play_random(700)
    with pytest.raises(ValueError, match="the game is over"):
        batch.start(finished.states, seeds)
    assert (batch.seats != NO_SEAT).all()
