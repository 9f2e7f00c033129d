"""Gymnasium environments in which one seat learns and given players sit in the other seats.

    env = gymnasium.make("felicity_env:felicity/Seat-v0", num_players=4)
    envs = gymnasium.make_vec("felicity_env:felicity/Seat-v0", num_envs=64, vectorization_mode="vector_entry_point")

The action mask is in `info["action_mask"]` and in `action_masks()`, where sb3-contrib looks for it.
"""

import copy
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from felicity_env.batch import Batch
from felicity_env.game import NUM_ACTIONS, PASS, Setup
from felicity_env.game_record import is_integer, to_actions
from felicity_env.illegal import ILLEGAL, PENALTY, check_illegal, find_nearest
from felicity_env.learners import OpponentError, SingleLearnerGames
from felicity_env.observation import OBS_HIGH, OBS_LOW, OBS_SIZE, VERSIONS
from felicity_env.opponents import check_opponents
from felicity_env.player import Player, RandomPlayer, View
from felicity_env.random_stream import MAX_SEED
from felicity_env.render.modes import RENDER_METADATA, RENDER_MODES, check_render_mode, render
from felicity_env.rewards import read_result
from felicity_env.setups import choose_setup

ADVICE = "legal actions are those with a 1 in info['action_mask']; illegal='penalise' replaces the others"
FINAL_KEYS = ("score", "cat_points", "mice", "rank", "win_share", "seat")  # of a learner


class SeatVectorEnv(VectorEnv):
    """Gymnasium vector environment of Felicity, in which one seat of each game learns.

    A finished game restarts within the step that finished it (autoreset mode SAME_STEP).

    num_envs: number of games, B. num_players: 3, 4 or 5 seats of the standard setup, by default 4; left out if `setup`
    is given. seat: the learner's seat, or None to change it from game to game. opponents: one player with `act(view)`
    for all other seats, or a list with one player for each of them, clockwise from the learner; by default a uniformly
    random player. A player code such as "ev" makes a player of the package `agents`, which a checkout has. illegal:
    what an illegal action does, a key of `ILLEGAL`. reward: a key of `rewards.REWARDS`. open_mice: show the learner the
    mice of the other seats. setup: a `Setup`, the name of one in `SETUPS`, or a .json file. threads: number of CPU
    threads used for each step. render_mode: "ansi", "svg", "rgb_array" or None; `render` returns a tuple with one
    picture for each game, as its learner may know it.

    Observations are new arrays each step, float32 [B, OBS_SIZE]; actions are integers [B] from 0 to 73. `infos` has
    `action_mask` int8 [B, NUM_ACTIONS], `seat` int64 [B] and `illegal`, bool [B], which says whether the last action
    was illegal; when games finish, also `final_obs` and `final_info` (`score`, `cat_points`, `mice`, `rank`,
    `win_share`, `seat`) in Gymnasium's form.
    """

    metadata = {  # noqa: RUF012 - as Gymnasium has it
        **RENDER_METADATA,
        "render_modes": [mode for mode in RENDER_MODES if mode != "human"],  # which is for one game
        "autoreset_mode": AutoresetMode.SAME_STEP,
        **VERSIONS,
    }

    def __init__(
        self,
        num_envs: int = 1,
        num_players: int | None = None,
        *,
        seat: int | None = None,
        opponents: Player | str | Sequence[Player | str] | None = None,
        illegal: str = "raise",
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | str | None = None,
        threads: int = 1,
        render_mode: str | None = None,
    ) -> None:
        check_illegal(illegal, *ILLEGAL)
        check_render_mode(render_mode)
        if render_mode == "human":
            raise TypeError("many games cannot be printed; make a single environment to look at one")
        self.metadata = copy.deepcopy(type(self).metadata)  # wrappers and recorders write into it
        self.autoreset_mode = self.metadata["autoreset_mode"]  # where TorchRL looks for it
        self.num_envs, self.illegal, self.render_mode = num_envs, illegal, render_mode
        self.setup = choose_setup(num_players, setup)
        self.batch = Batch(num_envs, reward=reward, open_mice=open_mice, setup=self.setup, threads=threads)
        players = check_opponents(opponents, self.setup.seats - 1)
        self.games = SingleLearnerGames(self.batch, players, seat=seat)
        self._seeded = False
        self.were_illegal = np.zeros(num_envs, np.bool_)
        self.single_observation_space = Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32)
        self.single_action_space = Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new game in every environment; return the first observations of the learners and `infos`.

        seed: integer from 0 to 2**64 - 1, of which the highest bit is left out. The option `{"deal": ...}` sets parts
        of the deal of every game, as in `raw_env.reset`.
        """
        overrides = (options or {}).get("deal")
        deals = None if overrides is None else [overrides] * self.num_envs
        if seed is None and not self._seeded:
            seed = secrets.randbits(63)
        self.batch.reset(seed=_fold_seed(seed), deals=deals)
        self._seeded = True
        self.games.begin()
        self.were_illegal[:] = False
        return self.games.observations.copy(), self._infos()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play one action of the learner in each game, then let the other seats act until the learner's next turn.

        Returns observations, rewards, terminations, truncations (always False) and `infos`.
        """
        games = self.games
        if self.illegal == "raise":
            self._step_legal(actions)
        else:
            self._step_any(to_actions(actions, self.num_envs))
        rewards = games.rewards - PENALTY * (self.were_illegal & (self.illegal == "penalise"))
        truncated = np.zeros(self.num_envs, np.bool_)
        return games.observations.copy(), rewards, games.terminated.copy(), truncated, self._infos()

    def _step_legal(self, actions: np.ndarray) -> None:
        """Play one action of the learner in each game; raise `ValueError` with advice if one is illegal."""
        try:
            self.games.step(actions)
        except OpponentError:
            raise
        except ValueError as error:
            raise ValueError(f"{error}; {ADVICE}") from None  # the message says it all

    def _step_any(self, actions: np.ndarray) -> None:
        """Play one action of the learner in each game, where actions may be illegal.

        An illegal action ends its game if the setting `illegal` is "terminate". Otherwise a legal action replaces it:
        the nearest one, or a random one.
        """
        masks, in_range = self.action_masks(), (actions >= 0) & (actions < NUM_ACTIONS)
        legal = in_range & (masks[np.arange(self.num_envs), np.where(in_range, actions, 0)] == 1)
        nearest = self.illegal == "penalise"
        others = find_nearest(masks, actions) if nearest else RandomPlayer().act(self.batch.view())
        abandon = np.flatnonzero(~legal) if self.illegal == "terminate" else None
        self.games.step(np.where(legal, actions, others), abandon=abandon)
        self.were_illegal[:] = ~legal

    def action_masks(self) -> np.ndarray:
        """Return the action masks of the learners, int8 [num_envs, NUM_ACTIONS]: 1 for each legal action."""
        return self.games.action_masks.copy()

    def render(self) -> tuple[Any, ...] | None:  # type: ignore[override]
        """Return what `render` of a single environment returns, for each game in progress."""
        if self.render_mode is None:
            return None
        batch, seats = self.batch, self.games.seats.tolist()
        shown = zip(batch.states, seats, strict=True)
        return tuple(render(state, seat, self.render_mode, open_mice=batch.open_mice) for state, seat in shown)

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {"action_mask": self.action_masks(), "seat": self.games.seats.copy()}
        infos["illegal"] = self.were_illegal.copy()
        terminated = self.games.terminated
        if terminated.any():
            infos["final_obs"] = np.full(self.num_envs, None, object)
            for index in np.flatnonzero(terminated):
                infos["final_obs"][index] = self.games.final_observations[index].copy()
            infos["final_info"] = self._final_info(terminated)
            infos["_final_obs"], infos["_final_info"] = terminated.copy(), terminated.copy()
        return infos

    def _final_info(self, terminated: np.ndarray) -> dict[str, np.ndarray]:
        info = {key: np.zeros(self.num_envs, float if key == "win_share" else int) for key in FINAL_KEYS}
        for index in np.flatnonzero(terminated).tolist():
            for key, value in self.read_result(index).items():
                info[key][index] = value
        return info | {f"_{key}": terminated.copy() for key in FINAL_KEYS}

    def read_result(self, index: int) -> dict[str, Any]:
        """Return the result of the learner in the last finished game at `index`, with its seat."""
        state, seat = self.batch.final_states[index], int(self.games.final_seats[index])
        return read_result(state, seat, is_over=True) | {"seat": seat}


def _fold_seed(seed: int | None) -> int | None:
    """Return a seed without its bit 63, because some libraries draw seeds of 64 bits."""
    return seed if seed is None or not is_integer(seed) or not 0 <= seed < 2**64 else int(seed) & MAX_SEED


class SeatEnv(gymnasium.Env):
    """Gymnasium environment that plays one game of Felicity at a time, in which one seat learns.

    It wraps a `SeatVectorEnv` with one game. num_players, seat, opponents, illegal, reward, open_mice, setup: as in
    `SeatVectorEnv`. render_mode: "human", "ansi", "svg", "rgb_array" or None, as in `raw_env`; `render` shows the table
    as the learner may know it.

    `reset(seed=s)` deals game 0 of `Batch(seed=s)`. `info` always has the same keys: `action_mask` int8 [NUM_ACTIONS],
    `seat`, `illegal` (whether the last action was illegal), and `score`, `cat_points`, `mice`, `rank` and `win_share`
    of the learner; the last two are 0 until the end.
    """

    metadata = {  # noqa: RUF012 - as Gymnasium has it
        **RENDER_METADATA,
        **VERSIONS,
    }

    def __init__(
        self,
        num_players: int | None = None,
        *,
        seat: int | None = None,
        opponents: Player | str | Sequence[Player | str] | None = None,
        illegal: str = "raise",
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | str | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_render_mode(render_mode)
        self.metadata = copy.deepcopy(type(self).metadata)  # wrappers and recorders write into it
        self.render_mode = render_mode
        self._vector = SeatVectorEnv(
            1,
            num_players,
            seat=seat,
            opponents=opponents,
            illegal=illegal,
            reward=reward,
            open_mice=open_mice,
            setup=setup,
        )
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space
        self._over = self._playing = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin a new game; return the learner's first observation and `info`.

        The option `{"deal": ...}` sets parts of the deal, as in `raw_env.reset`.
        """
        super().reset(seed=seed)
        has_next = self._over and seed is None and "deal" not in (options or {})
        if has_next:  # the vector environment dealt the next game when the last one ended
            self._vector.were_illegal[:] = False
        else:
            self._vector.reset(seed=seed, options=options)
        self._over, self._playing = False, True
        if self.render_mode == "human":
            self.render()
        return self._vector.games.observations[0].copy(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play an action of the learner, then let the others act until the learner's next turn or the end of the game.

        Returns observation, reward, terminated, truncated (always False) and `info`. Raises `ValueError` if no game is
        in progress or the action is not an integer. The setting `illegal` says what an illegal action does.
        """
        if self._over or not self._playing:
            raise ValueError("no game is being played: call reset()")
        if not is_integer(action):
            raise ValueError(f"an action is an integer from 0 to {NUM_ACTIONS - 1}, not {action!r}")
        games = self._vector.games
        try:
            _, rewards, *_ = self._vector.step(np.array([int(action)]))
        except ValueError as error:
            text = str(error).replace("game 0: ", "")
            raise type(error)(text) from error.__cause__  # only an error of an opponent has one
        self._over = bool(games.terminated[0])
        if self.render_mode == "human":
            self.render()
        observations = games.final_observations if self._over else games.observations
        return observations[0].copy(), float(rewards[0]), self._over, False, self._info()

    def action_masks(self) -> np.ndarray:
        """Return the learner's action mask, int8 [NUM_ACTIONS]: 1 for each legal action.

        Once the game is over, PASS alone is set, although no action is left: samplers fail at a mask of zeros.
        """
        mask = self._vector.action_masks()[0]
        if self._over:
            mask[:], mask[PASS] = 0, 1
        return mask

    def view(self) -> View:
        """Return what the learner may know, for a player's `act`; raise `ValueError` unless a game is being played."""
        if self._over or not self._playing:
            raise ValueError("no game is being played: call reset()")
        return self._vector.batch.view()

    def _info(self) -> dict[str, Any]:
        games, batch = self._vector.games, self._vector.batch
        seat = int(games.seats[0])
        so_far = {**read_result(batch.states[0], seat, is_over=False), "seat": seat}
        learner = self._vector.read_result(0) if self._over else so_far
        return {"action_mask": self.action_masks(), "illegal": bool(self._vector.were_illegal[0]), **learner}

    def render(self) -> str | np.ndarray | None:  # type: ignore[override]
        """Show the table with only what the learner may know, or with everything once the game is over.

        Returns what `raw_env.render` returns in the same `render_mode`.
        """
        batch = self._vector.batch
        states = batch.final_states if self._over else batch.states
        return render(states[0], self._info()["seat"], self.render_mode, open_mice=batch.open_mice)
