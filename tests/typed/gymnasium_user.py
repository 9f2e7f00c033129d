# pyright: strict
"""A user's script on both Gymnasium faces, which strict type checkers accept."""

import numpy as np

from felicity_env.gymnasium_env import SeatEnv, SeatVectorEnv
from felicity_env.mask_wrapper import MaskInObservation


def play(seed: int) -> float:
    """Play a game by the first legal action; return the reward."""
    env = SeatEnv(num_players=4, opponents=["ev", "anchor", "random"])
    _, info = env.reset(seed=seed)
    total, terminated = 0.0, False
    while not terminated:
        _, reward, terminated, _, info = env.step(int(info["action_mask"].argmax()))
        total += reward
    return total


def play_many(steps: int) -> float:
    """Play many games side by side; return the mean reward of a step."""
    envs = SeatVectorEnv(8, 4, illegal="penalise")
    _, infos = envs.reset(seed=1)
    rewards: list[float] = []
    for _ in range(steps):
        actions = np.asarray(infos["action_mask"]).argmax(axis=1)
        _, reward, _, _, infos = envs.step(actions)
        rewards.append(float(reward.mean()))
    return float(np.mean(rewards))


def see_masks() -> int:
    """Return the number of legal actions that the first observation shows."""
    observation, _ = MaskInObservation(SeatEnv(3), ("obs", "mask")).reset(seed=1)
    return int(observation["mask"].sum())


if __name__ == "__main__":
    print(play(1), play_many(50), see_masks())
