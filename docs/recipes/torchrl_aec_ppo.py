"""Learn by self-play with PPO of TorchRL on the PettingZoo environment: one policy acts for all four agents.

pip install torch==2.13.0 torchrl==0.14.1 -e .
"""

import time

import numpy as np
import torch
from measure import measure
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torchrl.envs import ExplorationType, MarlGroupMapType, PettingZooWrapper, set_exploration_type
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from felicity_env import NUM_ACTIONS, OBS_SIZE, felicity_v0

DECISIONS, BATCH = 49_152, 4096
SEEN = [("observation", "observation")]


def learn(env: PettingZooWrapper) -> ProbabilisticActor:
    """Return the policy that was learned; in each step `mask` says who acts, and the others are left out."""
    logits = TensorDictModule(MLP(OBS_SIZE, NUM_ACTIONS, num_cells=[256, 256]), SEEN, ["logits"])
    keys = {"logits": "logits", "mask": "action_mask"}
    actor = ProbabilisticActor(logits, keys, distribution_class=MaskedCategorical, return_log_prob=True)
    critic = ValueOperator(MLP(OBS_SIZE, 1, num_cells=[256, 256]), SEEN)
    advantage, loss = GAE(gamma=1.0, lmbda=0.98, value_network=critic, average_gae=True), ClipPPOLoss(actor, critic)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    for _ in range(DECISIONS // BATCH):
        with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):  # the default is the likeliest action
            steps = env.rollout(BATCH, lambda td: td.set("agents", actor(td["agents"])), break_when_any_done=False)
        series = steps["agents"].set("next", steps["next", "agents"]).transpose(0, 1)  # one for each agent
        for _ in range(4):
            for part in advantage(series)[series["mask"]][torch.randperm(BATCH)].split(512):
                optimizer.zero_grad()
                sum(value for name, value in loss(part).items() if name.startswith("loss_")).backward()
                optimizer.step()
    return actor.requires_grad_(False)


def main() -> None:
    """Let all four agents learn from their own games."""
    started = time.monotonic()
    torch.manual_seed(0)
    game = felicity_v0.env(4, illegal="raise")
    actor = learn(PettingZooWrapper(game, use_mask=True, group_map=MarlGroupMapType.ALL_IN_ONE_GROUP, seed=0))

    def choose(seen: np.ndarray, mask: np.ndarray) -> int:
        values = {"observation": {"observation": torch.as_tensor(seen)}, "action_mask": torch.as_tensor(mask == 1)}
        return int(actor(TensorDict(values))["action"])

    measure(choose, decisions=DECISIONS, started=started)


if __name__ == "__main__":
    main()
