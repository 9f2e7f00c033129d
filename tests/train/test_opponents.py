"""Opponents: drawn as often as the mix says, by the seed of the game alone."""

from itertools import combinations

import numpy as np
import pytest

from agents.network import NetworkPlayer
from agents.policy_file import Layers
from felicity_env import game_seed
from felicity_env.game import MAX_SEATS
from felicity_env.learners import LEARNER
from train.opponents import OpponentPool


def create_pool(mix: dict[str, float], *, num_past: int = 2) -> OpponentPool:
    return OpponentPool(mix, num_past=num_past)


def list_seeds(count: int) -> np.ndarray:
    return np.array([game_seed(3, game, 0) for game in range(count)], np.uint64)


def create_player(layers: Layers) -> NetworkPlayer:
    return NetworkPlayer(layers, open_mice=False, activation="tanh")


def create_policy(number: int) -> NetworkPlayer:
    return create_player([(np.full((2, 2), number, np.float32), np.zeros(2, np.float32))])


def read_number(snapshot: object) -> int:
    return int(snapshot.player.layers[0][0][0, 0])


def test_opponents_are_drawn_as_often_as_the_mix_says():
    pool = create_pool({"self": 2.0, "past": 1.0, "ev": 0.5, "random": 0.5, "anchor": 0.0})
    drawn = pool.draw_opponents(list_seeds(20_000))[:, 1]
    shares = np.bincount(drawn, minlength=6) / 20_000
    assert shares == pytest.approx([0.5, 0.125, 0.125, 0.125, 0.125, 0.0], abs=0.012)
    assert shares[5] == 0


def test_one_opponent_sits_in_all_other_seats_of_a_game_of_one_learner():
    drawn = create_pool({"self": 1.0, "ev": 1.0}, num_past=0).draw_opponents(list_seeds(500))
    assert drawn.shape == (500, MAX_SEATS)
    assert (drawn == drawn[:, :1]).all()
    assert set(drawn[:, 0]) == {0, 1}


def test_a_drawn_opponent_has_all_seats_but_one_and_no_seat_is_preferred():
    pool = OpponentPool({"self": 0.4, "ev": 0.4, "anchor": 0.2})
    seating = pool.draw_seating(list_seeds(4000), np.full(4000, 4))[:, :4]
    for player, weight in ((1, 0.4), (2, 0.2)):
        seats = (seating == player).sum(axis=1)
        assert set(seats) == {0, 3}
        assert (seats == 3).mean() == pytest.approx(weight, abs=0.03)
        assert (seating[seats == 3] == player).mean(axis=0) == pytest.approx([0.75] * 4, abs=0.04)
    assert (seating == LEARNER).all(axis=1).mean() == pytest.approx(0.4, abs=0.03)


def test_two_learners_of_a_game_have_any_two_seats():
    seating = OpponentPool({"ev": 1.0}, num_learners=2).draw_seating(list_seeds(6000), np.full(6000, 4))
    pairs = [tuple(np.flatnonzero(row == LEARNER)) for row in seating[:, :4]]
    for pair in combinations(range(4), 2):
        assert pairs.count(pair) / 6000 == pytest.approx(1 / 6, abs=0.02)


def test_the_seating_depends_on_the_game_alone():
    pool = create_pool({"self": 1.0, "ev": 1.0, "anchor": 1.0}, num_past=0)
    together = pool.draw_seating(list_seeds(50), np.full(50, 5))
    one_by_one = [pool.draw_seating(list_seeds(50)[k : k + 1], np.array([5]))[0] for k in range(50)]
    assert (together == one_by_one).all()


def test_the_current_policy_is_renewed_and_past_ones_are_replaced_in_turn():
    pool = create_pool({"self": 1.0, "past": 1.0}, num_past=2)
    pool.update(create_policy(0))
    assert [read_number(player) for player in pool.past] == [0, 0]  # stand-ins
    pool.update(create_policy(1))
    assert read_number(pool.newest) == 1
    for turn, number in enumerate((2, 3, 4)):
        pool.remember(create_policy(number), turn)
    assert [read_number(player) for player in pool.players] == [1, 4, 3]
    again = create_pool({"self": 1.0, "past": 1.0}, num_past=2)
    again.restore_past([create_player(layers) for layers in pool.past_layers()])
    assert [read_number(player) for player in again.past] == [4, 3]
