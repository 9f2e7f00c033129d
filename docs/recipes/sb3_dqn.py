"""Learn with DQN of Stable-Baselines3, which knows nothing of action masks; its defaults do not learn this game.

Illegal actions are replaced and cost a reward of 0.1. When it plays, it takes the best legal action by `from_sb3`.
"""

import time

import torch
from measure import report
from stable_baselines3 import DQN
from stable_baselines3.common.env_util import make_vec_env

import agents
from agents.adapters import from_sb3
from agents.arena.blocks import play_blocks
from agents.arena.estimates import estimate_share

DECISIONS, DEALS, SEED = 200_000, 250, 10**6  # each deal is played once from each of the four seats


def main() -> None:
    """Let one seat learn against three random players."""
    torch.set_num_threads(1)  # faster with networks of this size
    started = time.monotonic()
    envs = make_vec_env("felicity_env:felicity/Seat-v0", n_envs=16, seed=1, env_kwargs={"illegal": "penalise"})
    model = DQN(
        "MlpPolicy",
        envs,
        gamma=1.0,
        learning_rate=5e-4,
        buffer_size=200_000,
        learning_starts=5_000,
        batch_size=256,
        train_freq=4,
        gradient_steps=8,
        target_update_interval=2_000,
        exploration_fraction=0.4,
        exploration_final_eps=0.03,
        policy_kwargs={"net_arch": [128, 128]},
        seed=1,
        verbose=1,
    )
    model.learn(DECISIONS, log_interval=2000)  # a table after every 2,000 episodes
    players = [from_sb3(model, deterministic=True), *(agents.make("random") for _ in range(3))]
    share = estimate_share(play_blocks(players, num_deals=DEALS, seed=SEED).block_means(0))
    report((share.value, share.low, share.high), decisions=DECISIONS, started=started)


if __name__ == "__main__":
    main()
