"""Many games of Felicity that are stepped together, for self-play and for measuring players.

    batch = Batch(1024, num_players=4, seed=0)
    batch.step(policy(batch.observations, batch.action_masks))    # one decision in every game, whichever seat acts

A finished game restarts within the step that finished it, unless `autoreset=False`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from felicity_env.buffers import (
    MAX_DECISIONS,
    Settings,
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
from felicity_env.game import NO_SEAT, STATE, Setup
from felicity_env.game_record import (
    Deal,
    Game,
    check_action,
    draw_deal,
    has_integers,
    initial_states,
    is_integer,
    to_actions,
)
from felicity_env.information import redact_games
from felicity_env.kernel import MAX_THREADS
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE
from felicity_env.player import View, write_observations
from felicity_env.random_stream import MAX_SEED, check_seed, next_game_seed
from felicity_env.rewards import reward_code
from felicity_env.setups import choose_setup
from felicity_env.state_check import check_games
from felicity_env.turn import Turn


class Batch:
    """Batch of `num_games` games of Felicity that are played together: a step plays one action in every game.

    Every step overwrites the public arrays: copy what you keep. Only one Python thread at a time may step a batch: a
    step in a second thread raises `RuntimeError`. After a step of a batch with `threads` above 1, do not fork the
    process; start other processes with the method "spawn".

    num_games: number of games, B. num_players: seats of the standard setup, one number for all games or one per game.
    seed: seed of all deals and of the players' randomness, 0 to 2**63 - 1. reward: a key of `rewards.REWARDS`.
    open_mice: show each seat how many mice the other seats hold. setup: a `Setup`, the name of one or a JSON file, for
    all games, or a sequence of these with one per game; it is given instead of `num_players`. threads: number of CPU
    threads used for each step. record: keep the actions of the games in progress, which `game` returns. autoreset:
    begin the next game in the step that finishes one; if it is False, a finished game takes no more actions.

    Public buffers: `observations` float32 [B, OBS_SIZE] and `action_masks` int8 [B, NUM_ACTIONS] of the seat to act;
    `seats` int64 [B], the seat to act; `rewards` float64 [B, MAX_SEATS] and `terminated` bool [B] of the last step;
    `scores` int64 [B, MAX_SEATS] and `final_states` STATE [B], written where terminated; `states` STATE [B], with all
    hidden cards, not for players; `game_seeds` uint64 [B], the seed of each game in progress, not for players;
    `episodes` int64 [B], the index of the game in progress in its sequence of games, from 0.
    """

    PUBLIC = (
        *("observations", "action_masks", "seats", "rewards", "terminated"),
        *("scores", "states", "final_states", "game_seeds", "episodes"),
    )
    observations: np.ndarray
    action_masks: np.ndarray
    seats: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    scores: np.ndarray
    states: np.ndarray
    final_states: np.ndarray
    game_seeds: np.ndarray
    episodes: np.ndarray

    def __init__(
        self,
        num_games: int,
        num_players: int | Sequence[int] = 4,
        *,
        seed: int = 0,
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | str | Sequence[Setup | str] | None = None,
        threads: int = 1,
        record: bool = False,
        autoreset: bool = True,
    ) -> None:
        if not is_integer(num_games) or num_games < 1:
            raise ValueError(f"num_games must be an integer from 1, not {num_games!r}")
        if not is_integer(threads) or not 1 <= threads <= MAX_THREADS:
            raise ValueError(f"threads must be 1 to {MAX_THREADS}, not {threads!r}")
        self.num_games, self.threads = num_games, threads
        self.reward, self.open_mice, self.autoreset = reward, bool(open_mice), bool(autoreset)
        self._reward_code = reward_code(reward)
        self.setups = _choose_setups(num_games, num_players, setup)
        self.buffers = allocate(self.setups, record=record)
        for name in self.PUBLIC:
            setattr(self, name, getattr(self.buffers, name))
        self._all = np.arange(num_games)
        self._turn = Turn("batch")
        self.reset(seed=check_seed(seed))

    @property
    def num_players(self) -> np.ndarray:
        """Number of seats in each of the B games, int16 [B]."""
        return self.states["num_seats"]

    @property
    def seed(self) -> int:
        """Seed given to the latest `reset` that was called with a seed."""
        return int(self._seed)

    @property
    def settings(self) -> Settings:
        """Settings that compiled functions need to play a step: seed, reward, open mice and autoreset."""
        return Settings(self._seed, self._reward_code, self.open_mice, self.autoreset)

    # --- beginning games ---

    def reset(self, seed: int | None = None, deals: Sequence[Mapping[str, Any] | None] | None = None) -> None:
        """Begin a new game at every index of the batch.

        seed: begin with the first game (episode 0) of every sequence of games that this seed determines. Without a
        seed, every sequence continues with its next episode. deals: for each game None, or the parts of its deal to set
        (as in `raw_env.reset`). Later episodes are dealt at random. Raises `ValueError` and changes nothing if a deal
        is impossible.
        """
        new_seed = self._seed if seed is None else np.uint64(check_seed(seed))
        episodes = np.zeros(self.num_games, np.int64) if seed is not None else self.episodes + 1
        states = self._deal_with_overrides(deals, new_seed, episodes)
        self._seed = new_seed
        self.episodes[:] = episodes
        restart_games(self.buffers, self._all, self._seed)
        for game, state in states.items():
            self.states[game] = state
            begin_games(self.buffers, np.array([game]))
        self._show_all()

    def start(self, states: np.ndarray, seeds: np.ndarray) -> None:
        """Begin every game of the batch at a given position instead of a new deal.

        states: STATE [B], one position for each game, at any point before the end of the game. seeds: uint64 [B], from
        which the random bits for the players' decisions are derived. Later episodes are dealt from the batch's seed.
        Raises `ValueError` naming the game and the fault, and changes nothing, if a state is impossible in its game.
        """
        states, seeds = np.asarray(states), np.asarray(seeds)
        if states.shape != self.states.shape or states.dtype != STATE:
            raise ValueError(
                f"states must be {self.num_games} records of STATE, one per game, not {list(states.shape)}"
            )
        if seeds.shape != self.game_seeds.shape or seeds.dtype != np.uint64:
            raise ValueError(f"seeds must be {self.num_games} integers uint64, not {seeds.dtype} {list(seeds.shape)}")
        self._check_states(states, may_be_over=False)
        self.states[:], self.game_seeds[:] = states, seeds
        begin_games(self.buffers, self._all)
        self._show_all()

    def restart(self, indices: np.ndarray) -> None:
        """Abandon the games at `indices` and begin the next episode of each."""
        games = self._check_indices(indices)
        self.episodes[games] += 1
        restart_games(self.buffers, games, self._seed)
        write_acting_observations(self.buffers, games, self.open_mice)

    def _deal_with_overrides(self, deals: Any, seed: np.uint64, episodes: np.ndarray) -> dict[int, np.void]:
        """Return {index: initial state} for the games in which a caller sets parts of the deal.

        deals: for each game None, or a mapping with the parts to set. Raises `ValueError` naming the game and the
        fault.
        """
        if deals is None:
            return {}
        if len(deals) != self.num_games:
            raise ValueError(f"deals must have one entry a game: {self.num_games}, not {len(deals)}")
        states = {}
        for game, overrides in enumerate(deals):
            if overrides is None:
                continue
            setup, drawn_from = self.setups[game], next_game_seed(seed, np.uint64(game), np.uint64(episodes[game]))
            try:
                states[game] = initial_states(setup, draw_deal(setup, drawn_from, overrides))[0]
            except ValueError as error:
                raise ValueError(f"game {game}: {error}") from None
        return states

    def _show_all(self) -> None:
        self.rewards[:], self.terminated[:] = 0.0, False
        write_acting_observations(self.buffers, self._all, self.open_mice)

    # --- playing ---

    def step(self, actions: np.ndarray, indices: np.ndarray | None = None) -> None:
        """Play one action in every game of the batch, or only in the games at `indices`.

        actions: integers [B], or integers [K] in the order of `indices` [K], which must be distinct. The other games
        keep their buffers. A finished game restarts within the step if `autoreset` is on. Raises `ValueError` naming
        game, seat and legal actions if any action is illegal, and plays no action in this case.
        """
        games = self._all if indices is None else self._check_indices(indices)
        with self._turn:
            checked = self._check_actions(actions, games)
            if self.threads == 1:
                play_chunk(self.buffers, games, checked, 0, len(games), self.settings)
            else:
                play_parallel(self.buffers, games, checked, self.threads, self.settings)

    def play_random(self, num_steps: int) -> None:
        """Play `num_steps` random actions in every game, each drawn uniformly from the legal actions.

        The player `random` would choose the same actions.
        """
        if not is_integer(num_steps) or num_steps < 0:
            raise ValueError(f"num_steps must be an integer from 0, not {num_steps!r}")
        with self._turn:
            if self.threads == 1:
                play_random_chunk(self.buffers, 0, self.num_games, int(num_steps), self.settings)
            else:
                play_random_parallel(self.buffers, int(num_steps), self.threads, self.settings)

    def _check_indices(self, indices: np.ndarray) -> np.ndarray:
        indices = np.asarray(indices)
        if indices.ndim != 1 or not has_integers(indices):
            raise ValueError(f"indices must be a list of game numbers, not {indices!r}")
        games = np.ascontiguousarray(indices, np.int64)
        in_range = not len(games) or (games.min() >= 0 and games.max() < self.num_games)
        if not in_range or np.bincount(games, minlength=1).max() > 1:
            raise ValueError(f"indices must be distinct and from 0 to {self.num_games - 1}, not {indices!r}")
        return games

    def _check_actions(self, actions: np.ndarray, games: np.ndarray) -> np.ndarray:
        checked = to_actions(actions, len(games))
        fault = find_illegal(self.buffers, games, checked)
        if fault >= 0:
            try:
                check_action(self.states[games[fault]], int(np.asarray(actions)[fault]))
            except ValueError as error:
                raise ValueError(f"game {games[fault]}: {error}") from None
        return checked

    # --- looking at games ---

    def view(self, indices: np.ndarray | None = None) -> View:
        """Return the view that a player's `act` takes, for all games or only for the games at `indices`.

        It holds one decision per game, with only what the seat to act may know.
        """
        games = self._all if indices is None else self._check_indices(indices)
        states, seats = np.empty(len(games), STATE), self.seats[games]
        redact_games(self.states, games, seats, states)
        return View.make_unchecked(states, seats, self.decision_seeds(games))

    def decision_seeds(self, indices: np.ndarray | None = None) -> np.ndarray:
        """Return 64 random bits for the next decision in each game, or in each game at `indices`, as uint64 [K]."""
        games = self._all if indices is None else self._check_indices(indices)
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

    def game(self, index: int) -> Game:
        """Return the record (setup, deal and actions) of the game in progress at `index`.

        Without `autoreset`, it may also be a finished game. Raises `ValueError` if the batch was made without
        `record=True`, or if `start` began the game at a position after its first decision.
        """
        if not is_integer(index) or not 0 <= index < self.num_games:
            raise ValueError(f"index must be an integer from 0 to {self.num_games - 1}, not {index!r}")
        if not len(self.buffers.first_states):
            raise ValueError("actions are not kept: make the batch with record=True")
        actions = self.buffers.actions[index, : self.buffers.lengths[index]]
        setup, first_state = self.setups[index], self.buffers.first_states[index]
        deal = Deal.from_state(first_state)
        if initial_states(setup, deal)[0] != first_state:
            raise ValueError(f"game {index} began at a position after its first decision, so it has no full record")
        return Game(setup, deal, tuple(actions.tolist()))

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

    def _check_seats(self, seats: Any) -> np.ndarray:
        seats = np.broadcast_to(np.asarray(seats), (self.num_games,))
        if not has_integers(seats) or (seats < 0).any() or (seats >= self.num_players).any():
            raise ValueError("seats must be integers from 0 to one less than the players of their game")
        return np.ascontiguousarray(seats, np.int64)

    # --- saving and restoring ---

    def clone(self) -> dict[str, np.ndarray]:
        """Return a copy of the games in progress and of their random state, as plain arrays that `restore` takes."""
        saved = {name: _to_plain(getattr(self.buffers, name)).copy() for name in (*_FIXED, *_CLONED)}
        return saved | {"seed": np.array([self._seed]), "settings": self._plain_settings()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue the games that `clone` has saved.

        Raises `ValueError` and changes nothing if the saved arrays do not fit this batch. All arrays are checked, so
        that a damaged or hostile file can do no harm.
        """
        arrays = self._check_saved(saved)
        for name in _CLONED:
            getattr(self.buffers, name)[:] = arrays[name]
        self._seed, self.seats[:] = arrays["seed"][0], self.states["seat"]
        self._show_all()

    def _check_saved(self, saved: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Check saved games, and return their arrays, in which states have the type STATE again.

        Raises `ValueError` unless the arrays are possible games of a batch with the setups and settings of this one.
        """
        expected = self.clone()
        for name, array in expected.items():
            if name not in saved or saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise ValueError(f"{name} of the saved games must be {array.dtype} {list(array.shape)}")
        for name in (*_FIXED, "settings"):
            if not np.array_equal(saved[name], expected[name]):
                raise ValueError(f"the saved games are of a batch with other settings: {name} differs")
        arrays = {name: np.ascontiguousarray(saved[name]) for name in expected}
        for name in ("states", "first_states"):
            arrays[name] = arrays[name].reshape(-1).view(STATE)
        for name, most in (("episodes", MAX_SEED), ("decisions", MAX_DECISIONS), ("lengths", MAX_DECISIONS)):
            if (arrays[name] < 0).any() or (arrays[name] > most).any():
                raise ValueError(f"{name} of the saved games must be 0 to {most}")
        self._check_states(arrays["states"], may_be_over=not self.autoreset)
        if len(arrays["first_states"]):
            self._check_states(arrays["first_states"], may_be_over=False)
        return arrays

    def _check_states(self, states: np.ndarray, *, may_be_over: bool) -> None:
        check_games(np.ascontiguousarray(states), self.buffers.blanks, self.buffers.setup_numbers)
        if not may_be_over and (finished := np.flatnonzero(states["seat"] == NO_SEAT)).size:
            raise ValueError(f"the state of game {finished[0]} is no position to play: the game is over")

    def _plain_settings(self) -> np.ndarray:
        return np.array([self._reward_code, self.open_mice, self.autoreset], np.int64)


_FIXED = ("blanks", "setup_numbers")  # buffers that stay as they are, and tell which games a clone is of
_CLONED = ("game_seeds", "episodes", "decisions", "states", "first_states", "actions", "lengths")


def _to_plain(array: np.ndarray) -> np.ndarray:
    """Return an array of B states as bytes, uint8 [B, size of a state], and any other array as it is."""
    return array.view(np.uint8).reshape(len(array), STATE.itemsize) if array.dtype == STATE else array


def _choose_setups(num_games: int, num_players: Any, setup: Any) -> list[Setup]:
    """Return the setup of each of the B games, given one setup (or number of players) for all games or one per game."""
    if np.ndim(num_players) == 0 and np.ndim(setup) == 0:
        return [choose_setup(num_players, setup)] * num_games
    listed = {"num_players": num_players, "setup": setup}
    for name, value in listed.items():
        listed[name] = [value] * num_games if np.ndim(value) == 0 else value
        if len(listed[name]) != num_games:
            raise ValueError(f"{name} must be one for all games or one per game: {num_games}, not {len(value)}")
    pairs = [(repr(pair), pair) for pair in zip(*listed.values(), strict=True)]
    known = {text: choose_setup(*pair) for text, pair in dict(pairs).items()}  # so that a file is read only once
    return [known[text] for text, _ in pairs]
