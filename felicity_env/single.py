"""The Gymnasium face: one seat learns, players sit in the others.

    env = gymnasium.make("felicity_env:felicity/Seat-v0", num_players=4)
    envs = gymnasium.make_vec("felicity_env:felicity/Seat-v0", num_envs=64, vectorization_mode="vector_entry_point")

The mask of legal actions is in `info["action_mask"]` and `action_masks()` (where sb3-contrib looks for it).
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from felicity_env.batch import Batch, setup_for
from felicity_env.game import NUM_ACTIONS, Setup, rank, score
from felicity_env.lanes import Lanes, check_opponents
from felicity_env.observation import OBS_HIGH, OBS_LOW, OBS_SIZE, describe
from felicity_env.render import render_seat
from felicity_env.transcript import is_integer
from felicity_env.view import Player, RandomPlayer

ILLEGAL = {
    "raise": "raise ValueError and change nothing",
    "terminate": "end the game with reward -1",
    "random": "play a random legal action instead (for checkers that sample without masks)",
}


FINAL_KEYS = ("score", "cat_points", "mice", "rank", "seat")


class SeatVectorEnv(VectorEnv):
    """`num_envs` tables of Felicity, one learner at each; a finished game restarts within the step (SAME_STEP).

    num_players, reward, open_mice, setup, threads: as for `Batch`. seat: the learner's, or None to rotate from game to
    game. opponents: a player with `act(view)` for all other seats, or one for each in seating order; default uniform
    random. illegal: what an illegal action does, a key of `ILLEGAL`.

    Observations are new arrays each step. `infos`: `action_mask` int8 [B, NUM_ACTIONS], `seat` int64 [B]; when games
    end, `final_obs` and `final_info` (`score`, `cat_points`, `mice`, `rank`, `seat`) in Gymnasium's form.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        num_envs: int = 1,
        num_players: int = 4,
        *,
        seat: int | None = None,
        opponents: Player | Sequence[Player] | None = None,
        illegal: str = "raise",
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | None = None,
        threads: int = 1,
        render_mode: str | None = None,
    ) -> None:
        if illegal not in ILLEGAL:
            raise ValueError(f"illegal must be one of {list(ILLEGAL)}, not {illegal!r}")
        if render_mode is not None:
            raise ValueError("many tables cannot be rendered; make a single environment to look at")
        self.num_envs, self.illegal = num_envs, illegal
        self.setup = setup_for(num_players, setup)
        self.batch = Batch(num_envs, num_players, reward=reward, open_mice=open_mice, setup=self.setup, threads=threads)
        players = check_opponents(opponents, self.setup.seats - 1)
        self.lanes = Lanes(self.batch, players, seat=seat)
        self._seeded = False
        self.single_observation_space = Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32)
        self.single_action_space = Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New games at all tables. options: `{"deal": ...}` as in the AEC face, dealt at every table."""
        wishes = (options or {}).get("deal")
        deals = None if wishes is None else [wishes] * self.num_envs
        if seed is None and not self._seeded:
            seed = secrets.randbits(63)
        self.batch.reset(seed=seed, deals=deals)
        self._seeded = True
        self.lanes.begin()
        return self.lanes.observations.copy(), self._infos()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """From the learner's decisions to its next ones at all tables."""
        if self.illegal == "raise":
            self.lanes.step(actions)
        else:
            self._step_any(self._check_actions(actions))
        truncated = np.zeros(self.num_envs, np.bool_)
        lanes = self.lanes
        return lanes.observations.copy(), lanes.rewards.copy(), lanes.terminated.copy(), truncated, self._infos()

    def _check_actions(self, actions: np.ndarray) -> np.ndarray:
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or not np.issubdtype(actions.dtype, np.integer):
            raise ValueError(f"actions must be {self.num_envs} integers, not {actions.dtype} {list(actions.shape)}")
        return actions.astype(np.int64)

    def _step_any(self, actions: np.ndarray) -> None:
        """A step in which actions may be illegal."""
        in_range = (actions >= 0) & (actions < NUM_ACTIONS)
        legal = in_range & (self.action_masks()[np.arange(self.num_envs), np.where(in_range, actions, 0)] == 1)
        stand_in = np.where(legal, actions, RandomPlayer().act(self.batch.view()))
        self.lanes.step(stand_in, give_up=np.flatnonzero(~legal) if self.illegal == "terminate" else None)

    def action_masks(self) -> np.ndarray:
        """int8 [num_envs, NUM_ACTIONS]: what the learner may do now."""
        return self.lanes.action_masks.copy()

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {"action_mask": self.action_masks(), "seat": self.lanes.seats.copy()}
        ended = self.lanes.terminated
        if ended.any():
            infos["final_obs"] = np.full(self.num_envs, None, object)
            for row in np.flatnonzero(ended):
                infos["final_obs"][row] = self.lanes.final_observations[row].copy()
            infos["final_info"] = self._final_info(ended)
            infos["_final_obs"], infos["_final_info"] = ended.copy(), ended.copy()
        return infos

    def _final_info(self, ended: np.ndarray) -> dict[str, np.ndarray]:
        info = {key: np.zeros(self.num_envs, np.int64) for key in FINAL_KEYS}
        for row in np.flatnonzero(ended).tolist():
            for key, value in self.result(row).items():
                info[key][row] = value
        return info | {f"_{key}": ended.copy() for key in FINAL_KEYS}

    def result(self, row: int) -> dict[str, int]:
        """How the last finished game at table `row` ended for the learner."""
        state, seat = self.batch.final_states[row], int(self.lanes.final_seats[row])
        values = (score(state, seat), state.cat_points[seat], state.mice[seat], rank(state, seat), seat)
        return dict(zip(FINAL_KEYS, map(int, values), strict=True))


class SeatEnv(gymnasium.Env):
    """One table of Felicity, one learner: a `SeatVectorEnv` of one, with the same arguments but `num_envs`.

    `reset(seed=s)` deals game 0 of `Batch(seed=s)`. At the end `info` holds `score`, `cat_points`, `mice` and `rank`.
    render_mode: "ansi" (text of what the learner may see), "human" (printed) or None.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012 - as Gymnasium has it

    def __init__(self, num_players: int = 4, *, render_mode: str | None = None, **settings: Any) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None, 'ansi' or 'human', not {render_mode!r}")
        self.render_mode = render_mode
        self._table = SeatVectorEnv(1, num_players, **settings)
        self.observation_space = self._table.single_observation_space
        self.action_space = self._table.single_action_space
        self._over = self._dealt = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """A new game; `options={"deal": ...}` as in the AEC face."""
        super().reset(seed=seed)
        next_is_dealt = self._over and seed is None and "deal" not in (options or {})
        if not next_is_dealt:  # after the end of a game the next one lies ready
            self._table.reset(seed=seed, options=options)
        self._over, self._dealt = False, True
        return self._table.lanes.observations[0].copy(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """From the learner's decision to its next one."""
        if self._over or not self._dealt:
            raise ValueError("no game is being played: call reset()")
        if not is_integer(action):
            raise ValueError(f"an action is an integer from 0 to {NUM_ACTIONS - 1}, not {action!r}")
        self._table.step(np.array([int(action)]))
        lanes = self._table.lanes
        self._over = bool(lanes.terminated[0])
        if self.render_mode == "human":
            self.render()
        return self._observation().copy(), float(lanes.rewards[0]), self._over, False, self._info()

    def _observation(self) -> np.ndarray:
        lanes = self._table.lanes
        return lanes.final_observations[0] if self._over else lanes.observations[0]

    def action_masks(self) -> np.ndarray:
        """int8 [NUM_ACTIONS]: what the learner may do now; all zero once the game is over."""
        mask = self._table.action_masks()[0]
        return np.zeros_like(mask) if self._over else mask

    def _info(self) -> dict[str, Any]:
        if self._over:
            return {"action_mask": self.action_masks(), **self._table.result(0)}
        return {"action_mask": self.action_masks(), "seat": int(self._table.lanes.seats[0])}

    def render(self) -> str | None:  # type: ignore[override]
        """The table as the learner may see it: returned ("ansi") or printed ("human")."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs render_mode='ansi' or 'human' when the environment is made")
            return None
        text = render_seat(describe(self._observation()), seat=self._info()["seat"], setup=self._table.setup)
        if self.render_mode == "ansi":
            return text
        print(text)
        return None
