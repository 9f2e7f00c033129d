"""Learn with MaskablePPO of sb3-contrib, which only plays legal actions."""

import time

import torch
from measure import measure
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

DECISIONS = 200_000


def main() -> None:
    """Let one seat learn against three random players."""
    torch.set_num_threads(1)  # faster with networks of this size
    started = time.monotonic()
    envs = make_vec_env("felicity_env:felicity/Seat-v0", n_envs=16, seed=1)
    model = MaskablePPO(
        "MlpPolicy", envs, n_steps=128, batch_size=512, gamma=1.0, learning_rate=1e-3, seed=1, verbose=1
    )
    model.learn(DECISIONS, log_interval=20)  # a table after every 20 updates
    measure(lambda seen, mask: model.predict(seen, action_masks=mask)[0], decisions=DECISIONS, started=started)


if __name__ == "__main__":
    main()
