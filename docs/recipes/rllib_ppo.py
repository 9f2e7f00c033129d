"""Learn with PPO of RLlib, whose masking module reads the action mask from the observation.

pip install torch==2.13.0 'ray[rllib]==2.60.0' -e .
"""

import time

import gymnasium
import numpy as np
import ray
import torch
from measure import measure
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune import register_env

from felicity_env.mask_wrapper import MaskInObservation

DECISIONS = 250_000


def make_env(_config: object = None) -> gymnasium.Env:
    """Make the environment with the keys that RLlib's module expects."""
    return MaskInObservation(gymnasium.make("felicity_env:felicity/Seat-v0"), ("observations", "action_mask"))


def main() -> None:
    """Let one seat learn against three random players, in this process alone."""
    started, decisions = time.monotonic(), 0
    ray.init(address="local", num_cpus=2, include_dashboard=False)  # joins no cluster
    register_env("felicity", make_env)
    module = RLModuleSpec(ActionMaskingTorchRLModule, model_config={"fcnet_hiddens": [128, 128]})
    config = PPOConfig().environment("felicity").debugging(seed=1).rl_module(rl_module_spec=module)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=16)
    config.training(lr=5e-4, gamma=1.0, entropy_coeff=0.01, num_epochs=5, minibatch_size=500)
    algorithm = config.build_algo()
    while decisions < DECISIONS:
        decisions = int(algorithm.train()["num_env_steps_sampled_lifetime"])
    learned = algorithm.get_module()

    def choose(seen: np.ndarray, mask: np.ndarray) -> int:
        batch = {"observations": torch.as_tensor(seen[None]), "action_mask": torch.as_tensor(mask[None])}
        return int(learned.forward_inference({"obs": batch})["action_dist_inputs"].argmax())

    measure(choose, decisions=decisions, started=started)


if __name__ == "__main__":
    main()
