"""Learn with PPO of Tianshou, with an actor that reads the mask from the observation.

pip install torch==2.13.0 tianshou==2.0.1 -e .
"""

import time
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Discrete
from measure import measure
from tianshou.algorithm import PPO, optim
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net

from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.mask_wrapper import MaskInObservation

ENVS, DECISIONS = 64, 163_840


class Actor(Net):
    """Policy network without illegal actions; Tianshou's Q-learning has masks of its own, its PPO has none."""

    def forward(self, seen: Any, state: Any = None, info: Any = None) -> Any:
        """Return the logits of the actions, and the state."""
        logits, state = super().forward(seen.obs, state)
        return logits.masked_fill(torch.as_tensor(seen.mask) == 0, -torch.inf), state


class Critic(Net):
    """Value network."""

    def forward(self, seen: Any) -> Any:
        """Return the values."""
        return super().forward(seen.obs)[0]


def make_env() -> gymnasium.Env:
    """Make the environment with the keys that the networks expect."""
    return MaskInObservation(gymnasium.make("felicity_env:felicity/Seat-v0"), ("obs", "mask"))


def main() -> None:
    """Let one seat learn against three random players."""
    started = time.monotonic()
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - Tianshou shuffles with it
    actor = Actor(state_shape=OBS_SIZE, action_shape=NUM_ACTIONS, hidden_sizes=[256, 256])
    critic = Critic(state_shape=OBS_SIZE, action_shape=1, hidden_sizes=[256, 256])
    policy = DiscreteActorPolicy(actor=actor, action_space=Discrete(NUM_ACTIONS))
    envs = DummyVectorEnv([make_env] * ENVS)
    envs.seed(0)
    games = Collector(policy, envs, VectorReplayBuffer(200 * ENVS, ENVS))  # room for 200 decisions of each
    params = OnPolicyTrainerParams(training_collector=games, max_epochs=1, epoch_num_steps=DECISIONS)
    params.collection_step_num_env_steps, params.batch_size, params.update_step_num_repetitions = 4096, 512, 4
    PPO(policy=policy, critic=critic, optim=optim.AdamOptimizerFactory(lr=1e-3), gamma=1.0).run_training(params)

    def choose(seen: np.ndarray, mask: np.ndarray) -> int:
        with torch.no_grad():
            return int(actor(Batch(obs=seen[None], mask=mask[None]))[0].argmax())

    measure(choose, decisions=DECISIONS, started=started)


if __name__ == "__main__":
    main()
