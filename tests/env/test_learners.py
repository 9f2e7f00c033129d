"""`LearningGames`: several seats learn, players act from the other seats, and every reward arrives."""

import numpy as np
import pytest

from agents import make
from agents.compiled import select_compiled
from felicity_env import Batch, Player, View
from felicity_env.game import MAX_SEATS
from felicity_env.learners import (
    LEARNER,
    NOT_COMPILED,
    CompiledPlayers,
    LearningGames,
    OpponentError,
    SingleLearnerGames,
)
from felicity_env.player import RandomPlayer
from tests.support.helpers import COMPILED

GAMES = 30 if COMPILED else 3
NUMBERS = np.array([7, NOT_COMPILED, 0])  # of three players, of which the second is not compiled


class Uncompiled:
    """Player that is called from Python."""

    def __init__(self, player: Player) -> None:
        self.player = player

    def act(self, view: View) -> np.ndarray:
        return self.player.act(view)


def make_seating(batch: Batch):
    """Return a seating that mixes learners and players, different in every game."""

    def seating(indices: np.ndarray) -> np.ndarray:
        bits = batch.game_seeds[indices][:, None] >> np.arange(1, 1 + 2 * MAX_SEATS, 2, dtype=np.uint64)
        drawn = (bits % np.uint64(4)).astype(np.int64)
        first = (batch.game_seeds[indices] % np.uint64(3)).astype(np.int64)
        return np.where((drawn == 3) | (np.arange(MAX_SEATS) == first[:, None]), LEARNER, drawn)

    return seating


def make_games(players: list[Player], *, reward: str = "score", compiled: bool = True) -> LearningGames:
    batch = Batch(GAMES, [3, 4, 5] * (GAMES // 3), seed=4, reward=reward)
    games = LearningGames(
        batch, players, seating=make_seating(batch), compiled=select_compiled(players) if compiled else None
    )
    games.begin()
    return games


def players() -> list[Player]:
    return [make("ev"), make("anchor"), Uncompiled(make("random"))]


def test_a_learner_is_to_act_in_every_game():
    games = make_games(players())
    for _ in range(200):
        assert (games.seating[np.arange(GAMES), games.batch.seats] == LEARNER).all()
        games.step(RandomPlayer().act(games.batch.view()))
    assert (games.batch.episodes > 0).all()


@pytest.mark.parametrize("reward", ["win", "score", "round"])
def test_kernels_and_calls_play_the_same_games(reward):
    fast = make_games(players(), reward=reward)
    slow = make_games([Uncompiled(player) for player in players()], reward=reward, compiled=False)
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
    games = make_games(players(), reward=reward)
    earned = np.zeros((GAMES, MAX_SEATS))
    ended = 0
    for step in range(300):
        games.step(RandomPlayer().act(games.batch.view()))
        earned += games.rewards
        for game in np.flatnonzero(games.terminated):
            seats = int(games.batch.final_states["num_seats"][game])
            expected = games.batch.scores[game, :seats] - (15 if reward == "round" else 0)
            assert earned[game, :seats].tolist() == expected.tolist(), (step, game)
            ended += 1
        earned[games.terminated] = 0.0
    assert ended > GAMES


def test_without_players_every_seat_learns_and_a_step_is_a_step_of_the_batch():
    batch, alone = Batch(9, 4, seed=1), Batch(9, 4, seed=1)
    games = LearningGames(batch=batch, players=[], seating=lambda indices: np.full((len(indices), MAX_SEATS), LEARNER))
    games.begin()
    for _ in range(300):
        actions = RandomPlayer().act(batch.view())
        games.step(actions)
        alone.step(actions)
        assert (batch.observations == alone.observations).all()
        assert (games.rewards == alone.rewards).all()
        assert (games.terminated == alone.terminated).all()


def test_before_the_first_step_no_learner_has_earned_anything():
    games = LearningGames(Batch(3, 4, seed=1), [], seating=lambda indices: np.full((len(indices), MAX_SEATS), LEARNER))
    games.rewards[:] = 5.0
    games.begin()
    assert not games.rewards.any()


def test_compiled_code_is_told_the_number_of_the_player_in_each_seat():
    told = []

    def play(_buffers, _settings, _indices, loop):
        told.append(loop.numbers[0].tolist())

    seats, compiled = np.array([[1, LEARNER, 0, 1, 2]]), CompiledPlayers(play, NUMBERS)
    LearningGames(Batch(1, 5, seed=1), [make("random")] * 3, seating=lambda _: seats, compiled=compiled).begin()
    assert told[0] == [NOT_COMPILED, NOT_COMPILED, 7, NOT_COMPILED, 0]


def test_compiled_players_act_only_while_no_other_thread_plays_in_the_batch():
    refused = []

    def play(_buffers, _settings, indices, _loop):
        with pytest.raises(RuntimeError, match="another thread is playing in this batch"):
            batch.play_random(1)
        refused.append(len(indices))

    batch = Batch(1, 5, seed=1)
    seats, compiled = np.array([[1, LEARNER, 0, 1, 2]]), CompiledPlayers(play, NUMBERS)
    LearningGames(batch, [make("random")] * 3, seating=lambda _: seats, compiled=compiled).begin()
    assert refused[0] == 1


def test_no_compiled_player_has_the_number_that_stands_for_none():
    assert NOT_COMPILED < 0


def test_an_illegal_action_is_refused_and_no_game_moves():
    games = make_games(players())
    before = games.batch.states.copy()
    actions = RandomPlayer().act(games.batch.view())
    actions[2] = -1
    with pytest.raises(ValueError, match="game 2: "):
        games.step(actions)
    assert (games.batch.states == before).all()


def test_a_batch_goes_on_from_its_clone_bit_for_bit():
    first = make_games(players())
    for _ in range(70):
        first.step(RandomPlayer().act(first.batch.view()))
    saved = first.batch.clone()
    second = make_games(players())
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


def test_games_that_have_not_begun_cannot_go_on():
    games = LearningGames(Batch(4, seed=1), [], seating=lambda indices: np.full((len(indices), MAX_SEATS), LEARNER))
    with pytest.raises(ValueError, match=r"no games are being played: call begin\(\)"):
        games.step(np.zeros(4, np.int64))


# --- one learner in each game -----------------------------------------------------------------------------------------


def test_the_learners_first_seat_follows_from_the_seed():
    games = SingleLearnerGames(Batch(8, setup="small-3", seed=7), "random")
    assert games.seats.tolist() == [0, 2, 2, 1, 0, 1, 1, 2]  # of this seed for ever
    assert not games.rewards.any()


def test_the_learners_seat_goes_round_from_game_to_game():
    games = SingleLearnerGames(Batch(4, setup="small-3", seed=7), "random")
    for _ in range(60):
        before = games.seats.copy()
        games.step(RandomPlayer().act(games.batch.view()))
        assert (games.seats == (before + games.terminated) % 3).all()
    assert games.batch.episodes.min() > 3


@pytest.mark.parametrize(
    ("players", "seating"), [("ev random pass", [-1, 0, 1, 2]), ("ev random", [-1, 0, 1]), ("ev", [-1, 0, 0, 0])]
)
def test_players_sit_clockwise_from_the_learner_in_their_order(players, seating):
    seats = len(seating)
    games = SingleLearnerGames(batch=Batch(6, seats, seed=2), players=players.split())
    assert len(set(games.seats.tolist())) > 1
    for game, seat in enumerate(games.seats):
        assert [games.games.seating[game, (seat + k) % seats] for k in range(seats)] == seating


class Recorder(RandomPlayer):
    """Random player that records the seats for which it acts."""

    def __init__(self) -> None:
        self.seats: set[int] = set()

    def act(self, view: View) -> np.ndarray:
        self.seats |= set(view.seats.tolist())
        return super().act(view)


@pytest.mark.parametrize("seat", [0, 1, 3])
def test_each_player_is_asked_for_its_own_seat_alone(seat):
    players = [Recorder() for _ in range(3)]
    games = SingleLearnerGames(Batch(3, 4, seed=2), players, seat=seat)
    for _ in range(30):
        games.step(RandomPlayer().act(games.batch.view()))
    assert [player.seats for player in players] == [{(seat + k) % 4} for k in (1, 2, 3)]


@pytest.mark.parametrize("seat", [-1, 3, 4, 1.0, True, "0"])
def test_a_seat_that_not_every_game_has_is_refused(seat):
    with pytest.raises(ValueError, match="seat must be None or 0 to 2, not "):
        SingleLearnerGames(Batch(2, [3, 4], seed=1), "random", seat=seat)


def test_games_that_do_not_restart_are_refused():
    with pytest.raises(ValueError, match="make the batch without autoreset=False"):
        SingleLearnerGames(Batch(2, 4, seed=1, autoreset=False), "random")


def test_an_abandoned_game_costs_a_win_and_the_next_one_begins():
    games, alone = (SingleLearnerGames(Batch(3, 4, seed=2), "random") for _ in range(2))
    actions = RandomPlayer().act(games.batch.view())
    observations, seats = games.observations.copy(), games.seats.copy()
    actions[1] = -1  # not played
    games.step(actions=actions, abandon=np.array([1]))
    assert games.rewards.tolist() == [0, -1, 0]
    assert games.terminated.tolist() == [False, True, False]
    assert games.batch.episodes.tolist() == [0, 1, 0]
    assert (games.final_observations[1] == observations[1]).all()
    assert games.final_seats[1] == seats[1]
    actions[1] = alone.action_masks[1].argmax()
    alone.step(actions)
    assert (games.observations[[0, 2]] == alone.observations[[0, 2]]).all()


@pytest.mark.parametrize("number", [0, 2, 4])
def test_the_other_seats_need_one_player_or_one_each(number):
    with pytest.raises(ValueError, match=f"players must be one player or 3 in seating order, not {number}"):
        SingleLearnerGames(Batch(4, seed=1), ["random"] * number)


def test_players_may_be_given_by_their_codes():
    by_code, by_object = (SingleLearnerGames(Batch(4, seed=1), player) for player in ("ev", make("ev")))
    for _ in range(30):
        np.testing.assert_array_equal(by_code.observations, by_object.observations)
        for games in (by_code, by_object):
            games.step(games.action_masks.argmax(axis=1))


class Always:
    def __init__(self, answer):
        self.answer = answer

    def act(self, view):
        return self.answer[: len(view)] if np.ndim(self.answer) else self.answer

    def __repr__(self):
        return "Always()"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.full(8, 73), "a player that does not learn chose an illegal action: game 0: seat . cannot bid 63"),
        (np.zeros((8, 2), int), r"act\(\) of Always\(\) returned an array of shape \[\d, 2\], not one action for each"),
        (0, r"act\(\) of Always\(\) returned an array of shape \[\], not one action for each of \d decisions"),
    ],
)
def test_a_player_that_does_not_act_as_it_should_is_named(answer, message):
    with pytest.raises(OpponentError, match=message):
        SingleLearnerGames(Batch(8, seed=1), Always(answer)).step(np.zeros(8, np.int64))
