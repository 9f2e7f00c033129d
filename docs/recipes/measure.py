"""Measure what a recipe has learned: games against three random players, with seeds apart from training."""

import json
import time
from collections.abc import Callable

import numpy as np

from felicity_env.gymnasium_env import SeatEnv
from felicity_env.illegal import PENALTY

GAMES, FIRST_SEED = 1000, 10**6


def measure(
    choose: Callable[[np.ndarray, np.ndarray], int], *, decisions: int, started: float, illegal: str = "raise"
) -> None:
    """Play the games and print the win share with its 95 % interval as a line of JSON.

    choose: gives an action for an observation and an action mask. decisions: number that was learned from. started:
    `time.monotonic()` at the beginning.
    """
    env, shares = SeatEnv(4, illegal=illegal), []
    for seed in range(FIRST_SEED, FIRST_SEED + GAMES):
        observation, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            observation, reward, terminated, _, info = env.step(int(choose(observation, info["action_mask"])))
        shares.append(reward + PENALTY * (info["illegal"] and illegal == "penalise"))
    half = 1.96 * np.std(shares) / GAMES**0.5
    low, share, high = (round(float(np.mean(shares) + side), 3) for side in (-half, 0, half))
    result = {"win_share": share, "low": low, "high": high, "par": 0.25, "games": GAMES}
    print(json.dumps(result | {"decisions": decisions, "seconds": round(time.monotonic() - started)}))
