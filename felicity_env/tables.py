"""Tables: games in which some seats learn and players answer from the others.

A step of all tables goes from one decision of a learner to the next one, of whichever learning seat comes first: the
players move in between, each in one call for all its tables. When a game ends the next begins with a new seating.
Rewards that fall due between two decisions are added up, seat by seat. Every game needs a seat that learns.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from felicity_env.batch import Batch
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.kernel import kernel
from felicity_env.view import Player

LEARNER = -1  # in a seating: this seat learns
NOT_COMPILED = -1
Seating = Callable[[np.ndarray], np.ndarray]


class Waiting(NamedTuple):
    """The tables as `Compiled.answer` takes them."""

    numbers: np.ndarray  # int64 [B, MAX_SEATS]: of the compiled player in each seat, or NOT_COMPILED
    rewards: np.ndarray  # float64 [B, MAX_SEATS]: added to
    ended: np.ndarray  # bool [B]: written
    scratch: np.ndarray  # STATE [threads, 1]


class Compiled(NamedTuple):
    """Players that need no call from Python: much faster where few tables wait for many short answers.

    answer: plays on in the tables `rows` while a compiled player is to act, and stops at a learner's turn, another
    player's, or the end of the game: `answer(buffers, settings, rows, waiting)`.
    numbers: int64 [players], by which `answer` knows each player; `NOT_COMPILED` for the others.
    """

    answer: Callable[..., None]
    numbers: np.ndarray


@kernel
def _earn(b, rows, rewards, ended):
    for row in rows:
        for seat in range(MAX_SEATS):
            rewards[row, seat] += b.rewards[row, seat]
        ended[row] = b.terminated[row]


class Tables:
    """`batch.num_games` tables; a learner decides where `batch.observations` and `batch.action_masks` say.

    players: who may sit in the seats that do not learn. seating: for the tables [K] about to begin a game, which of
    `players` sits in each seat, or `LEARNER`: integers [K, MAX_SEATS]. compiled: which players are played by a kernel
    instead of their `act`.

    After a step: `rewards` float64 [B, MAX_SEATS] and `terminated` bool [B].
    """

    def __init__(
        self, batch: Batch, players: Sequence[Player], *, seating: Seating, compiled: Compiled | None = None
    ) -> None:
        self.batch, self.players = batch, list(players)
        self.rewards = np.zeros((batch.num_games, MAX_SEATS))
        self.terminated = np.zeros(batch.num_games, np.bool_)
        self.seating = np.full((batch.num_games, MAX_SEATS), LEARNER)
        self._seat_them, self._compiled = seating, compiled
        self._all = np.arange(batch.num_games)
        self._waiting = Waiting(
            numbers=np.full((batch.num_games, MAX_SEATS), NOT_COMPILED),
            rewards=self.rewards,
            ended=np.zeros(batch.num_games, np.bool_),
            scratch=np.empty((batch.threads, 1), STATE),
        )

    def begin(self) -> None:
        """Take the games of the batch as they are now (after its `reset`) and play on to the learners' decisions."""
        self.resume()
        self._answer(self._all)

    def resume(self) -> None:
        """Take the games of the batch as `Batch.restore` left them, at decisions of learners."""
        self.rewards[:], self.terminated[:] = 0.0, False
        self._sit_down(self._all)

    def step(self, actions: np.ndarray, rows: np.ndarray | None = None) -> None:
        """The learners play `actions`, integers [B], or [K] in the tables `rows` [K] alone.

        Raises `ValueError`, and plays none, if any is illegal.
        """
        self.batch.step(actions, rows)
        self.rewards[:], self.terminated[:] = 0.0, False
        played = self._all if rows is None else rows
        self._collect(played)
        self._answer(played)

    def give_up(self, rows: np.ndarray) -> None:
        """End the games in `rows` where they stand, and begin the next."""
        self.batch.final_states[rows] = self.batch.states[rows]
        self.batch.restart(rows)
        self._next_games(rows)
        self._answer(rows)

    def _sit_down(self, rows: np.ndarray) -> None:
        self.seating[rows] = self._seat_them(rows)
        if self._compiled is not None and len(self.players):
            numbers = self._compiled.numbers[self.seating[rows]]
            self._waiting.numbers[rows] = np.where(self.seating[rows] == LEARNER, NOT_COMPILED, numbers)

    def _collect(self, rows: np.ndarray) -> None:
        """After a step in `rows`: add up what was earned, and sit down to the next game where one ended."""
        _earn(self.batch.buffers, rows, self.rewards, self._waiting.ended)
        self._next_games(rows[self._waiting.ended[rows]])

    def _next_games(self, rows: np.ndarray) -> None:
        """The games in `rows` have ended and the next ones lie dealt."""
        self.terminated[rows] = True
        if len(rows):
            self._sit_down(rows)

    def _answer(self, rows: np.ndarray) -> None:
        """Let the players move in `rows` until a learner is to act in all of them."""
        while len(self.players):
            self._answer_compiled(rows)
            who = self.seating[rows, self.batch.seats[rows]]
            rows, who = rows[who != LEARNER], who[who != LEARNER]
            if not len(rows):
                return
            self.batch.step(ask(self.players, who, self.batch, rows), rows)
            self._collect(rows)

    def _answer_compiled(self, rows: np.ndarray) -> None:
        """Let compiled players move in `rows` as long as it is their turn, in the next games too."""
        if self._compiled is None:
            return
        while len(rows):
            self._compiled.answer(self.batch.buffers, self.batch.settings, rows, self._waiting)
            rows = rows[self._waiting.ended[rows]]
            self._next_games(rows)


def ask(players: Sequence[Player], who: np.ndarray, batch: Batch, rows: np.ndarray) -> np.ndarray:
    """The actions [K] of the seats to act in the games `rows` [K]: players[who[k]] in rows[k], one call for each."""
    actions = np.empty(len(rows), np.int64)
    for number, player in enumerate(players):
        mine = who == number
        if mine.any():
            actions[mine] = player.act(batch.view(rows[mine]))
    return actions
