"""Lanes: tables with one seat that learns, from game to game another.

A lane is a game of a `Batch` and the seat of the learner in it. A step of all lanes goes from one decision of the
learner to its next; see `tables.py`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from felicity_env.batch import Batch
from felicity_env.game import MAX_SEATS
from felicity_env.observation import OBS_SIZE
from felicity_env.random_stream import mix
from felicity_env.tables import LEARNER, Compiled, Tables
from felicity_env.transcript import is_integer
from felicity_env.view import Player, RandomPlayer, observations_of

GIVE_UP_REWARD = -1.0
Places = Callable[[np.ndarray], np.ndarray]


class Lanes:
    """`batch.num_games` lanes; the learner decides where `observations` and `action_masks` say.

    players: who may sit in the other seats. places: for the lanes [K] about to begin a game, which of `players` sits
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
        places: Places | None = None,
        seat: int | None = None,
        compiled: Compiled | None = None,
    ) -> None:
        self.batch, self.players = batch, list(players)
        self._places = places or self._in_order
        self._fixed_seat = _check_seat(batch, seat)
        lanes = batch.num_games
        self.observations, self.action_masks = batch.observations, batch.action_masks
        self.seats = np.zeros(lanes, np.int64)  # of the learner
        self.rewards = np.zeros(lanes)
        self.final_observations = np.zeros((lanes, OBS_SIZE), np.float32)
        self.final_seats = np.zeros(lanes, np.int64)
        self._all = np.arange(lanes)
        self.tables = Tables(batch, self.players, seating=self._sit_down, compiled=compiled)
        self.terminated = self.tables.terminated
        self.begin()

    def _in_order(self, rows: np.ndarray) -> np.ndarray:
        order = np.arange(MAX_SEATS) - 1 if len(self.players) > 1 else np.zeros(MAX_SEATS, np.int64)
        return np.broadcast_to(order, (len(rows), MAX_SEATS))

    def begin(self) -> None:
        """Take the games of the batch as they are now (after its `reset`) and play on to the learner's decisions."""
        seed = np.uint64(self.batch.seed)
        first = [int(mix(np.uint64(mix(seed)) + np.uint64(row))) >> 33 for row in self._all]
        self._first_seats = np.array(first, np.int64)  # random per lane; from there the seat rotates
        self.rewards[:] = 0.0
        self.tables.begin()

    def _sit_down(self, rows: np.ndarray) -> np.ndarray:
        """The seating of the games that begin in `rows`: the learner's seat, and the others in their places from it."""
        players = self.batch.num_players[rows].astype(np.int64)
        rotated = (self._first_seats[rows] + self.batch.episodes[rows]) % players
        self.seats[rows] = rotated if self._fixed_seat is None else self._fixed_seat
        places = (np.arange(MAX_SEATS) - self.seats[rows, None]) % players[:, None]
        seating = np.take_along_axis(self._places(rows), places, axis=1)
        return np.where(places == 0, LEARNER, seating)

    def step(self, actions: np.ndarray, *, give_up: np.ndarray | None = None) -> None:
        """The learner plays `actions`, integers [B]; raises `ValueError`, and plays none, if any is illegal.

        give_up: lanes in which the learner ends the game instead, with reward `GIVE_UP_REWARD`.
        """
        actions = np.asarray(actions)
        if actions.shape != self._all.shape:
            raise ValueError(f"actions must be {len(self._all)} integers, not {actions.dtype} {list(actions.shape)}")
        seats = self.seats.copy()
        if give_up is None:
            self.tables.step(actions)
        else:
            rows = np.setdiff1d(self._all, give_up)
            self.tables.step(actions[rows], rows)
            self.tables.give_up(give_up)
        self.rewards[:] = self.tables.rewards[self._all, seats]
        if give_up is not None:
            self.rewards[give_up] = GIVE_UP_REWARD
        self._keep_ends(seats)

    def _keep_ends(self, seats: np.ndarray) -> None:
        """Keep what the learners, who sat in `seats`, last saw of the games that ended."""
        rows = np.flatnonzero(self.terminated)
        self.final_seats[rows] = seats[rows]
        final = np.empty((len(rows), OBS_SIZE), np.float32)
        observations_of(self.batch.final_states[rows], seats[rows], self.batch.open_mice, final)
        self.final_observations[rows] = final


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
