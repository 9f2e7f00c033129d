"""What tests of the AEC face share: environments in the middle of a game, and all that they show."""

import copy
from typing import Any

import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.aec import raw_env
from felicity_env.rewards import REWARDS
from tests.helpers import C3, C8, M8, RABBIT, SMALL, bid

FACES = {"env": felicity_v0.env, "raw_env": felicity_v0.raw_env}
every_table = pytest.mark.parametrize("players", [3, 4, 5])
every_reward = pytest.mark.parametrize("reward", REWARDS)
both_faces = pytest.mark.parametrize("make", FACES.values(), ids=FACES)


def dealt(players: int = 4, *, seed: int = 1, **settings: Any) -> raw_env:
    env = raw_env(players, **settings)
    env.reset(seed=seed)
    return env


def mask_of(env: Any) -> np.ndarray:
    return env.observe(env.agent_selection)["action_mask"]


def choose(env: Any, rng: np.random.Generator) -> int:
    """A random legal action; in the auction often a pass or the lowest bid."""
    legal = np.flatnonzero(mask_of(env))
    return int(legal[0] if rng.random() < 0.4 else rng.choice(legal[:2]) if rng.random() < 0.5 else rng.choice(legal))


def play_some(env: Any, steps: int, *, seed: int = 0) -> Any:
    """Up to `steps` decisions, stopping when the game is over."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if any(env.terminations.values()):
            break
        env.step(choose(env, rng))
    return env


def play_out(env: Any, *, seed: int = 0) -> Any:
    return play_some(env, 10_000, seed=seed)


def in_auction(players: int = 4, **settings: Any) -> raw_env:
    """The first auction open, the bid at 5, the second seat to act."""
    env = raw_env(players, **settings)
    dealt_so = {"removed": [RABBIT] * players, "start_seat": 0}
    env.reset(seed=1, options={"deal": dealt_so})
    for card in [C3, C8, M8, SMALL, C3][:players]:
        env.step(card)
    env.step(bid(5))
    return env


def same(one: Any, other: Any) -> bool:
    """Whether two values, arrays inside, are equal to the last byte."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def everything_shown(env: Any) -> dict[str, Any]:
    """What the public methods tell, all seats."""
    raw = env.unwrapped
    return {
        "agents": env.agents[:],
        "turn": env.agent_selection,
        "observations": {agent: raw.observe(agent) for agent in raw.possible_agents},
        "rewards": dict(env.rewards),
        "due": dict(raw._cumulative_rewards),
        "over": (dict(env.terminations), dict(env.truncations)),
        "infos": copy.deepcopy(env.infos),
        "state": raw.state(),
        "game": raw.game,
    }


def check_keys(env: Any) -> None:
    for name in ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos"):
        assert list(getattr(env.unwrapped, name)) == env.agents, name
    assert env.agent_selection in env.agents or not env.agents
    assert env.num_agents == len(env.agents)
