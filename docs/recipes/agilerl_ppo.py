"""Learn with PPO of AgileRL, which reads the action masks from `info["action_mask"]`.

pip install torch==2.13.0 agilerl==2.58.0 peft -e .
"""

import time

import gymnasium
import numpy as np
import torch
from agilerl.algorithms import PPO
from agilerl.training.train_on_policy import train_on_policy
from measure import measure

DECISIONS = 500_000
SEAT = "felicity_env:felicity/Seat-v0"


def main() -> None:
    """Let one agent learn against three random players; nothing evolves."""
    started = time.monotonic()
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 - AgileRL shuffles with it
    envs = gymnasium.make_vec(SEAT, num_envs=64, vectorization_mode="vector_entry_point")
    envs.reset(seed=1)
    agent = PPO(
        envs.single_observation_space,
        envs.single_action_space,
        num_envs=64,
        net_config={"encoder_config": {"hidden_size": [128]}, "head_config": {"hidden_size": [128]}},
        learn_step=4096,
        batch_size=512,
        lr=5e-4,
        gamma=1.0,
        rollout_buffer_config={"use_gae": False},  # with it, AgileRL 2.58 loses the reward at the end of a game
    )
    [agent], _ = train_on_policy(envs, SEAT, "PPO", [agent], max_steps=DECISIONS, evo_steps=100_000, verbose=False)
    measure(lambda seen, mask: agent.get_action(seen, mask)[0][0], decisions=agent.steps, started=started)


if __name__ == "__main__":
    main()
