"""Vectorised games in which learning seats decide and players move in all other seats.

`LearningGames` has any number of learning seats in each game, `SingleLearnerGames` exactly one. A step goes from one
decision of a learner to the next decision of any learner; the players move in between, each in one call for all its
games. When a game finishes, the next begins with a new seating. Rewards between two decisions are added up by seat.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from felicity_env.batch import Batch
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.game_record import is_integer
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE
from felicity_env.player import Player, RandomPlayer, write_observations
from felicity_env.random_stream import mix

LEARNER = -1  # in a seating: this seat learns
NOT_COMPILED = -1  # in `CompiledLoop.numbers`: no compiled player sits here
ABANDON_REWARD = -1.0
Seating = Callable[[np.ndarray], np.ndarray]


class CompiledLoop(NamedTuple):
    """Arrays that a loop of compiled players uses beside the buffers of a batch; B games."""

    numbers: np.ndarray  # int64 [B, MAX_SEATS]: the compiled player in each seat, or NOT_COMPILED
    rewards: np.ndarray  # float64 [B, MAX_SEATS]: added to
    terminated: np.ndarray  # bool [B]: written
    scratch: np.ndarray  # STATE [threads, 1]: workspace


def new_loop(batch: Batch) -> CompiledLoop:
    """Return the loop of a batch in which no compiled player sits yet."""
    return CompiledLoop(
        numbers=np.full((batch.num_games, MAX_SEATS), NOT_COMPILED),
        rewards=np.zeros((batch.num_games, MAX_SEATS)),
        terminated=np.zeros(batch.num_games, np.bool_),
        scratch=np.empty((batch.threads, 1), STATE),
    )


class CompiledPlayers(NamedTuple):
    """Players that need no call from Python, which is much faster where few games wait for many short answers.

    play: plays on in the games at `indices` while a compiled player is to act, and stops at the turn of anybody else or
    at the end of the game: `play(buffers, settings, indices, loop)`. numbers: int64 [players], the number by which
    `play` knows each player; `NOT_COMPILED` for the others.
    """

    play: Callable[..., None]
    numbers: np.ndarray


@kernel
def _add_rewards(b, indices, rewards, terminated):
    for game in indices:
        for seat in range(MAX_SEATS):
            rewards[game, seat] += b.rewards[game, seat]
        terminated[game] = b.terminated[game]


class LearningGames:
    """Vectorised games with learning seats; learners decide from `batch.observations` and `batch.action_masks`.

    players: those that may sit in seats that do not learn. seating: for the games [K] about to begin, the number of the
    player in each seat, or `LEARNER`: integers [K, MAX_SEATS]; every game needs a learner. compiled: the players that a
    kernel plays instead of their `act`.

    After a step: `rewards` float64 [B, MAX_SEATS], summed since the decision before, and `terminated` bool [B].
    """

    def __init__(
        self, batch: Batch, players: Sequence[Player], *, seating: Seating, compiled: CompiledPlayers | None = None
    ) -> None:
        self.batch, self.players = batch, list(players)
        self.seating = np.full((batch.num_games, MAX_SEATS), LEARNER)
        self.terminated = np.zeros(batch.num_games, np.bool_)
        self._choose_seating, self._compiled = seating, compiled
        self._all = np.arange(batch.num_games)
        self._loop = new_loop(batch)
        self.rewards = self._loop.rewards

    def begin(self) -> None:
        """Begin with the games of the batch as they are now (after its `reset`), up to the learners' decisions."""
        self.resume()
        self._play_others(self._all)

    def resume(self) -> None:
        """Continue with the games of the batch as `Batch.restore` left them, at decisions of learners."""
        self.rewards[:], self.terminated[:] = 0.0, False
        self._seat_players(self._all)

    def step(self, actions: np.ndarray, indices: np.ndarray | None = None) -> None:
        """Play the learners' `actions`, integers [B], or [K] in the games at `indices` [K] alone.

        Raises `ValueError`, and plays none, if any is illegal.
        """
        self.batch.step(actions, indices)
        self.rewards[:], self.terminated[:] = 0.0, False
        stepped = self._all if indices is None else indices
        self._add_up(stepped)
        self._play_others(stepped)

    def abandon(self, indices: np.ndarray) -> None:
        """End the games at `indices` where they stand, and begin the next."""
        self.batch.final_states[indices] = self.batch.states[indices]
        self.batch.restart(indices)
        self._begin_next(indices)
        self._play_others(indices)

    def _seat_players(self, indices: np.ndarray) -> None:
        self.seating[indices] = self._choose_seating(indices)
        if self._compiled is not None and len(self.players):
            numbers = self._compiled.numbers[self.seating[indices]]
            self._loop.numbers[indices] = np.where(self.seating[indices] == LEARNER, NOT_COMPILED, numbers)

    def _add_up(self, indices: np.ndarray) -> None:
        """Add up the rewards of a step, and seat the players of the next game where one finished."""
        _add_rewards(self.batch.buffers, indices, self.rewards, self._loop.terminated)
        self._begin_next(indices[self._loop.terminated[indices]])

    def _begin_next(self, indices: np.ndarray) -> None:
        self.terminated[indices] = True
        if len(indices):
            self._seat_players(indices)

    def _play_others(self, indices: np.ndarray) -> None:
        """Let the players move in the games at `indices` until a learner is to act in all of them."""
        while len(self.players):
            self._play_compiled(indices)
            acting = self.seating[indices, self.batch.seats[indices]]
            indices, acting = indices[acting != LEARNER], acting[acting != LEARNER]
            if not len(indices):
                return
            self.batch.step(collect_actions(self.players, acting, self.batch, indices), indices)
            self._add_up(indices)

    def _play_compiled(self, indices: np.ndarray) -> None:
        """Let compiled players move as long as it is their turn, also in the games that follow."""
        while self._compiled is not None and len(indices):
            self._compiled.play(self.batch.buffers, self.batch.settings, indices, self._loop)
            indices = indices[self._loop.terminated[indices]]
            self._begin_next(indices)


def collect_actions(players: Sequence[Player], acting: np.ndarray, batch: Batch, indices: np.ndarray) -> np.ndarray:
    """Return the actions [K] of players[acting[k]] in the games at `indices` [K], with one call for each player."""
    actions = np.empty(len(indices), np.int64)
    for number, player in enumerate(players):
        own = acting == number
        if own.any():
            actions[own] = player.act(batch.view(indices[own]))
    return actions


class SingleLearnerGames:
    """Vectorised games with one learning seat each; the seat rotates from game to game.

    players: those that may sit in the other seats. places: for the games [K] about to begin, the number of the player
    in each place counted clockwise from the learner: integers [K, MAX_SEATS] (the first column is not read); without it
    the players sit in their order, or the only one everywhere. seat: the learner's, or None to rotate. compiled: the
    players that a kernel plays instead of their `act`.

    The learner decides from `observations` and `action_masks`. After a step: `rewards` float64 [B], `terminated`
    bool [B], and where terminated `final_observations` float32 [B, OBS_SIZE] and `final_seats` int64 [B].
    """

    def __init__(
        self,
        batch: Batch,
        players: Sequence[Player],
        *,
        places: Seating | None = None,
        seat: int | None = None,
        compiled: CompiledPlayers | None = None,
    ) -> None:
        self.batch, self.players = batch, list(players)
        self._choose_places = places or self._seat_in_order
        self._fixed_seat = _check_seat(batch, seat)
        self.observations, self.action_masks = batch.observations, batch.action_masks
        self.seats = np.zeros(batch.num_games, np.int64)  # the learner's
        self.rewards = np.zeros(batch.num_games)
        self.final_observations = np.zeros((batch.num_games, OBS_SIZE), np.float32)
        self.final_seats = np.zeros(batch.num_games, np.int64)
        self._all = np.arange(batch.num_games)
        self.games = LearningGames(batch, self.players, seating=self._choose_seating, compiled=compiled)
        self.terminated = self.games.terminated
        self.begin()

    def begin(self) -> None:
        """Begin with the games of the batch as they are now (after its `reset`), up to the learner's decisions."""
        seed = np.uint64(self.batch.seed)
        # The learner's first seat is random in each game; from there it rotates.
        first = [int(mix(np.uint64(mix(seed)) + np.uint64(game))) >> 33 for game in self._all]
        self._first_seats = np.array(first, np.int64)
        self.rewards[:] = 0.0
        self.games.begin()

    def step(self, actions: np.ndarray, *, abandon: np.ndarray | None = None) -> None:
        """Play the learner's `actions`, integers [B]; raise `ValueError`, and play none, if any is illegal.

        abandon: games that the learner ends instead, with reward `ABANDON_REWARD`.
        """
        actions = np.asarray(actions)
        if actions.shape != self._all.shape:
            raise ValueError(f"actions must be {len(self._all)} integers, not {actions.dtype} {list(actions.shape)}")
        seats = self.seats.copy()
        if abandon is None:
            self.games.step(actions)
        else:
            others = np.setdiff1d(self._all, abandon)
            self.games.step(actions[others], others)
            self.games.abandon(abandon)
        self.rewards[:] = self.games.rewards[self._all, seats]
        if abandon is not None:
            self.rewards[abandon] = ABANDON_REWARD
        self._keep_final_observations(seats)

    def _seat_in_order(self, indices: np.ndarray) -> np.ndarray:
        order = np.arange(MAX_SEATS) - 1 if len(self.players) > 1 else np.zeros(MAX_SEATS, np.int64)
        return np.broadcast_to(order, (len(indices), MAX_SEATS))

    def _choose_seating(self, indices: np.ndarray) -> np.ndarray:
        """Return the seating of the games about to begin: the learner, and the others in their places from it."""
        num_players = self.batch.num_players[indices].astype(np.int64)
        rotated = (self._first_seats[indices] + self.batch.episodes[indices]) % num_players
        self.seats[indices] = rotated if self._fixed_seat is None else self._fixed_seat
        places = (np.arange(MAX_SEATS) - self.seats[indices, None]) % num_players[:, None]
        seating = np.take_along_axis(self._choose_places(indices), places, axis=1)
        return np.where(places == 0, LEARNER, seating)

    def _keep_final_observations(self, seats: np.ndarray) -> None:
        """Keep what the learners, who sat in `seats`, last saw of the games that finished."""
        indices = np.flatnonzero(self.terminated)
        self.final_seats[indices] = seats[indices]
        final = np.empty((len(indices), OBS_SIZE), np.float32)
        write_observations(self.batch.final_states[indices], seats[indices], self.batch.open_mice, final)
        self.final_observations[indices] = final


def _check_seat(batch: Batch, seat: int | None) -> int | None:
    if seat is not None and (not is_integer(seat) or not 0 <= seat < batch.num_players.min()):
        raise ValueError(f"seat must be None or 0 to {batch.num_players.min() - 1}, not {seat!r}")
    return seat


def check_opponents(opponents: Player | Sequence[Player] | None, num_opponents: int) -> list[Player]:
    """Return the opponents as a list: one uniform random player by default, one for all seats, or one for each.

    Raises `ValueError` if their number does not fit or one has no method `act`.
    """
    if opponents is None:
        return [RandomPlayer()]
    players = list(opponents) if isinstance(opponents, Sequence) else [opponents]
    if isinstance(opponents, Sequence) and len(players) != num_opponents:
        raise ValueError(f"opponents must be one player or {num_opponents} in seating order, not {len(players)}")
    for player in players:
        if not callable(getattr(player, "act", None)):
            raise ValueError(f"an opponent needs a method act(view) -> actions; {player!r} has none")
    return players
