"""Batch of games without what depends on the device: setups, seeds, deals, checks, and saved games.

`batch.Batch` plays on a CPU, `cuda.Batch` on a GPU. Each adds how its buffers are allocated, read and played in.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from felicity_env.buffers import MAX_DECISIONS, Settings
from felicity_env.game import NO_SEAT, STATE, Setup
from felicity_env.game_record import Deal, Game, check_action, draw_deal, has_integers, initial_states, is_integer
from felicity_env.player import View
from felicity_env.random_stream import MAX_SEED, check_seed, next_game_seed
from felicity_env.rewards import reward_code
from felicity_env.setups import choose_setup
from felicity_env.state_check import check_games, check_records
from felicity_env.turn import Turn

ArrayT = TypeVar("ArrayT")  # arrays of the buffers: np.ndarray on a CPU, torch.Tensor on a GPU


class BaseBatch(Generic[ArrayT]):
    """Batch of games, without what depends on the device; the parameters and methods are those of `Batch`."""

    PUBLIC = (
        *("observations", "action_masks", "seats", "rewards", "terminated"),
        *("scores", "states", "final_states", "game_seeds", "episodes"),
    )
    buffers: Any  # see `buffers.Buffers`
    observations: ArrayT
    action_masks: ArrayT
    seats: ArrayT
    rewards: ArrayT
    terminated: ArrayT
    scores: ArrayT
    states: ArrayT
    final_states: ArrayT
    game_seeds: ArrayT
    episodes: ArrayT
    turn: Turn
    """Guard that lets only one thread at a time change the games: code that changes buffers runs under `with turn:`."""

    def __init__(
        self,
        num_games: int,
        num_players: int | Sequence[int] | None = None,
        *,
        seed: int = 0,
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | str | Sequence[Setup | str] | None = None,
        record: bool = False,
        autoreset: bool = True,
    ) -> None:
        if not is_integer(num_games) or num_games < 1:
            raise ValueError(f"num_games must be an integer from 1, not {num_games!r}")
        self.num_games = num_games
        self.reward, self.open_mice, self.autoreset = reward, bool(open_mice), bool(autoreset)
        self._reward_code, self._seed = reward_code(reward), np.uint64(check_seed(seed))
        self.setups = _choose_setups(num_games, num_players, setup)
        self._num_seats = np.array([setup.seats for setup in self.setups])
        self.buffers = self._allocate(record=record)
        for name in self.PUBLIC:
            setattr(self, name, getattr(self.buffers, name))
        self._all = self._to_device(np.arange(num_games))
        self.turn = Turn("batch")
        self.reset(seed=seed)

    @property
    def seed(self) -> int:
        """Seed given to the latest `reset` that was called with a seed."""
        return int(self._seed)

    @property
    def settings(self) -> Settings:
        """Settings that compiled functions need to play a step: seed, reward, open mice and autoreset."""
        return Settings(self._seed, self._reward_code, self.open_mice, self.autoreset)

    # --- what depends on the device ---

    def _allocate(self, *, record: bool) -> Any:
        """Allocate the buffers of the batch; record: see `buffers.allocate`."""
        raise NotImplementedError

    def _to_device(self, array: np.ndarray) -> ArrayT:
        """Return an array of NumPy on the device of the buffers."""
        raise NotImplementedError

    def _read(self, name: str, game: int | None = None) -> Any:
        """Return the buffer `name` as an array of NumPy, or only its row of one game."""
        raise NotImplementedError

    def _write(self, name: str, values: np.ndarray, games: ArrayT | None = None) -> None:
        """Write values into the buffer `name`, for all games or only for `games`."""
        raise NotImplementedError

    def _restart(self, games: ArrayT) -> None:
        """Deal and begin the current episode of `games`."""
        raise NotImplementedError

    def _begin(self, games: ArrayT) -> None:
        """Prepare the counters and recorded actions of `games`, whose first states are in the buffers."""
        raise NotImplementedError

    def _show(self, games: ArrayT) -> None:
        """Write the observation and action mask of the seat to act in each of `games`."""
        raise NotImplementedError

    def _play(self, games: ArrayT, actions: ArrayT) -> None:
        """Play a legal action in each of `games`, and show these games."""
        raise NotImplementedError

    def _play_random(self, num_steps: int) -> None:
        """Play `num_steps` random actions in every game that is not over."""
        raise NotImplementedError

    def _check_actions(self, actions: Any, games: ArrayT) -> ArrayT:
        """Return actions for `games` on the device; raise `ValueError` if they are not integers, or illegal."""
        raise NotImplementedError

    def _view(self, games: ArrayT) -> tuple[np.ndarray, np.ndarray]:
        """Return the states of `games` with only what the seat to act may know, STATE [K], and random bits, uint64 [K].

        Both are arrays of NumPy.
        """
        raise NotImplementedError

    def _draw_seeds(self, games: ArrayT) -> ArrayT:
        """Return 64 random bits for the next decision in each of `games`, uint64 [K]."""
        raise NotImplementedError

    # --- beginning games ---

    def reset(self, seed: int | None = None, deals: Sequence[Mapping[str, Any] | None] | None = None) -> None:
        """Begin a new game at every index of the batch.

        seed: begin with the first game (episode 0) of every sequence of games that this seed determines. Without a
        seed, every sequence continues with its next episode. deals: for each game None, or the parts of its deal to set
        (as in `raw_env.reset`). Later episodes are dealt at random. Raises `ValueError` and changes nothing if a deal
        is impossible.
        """
        new_seed = self._seed if seed is None else np.uint64(check_seed(seed))
        with self.turn:
            episodes = np.zeros(self.num_games, np.int64) if seed is not None else self._read("episodes") + 1
            states = self._deal_with_overrides(deals, new_seed, episodes)
            self._seed = new_seed
            self._write("episodes", episodes)
            self._restart(self._all)
            if states:
                games = self._to_device(np.array(list(states)))
                self._write("states", np.array(list(states.values()), STATE), games)
                self._begin(games)
            self._show_all()

    def start(self, states: np.ndarray, seeds: np.ndarray) -> None:
        """Begin every game of the batch at a given position instead of a new deal.

        states: STATE [B], one position for each game, at any point before the end of the game. seeds: uint64 [B], from
        which the random bits for the players' decisions are derived. Later episodes are dealt from the batch's seed.
        Raises `ValueError` naming the game and the fault, and changes nothing, if a state is impossible in its game.
        """
        states, seeds = np.asarray(states), np.asarray(seeds)
        if states.shape != (self.num_games,) or states.dtype != STATE:
            raise ValueError(
                f"states must be {self.num_games} records of STATE, one per game, not {list(states.shape)}"
            )
        if seeds.shape != (self.num_games,) or seeds.dtype != np.uint64:
            raise ValueError(f"seeds must be {self.num_games} integers uint64, not {seeds.dtype} {list(seeds.shape)}")
        self._check_states(states, may_be_over=False)
        with self.turn:
            self._write("states", states)
            self._write("game_seeds", seeds)
            self._begin(self._all)
            self._show_all()

    def restart(self, indices: Any) -> None:
        """Abandon the games at `indices` and begin the next episode of each."""
        games = self._check_indices(indices)
        episodes: Any = self.episodes
        with self.turn:
            episodes[games] += 1
            self._restart(games)
            self._show(games)

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
        rewards: Any = self.rewards
        terminated: Any = self.terminated
        rewards[:], terminated[:] = 0.0, False
        self._show(self._all)

    # --- playing ---

    def step(self, actions: Any, indices: Any = None) -> None:
        """Play one action in every game of the batch, or only in the games at `indices`.

        actions: integers [B], or integers [K] in the order of `indices` [K], which must be distinct. The other games
        keep their buffers. A finished game restarts within the step if `autoreset` is on. Raises `ValueError` naming
        game, seat and legal actions if any action is illegal, and plays no action in this case.
        """
        games = self._select(indices)
        with self.turn:
            self._play(games, self._check_actions(actions, games))

    def play_random(self, num_steps: int) -> None:
        """Play `num_steps` random actions in every game, each drawn uniformly from the legal actions.

        The player `random` would choose the same actions.
        """
        if not is_integer(num_steps) or num_steps < 0:
            raise ValueError(f"num_steps must be an integer from 0, not {num_steps!r}")
        with self.turn:
            self._play_random(int(num_steps))

    def _select(self, indices: Any) -> ArrayT:
        """Return the games at `indices`, or all games if that is None."""
        return self._all if indices is None else self._check_indices(indices)

    def _check_indices(self, indices: Any) -> ArrayT:
        indices = np.asarray(indices)
        if indices.ndim != 1 or not has_integers(indices):
            raise ValueError(f"indices must be a list of game numbers, not {indices!r}")
        games = np.ascontiguousarray(indices, np.int64)
        in_range = not len(games) or (games.min() >= 0 and games.max() < self.num_games)
        if not in_range or np.bincount(games, minlength=1).max() > 1:
            raise ValueError(f"indices must be distinct and from 0 to {self.num_games - 1}, not {indices!r}")
        return self._to_device(games)

    def _explain_illegal(self, game: int, action: Any) -> None:
        """Raise `ValueError` naming game, seat and legal actions if an action is illegal in a game."""
        try:
            check_action(self._read("states", game), action)
        except ValueError as error:
            raise ValueError(f"game {game}: {error}") from None

    # --- looking at games ---

    def view(self, indices: Any = None) -> View:
        """Return the view that a player's `act` takes, for all games or only for the games at `indices`.

        It holds one decision per game, with only what the seat to act may know.
        """
        states, seeds = self._view(self._select(indices))
        return View.make_unchecked(states, states["seat"].astype(np.int64), seeds)

    def decision_seeds(self, indices: Any = None) -> ArrayT:
        """Return 64 random bits for the next decision in each game, or in each game at `indices`, as uint64 [K]."""
        return self._draw_seeds(self._select(indices))

    def game(self, index: int) -> Game:
        """Return the record (setup, deal and actions) of the game in progress at `index`.

        Without `autoreset`, it may also be a finished game. Raises `ValueError` if the batch was made without
        `record=True`, or if `start` began the game at a position after its first decision.
        """
        if not is_integer(index) or not 0 <= index < self.num_games:
            raise ValueError(f"index must be an integer from 0 to {self.num_games - 1}, not {index!r}")
        if not len(self.buffers.first_states):
            raise ValueError("actions are not kept: make the batch with record=True")
        actions = self._read("actions", index)[: self._read("lengths", index)]
        setup, first_state = self.setups[index], self._read("first_states", index)
        deal = Deal.from_state(first_state)
        if initial_states(setup, deal)[0] != first_state:
            raise ValueError(f"game {index} began at a position after its first decision, so it has no full record")
        return Game(setup, deal, tuple(actions.tolist()))

    def _check_seats(self, seats: Any) -> ArrayT:
        seats = np.broadcast_to(np.asarray(seats), (self.num_games,))
        if not has_integers(seats) or (seats < 0).any() or (seats >= self._num_seats).any():
            raise ValueError("seats must be integers from 0 to one less than the players of their game")
        return self._to_device(np.ascontiguousarray(seats, np.int64))

    # --- saving and restoring ---

    def clone(self) -> dict[str, np.ndarray]:
        """Return a copy of the games in progress and of their random state, as plain arrays that `restore` takes.

        Batches on a CPU and on a GPU take each other's.
        """
        saved = {name: _to_plain(self._read(name)).copy() for name in (*FIXED, *CLONED)}
        return saved | {"seed": np.array([self._seed]), "settings": self._plain_settings()}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue the games that `clone` has saved.

        Raises `ValueError` and changes nothing if the saved arrays do not fit this batch. All arrays are checked, so
        that a damaged or hostile file can do no harm.
        """
        arrays = self._check_saved(saved)
        with self.turn:
            for name in CLONED:
                self._write(name, arrays[name])
            self._seed = arrays["seed"][0]
            self._write("seats", arrays["states"]["seat"].astype(np.int64))
            self._show_all()

    def _check_saved(self, saved: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Check saved games, and return their arrays, in which states have the type STATE again.

        Raises `ValueError` unless the arrays are possible games of a batch with the setups and settings of this one.
        """
        expected = self.clone()
        for name, array in expected.items():
            if name not in saved or saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise ValueError(f"{name} of the saved games must be {array.dtype} {list(array.shape)}")
        for name in (*FIXED, "settings"):
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
            check_records(*(arrays[name] for name in ("first_states", "actions", "lengths", "states")))
        return arrays

    def _check_states(self, states: np.ndarray, *, may_be_over: bool) -> None:
        check_games(np.ascontiguousarray(states), self._read("blanks"), self._read("setup_numbers"))
        if not may_be_over and (finished := np.flatnonzero(states["seat"] == NO_SEAT)).size:
            raise ValueError(f"the state of game {finished[0]} is no position to play: the game is over")

    def _plain_settings(self) -> np.ndarray:
        return np.array([self._reward_code, self.open_mice, self.autoreset], np.int64)


FIXED = ("blanks", "setup_numbers")  # buffers that stay as they are, and tell which games a clone is of
CLONED = ("game_seeds", "episodes", "decisions", "states", "first_states", "actions", "lengths")


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
