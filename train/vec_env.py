"""Lanes as a Stable-Baselines3 `VecEnv`, with the masks where MaskablePPO looks for them."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.vec_env import VecEnv

from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.lanes import Lanes
from felicity_env.observation import OBS_HIGH, OBS_LOW


class LanesVecEnv(VecEnv):
    """One environment a lane; a transition runs from one decision of the learner to its next."""

    def __init__(self, lanes: Lanes, *, reward_scale: float = 1.0) -> None:
        self.lanes, self.reward_scale = lanes, reward_scale
        # The same empty dicts every time: making hundreds a step keeps Python's garbage collector busy.
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(lanes.batch.num_games)]
        self._lengths = np.zeros(lanes.batch.num_games, np.int64)
        self._returns = np.zeros(lanes.batch.num_games)
        space = Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32)
        super().__init__(lanes.batch.num_games, space, Discrete(NUM_ACTIONS))

    def reset(self) -> np.ndarray:
        """The games as they stand: a batch always has games in progress."""
        return self.lanes.observations.copy()

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play them, and the others up to the learner's next decisions."""
        self.lanes.step(self._actions)
        self._lengths += 1
        rewards, ended = (self.lanes.rewards * self.reward_scale).astype(np.float32), self.lanes.terminated.copy()
        self._returns += rewards
        infos = self._no_infos.copy()
        for lane in np.flatnonzero(ended).tolist():
            infos[lane] = {
                "terminal_observation": self.lanes.final_observations[lane].copy(),
                "TimeLimit.truncated": False,
                "episode": {"r": float(self._returns[lane]), "l": int(self._lengths[lane]), "t": 0.0},
            }
        self._lengths[ended], self._returns[ended] = 0, 0.0
        return self.lanes.observations.copy(), rewards, ended, infos

    def has_attr(self, attr_name: str) -> bool:
        """Whether lanes answer to `attr_name`."""
        return attr_name in ("action_masks", "render_mode")

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of every lane (all of them, as SB3 asks)."""
        if attr_name == "render_mode":
            return [None] * self.num_envs
        raise AttributeError(f"lanes have no attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Not to be had: settings belong to the batch."""
        raise AttributeError(f"lanes have no attribute {attr_name!r} to set")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """`action_masks` alone: the mask of every lane."""
        if method_name == "action_masks":
            return list(self.lanes.action_masks)
        raise AttributeError(f"lanes have no method {method_name!r}")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No lane is."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Nothing to release."""
