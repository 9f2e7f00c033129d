"""Measure what a recipe has learned: games against three random players, with seeds apart from training."""

import json
import time
from collections.abc import Callable

import numpy as np

from felicity_env.gymnasium_env import SeatEnv

GAMES, FIRST_SEED = 1000, 10**6
Choose = Callable[[np.ndarray, np.ndarray], int]


def measure_share(choose: Choose, *, games: int = GAMES, illegal: str = "raise") -> tuple[float, float, float]:
    """Play games and return the win share with the bounds of its 95 % interval.

    choose: gives an action for an observation and an action mask.
    """
    env, shares = SeatEnv(4, illegal=illegal), []
    for seed in range(FIRST_SEED, FIRST_SEED + games):
        observation, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            observation, _, terminated, _, info = env.step(int(choose(observation, info["action_mask"])))
        shares.append(info["win_share"])
    mean, half = float(np.mean(shares)), float(1.96 * np.std(shares) / games**0.5)
    return mean, mean - half, mean + half


def report(share: tuple[float, float, float], *, decisions: int, started: float) -> None:
    """Print a win share with its interval as a line of JSON.

    decisions: number that was learned from. started: `time.monotonic()` at the beginning.
    """
    names = ("win_share", "low", "high")
    result = {name: round(value, 3) for name, value in zip(names, share, strict=True)} | {"par": 0.25, "games": GAMES}
    print(json.dumps(result | {"decisions": decisions, "seconds": round(time.monotonic() - started)}))


def measure(choose: Choose, *, decisions: int, started: float, illegal: str = "raise") -> None:
    """Measure a win share and print it, as the functions above do."""
    report(measure_share(choose, illegal=illegal), decisions=decisions, started=started)
