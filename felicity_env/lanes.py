"""Lanes: games in which one seat learns and players answer from the others.

A lane is a game of a `Batch` and the seat of the learner in it. A step of all lanes goes from one decision of the
learner to its next: the others move in between, each player in one call for all its lanes. When a game ends the next
begins, the learner one seat further. Rewards that fall due between two decisions are added up.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from felicity_env.batch import Batch
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE
from felicity_env.random_stream import mix
from felicity_env.transcript import is_integer
from felicity_env.view import Player, RandomPlayer, observations_of

GIVE_UP_REWARD = -1.0
Seating = Callable[[np.ndarray], np.ndarray]
NOT_COMPILED = -1


class Compiled(NamedTuple):
    """Players that need no call from Python: much faster where few lanes wait for many short answers.

    answer: a kernel that plays on in the lanes `rows` while a compiled player is to act, and stops at the learner's
    turn, another player's, or the end of the game: `answer(buffers, settings, rows, seats of the learners, table
    (player in each place), numbers, rewards (added to), ended (written), scratch (STATE [1]))`.
    numbers: int64 [players], by which `answer` knows each player; `NOT_COMPILED` for the others.
    """

    answer: Callable[..., None]
    numbers: np.ndarray


@kernel
def _earn(b, rows, seats, rewards, ended):
    for row in rows:
        rewards[row] += b.rewards[row, seats[row]]
        ended[row] = b.terminated[row]


class Lanes:
    """`batch.num_games` lanes; the learner decides where `observations` and `action_masks` say.

    players: who may sit in the other seats. seating: for the lanes [K] about to begin a game, which of `players` sits
    in each place counted clockwise from the learner: integers [K, MAX_SEATS] (the first column is not read). Without it
    the players sit in their order, or the only one everywhere. seat: the learner's, or None to rotate. compiled: which
    players are played by a kernel instead of their `act`.

    After a step: `rewards` float64 [B], `terminated` bool [B], and where terminated `final_observations`
    float32 [B, OBS_SIZE] and `final_seats` int64 [B] of the game that ended.
    """

    def __init__(
        self,
        batch: Batch,
        players: Sequence[Player],
        *,
        seating: Seating | None = None,
        seat: int | None = None,
        compiled: Compiled | None = None,
    ) -> None:
        self.batch, self.players = batch, list(players)
        self._seating = seating or self._in_order
        self._fixed_seat = _check_seat(batch, seat)
        lanes = batch.num_games
        self.observations, self.action_masks = batch.observations, batch.action_masks
        self.seats = np.zeros(lanes, np.int64)  # of the learner
        self.rewards = np.zeros(lanes)
        self.terminated = np.zeros(lanes, np.bool_)
        self.final_observations = np.zeros((lanes, OBS_SIZE), np.float32)
        self.final_seats = np.zeros(lanes, np.int64)
        self._table = np.zeros((lanes, MAX_SEATS), np.int64)
        self._all = np.arange(lanes)
        self._compiled, self._ended, self._scratch = compiled, np.zeros(lanes, np.bool_), np.empty(1, STATE)
        self.begin()

    def _in_order(self, rows: np.ndarray) -> np.ndarray:
        order = np.arange(MAX_SEATS) - 1 if len(self.players) > 1 else np.zeros(MAX_SEATS, np.int64)
        return np.broadcast_to(order, (len(rows), MAX_SEATS))

    def begin(self) -> None:
        """Take the games of the batch as they are now (after its `reset`) and play on to the learner's decisions."""
        seed = np.uint64(self.batch.seed)
        first = [int(mix(np.uint64(mix(seed)) + np.uint64(row))) >> 33 for row in self._all]
        self._first_seats = np.array(first, np.int64)  # random per lane; from there the seat rotates
        self.rewards[:], self.terminated[:] = 0.0, False
        self._sit_down(self._all)
        self._answer()

    def _sit_down(self, rows: np.ndarray) -> None:
        rotated = (self._first_seats[rows] + self.batch.episodes[rows]) % self.batch.num_players[rows]
        self.seats[rows] = rotated if self._fixed_seat is None else self._fixed_seat
        self._table[rows] = self._seating(rows)

    def step(self, actions: np.ndarray, *, give_up: np.ndarray | None = None) -> None:
        """The learner plays `actions`, integers [B]; raises `ValueError`, and plays none, if any is illegal.

        give_up: lanes in which the learner ends the game instead, with reward `GIVE_UP_REWARD`.
        """
        actions = np.asarray(actions)
        if actions.shape != self._all.shape:
            raise ValueError(f"actions must be {len(self._all)} integers, not {actions.dtype} {list(actions.shape)}")
        rows = self._all if give_up is None else np.setdiff1d(self._all, give_up)
        self.batch.step(actions[rows], None if give_up is None else rows)
        self.rewards[:], self.terminated[:] = 0.0, False
        self._collect(rows)
        if give_up is not None:
            self._give_up(give_up)
        self._answer()

    def _give_up(self, rows: np.ndarray) -> None:
        self.batch.final_states[rows] = self.batch.states[rows]
        self.rewards[rows] = GIVE_UP_REWARD
        self._end(rows)
        self.batch.restart(rows)
        self._sit_down(rows)

    def _collect(self, rows: np.ndarray) -> None:
        """After a step in `rows`: add up what the learner earned, and sit down to the next game where one ended."""
        _earn(self.batch.buffers, rows, self.seats, self.rewards, self._ended)
        self._next_games(rows[self._ended[rows]])

    def _next_games(self, rows: np.ndarray) -> None:
        """The games in `rows` have ended and the next ones lie dealt."""
        if len(rows):
            self._end(rows)
            self._sit_down(rows)

    def _end(self, rows: np.ndarray) -> None:
        """Keep what the learner last saw of the games in `rows`, which stand in `final_states`."""
        self.terminated[rows] = True
        self.final_seats[rows] = self.seats[rows]
        final = np.empty((len(rows), OBS_SIZE), np.float32)
        observations_of(self.batch.final_states[rows], self.seats[rows], self.batch.open_mice, final)
        self.final_observations[rows] = final

    def _answer(self) -> None:
        """Let the others move until the learner is to act in every lane."""
        rows = self._all
        while True:
            self._answer_compiled(rows)
            rows = np.flatnonzero(self.batch.seats != self.seats)
            if not len(rows):
                return
            self.batch.step(self._choose(rows), rows)
            self._collect(rows)

    def _answer_compiled(self, rows: np.ndarray) -> None:
        """Let compiled players move in `rows` as long as it is their turn, in the next games too."""
        if self._compiled is None:
            return
        batch, (answer, numbers) = self.batch, self._compiled
        while len(rows):
            state = (self.seats, self._table, numbers, self.rewards, self._ended, self._scratch)
            answer(batch.buffers, batch.settings, rows, *state)
            rows = rows[self._ended[rows]]
            self._next_games(rows)

    def _choose(self, rows: np.ndarray) -> np.ndarray:
        """The actions of the players to act in `rows`: one call for each player."""
        places = (self.batch.seats[rows] - self.seats[rows]) % self.batch.num_players[rows]
        return ask(self.players, self._table[rows, places], self.batch, rows)


def ask(players: Sequence[Player], who: np.ndarray, batch: Batch, rows: np.ndarray) -> np.ndarray:
    """The actions [K] of the seats to act in the games `rows` [K]: players[who[k]] in rows[k], one call for each."""
    actions = np.empty(len(rows), np.int64)
    for number, player in enumerate(players):
        mine = who == number
        if mine.any():
            actions[mine] = player.act(batch.view(rows[mine]))
    return actions


def _check_seat(batch: Batch, seat: int | None) -> int | None:
    if seat is not None and (not is_integer(seat) or not 0 <= seat < batch.num_players.min()):
        raise ValueError(f"seat must be None or 0 to {batch.num_players.min() - 1}, not {seat!r}")
    return seat


def check_opponents(opponents: Player | Sequence[Player] | None, num_opponents: int) -> list[Player]:
    """As a list: uniform random by default, one player for all seats, or one for each in seating order."""
    if opponents is None:
        return [RandomPlayer()]
    players = list(opponents) if isinstance(opponents, Sequence) else [opponents]
    if isinstance(opponents, Sequence) and len(players) != num_opponents:
        raise ValueError(f"opponents must be one player or {num_opponents} in seating order, not {len(players)}")
    for player in players:
        if not callable(getattr(player, "act", None)):
            raise ValueError(f"an opponent needs a method act(view) -> actions; {player!r} has none")
    return players
