"""Many games of Felicity that are stepped together, for self-play and for measuring players.

    batch = Batch(1024, num_players=4, seed=0)
    batch.step(policy(batch.observations, batch.action_masks))    # one decision in every game, whichever seat acts

A finished game restarts within the step that finished it, unless `autoreset=False`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from felicity_env.base_batch import BaseBatch
from felicity_env.buffers import (
    Buffers,
    allocate,
    begin_games,
    find_illegal,
    observe_everything_chunk,
    observe_everything_parallel,
    play_chunk,
    play_parallel,
    play_random_chunk,
    play_random_parallel,
    restart_games,
    write_acting_observations,
    write_acting_seeds,
)
from felicity_env.game import STATE, Setup
from felicity_env.game_record import is_integer, to_actions
from felicity_env.information import redact_games
from felicity_env.kernel import MAX_THREADS
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE
from felicity_env.player import write_observations


class Batch(BaseBatch[np.ndarray]):
    """Batch of `num_games` games of Felicity that are played together: a step plays one action in every game.

    Every step overwrites the public arrays: copy what you keep. Only one Python thread at a time may change a batch: a
    step, reset or restore in a second thread raises `RuntimeError`. After a step of a batch with `threads` above 1, do
    not fork the process; start other processes with the method "spawn".

    num_games: number of games, B. num_players: seats of the standard setup, one number for all games (by default 4) or
    one per game. seed: seed of all deals and of the players' randomness, 0 to 2**63 - 1. reward: a key of
    `rewards.REWARDS`. open_mice: show each seat how many mice the other seats hold. setup: a `Setup`, the name of one
    or a JSON file, for all games, or a sequence of these with one per game; it is given instead of `num_players`.
    threads: number of CPU threads used for each step. record: keep the actions of the games in progress, which `game`
    returns. autoreset: begin the next game in the step that finishes one; if it is False, a finished game takes no more
    actions.

    Public buffers: `observations` float32 [B, OBS_SIZE] and `action_masks` int8 [B, NUM_ACTIONS] of the seat to act;
    `seats` int64 [B], the seat to act; `rewards` float64 [B, MAX_SEATS] and `terminated` bool [B] of the last step;
    `scores` int64 [B, MAX_SEATS] and `final_states` STATE [B], written where terminated; `states` STATE [B], with all
    hidden cards, not for players; `game_seeds` uint64 [B], the seed of each game in progress, not for players;
    `episodes` int64 [B], the index of the game in progress in its sequence of games, from 0.
    """

    buffers: Buffers

    def __init__(
        self,
        num_games: int,
        num_players: int | Sequence[int] | None = None,
        *,
        seed: int = 0,
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | str | Sequence[Setup | str] | None = None,
        threads: int = 1,
        record: bool = False,
        autoreset: bool = True,
    ) -> None:
        if not is_integer(threads) or not 1 <= threads <= MAX_THREADS:
            raise ValueError(f"threads must be 1 to {MAX_THREADS}, not {threads!r}")
        self.threads = threads
        options = {"seed": seed, "reward": reward, "open_mice": open_mice, "record": record, "autoreset": autoreset}
        super().__init__(num_games, num_players, setup=setup, **options)

    @property
    def num_players(self) -> np.ndarray:
        """Number of seats in each of the B games, int16 [B]."""
        return self.states["num_seats"]

    def _allocate(self, *, record: bool) -> Buffers:
        return allocate(self.setups, record=record)

    def _to_device(self, array: np.ndarray) -> np.ndarray:
        return array

    def _read(self, name: str, game: int | None = None) -> Any:
        buffer = getattr(self.buffers, name)
        return buffer if game is None else buffer[game]

    def _write(self, name: str, values: np.ndarray, games: np.ndarray | None = None) -> None:
        getattr(self.buffers, name)[slice(None) if games is None else games] = values

    def _restart(self, games: np.ndarray) -> None:
        restart_games(self.buffers, games, self._seed)

    def _begin(self, games: np.ndarray) -> None:
        begin_games(self.buffers, games)

    def _show(self, games: np.ndarray) -> None:
        write_acting_observations(self.buffers, games, self.open_mice)

    def _play(self, games: np.ndarray, actions: np.ndarray) -> None:
        if self.threads == 1:
            play_chunk(self.buffers, games, actions, 0, len(games), self.settings)
        else:
            play_parallel(self.buffers, games, actions, self.threads, self.settings)

    def _play_random(self, num_steps: int) -> None:
        if self.threads == 1:
            play_random_chunk(self.buffers, 0, self.num_games, num_steps, self.settings)
        else:
            play_random_parallel(self.buffers, num_steps, self.threads, self.settings)

    def _check_actions(self, actions: Any, games: np.ndarray) -> np.ndarray:
        checked = to_actions(actions, len(games))
        fault = find_illegal(self.buffers, games, checked)
        if fault >= 0:
            self._explain_illegal(int(games[fault]), int(np.asarray(actions)[fault]))
        return checked

    def _view(self, games: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = np.empty(len(games), STATE)
        redact_games(self.states, games, self.seats[games], states)
        return states, self._draw_seeds(games)

    def _draw_seeds(self, games: np.ndarray) -> np.ndarray:
        seeds = np.empty(len(games), np.uint64)
        write_acting_seeds(self.buffers, games, seeds)
        return seeds

    def observe(self, seats: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the current observation of one chosen seat in each game, float32 [B, OBS_SIZE].

        seats: one seat for all games, or one seat per game. out: array to write into and return; by default a new
        array.
        """
        seats = self._check_seats(seats)
        out = self._check_out(out, OBS_SIZE)
        write_observations(self.states, seats, self.open_mice, out)
        return out

    def privileged(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return the full state of each game, with hidden cards, as numbers: input for a critic, never for a player.

        The array is float32 [B, PRIVILEGED_SIZE]. Seats are relative to the seat to act, and to seat 0 in a game that
        stays finished. out: array to write into and return; by default a new array.
        """
        out = self._check_out(out, PRIVILEGED_SIZE)
        seats = np.maximum(self.seats, 0)
        if self.threads == 1:
            observe_everything_chunk(self.states, seats, 0, self.num_games, out)
        else:
            observe_everything_parallel(self.states, seats, self.threads, out)
        return out

    def _check_out(self, out: np.ndarray | None, size: int) -> np.ndarray:
        """Return the array that results are written to: `out`, or a new array if `out` is None.

        Raises `ValueError` unless `out` is a writeable and contiguous array, float32 [B, size], because kernels check
        no bounds.
        """
        shape = (self.num_games, size)
        if out is None:
            return np.empty(shape, np.float32)
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float32:
            raise ValueError(f"out must be float32 {list(shape)}")
        if not (out.flags.writeable and out.flags.c_contiguous):
            raise ValueError("out must be writeable and contiguous")
        return out
