"""Vectorised games in which the caller decides for the learning seats, and players act in all other seats.

`LearningGames` has any number of learning seats in each game, `SingleLearnerGames` exactly one. A step goes from one
decision of a learner to the next decision of any learner. The players act in between: each is called once for all games
in which it is to act. When a game finishes, the next begins with a new seating. Rewards between two decisions are added
up by seat.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from felicity_env.batch import Batch
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.game_record import is_integer, to_actions
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE
from felicity_env.opponents import list_players
from felicity_env.player import Player, write_observations
from felicity_env.random_stream import mix

LEARNER = -1  # in a seating: this seat learns
NOT_COMPILED = -1  # in `CompiledLoop.numbers`: no compiled player sits in this seat
ABANDON_REWARD = -1.0
Seating = Callable[[np.ndarray], np.ndarray]


class OpponentError(ValueError):
    """Error of a player in a seat that does not learn."""


class CompiledLoop(NamedTuple):
    """Arrays for players that run as compiled code in a batch of B games, in addition to the buffers of the batch."""

    numbers: np.ndarray  # int64 [B, MAX_SEATS]: number of the compiled player in each seat, or NOT_COMPILED
    rewards: np.ndarray  # float64 [B, MAX_SEATS]: the rewards of each move are added to it
    terminated: np.ndarray  # bool [B]: output, whether the game has finished
    scratch: np.ndarray  # STATE [threads, 1]: workspace


def new_loop(batch: Batch) -> CompiledLoop:
    """Create the additional arrays that compiled players need in a batch of games.

    At first no seat has a compiled player.
    """
    return CompiledLoop(
        numbers=np.full((batch.num_games, MAX_SEATS), NOT_COMPILED),
        rewards=np.zeros((batch.num_games, MAX_SEATS)),
        terminated=np.zeros(batch.num_games, np.bool_),
        scratch=np.empty((batch.threads, 1), STATE),
    )


class CompiledPlayers(NamedTuple):
    """Players that run as compiled code, without a Python call of `act` for their decisions.

    This is much faster when few games need many short decisions. play: function `play(buffers, settings, indices,
    loop)` that acts in each game at `indices` as long as a compiled player is to act there, or until the game is over.
    numbers: int64 [players], the number by which `play` knows each player, or `NOT_COMPILED`.
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
    """Vectorised games in which any number of seats may learn, and players act in the other seats.

    The caller decides for the learning seats, from `batch.observations` and `batch.action_masks`.

    batch: games that restart when they are finished; one with `autoreset=False` raises `ValueError`. players: players
    that may sit in seats that do not learn. seating: function that takes the indices [K] of the games about to begin
    and returns who sits in each seat, integers [K, MAX_SEATS]: an index of `players`, or `LEARNER`. Each game needs at
    least one learner. compiled: those of `players` that run as compiled code, without a call of their `act`.

    After a step: `rewards` float64 [B, MAX_SEATS], summed since the previous decision of a learner, and `terminated`
    bool [B].
    """

    def __init__(
        self, batch: Batch, players: Sequence[Player], *, seating: Seating, compiled: CompiledPlayers | None = None
    ) -> None:
        if not batch.autoreset:
            raise ValueError("games with learners go on when one is finished: make the batch without autoreset=False")
        self.batch, self.players = batch, list(players)
        self.seating = np.full((batch.num_games, MAX_SEATS), LEARNER)
        self.terminated = np.zeros(batch.num_games, np.bool_)
        self._choose_seating, self._compiled = seating, compiled
        self._all = np.arange(batch.num_games)
        self._loop = new_loop(batch)
        self.rewards = self._loop.rewards
        self._playing = False

    def begin(self) -> None:
        """Start from the current games of the batch, and let the players act until a learner is to act in each game.

        Call it before the first step, and after `reset` of the batch.
        """
        self.resume()
        self._play_others(self._all)

    def resume(self) -> None:
        """Continue the games that `Batch.restore` has restored; in each of them a learner must be to act."""
        self.rewards[:], self.terminated[:] = 0.0, False
        self._playing = True
        self._seat_players(self._all)

    def step(self, actions: np.ndarray, indices: np.ndarray | None = None) -> None:
        """Play one action of a learner in each game, then let the players act until a learner is to act again.

        actions: integers [B], or [K] if only the games at `indices` [K] are played. Raises `ValueError` if any action
        is illegal, and plays no action in this case. Raises `OpponentError` if a player does not act as it should.
        """
        if not self._playing:
            raise ValueError("no games are being played: call begin()")
        self.batch.step(actions, indices)
        self.rewards[:], self.terminated[:] = 0.0, False
        stepped = self._all if indices is None else indices
        self._add_up(stepped)
        self._play_others(stepped)

    def abandon(self, indices: np.ndarray) -> None:
        """End the games at `indices` before they are over, and begin the next games."""
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
        """Add the rewards of the latest step to the sums since the last decision of a learner.

        In each game at `indices` that has finished, also choose the seats of the next game.
        """
        _add_rewards(self.batch.buffers, indices, self.rewards, self._loop.terminated)
        self._begin_next(indices[self._loop.terminated[indices]])

    def _begin_next(self, indices: np.ndarray) -> None:
        self.terminated[indices] = True
        if len(indices):
            self._seat_players(indices)

    def _play_others(self, indices: np.ndarray) -> None:
        """Let the players that do not learn act in the games at `indices` until each game waits for a learner."""
        while len(self.players):
            self._play_compiled(indices)
            acting = self.seating[indices, self.batch.seats[indices]]
            indices, acting = indices[acting != LEARNER], acting[acting != LEARNER]
            if not len(indices):
                return
            actions = self.ask_players(acting, indices)
            try:
                self.batch.step(actions, indices)
            except ValueError as error:
                raise OpponentError(f"a player that does not learn chose an illegal action: {error}") from error
            self._add_up(indices)

    def ask_players(self, acting: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Return the actions of the players that are not compiled in the games at `indices`, as `collect_actions`.

        Who records games, or replays them, puts another function in place of this method.
        """
        return collect_actions(self.players, acting, self.batch, indices)

    def _play_compiled(self, indices: np.ndarray) -> None:
        """Let compiled players act as long as it is their turn, also in games that begin after a finished one."""
        while self._compiled is not None and len(indices):
            with self.batch.turn:
                self._compiled.play(self.batch.buffers, self.batch.settings, indices, self._loop)
            indices = indices[self._loop.terminated[indices]]
            self._begin_next(indices)


def collect_actions(players: Sequence[Player], acting: np.ndarray, batch: Batch, indices: np.ndarray) -> np.ndarray:
    """Return the actions of the players to act in the games at `indices` [K], as integers [K].

    acting: integers [K], the index in `players` of the player to act in each of these games. Each player is called at
    most once, for all its games together. Raises `OpponentError` if a player gives another number of actions.
    """
    actions = np.empty(len(indices), np.int64)
    for number, player in enumerate(players):
        own = acting == number
        if own.any():
            chosen = np.asarray(player.act(batch.view(indices[own])))
            if chosen.shape != (own.sum(),):
                form = f"an array of shape {list(chosen.shape)}, not one action for each of {own.sum()} decisions"
                raise OpponentError(f"act() of {player!r} returned {form}")
            actions[own] = chosen
    return actions


class SingleLearnerGames:
    """Vectorised games with one learning seat in each; the learner's seat changes from game to game by default.

    players: players that may sit in the other seats, or one player; codes such as "ev" make players, as in
    `opponents`. opponents: function that takes the indices [K] of the games about
    to begin and returns the index of the player in each seat, counted clockwise from the learner: integers [K,
    MAX_SEATS] (the first column is ignored). By default the players sit clockwise from the learner in the order of the
    list, and a single player sits in all other seats. seat: the learner's seat, or None to change it from game to game.
    compiled: those of `players` that run as compiled code, without a call of their `act`.

    The learner decides from `observations` and `action_masks`. After a step: `rewards` float64 [B], `terminated`
    bool [B], and where terminated `final_observations` float32 [B, OBS_SIZE] and `final_seats` int64 [B].
    """

    def __init__(
        self,
        batch: Batch,
        players: Player | str | Sequence[Player | str],
        *,
        opponents: Seating | None = None,
        seat: int | None = None,
        compiled: CompiledPlayers | None = None,
    ) -> None:
        self.batch, self.players = batch, list_players(players)
        if opponents is None:
            _check_number(self.players, batch)
        self._choose_opponents = opponents or self._seat_in_order
        self._fixed_seat = _check_seat(batch, seat)
        self.observations, self.action_masks = batch.observations, batch.action_masks
        self.seats = np.zeros(batch.num_games, np.int64)  # the learner's seat in each game
        self.rewards = np.zeros(batch.num_games)
        self.final_observations = np.zeros((batch.num_games, OBS_SIZE), np.float32)
        self.final_seats = np.zeros(batch.num_games, np.int64)
        self._all = np.arange(batch.num_games)
        self.games = LearningGames(batch, self.players, seating=self._choose_seating, compiled=compiled)
        self.terminated = self.games.terminated
        self.begin()

    def begin(self) -> None:
        """Start from the current games of the batch, and let the players act until the learner is to act in each game.

        Call it after `reset` of the batch.
        """
        seed = np.uint64(self.batch.seed)
        # The learner's first seat is random in each game; from there it rotates.
        first = [int(mix(np.uint64(mix(seed)) + np.uint64(game))) >> 33 for game in self._all]
        self._first_seats = np.array(first, np.int64)
        self.rewards[:] = 0.0
        self.games.begin()

    def step(self, actions: np.ndarray, *, abandon: np.ndarray | None = None) -> None:
        """Play one action of the learner in each game, then let the players act until the learner is to act again.

        actions: integers [B]. Raises `ValueError` if any action to play is illegal, and plays none in this case.
        abandon: indices of games to end without playing their action; the learner's reward in these games is
        `ABANDON_REWARD`.
        """
        actions = to_actions(actions, len(self._all))
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
        """Choose the learner's seat in the games about to begin, and return who sits in each of their seats.

        The result holds indices of players, and `LEARNER` for the learner. The others sit to the left of the learner in
        their order.
        """
        num_players = self.batch.num_players[indices].astype(np.int64)
        rotated = (self._first_seats[indices] + self.batch.episodes[indices]) % num_players
        self.seats[indices] = rotated if self._fixed_seat is None else self._fixed_seat
        relative_seats = (np.arange(MAX_SEATS) - self.seats[indices, None]) % num_players[:, None]
        seating = np.take_along_axis(self._choose_opponents(indices), relative_seats, axis=1)
        return np.where(relative_seats == 0, LEARNER, seating)

    def _keep_final_observations(self, seats: np.ndarray) -> None:
        """Store the learner's seat and final observation of each finished game.

        seats: the learner's seat in each game before the step, because the next games may have begun with other seats.
        """
        indices = np.flatnonzero(self.terminated)
        self.final_seats[indices] = seats[indices]
        final = np.empty((len(indices), OBS_SIZE), np.float32)
        write_observations(self.batch.final_states[indices], seats[indices], self.batch.open_mice, final)
        self.final_observations[indices] = final


def _check_number(players: Sequence[Player], batch: Batch) -> None:
    """Raise `ValueError` unless there is one player, or one for each seat but the learner's in all games."""
    others = sorted({int(number) - 1 for number in batch.num_players})
    if len(players) != 1 and others != [len(players)]:
        needed = " or ".join(map(str, others))
        raise ValueError(f"players must be one player or {needed} in seating order, not {len(players)}")


def _check_seat(batch: Batch, seat: int | None) -> int | None:
    if seat is not None and (not is_integer(seat) or not 0 <= seat < batch.num_players.min()):
        raise ValueError(f"seat must be None or 0 to {batch.num_players.min() - 1}, not {seat!r}")
    return seat
