"""The game for OpenSpiel: its rules are ours, and its algorithms give the numbers that ours give."""

import sys
from importlib import import_module

import numpy as np
import pytest

from experiments.exact.cfr import solve
from experiments.exact.tree import GameTree
from experiments.exact.values import compute_gains
from felicity_env.game import MAX_SEATS, NO_SEAT, NUM_ACTIONS, PASS, Setup
from felicity_env.game_record import Deal, count_dealt, initial_states, list_legal_actions
from felicity_env.information import MAX_EVENTS, count_events, encode_information_state
from felicity_env.observation import OBS_SIZE, describe, observe
from felicity_env.setups import SETUPS, SMALL_SETUPS, find_setup

if sys.platform == "win32":  # there are no wheels of OpenSpiel
    pytest.skip("OpenSpiel has no wheels for Windows", allow_module_level=True)

import pyspiel
from open_spiel.python.algorithms import cfr, exploitability

from experiments.exact.openspiel import TablePolicy, load_game


def test_without_openspiel_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "felicity_env.openspiel")
    with pytest.raises(ImportError, match=r"needs OpenSpiel: pip install 'felicity-env\[openspiel\]'"):
        import_module("felicity_env.openspiel")


@pytest.mark.parametrize("setup", [*SETUPS, *SMALL_SETUPS])
def test_openspiels_own_test_of_a_game_passes(setup, capfd):
    pyspiel.random_sim_test(load_game(setup), num_sims=2, serialize=False, verbose=False)


@pytest.mark.parametrize("setup", SETUPS)
def test_a_random_game_has_our_legal_actions_and_win_shares(setup):
    rng, game = np.random.default_rng(3), load_game(setup)
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
        assert sum(probabilities) == pytest.approx(1)
        state.apply_action(int(rng.choice(outcomes, p=probabilities)))
    while not state.is_terminal():
        assert state.current_player() == state.recall.state.seat
        assert state.legal_actions() == list(list_legal_actions(state.recall.state))
        state.apply_action(int(rng.choice(state.legal_actions())))
    assert state.recall.state.seat == NO_SEAT
    assert sum(state.returns()) == pytest.approx(1)
    assert state.recall.state.num_seats == len(state.returns()) == find_setup(setup).seats


@pytest.mark.parametrize("setup", SETUPS)
def test_the_deal_of_openspiel_is_ours(setup):
    state = load_game(setup).new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[-1])
    dealt = state.recall.state
    assert initial_states(find_setup(setup), Deal.from_state(dealt))[0] == dealt
    assert dealt.start_seat == find_setup(setup).seats - 1
    assert set(dealt.removed[: dealt.num_seats].tolist()) == {9}


@pytest.mark.parametrize("setup", SETUPS)
def test_chance_draws_a_seat_then_removed_cards_then_cards_of_the_dummy_each_only_once(setup):
    state, numbers, texts = load_game(setup).new_initial_state(), [], []
    while state.is_chance_node():
        first = state.legal_actions()[0]
        numbers.append(len(state.legal_actions()))
        texts.append(state.action_to_string(pyspiel.PlayerId.CHANCE, first))
        state.apply_action(first)
    chosen = find_setup(setup)
    removed, dummy = count_dealt(chosen)
    assert numbers == [chosen.seats, *[len(chosen.cards)] * removed, *(len(chosen.cards) - k for k in range(dummy))]
    assert texts[:2] == ["seat 0", "card -8"]
    assert state.action_to_string(state.current_player(), PASS) == "pass"


@pytest.mark.parametrize("setup", [*SETUPS, *SMALL_SETUPS])
def test_openspiel_is_told_how_long_a_game_may_be(setup):
    chosen = find_setup(setup)
    # Each bid is higher than the one before, none above 63, and each seat may pass.
    auction = min(63, sum(chosen.mouse_cards) * chosen.rounds + chosen.mice) + chosen.seats
    assert load_game(setup).max_game_length() == chosen.rounds * (chosen.seats + auction)


def test_openspiel_is_told_what_the_game_provides_and_how_large_it_is():
    game = load_game("standard-4")
    kind = game.get_type()
    assert (kind.min_num_players, kind.max_num_players, game.num_players()) == (2, MAX_SEATS, 4)
    assert kind.provides_information_state_string
    assert kind.provides_information_state_tensor
    assert kind.provides_observation_tensor
    assert kind.provides_observation_string
    assert (game.min_utility(), game.max_utility(), game.utility_sum()) == (0, 1, 1)
    assert (game.num_distinct_actions(), game.max_chance_outcomes()) == (NUM_ACTIONS, 10)
    small = find_setup("tiny-2")
    assert load_game("tiny-2").max_chance_outcomes() == max(small.seats, 1 + max(small.cards))


def test_an_observation_of_openspiel_is_ours_with_the_mice_of_all():
    game = load_game("standard-3")
    state, observer = game.new_initial_state(), game.make_py_observer()
    observer.tensor.fill(3)
    observer.set_from(state, 0)
    assert not observer.tensor.any()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    expected = np.zeros(OBS_SIZE, np.float32)
    observe(state.recall.state, 1, True, expected)
    observer.set_from(state, 1)
    assert (observer.tensor == expected).all()
    assert (observer.dict["observation"] == expected).all()
    assert state.observation_string(1) == str(describe(expected))
    assert game.new_initial_state().observation_string(1) == "[]"
    recalling = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True))
    assert list(recalling.dict) == ["events"]
    assert recalling.string_from(state, 1) == str(state.recall.events[1])
    assert recalling.string_from(game.new_initial_state(), 1) == "[]"


@pytest.mark.parametrize(("setup", "rows"), [("tiny-2", 13), ("standard-3", 678), ("standard-4", 696)])
def test_an_information_state_has_a_row_for_each_event_that_a_seat_may_see(setup, rows):
    game, rng = load_game(setup), np.random.default_rng(3)
    assert game.information_state_tensor_shape() == [rows, 4]
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(int(rng.choice(state.legal_actions())))
    tensor = np.array(state.information_state_tensor(0)).reshape(rows, 4)
    assert int(tensor.any(axis=1).sum()) == len(state.recall.events[0])
    assert (tensor == encode_information_state(state.recall.events[0])[:rows]).all()


def test_no_setup_has_more_events_than_an_encoded_information_state_has_rows():
    assert count_events(Setup(seats=5, mouse_cards=(6, 6, 6, 6), bank=33)) <= MAX_EVENTS


def test_an_illegal_draw_or_action_is_refused_and_changes_nothing():
    state = load_game("tiny-2").new_initial_state()
    with pytest.raises(Exception, match="action 9 is not legal here; legal are 0, 1"):
        state.apply_action(9)
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    before = str(state)
    with pytest.raises(Exception, match="action 70 is not legal here; legal are "):
        state.apply_action(70)
    assert state._drawn == [0, 0, 0]
    assert state.recall.actions == []
    assert str(state) == before


def test_openspiel_computes_the_same_nash_conv():
    tree, game = GameTree.from_setup(SMALL_SETUPS["tiny-2"]), load_game("tiny-2")
    for policy in (tree.uniform_policy(), *list(solve(tree, 5))[::4]):
        theirs = exploitability.nash_conv(game, TablePolicy(game, tree, policy))
        assert theirs == pytest.approx(compute_gains(tree, policy).sum(), abs=1e-9)


def test_openspiels_cfr_plus_finds_the_same_policies():
    tree, game = GameTree.from_setup(SMALL_SETUPS["tiny-2"]), load_game("tiny-2")
    solver = cfr.CFRPlusSolver(game)
    for _ in range(3):
        solver.evaluate_and_update_policy()
    *_, policy = solve(tree, 3)
    theirs = exploitability.nash_conv(game, solver.average_policy())
    assert theirs == pytest.approx(compute_gains(tree, policy).sum(), abs=1e-9)
