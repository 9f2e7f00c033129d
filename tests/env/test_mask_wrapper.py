"""Action masks inside observations, under the names that libraries expect."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from felicity_env.game import NUM_ACTIONS
from felicity_env.gymnasium_env import SeatEnv
from felicity_env.mask_wrapper import MaskInObservation
from felicity_env.observation import OBS_SIZE

KEYS = [("observation", "action_mask"), ("observations", "action_mask"), ("obs", "mask"), ("in", "legal"), None]


@pytest.mark.parametrize("keys", KEYS)
def test_an_observation_holds_the_mask_of_the_moment(keys):
    env, plain = MaskInObservation(SeatEnv(4), keys), SeatEnv(4)
    (found, _), (expected, info) = env.reset(seed=2), plain.reset(seed=2)
    terminated = False
    while True:
        assert found in env.observation_space
        observation, mask = (found[:OBS_SIZE], found[OBS_SIZE:]) if keys is None else (found[key] for key in keys)
        np.testing.assert_array_equal(observation, expected)
        np.testing.assert_array_equal(mask, info["action_mask"])
        if terminated:
            break
        action = int(info["action_mask"].argmax())
        found, *_ = env.step(action)
        expected, _, terminated, _, info = plain.step(action)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize("keys", KEYS)
def test_gymnasium_check_env_passes(keys):
    check_env(MaskInObservation(SeatEnv(4, illegal="penalise"), keys), skip_render_check=True)


def test_masks_are_found_through_other_wrappers():
    made = gymnasium.make("felicity_env:felicity/Seat-v0", num_players=3)
    observation, info = MaskInObservation(made, None).reset(seed=1)
    assert observation.shape == (OBS_SIZE + NUM_ACTIONS,)
    np.testing.assert_array_equal(observation[OBS_SIZE:], info["action_mask"])


@pytest.mark.parametrize("keys", [(), ("a",), ("a", "a"), ("mask", "".join("mask")), ("a", "b", "c")])
def test_names_that_are_no_two_names_are_refused(keys):
    with pytest.raises(ValueError, match="keys must be the names of the observation and of the mask"):
        MaskInObservation(SeatEnv(4), keys)


def test_a_spec_with_opponents_and_the_wrapper_goes_to_json_and_back():
    options = {"num_players": 3, "opponents": ["ev", "anchor"], "illegal": "penalise"}
    env = MaskInObservation(gymnasium.make("felicity_env:felicity/Seat-v0", **options), ("obs", "mask"))
    text = env.spec.to_json()
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
    (first, _), (second, _) = env.reset(seed=3), again.reset(seed=3)
    np.testing.assert_array_equal(first["obs"], second["obs"])
    assert again.observation_space == env.observation_space


def test_the_wrapper_goes_around_one_environment_of_the_game_and_around_nothing_else():
    seat = gymnasium.make("felicity_env:felicity/Seat-v0")
    for env in (
        gymnasium.make("CartPole-v1"),
        gymnasium.wrappers.FrameStackObservation(seat, 2),
        MaskInObservation(seat, None),
    ):
        with pytest.raises(ValueError, match="goes around a SeatEnv, and other wrappers around it"):
            MaskInObservation(env, None)
    with pytest.raises(TypeError, match="is for one environment"):
        MaskInObservation(gymnasium.make_vec("felicity_env:felicity/Seat-v0", num_envs=2))
