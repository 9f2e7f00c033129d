"""The test suites of PettingZoo, Gymnasium and Stable-Baselines3."""

import hashlib
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
import stable_baselines3.common.env_checker as sb3_env_checker
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from pettingzoo.test import api_test, render_test, seed_test
from stable_baselines3.common.env_util import make_vec_env

from felicity_env import OBS_SIZE, OBSERVATION_VERSION, RULES_VERSION, Batch, felicity_v0
from felicity_env.gymnasium_env import SeatEnv, SeatVectorEnv
from felicity_env.illegal import ILLEGAL, PENALTY
from tests.support.helpers import ODD_SETUPS

SEAT = "felicity_env:felicity/Seat-v0"
MAKERS = {"env": felicity_v0.env, "raw_env": felicity_v0.raw_env}
KNOWN_WARNINGS = (  # api_test of PettingZoo 1.27 gives them for every Dict observation
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)

every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_size = pytest.mark.parametrize("players", [3, 4, 5])
both_mice = pytest.mark.parametrize("open_mice", [False, True], ids=["closed", "open"])


def run_api_test(env: pettingzoo.AECEnv, num_cycles: int = 100) -> None:
    """Run `api_test`; any warning but the two known ones is an error."""
    with warnings.catch_warnings():
        for known in KNOWN_WARNINGS:
            warnings.filterwarnings("ignore", message=f"^{known}$")
        api_test(env, num_cycles=num_cycles)


@every_maker
@every_size
@both_mice
def test_pettingzoo_api_test_passes(make, players, open_mice, capsys):
    run_api_test(make(num_players=players, open_mice=open_mice))
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("setup", ODD_SETUPS, ids=range(len(ODD_SETUPS)))
def test_pettingzoo_api_test_passes_with_other_setups(setup):
    run_api_test(felicity_v0.env(setup=setup, reward="round"), num_cycles=30)


def test_api_test_gives_no_more_than_the_two_known_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(felicity_v0.env(), num_cycles=20)
    assert {str(warning.message) for warning in caught} <= set(KNOWN_WARNINGS)


@every_maker
@every_size
@both_mice
def test_pettingzoo_seed_test_passes(make, players, open_mice):
    seed_test(lambda: make(num_players=players, open_mice=open_mice), num_cycles=60)


@every_maker
def test_pettingzoo_render_test_passes(make, capsys):
    render_test(make, custom_tests={"ansi": lambda text: text.startswith("FELICITY")})
    assert "FELICITY" in capsys.readouterr().out


def test_pettingzoo_makes_the_environment_by_its_id():
    env = pettingzoo.make("aec", "felicity/felicity-v0", num_players=5)
    run_api_test(env)
    env.reset(seed=1)
    assert isinstance(env.unwrapped, felicity_v0.raw_env)
    assert env.num_agents == 5
    with pytest.raises(ValueError, match="no game is being played"):
        pettingzoo.make("aec", "felicity/felicity-v0").unwrapped.step(0)


@pytest.mark.parametrize("environment", [felicity_v0.raw_env, SeatEnv, SeatVectorEnv])
def test_metadata_name_the_versions_of_rules_and_observation(environment):
    assert environment.metadata["rules_version"] == RULES_VERSION
    assert environment.metadata["observation_version"] == OBSERVATION_VERSION


def test_another_observation_needs_another_version():
    batch, digest = Batch(60, num_players=[3, 4, 5] * 20, seed=1), hashlib.sha256()
    for _ in range(200):
        digest.update(batch.observations.tobytes())
        batch.play_random(1)
    assert (OBSERVATION_VERSION, digest.hexdigest()[:16]) == (2, "ae1311485457a35b")


def test_the_environment_says_that_it_cannot_be_made_parallel():
    assert felicity_v0.raw_env.metadata["is_parallelizable"] is False
    with pytest.raises(AssertionError, match="parallelizable"):
        pettingzoo.utils.conversions.aec_to_parallel(felicity_v0.env())


@every_size
@both_mice
def test_gymnasium_check_env_passes(players, open_mice):
    check_env(SeatEnv(players, open_mice=open_mice, illegal="random"), skip_render_check=True)


def test_stable_baselines3_makes_many_games_by_their_id():
    games = make_vec_env(SEAT, n_envs=8, seed=1)
    games.reset()
    for _ in range(30):
        masks = np.stack(games.env_method("action_masks"))
        observations, _, _, _ = games.step(masks.argmax(axis=1))
    assert observations.shape == (8, OBS_SIZE)


@pytest.mark.parametrize("illegal", ["random", "terminate", "penalise"])
def test_gymnasium_check_env_passes_as_made_by_its_id(illegal):
    made = gymnasium.make(SEAT, illegal=illegal, render_mode="ansi")
    check_env(made.unwrapped)


@every_size
@both_mice
def test_stable_baselines_check_env_passes(players, open_mice):
    sb3_env_checker.check_env(SeatEnv(players, open_mice=open_mice, illegal="random"), warn=True)


def test_gymnasium_makes_the_single_environment_by_its_id():
    env = gymnasium.make(SEAT, num_players=3, seat=1)
    assert isinstance(env.unwrapped, SeatEnv)
    observation, info = env.reset(seed=3)
    assert info["seat"] == 1
    assert env.observation_space.contains(observation)
    terminated = False
    while not terminated:
        legal = np.flatnonzero(info["action_mask"])
        observation, _, terminated, truncated, info = env.step(legal[-1])
        assert env.observation_space.contains(observation)
        assert not truncated
    assert {"score", "cat_points", "mice", "rank"} <= info.keys()


def test_gymnasium_makes_the_vector_environment_by_its_id():
    envs = gymnasium.make_vec(SEAT, num_envs=6, vectorization_mode="vector_entry_point", num_players=5)
    assert isinstance(envs.unwrapped, SeatVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = envs.reset(seed=3)
    assert observations in envs.observation_space
    for _ in range(60):
        actions = infos["action_mask"].argmax(1)
        assert actions in envs.action_space
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        assert observations in envs.observation_space
    assert rewards.shape == terminated.shape == truncated.shape == (6,)
    envs.close()


def test_gymnasiums_own_vectors_of_the_single_environment_work():
    envs = gymnasium.make_vec(SEAT, num_envs=3, vectorization_mode="sync", illegal="random")
    observations, _ = envs.reset(seed=3)
    for _ in range(40):
        observations, *_ = envs.step(envs.action_space.sample())
    assert observations in envs.observation_space
    envs.close()


@pytest.mark.parametrize("illegal", ILLEGAL)
def test_random_actions_without_a_mask_do_as_illegal_says(illegal):
    env = SeatEnv(illegal=illegal)
    env.reset(seed=0)
    if illegal == "raise":
        with pytest.raises(ValueError, match=r"cannot bid 63 \(action 73\)"):
            env.step(73)
        return
    _, reward, terminated, _, _ = env.step(73)
    expected = {"terminate": (-1.0, True), "penalise": (-PENALTY, False), "random": (0.0, False)}
    assert (reward, terminated) == expected[illegal]
