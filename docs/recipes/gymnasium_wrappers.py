"""Play with Gymnasium's wrappers around one environment, and around many of them side by side."""

import json
import time

import gymnasium
import numpy as np
from gymnasium import wrappers

from felicity_env.mask_wrapper import MaskInObservation

ID, GAMES, FIRST_SEED = "felicity_env:felicity/Seat-v0", 100, 10**6


def play(env: gymnasium.Env, seed: int) -> tuple[float, dict]:
    """Play a game of random legal actions; return the return of the learner's seat and the last info."""
    env.action_space.seed(seed)
    _, info = env.reset(seed=seed)
    total, terminated = 0.0, False
    while not terminated:
        _, reward, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
        total += float(reward)
    return total, info


def play_one_by_one() -> int:
    """Play the same games with and without wrappers, which must not change a game; return the number of decisions."""
    env = MaskInObservation(gymnasium.make(ID), ("observation", "action_mask"))
    env = wrappers.DtypeObservation(wrappers.FlattenObservation(env), np.float32)
    env = wrappers.RecordEpisodeStatistics(wrappers.FrameStackObservation(env, 4))
    bare, decisions = gymnasium.make(ID), 0
    for seed in range(FIRST_SEED, FIRST_SEED + GAMES):
        total, info = play(env, seed)
        assert total == play(bare, seed)[0] == info["episode"]["r"]
        decisions += info["episode"]["l"]
    return int(decisions)


def play_side_by_side() -> list[float]:
    """Play games in eight environments at once until enough have ended; return what the wrapper recorded."""
    envs = wrappers.vector.RecordEpisodeStatistics(
        gymnasium.make_vec(ID, num_envs=8, vectorization_mode="vector_entry_point"), buffer_length=GAMES
    )
    _, infos = envs.reset(seed=FIRST_SEED)
    rng = np.random.default_rng(0)
    while len(envs.return_queue) < GAMES:
        actions = np.where(infos["action_mask"] == 1, rng.random(infos["action_mask"].shape), -1).argmax(axis=1)
        *_, infos = envs.step(actions)
    return [float(total) for total in envs.return_queue]


def main() -> None:
    """Play in both ways, and print the mean return of the learner's seat in the games side by side."""
    started = time.monotonic()
    decisions, returns = play_one_by_one(), play_side_by_side()
    result = {"games": GAMES, "decisions": decisions, "seconds": round(time.monotonic() - started)}
    print(json.dumps(result | {"mean_return_side_by_side": round(float(np.mean(returns)), 3)}))


if __name__ == "__main__":
    main()
