"""Spaces of observations with masks."""

import numpy as np
from gymnasium.spaces import Box, Dict

from felicity_env.game import NUM_ACTIONS
from felicity_env.observation import OBS_HIGH, OBS_LOW, OBS_SIZE
from felicity_env.spaces import create_space

OBSERVATION = Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32)


def test_with_two_names_a_space_is_a_dict_of_observation_and_mask():
    expected = Dict({"seen": OBSERVATION, "legal": Box(0, 1, (NUM_ACTIONS,), np.int8)})
    assert create_space(("seen", "legal")) == expected


def test_without_names_the_mask_follows_the_observation_in_one_vector():
    assert create_space(None) == Box(OBS_LOW, OBS_HIGH, (OBS_SIZE + NUM_ACTIONS,), np.float32)
