"""Tables: several seats learn, players answer from the others, nobody's reward is lost."""

import numpy as np
import pytest

from agents import make
from agents.compiled import compiled_among
from felicity_env import Batch, Player, View
from felicity_env.game import MAX_SEATS
from felicity_env.tables import LEARNER, Tables
from felicity_env.view import RandomPlayer

GAMES = 30


class Uncompiled:
    """A player by calls from Python."""

    def __init__(self, player: Player) -> None:
        self.player = player

    def act(self, view: View) -> np.ndarray:
        return self.player.act(view)


def seating_of(batch: Batch):
    """A seating that mixes learners and players, another for every game."""

    def seating(rows: np.ndarray) -> np.ndarray:
        words = batch.game_seeds[rows][:, None] >> np.arange(1, 1 + 2 * MAX_SEATS, 2, dtype=np.uint64)
        drawn = (words % np.uint64(4)).astype(np.int64)
        first = (batch.game_seeds[rows] % np.uint64(3)).astype(np.int64)
        return np.where((drawn == 3) | (np.arange(MAX_SEATS) == first[:, None]), LEARNER, drawn)

    return seating


def tables_of(players: list[Player], *, reward: str = "score", compiled: bool = True) -> Tables:
    batch = Batch(GAMES, [3, 4, 5] * (GAMES // 3), seed=4, reward=reward)
    tables = Tables(batch, players, seating=seating_of(batch), compiled=compiled_among(players) if compiled else None)
    tables.begin()
    return tables


def players() -> list[Player]:
    return [make("ev"), make("anchor"), Uncompiled(make("random"))]


def test_a_learner_is_to_act_at_every_table():
    tables = tables_of(players())
    for _ in range(200):
        assert (tables.seating[np.arange(GAMES), tables.batch.seats] == LEARNER).all()
        tables.step(RandomPlayer().act(tables.batch.view()))
    assert (tables.batch.episodes > 0).all()


@pytest.mark.parametrize("reward", ["win", "score", "round"])
def test_kernels_and_calls_play_the_same_tables(reward):
    fast = tables_of(players(), reward=reward)
    slow = tables_of([Uncompiled(player) for player in players()], reward=reward, compiled=False)
    for _ in range(150):
        actions = RandomPlayer().act(fast.batch.view())
        fast.step(actions)
        slow.step(actions)
        assert (fast.batch.states == slow.batch.states).all()
        assert (fast.rewards == slow.rewards).all()
        assert (fast.terminated == slow.terminated).all()
        assert (fast.seating == slow.seating).all()


@pytest.mark.parametrize("reward", ["score", "round"])
def test_every_seat_gets_what_it_earned_in_the_game_whoever_ends_it(reward):
    tables = tables_of(players(), reward=reward)
    earned = np.zeros((GAMES, MAX_SEATS))
    ended = 0
    for step in range(300):
        tables.step(RandomPlayer().act(tables.batch.view()))
        earned += tables.rewards
        for game in np.flatnonzero(tables.terminated):
            seats = int(tables.batch.final_states["num_seats"][game])
            expected = tables.batch.scores[game, :seats] - (15 if reward == "round" else 0)
            assert earned[game, :seats].tolist() == expected.tolist(), (step, game)
            ended += 1
        earned[tables.terminated] = 0.0
    assert ended > GAMES


def test_without_players_every_seat_learns_and_a_step_is_a_step_of_the_batch():
    batch, alone = Batch(9, 4, seed=1), Batch(9, 4, seed=1)
    tables = Tables(batch, [], seating=lambda rows: np.full((len(rows), MAX_SEATS), LEARNER))
    tables.begin()
    for _ in range(300):
        actions = RandomPlayer().act(batch.view())
        tables.step(actions)
        alone.step(actions)
        assert (batch.observations == alone.observations).all()
        assert (tables.rewards == alone.rewards).all()
        assert (tables.terminated == alone.terminated).all()


def test_an_illegal_action_is_refused_and_no_table_moves():
    tables = tables_of(players())
    before = tables.batch.states.copy()
    actions = RandomPlayer().act(tables.batch.view())
    actions[2] = -1
    with pytest.raises(ValueError, match="game 2: "):
        tables.step(actions)
    assert (tables.batch.states == before).all()


def test_a_batch_goes_on_from_its_clone_bit_for_bit():
    first = tables_of(players())
    for _ in range(70):
        first.step(RandomPlayer().act(first.batch.view()))
    saved = first.batch.clone()
    second = tables_of(players())
    second.batch.restore(saved)
    second.resume()
    for _ in range(150):
        actions = RandomPlayer().act(first.batch.view())
        assert (RandomPlayer().act(second.batch.view()) == actions).all()
        first.step(actions)
        second.step(actions)
        assert (first.batch.observations == second.batch.observations).all()
        assert (first.rewards == second.rewards).all()
        assert (first.seating == second.seating).all()


def test_a_clone_is_a_copy_and_another_batch_refuses_it():
    batch, other = Batch(5, 4, seed=1), Batch(6, 4, seed=2)
    saved = batch.clone()
    batch.play_random(30)
    assert (Batch(5, 4, seed=1).clone()["states"] == saved["states"]).all()
    before = other.states.copy()
    with pytest.raises(ValueError, match="saved games"):
        other.restore(saved)
    assert (other.states == before).all()
