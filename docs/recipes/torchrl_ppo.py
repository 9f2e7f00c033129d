"""Learn with PPO of TorchRL, whose `MaskedCategorical` gives illegal actions the probability 0.

pip install torch==2.13.0 torchrl==0.14.1 -e .
"""

import time

import gymnasium
import numpy as np
import torch
from measure import measure
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, Compose, DTypeCastTransform, GymWrapper, TransformedEnv
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.mask_wrapper import MaskInObservation

DECISIONS, BATCH = 81_920, 4096


def make_env() -> TransformedEnv:
    """Make the environment; the mask is a part of its observations, of type bool as `MaskedCategorical` needs it."""
    env = MaskInObservation(gymnasium.make("felicity_env:felicity/Seat-v0"))
    as_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    return TransformedEnv(GymWrapper(env, categorical_action_encoding=True), Compose(as_bool, ActionMask()))


def learn(env: TransformedEnv) -> ProbabilisticActor:
    """Return the policy that was learned."""
    logits = TensorDictModule(MLP(OBS_SIZE, NUM_ACTIONS, num_cells=[256, 256]), ["observation"], ["logits"])
    keys = {"logits": "logits", "mask": "action_mask"}
    actor = ProbabilisticActor(logits, keys, distribution_class=MaskedCategorical, return_log_prob=True)
    critic = ValueOperator(MLP(OBS_SIZE, 1, num_cells=[256, 256]))
    advantage, loss = GAE(gamma=1.0, lmbda=0.95, value_network=critic, average_gae=True), ClipPPOLoss(actor, critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for decisions in Collector(env, actor, frames_per_batch=BATCH, total_frames=DECISIONS):
        for _ in range(4):
            for part in advantage(decisions)[torch.randperm(BATCH)].split(512):
                optimizer.zero_grad()
                sum(value for name, value in loss(part).items() if name.startswith("loss_")).backward()
                optimizer.step()
    return actor.requires_grad_(False)


def main() -> None:
    """Let one seat learn against three random players."""
    started, env = time.monotonic(), make_env()
    torch.manual_seed(0)
    env.set_seed(0)
    actor = learn(env)

    def choose(seen: np.ndarray, mask: np.ndarray) -> int:
        values = {"observation": torch.as_tensor(seen), "action_mask": torch.as_tensor(mask == 1)}
        return int(actor(TensorDict(values))["action"])

    measure(choose, decisions=DECISIONS, started=started)


if __name__ == "__main__":
    main()
