"""Playouts: they end the game, each model sees what its seat may know, and utilities are win share plus margin."""

import numpy as np
import pytest

from agents.compiled import HEURISTICS, CompiledPlayer, heuristic_number
from agents.playout import MARGIN_WEIGHT, play_out, utilities
from felicity_env import View
from felicity_env.game import MAX_SEATS, OVER, STATE, Setup, is_terminal, rank, step
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from tests.support.helpers import ALL_SETUPS, COMPILED, draw_bits, random_game

EVERY = 2 if COMPILED else 7  # of the positions of a game


@kernel
def _play_out_all(states, models, scratch, seeds):
    for k in range(len(seeds)):
        play_out(states[k], scratch, models[k], seeds[k])


@kernel
def _compute_utilities(states, values, out):
    for k in range(len(states)):
        utilities(states[k], values)
        for seat in range(MAX_SEATS):
            out[k, seat] = values[0, seat]


def positions(setup: Setup, *, games: int, every: int) -> np.ndarray:
    """Return true states of random games that are not over."""
    return np.concatenate([random_game(setup, seed).states[seed % 2 : -1 : every] for seed in range(games)])


def play_out_copies(states: np.ndarray, models: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    final_states = states.copy()
    _play_out_all(final_states, models, np.zeros(1, STATE), seeds)
    return final_states


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_a_playout_ends_the_game_and_conserves_mice(setup):
    truth = positions(setup, games=4 if COMPILED else 1, every=EVERY + 1)
    worlds = resample(redact(truth, truth["seat"]), np.random.default_rng(0))
    models = np.random.default_rng(1).integers(len(HEURISTICS), size=(len(truth), MAX_SEATS))
    final = play_out_copies(worlds, models, draw_bits(len(truth), 1))
    assert (final["phase"] == OVER).all()
    mice = final["mice"][:, : setup.seats].sum(axis=1) + final["pots"].sum(axis=1) + final["bank"]
    assert (mice == setup.total_mice).all()
    assert (final["mice"] >= 0).all()


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_a_playout_takes_the_actions_of_players_who_see_their_views(setup):
    """Use players that draw nothing, so that their actions follow from their views alone."""
    codes = ("ev", "miser", "bluffer")
    truth = positions(setup, games=2 if COMPILED else 1, every=9 * EVERY)
    numbers = [heuristic_number(code) for code in codes]
    models = np.array(numbers)[np.random.default_rng(2).integers(len(codes), size=(len(truth), MAX_SEATS))]
    final = play_out_copies(truth, models, draw_bits(len(truth)))
    for state, models_of_game, final_state in zip(truth.copy(), models, final, strict=True):
        while not is_terminal(state):
            seat = int(state.seat)
            view = View(redact(np.array([state], STATE), seat), np.array([seat]), np.zeros(1, np.uint64))
            code = codes[numbers.index(models_of_game[seat])]
            step(state, int(CompiledPlayer(code).act(view)[0]))
        assert state.tobytes() == final_state.tobytes()


def test_the_utility_is_the_win_share_and_a_little_for_the_margin():
    for setup in ALL_SETUPS:
        final = np.concatenate([random_game(setup, seed).states[-1:] for seed in range(30 if COMPILED else 3)])
        final["mice"][::3, : setup.seats], final["cat_points"][::3, : setup.seats] = 7, 5  # all win
        out = np.full((len(final), MAX_SEATS), np.nan)
        _compute_utilities(final, np.full((2, MAX_SEATS), np.nan), out)
        seats = range(setup.seats)
        for state, values in zip(final, out, strict=True):
            winners = [seat for seat in seats if rank(state, seat) == 1]
            scores = [int(state.mice[seat] + state.cat_points[seat]) for seat in seats]
            for seat in seats:
                margin = scores[seat] - (sum(scores) - scores[seat]) / (setup.seats - 1)
                win_share = 1 / len(winners) if seat in winners else 0
                assert values[seat] == pytest.approx(win_share + MARGIN_WEIGHT * margin)
            assert (values[setup.seats :] == 0).all()
