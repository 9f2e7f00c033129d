"""Record games as a Minari dataset, load it, make its environment again and repeat the recorded actions in it.

pip install torch==2.13.0 'minari[create,hdf5]==0.5.4' pillow -e .
"""

import json
import time
from typing import Any

import gymnasium
import minari
import numpy as np

DATASET, GAMES, FIRST_SEED = "felicity/seat/random-v0", 100, 10**6  # in $MINARI_DATASETS_PATH, or in ~/.minari


def record() -> None:
    """Play random legal actions in one seat, and record what it sees, with the infos."""
    env = minari.DataCollector(gymnasium.make("felicity_env:felicity/Seat-v0"), record_infos=True)
    env.action_space.seed(0)
    for game in range(GAMES):
        _, info = env.reset(seed=FIRST_SEED + game)
        terminated = False
        while not terminated:
            *_, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
    if DATASET in minari.list_local_datasets():
        minari.delete_dataset(DATASET)
    env.create_dataset(DATASET, algorithm_name="random")


def play_again(env: gymnasium.Env, episode: Any, seed: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Repeat the actions of an episode; return the observations, the rewards and the masks."""
    observation, info = env.reset(seed=seed)
    observations, rewards, masks = [observation], [], [info["action_mask"]]
    for action in episode.actions:
        observation, reward, _, _, info = env.step(action)
        observations.append(observation)
        rewards.append(reward)
        masks.append(info["action_mask"])
    return observations, rewards, masks


def main() -> None:
    """Compare each recorded game with the one that is played again."""
    started = time.monotonic()
    record()
    dataset = minari.load_dataset(DATASET)
    env = dataset.recover_environment()
    for episode, about in zip(dataset, dataset.storage.get_episode_metadata(dataset.episode_indices), strict=True):
        recorded = episode.observations, episode.rewards, episode.infos["action_mask"]
        for expected, actual in zip(recorded, play_again(env, episode, about["seed"]), strict=True):
            np.testing.assert_array_equal(actual, expected)
    seconds = round(time.monotonic() - started)
    print(json.dumps({"games": GAMES, "decisions": int(dataset.total_steps), "seconds": seconds}))


if __name__ == "__main__":
    main()
