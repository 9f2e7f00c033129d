"""Who sits in the other seats: as often as the mix says, by the seed of the game alone."""

import numpy as np
import pytest

from agents.network import NetworkPlayer
from felicity_env import game_seed
from felicity_env.game import MAX_SEATS
from felicity_env.tables import LEARNER
from train.config import SelfplayConfig
from train.opponents import OpponentPool


def pool_of(mix: dict[str, float], *, num_past: int = 2) -> OpponentPool:
    return OpponentPool(mix, num_past=num_past)


def games(count: int) -> np.ndarray:
    """Seeds of games."""
    return np.array([game_seed(3, game, 0) for game in range(count)], np.uint64)


def numbered(number: int) -> NetworkPlayer:
    return NetworkPlayer.of([(np.full((2, 2), number, np.float32), np.zeros(2, np.float32))])


def number_of(snapshot: object) -> int:
    return int(snapshot.player.layers[0][0][0, 0])


def test_opponents_are_drawn_as_often_as_the_mix_says():
    pool = pool_of({"self": 2.0, "past": 1.0, "ev": 0.5, "random": 0.5, "anchor": 0.0})
    drawn = pool.opposite(games(20_000))[:, 1]
    shares = np.bincount(drawn, minlength=6) / 20_000
    assert shares == pytest.approx([0.5, 0.125, 0.125, 0.125, 0.125, 0.0], abs=0.012)
    assert shares[5] == 0


def test_one_opponent_sits_in_all_other_seats_of_a_game_of_one_learner():
    opposite = pool_of({"self": 1.0, "ev": 1.0}, num_past=0).opposite(games(500))
    assert opposite.shape == (500, MAX_SEATS)
    assert (opposite == opposite[:, :1]).all()
    assert set(opposite[:, 0]) == {0, 1}


def test_another_player_has_all_seats_but_one_and_a_guest_has_one():
    pool = OpponentPool({"self": 0.4, "ev": 0.3}, guests={"anchor": 0.2, "ev": 0.1})
    around = pool.around(games(4000), np.full(4000, 4))[:, :4]
    assert around.max() == 2
    for player, by_seats in ((1, [0.0, 0.1, 0.0, 0.3]), (2, [0.0, 0.2, 0.0, 0.0])):
        seats = (around == player).sum(axis=1)
        shares = np.bincount(seats, minlength=4) / 4000
        assert shares[1:] == pytest.approx(by_seats[1:], abs=0.03)
        taken = (around[seats > 0] == player).mean(axis=0)
        assert taken == pytest.approx([taken.mean()] * 4, abs=0.04)  # no seat is preferred
    assert (around == LEARNER).all(axis=1).mean() == pytest.approx(0.4, abs=0.03)


def test_tables_may_be_of_learners_and_guests_alone():
    config = SelfplayConfig(mix=("self=0",), guests=("ev=1",))
    around = OpponentPool(config.weights, guests=config.guest_weights).around(games(200), np.full(200, 4))[:, :4]
    assert ((around != LEARNER).sum(axis=1) == 1).all()
    with pytest.raises(ValueError, match="--mix needs a weight above 0"):
        SelfplayConfig(mix=("self=0",), guests=("ev=0",))


def test_who_sits_down_depends_on_the_game_alone():
    pool = pool_of({"self": 1.0, "ev": 1.0, "anchor": 1.0}, num_past=0)
    together = pool.around(games(50), np.full(50, 5))
    one_by_one = [pool.around(games(50)[k : k + 1], np.array([5]))[0] for k in range(50)]
    assert (together == one_by_one).all()


def test_the_newest_self_follows_and_older_ones_are_replaced_in_turn():
    pool = pool_of({"self": 1.0, "past": 1.0}, num_past=2)
    pool.update(numbered(0))
    assert [number_of(player) for player in pool.past] == [0, 0]  # stand-ins
    pool.update(numbered(1))
    assert number_of(pool.newest) == 1
    for turn, number in enumerate((2, 3, 4)):
        pool.remember(numbered(number), turn)
    assert [number_of(player) for player in pool.players] == [1, 4, 3]
    again = pool_of({"self": 1.0, "past": 1.0}, num_past=2)
    again.restore_past([NetworkPlayer.of(layers) for layers in pool.past_layers()])
    assert [number_of(player) for player in again.past] == [4, 3]
