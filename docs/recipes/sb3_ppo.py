"""Learn with PPO of Stable-Baselines3, which knows nothing of action masks and pays for illegal actions."""

import time

import torch
from measure import measure
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

DECISIONS = 400_000


def main() -> None:
    """Let one seat learn against three random players; an illegal action is replaced and costs a reward of 0.1."""
    torch.set_num_threads(1)  # faster with networks of this size
    started = time.monotonic()
    envs = make_vec_env("felicity_env:felicity/Seat-v0", n_envs=16, seed=1, env_kwargs={"illegal": "penalise"})
    model = PPO("MlpPolicy", envs, n_steps=128, batch_size=512, gamma=1.0, learning_rate=1e-3, seed=1, verbose=1)
    model.learn(DECISIONS, log_interval=20)  # a table after every 20 updates
    options = {"decisions": DECISIONS, "started": started, "illegal": "penalise"}
    measure(lambda seen, mask: model.predict(seen)[0], **options)


if __name__ == "__main__":
    main()
