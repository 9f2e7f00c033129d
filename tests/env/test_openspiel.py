"""The game for OpenSpiel: its rules are ours, and its algorithms give the numbers that ours give."""

import sys

import numpy as np
import pytest

from experiments.exact.cfr import solve
from experiments.exact.tree import GameTree
from experiments.exact.values import compute_gains
from felicity_env.game import NO_SEAT
from felicity_env.game_record import Deal, initial_states, list_legal_actions
from felicity_env.setups import SETUPS, SMALL_SETUPS, find_setup

if sys.platform == "win32":  # there are no wheels of OpenSpiel
    pytest.skip("OpenSpiel has no wheels for Windows", allow_module_level=True)

import pyspiel
from open_spiel.python.algorithms import cfr, exploitability

from experiments.exact.openspiel import TablePolicy, load_game


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
