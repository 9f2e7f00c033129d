"""Gymnasium wrapper that puts the action mask into the observation, where some libraries look for it."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from felicity_env.observation import OBS_SIZE
from felicity_env.spaces import create_space


class MaskInObservation(gymnasium.ObservationWrapper[Any, int, Any], RecordConstructorArgs):
    """Environment whose observations hold the action mask, under the names that a library expects.

    env: a `SeatEnv`, which other wrappers may surround. keys: the names of the observation and of the mask in the dict
    that each observation then is; None for one array, float32 [OBS_SIZE + NUM_ACTIONS], in which the mask follows the
    observation.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], keys: tuple[str, str] | None = ("observation", "action_mask")
    ) -> None:
        if not isinstance(env, gymnasium.Env):
            raise TypeError("MaskInObservation is for one environment of Gymnasium; infos of many have `action_mask`")
        if not env.has_wrapper_attr("action_masks") or env.observation_space.shape != (OBS_SIZE,):
            raise ValueError(f"MaskInObservation goes around a SeatEnv, and other wrappers around it; got {env}")
        RecordConstructorArgs.__init__(self, keys=keys)
        super().__init__(env)
        if keys is not None and (len(keys) != 2 or keys[0] == keys[1]):
            raise ValueError(f"keys must be the names of the observation and of the mask, not {keys!r}")
        self.keys = keys
        self.observation_space = create_space(keys)

    def observation(self, observation: np.ndarray) -> dict[str, np.ndarray] | np.ndarray:
        """Return an observation together with the mask of the actions that are legal now."""
        mask = self.get_wrapper_attr("action_masks")()
        if self.keys is None:
            return np.concatenate([observation, mask.astype(np.float32)])
        return dict(zip(self.keys, (observation, mask), strict=True))
