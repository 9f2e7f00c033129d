"""Helpers for tests of the PettingZoo (AEC) environments: games in progress, and everything that they show."""

import copy
from typing import Any

import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.pettingzoo_env import raw_env
from felicity_env.rewards import REWARDS
from tests.support.helpers import C3, C8, M8, RABBIT, SMALL, bid

FACES = {"env": felicity_v0.env, "raw_env": felicity_v0.raw_env}
every_size = pytest.mark.parametrize("players", [3, 4, 5])
every_reward = pytest.mark.parametrize("reward", REWARDS)
both_faces = pytest.mark.parametrize("make", FACES.values(), ids=FACES)


def new_env(players: int = 4, *, seed: int = 1, **settings: Any) -> raw_env:
    env = raw_env(players, **settings)
    env.reset(seed=seed)
    return env


def read_mask(env: Any) -> np.ndarray:
    return env.observe(env.agent_selection)["action_mask"]


def choose(env: Any, rng: np.random.Generator) -> int:
    """Return a random legal action of an environment; in an auction, often a pass or the lowest bid."""
    legal = np.flatnonzero(read_mask(env))
    return int(legal[0] if rng.random() < 0.4 else rng.choice(legal[:2]) if rng.random() < 0.5 else rng.choice(legal))


def play_some(env: Any, steps: int, *, seed: int = 0) -> Any:
    """Play up to `steps` random decisions in an environment, stop if the game is over, and return it."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if any(env.terminations.values()):
            break
        env.step(choose(env, rng))
    return env


def play_out(env: Any, *, seed: int = 0) -> Any:
    return play_some(env, 10_000, seed=seed)


def in_auction(players: int = 4, **settings: Any) -> raw_env:
    """Return an environment in the first auction of a game: the first seat has bid 5, the second is to act."""
    env = raw_env(players, **settings)
    env.reset(seed=1, options={"deal": {"removed": [RABBIT] * players, "start_seat": 0}})
    for card in [C3, C8, M8, SMALL, C3][:players]:
        env.step(card)
    env.step(bid(5))
    return env


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; arrays inside them must also have equal types, shapes and bytes."""
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def everything_shown(env: Any) -> dict[str, Any]:
    """Return everything that an environment shows of its game, to compare it with another environment.

    It includes the number of decisions that each seat has taken, which is not public.
    """
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
        "decisions": raw._decisions[:],
    }


def check_keys(env: Any) -> None:
    for name in ("rewards", "_cumulative_rewards", "terminations", "truncations", "infos"):
        assert list(getattr(env.unwrapped, name)) == env.agents, name
    assert env.agent_selection in env.agents or not env.agents
    assert env.num_agents == len(env.agents)
