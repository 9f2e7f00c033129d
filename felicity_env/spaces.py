"""Spaces of observations that hold the action mask."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from felicity_env.game import NUM_ACTIONS
from felicity_env.observation import OBS_HIGH, OBS_LOW, OBS_SIZE


def create_dict_space(keys: tuple[str, str]) -> Dict:
    """Create the space of observations that are a dict of an observation and a mask, with these names."""
    observation, mask = Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32), Box(0, 1, (NUM_ACTIONS,), np.int8)
    return Dict(dict(zip(keys, (observation, mask), strict=True)))


def create_space(keys: tuple[str, str] | None) -> gymnasium.Space[Any]:
    """Create the space of observations with a mask, a dict with these names, or without names one array of both."""
    if keys is None:
        return Box(OBS_LOW, OBS_HIGH, (OBS_SIZE + NUM_ACTIONS,), np.float32)
    return create_dict_space(keys)
