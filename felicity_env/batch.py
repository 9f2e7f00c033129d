"""Many games side by side, written into buffers that are used again and again: the face for self-play.

    batch = Batch(1024, num_players=4, seed=0)
    batch.step(policy(batch.observations, batch.action_masks))    # one decision in every game, whoever is to act

A finished game restarts within the step that ended it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

from felicity_env.game import (
    MAX_SEATS,
    NUM_ACTIONS,
    SETUPS,
    STATE,
    Setup,
    deal,
    is_legal,
    is_terminal,
    legal_actions,
    score,
    step,
)
from felicity_env.information import redact_rows
from felicity_env.kernel import MAX_THREADS, kernel, parallel_kernel
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE, observe, observe_all
from felicity_env.random_stream import Word, check_seed, decision_seed, next_game_seed
from felicity_env.rewards import reward_code, step_rewards
from felicity_env.transcript import check_action, dealt_states, draw_deal, is_integer
from felicity_env.view import View, observations_of, random_action


class Buffers(NamedTuple):
    """Everything a batch owns, as the kernels take it. B games; the first eight are attributes of `Batch`."""

    observations: np.ndarray  # float32 [B, OBS_SIZE]: of the seat to act
    action_masks: np.ndarray  # int8 [B, NUM_ACTIONS]
    seats: np.ndarray  # int64 [B]: who acts
    rewards: np.ndarray  # float64 [B, MAX_SEATS]: of the last step
    terminated: np.ndarray  # bool [B]: the last step ended the game (and began the next)
    scores: np.ndarray  # int64 [B, MAX_SEATS]: written where terminated
    states: np.ndarray  # STATE [B]
    final_states: np.ndarray  # STATE [B]: written where terminated
    game_seeds: np.ndarray  # uint64 [B]: seed of the game in progress
    episodes: np.ndarray  # int64 [B]: how many games were begun here before it
    decisions: np.ndarray  # int64 [B, MAX_SEATS]: how many each seat has taken in this game
    blanks: np.ndarray  # STATE [number of setups]: what a game starts from
    setup_of: np.ndarray  # int64 [B]: which of them each game plays


class Settings(NamedTuple):
    """What a step depends on besides the buffers, as the kernels take it."""

    seed: Any  # uint64: of the batch
    reward: int  # see `rewards.reward_code`
    open_mice: bool


@kernel
def _restart(b, game, seed):
    """Deal the next episode of a game."""
    b.game_seeds[game] = next_game_seed(seed, game, b.episodes[game])
    b.states[game] = b.blanks[b.setup_of[game]]
    b.decisions[game] = 0
    deal(b.states[game], b.game_seeds[game])
    b.seats[game] = b.states[game].seat


@kernel
def show(b: Buffers, game: int, open_mice: bool) -> None:
    """Write what the seat to act sees and may do."""
    state = b.states[game]
    observe(state, state.seat, open_mice, b.observations[game])
    legal_actions(state, state.seat, b.action_masks[game])


@kernel
def advance(b: Buffers, game: int, action: int, settings: Settings) -> None:
    """One decision in one game: all but what the next seat sees, which `show` writes."""
    state = b.states[game]
    b.decisions[game, state.seat] += 1
    step(state, action)
    step_rewards(state, settings.reward, b.rewards[game])
    b.terminated[game] = is_terminal(state)
    if is_terminal(state):
        b.final_states[game] = state
        for seat in range(state.num_seats):
            b.scores[game, seat] = score(state, seat)
        b.episodes[game] += 1
        _restart(b, game, settings.seed)
    b.seats[game] = state.seat


@kernel
def decision_word(b: Buffers, game: int) -> Word:
    """The word that the seat to act may draw its randomness from."""
    seat = b.seats[game]
    return decision_seed(b.game_seeds[game], seat, b.decisions[game, seat])


@kernel
def _play_chunk(b, rows, actions, first, last, settings):
    for k in range(first, last):
        advance(b, rows[k], actions[k], settings)
        show(b, rows[k], settings.open_mice)


@parallel_kernel
def _play_parallel(b, rows, actions, threads, settings):
    for t in numba.prange(threads):
        _play_chunk(b, rows, actions, len(rows) * t // threads, len(rows) * (t + 1) // threads, settings)


@kernel
def _play_random_chunk(b, first, last, num_steps, settings):
    for _ in range(num_steps):
        for game in range(first, last):
            advance(b, game, random_action(b.states[game], decision_word(b, game)), settings)
            show(b, game, settings.open_mice)


@parallel_kernel
def _play_random_parallel(b, num_steps, threads, settings):
    games = len(b.states)
    for t in numba.prange(threads):
        _play_random_chunk(b, games * t // threads, games * (t + 1) // threads, num_steps, settings)


@kernel
def _restart_rows(b, rows, seed):
    for game in rows:
        _restart(b, game, seed)


@kernel
def _show_rows(b, rows, open_mice):
    for game in rows:
        show(b, game, open_mice)


@kernel
def _first_illegal(b, rows, actions):
    """The first place in `rows` whose action is illegal, or -1."""
    for k in range(len(rows)):
        if not is_legal(b.states[rows[k]], actions[k]):
            return k
    return -1


@kernel
def _decision_seeds(b, rows, out):
    for k in range(len(rows)):
        out[k] = decision_word(b, rows[k])


@kernel
def _observe_all_chunk(states, seats, first, last, out):
    for game in range(first, last):
        observe_all(states[game], seats[game], out[game])


@parallel_kernel
def _observe_all_parallel(states, seats, threads, out):
    games = len(states)
    for t in numba.prange(threads):
        _observe_all_chunk(states, seats, games * t // threads, games * (t + 1) // threads, out)


class Batch:
    """`num_games` games of Felicity, stepped together. Arrays are overwritten by every step: copy what you keep.

    num_players: one number for all, or one per game. reward: see `rewards.REWARDS`. setup: a `Setup` to play instead of
    the standard one of `num_players`. threads: how many cores share a step.

    Public buffers: `observations` float32 [B, OBS_SIZE] and `action_masks` int8 [B, NUM_ACTIONS] of the seat to act;
    `seats` int64 [B]; `rewards` float64 [B, MAX_SEATS] and `terminated` bool [B] of the last step; `scores` int64
    [B, MAX_SEATS] and `final_states` STATE [B], written where terminated; `states` STATE [B] (the truth: not for
    players).
    """

    def __init__(
        self,
        num_games: int,
        num_players: int | Sequence[int] = 4,
        *,
        seed: int = 0,
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | None = None,
        threads: int = 1,
    ) -> None:
        if not is_integer(num_games) or num_games < 1:
            raise ValueError(f"num_games must be an integer from 1, not {num_games!r}")
        if not is_integer(threads) or not 1 <= threads <= MAX_THREADS:
            raise ValueError(f"threads must be 1 to {MAX_THREADS}, not {threads!r}")
        self.num_games, self.threads = num_games, threads
        self.reward, self.open_mice = reward, bool(open_mice)
        self._reward_code = reward_code(reward)
        self._setups, setup_of = _setups_of(num_games, num_players, setup)
        self.buffers = _allocate(num_games, self._setups, setup_of)
        for name in Buffers._fields[:8]:
            setattr(self, name, getattr(self.buffers, name))
        self._rows = np.arange(num_games)
        self.reset(seed=seed)

    # --- the buffers, for readers and type checkers ---
    observations: np.ndarray
    action_masks: np.ndarray
    seats: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    scores: np.ndarray
    states: np.ndarray
    final_states: np.ndarray

    @property
    def num_players(self) -> np.ndarray:
        """int16 [B]: seats at each table."""
        return self.states["num_seats"]

    @property
    def seed(self) -> int:
        """The seed of the last `reset` that had one."""
        return int(self._seed)

    @property
    def settings(self) -> Settings:
        """For kernels that play in `buffers`."""
        return Settings(self._seed, self._reward_code, self.open_mice)

    @property
    def game_seeds(self) -> np.ndarray:
        """uint64 [B]: the seed of each game in progress (not for players: it tells the deal)."""
        return self.buffers.game_seeds

    @property
    def episodes(self) -> np.ndarray:
        """int64 [B]: the number of the episode in progress, from 0."""
        return self.buffers.episodes

    def reset(self, seed: int | None = None, deals: Sequence[Mapping[str, Any] | None] | None = None) -> None:
        """Begin a new game everywhere: episode 0 of `seed`, or without one the next episode of every game.

        deals: for each game None or the parts of its deal to be set (as in `raw_env.reset`); later episodes are drawn.
        Raises `ValueError` and changes nothing if a deal is impossible.
        """
        new_seed = self._seed if seed is None else np.uint64(check_seed(seed))
        episodes = np.zeros(self.num_games, np.int64) if seed is not None else self.episodes + 1
        dealt = self._dealt(deals, new_seed, episodes)
        self._seed = new_seed
        self.episodes[:] = episodes
        _restart_rows(self.buffers, self._rows, self._seed)
        for game, states in dealt.items():
            self.states[game] = states[0]
            self.seats[game] = states[0].seat
        self.rewards[:], self.terminated[:] = 0.0, False
        _show_rows(self.buffers, self._rows, self.open_mice)

    def _dealt(self, deals: Any, seed: np.uint64, episodes: np.ndarray) -> dict[int, np.ndarray]:
        """The first states of the games that have a wish in `deals`."""
        if deals is None:
            return {}
        if len(deals) != self.num_games:
            raise ValueError(f"deals must have one entry a game: {self.num_games}, not {len(deals)}")
        dealt = {}
        for game, wishes in enumerate(deals):
            if wishes is None:
                continue
            setup = self._setups[self.buffers.setup_of[game]]
            drawn_from = next_game_seed(seed, np.uint64(game), np.uint64(episodes[game]))
            try:
                dealt[game] = dealt_states(setup, draw_deal(setup, drawn_from, wishes))
            except ValueError as error:
                raise ValueError(f"game {game}: {error}") from None
        return dealt

    def step(self, actions: np.ndarray, rows: np.ndarray | None = None) -> None:
        """Play one decision in every game: `actions`, any integers [B]. A finished game restarts.

        rows: play only in these games (distinct), `actions` in their order; the others keep their buffers as they are.
        Raises `ValueError` naming game, seat and what is legal if any action is illegal, and then plays none.
        """
        games = self._rows if rows is None else self._check_rows(rows)
        checked = self._check_actions(actions, games)
        if self.threads == 1:
            _play_chunk(self.buffers, games, checked, 0, len(games), self.settings)
        else:
            _play_parallel(self.buffers, games, checked, self.threads, self.settings)

    def play_random(self, num_steps: int) -> None:
        """`num_steps` decisions in every game, uniform over the legal ones, as the player `random` would take them."""
        if self.threads == 1:
            _play_random_chunk(self.buffers, 0, self.num_games, num_steps, self.settings)
        else:
            _play_random_parallel(self.buffers, num_steps, self.threads, self.settings)

    def restart(self, rows: np.ndarray) -> None:
        """Give up the games in `rows`: each goes to its next episode."""
        games = self._check_rows(rows)
        self.episodes[games] += 1
        _restart_rows(self.buffers, games, self._seed)
        _show_rows(self.buffers, games, self.open_mice)

    def _check_rows(self, rows: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        if rows.ndim != 1 or not np.issubdtype(rows.dtype, np.integer):
            raise ValueError(f"rows must be a list of game numbers, not {rows!r}")
        games = np.ascontiguousarray(rows, np.int64)
        in_range = not len(games) or (games.min() >= 0 and games.max() < self.num_games)
        if not in_range or np.bincount(games, minlength=1).max() > 1:
            raise ValueError(f"rows must be distinct and from 0 to {self.num_games - 1}, not {rows!r}")
        return games

    def _check_actions(self, actions: np.ndarray, games: np.ndarray) -> np.ndarray:
        actions = np.asarray(actions)
        if actions.shape != games.shape or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"actions must be {len(games)} integers, not {actions.dtype} {list(actions.shape)}")
        checked = np.ascontiguousarray(actions, np.int64)
        fault = _first_illegal(self.buffers, games, checked)
        if fault >= 0:
            try:
                check_action(self.states[games[fault]], int(actions[fault]))
            except ValueError as error:
                raise ValueError(f"game {games[fault]}: {error}") from None
        return checked

    def clone(self) -> dict[str, np.ndarray]:
        """The games in flight and where their seeds go on, as plain arrays: for `restore` of a batch like this one."""
        kept = {name: getattr(self.buffers, name).copy() for name in ("game_seeds", "episodes", "decisions")}
        return kept | {"states": _as_bytes(self.states).copy(), "seed": np.array([self._seed])}

    def restore(self, saved: Mapping[str, np.ndarray]) -> None:
        """Go on from a `clone`. Raises `ValueError` and changes nothing if it is of another batch."""
        expected = self.clone()
        for name, array in expected.items():
            if name not in saved or saved[name].shape != array.shape or saved[name].dtype != array.dtype:
                raise ValueError(f"{name} of the saved games must be {array.dtype} {list(array.shape)}")
        for name in ("game_seeds", "episodes", "decisions"):
            getattr(self.buffers, name)[:] = saved[name]
        _as_bytes(self.states)[:] = saved["states"]
        self._seed, self.seats[:] = saved["seed"][0], self.states["seat"]
        self.rewards[:], self.terminated[:] = 0.0, False
        _show_rows(self.buffers, self._rows, self.open_mice)

    def view(self, rows: np.ndarray | None = None) -> View:
        """What the seats to act (in the games `rows`) may know: the argument of a player's `act`."""
        games = self._rows if rows is None else self._check_rows(rows)
        states, seats = np.empty(len(games), STATE), self.seats[games]
        redact_rows(self.states, games, seats, states)
        return View(states, seats, self.decision_seeds(games))

    def decision_seeds(self, rows: np.ndarray | None = None) -> np.ndarray:
        """uint64 [K]: the words that the seats to act (in the games `rows`) may draw their randomness from."""
        games = self._rows if rows is None else self._check_rows(rows)
        seeds = np.empty(len(games), np.uint64)
        _decision_seeds(self.buffers, games, seeds)
        return seeds

    def observe(self, seats: Any, out: np.ndarray | None = None) -> np.ndarray:
        """What `seats` (one, or [B]) see now, into `out` float32 [B, OBS_SIZE]."""
        seats = self._check_seats(seats)
        out = self._check_out(out, OBS_SIZE)
        observations_of(self.states, seats, self.open_mice, out)
        return out

    def privileged(self, out: np.ndarray | None = None) -> np.ndarray:
        """Everything, hidden cards too, from the place of the seat to act: float32 [B, PRIVILEGED_SIZE]."""
        out = self._check_out(out, PRIVILEGED_SIZE)
        if self.threads == 1:
            _observe_all_chunk(self.states, self.seats, 0, self.num_games, out)
        else:
            _observe_all_parallel(self.states, self.seats, self.threads, out)
        return out

    def _check_out(self, out: np.ndarray | None, size: int) -> np.ndarray:
        """`out`, or a new array; a kernel would write past the end of one that is too small."""
        shape = (self.num_games, size)
        if out is None:
            return np.empty(shape, np.float32)
        if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != np.float32:
            raise ValueError(f"out must be float32 {list(shape)}")
        return out

    def _check_seats(self, seats: Any) -> np.ndarray:
        seats = np.broadcast_to(np.asarray(seats), (self.num_games,))
        if not np.issubdtype(seats.dtype, np.integer) or (seats < 0).any() or (seats >= self.num_players).any():
            raise ValueError("seats must be integers from 0 to one less than the players of their game")
        return np.ascontiguousarray(seats, np.int64)


def _as_bytes(states: np.ndarray) -> np.ndarray:
    """The memory of states [B] as uint8 [B, bytes of a state]."""
    return states.view(np.uint8).reshape(len(states), -1)


def setup_for(num_players: int, setup: Setup | None = None) -> Setup:
    """`setup` if given, else the standard one; raises `ValueError` where there is none."""
    if setup is not None:
        return setup
    if not is_integer(num_players) or int(num_players) not in SETUPS:
        raise ValueError(f"num_players must be one of {list(SETUPS)}, not {num_players!r}")
    return SETUPS[int(num_players)]


def _setups_of(num_games: int, num_players: Any, setup: Setup | None) -> tuple[list[Setup], np.ndarray]:
    """The different setups in a batch, and which of them each game plays."""
    if setup is not None or np.ndim(num_players) == 0:
        return [setup_for(num_players, setup)], np.zeros(num_games, np.int64)
    if len(num_players) != num_games:
        raise ValueError(f"num_players must be one number or {num_games}, not {len(num_players)}")
    tables = [setup_for(players) for players in num_players]
    setups = list(dict.fromkeys(tables))
    return setups, np.array([setups.index(table) for table in tables], np.int64)


def _allocate(num_games: int, setups: list[Setup], setup_of: np.ndarray) -> Buffers:
    return Buffers(
        observations=np.zeros((num_games, OBS_SIZE), np.float32),
        action_masks=np.zeros((num_games, NUM_ACTIONS), np.int8),
        seats=np.zeros(num_games, np.int64),
        rewards=np.zeros((num_games, MAX_SEATS)),
        terminated=np.zeros(num_games, np.bool_),
        scores=np.zeros((num_games, MAX_SEATS), np.int64),
        states=np.zeros(num_games, STATE),
        final_states=np.zeros(num_games, STATE),
        game_seeds=np.zeros(num_games, np.uint64),
        episodes=np.zeros(num_games, np.int64),
        decisions=np.zeros((num_games, MAX_SEATS), np.int64),
        blanks=np.concatenate([setup.blank_state() for setup in setups]),
        setup_of=setup_of,
    )
