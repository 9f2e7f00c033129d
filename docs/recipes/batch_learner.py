"""Let one seat of each game learn with an actor-critic of one's own, and plot its learning curve.

The other seats play at random. Self-play (`batch_ppo.py`) needs no opponents, but its policies may win less from random
players for a while: they learn against each other.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import torch
from measure import measure_share, report
from torch import nn

from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch
from felicity_env.learners import SingleLearnerGames

GAMES, STEPS, UPDATES, POINTS = 256, 16, 160, 8
RATE, ENTROPY, MINIBATCH = 1e-3, 0.01, 1024


class ActorCritic(nn.Module):
    """Network with the logits of a policy and the value of an observation."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBS_SIZE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.actor, self.critic = nn.Linear(128, NUM_ACTIONS), nn.Linear(128, 1)

    def forward(self, seen: np.ndarray, masks: np.ndarray) -> tuple[torch.distributions.Categorical, torch.Tensor]:
        """Return the policy over the legal actions, and the values."""
        hidden = self.body(torch.as_tensor(seen))
        logits = self.actor(hidden).masked_fill(torch.as_tensor(masks) == 0, -1e9)
        return torch.distributions.Categorical(logits=logits), self.critic(hidden).squeeze(-1)


def collect(games: SingleLearnerGames, network: ActorCritic) -> dict[str, np.ndarray]:
    """Play STEPS decisions of the learner in every game; the arrays change in place, so they are copied."""
    rows = []
    for _ in range(STEPS):
        seen, masks = games.observations.copy(), games.action_masks.copy()
        policy, values = network(seen, masks)
        actions = policy.sample().numpy()
        games.step(actions)
        after = {"rewards": games.rewards.copy(), "going": ~games.terminated}
        rows.append({"seen": seen, "masks": masks, "actions": actions, "values": values.numpy(), **after})
    data = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    following = network(games.observations, games.action_masks)[1].numpy()
    gains, gain = np.empty_like(data["values"]), np.zeros(GAMES, np.float32)
    for step in reversed(range(STEPS)):  # generalised advantages with lambda 0.95
        errors = data["rewards"][step] + following * data["going"][step] - data["values"][step]
        gains[step] = gain = errors + 0.95 * gain * data["going"][step]
        following = data["values"][step]
    return data | {"gains": (gains - gains.mean()) / gains.std(), "returns": gains + data["values"]}


def learn(data: dict[str, np.ndarray], network: ActorCritic, optimizer: torch.optim.Optimizer) -> None:
    """Take one pass over the decisions."""
    rows = {name: torch.as_tensor(array).flatten(0, 1) for name, array in data.items()}
    for index in torch.randperm(GAMES * STEPS).split(MINIBATCH):
        part = {name: tensor[index] for name, tensor in rows.items()}
        policy, values = network(part["seen"], part["masks"])
        loss = (values - part["returns"].float()).square().mean() - ENTROPY * policy.entropy().mean()
        optimizer.zero_grad()
        (loss - (policy.log_prob(part["actions"]) * part["gains"].float()).mean()).backward()
        optimizer.step()


def main() -> None:
    """Learn; measure the win share from time to time, and plot it."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # faster with networks of this size
    started, network = time.monotonic(), ActorCritic()
    games = SingleLearnerGames(Batch(GAMES, 4, seed=1), "random")
    optimizer, curve = torch.optim.Adam(network.parameters(), RATE), []

    @torch.no_grad()
    def choose(seen: np.ndarray, mask: np.ndarray) -> int:
        return int(network(seen, mask)[0].sample())

    for update in range(UPDATES + 1):
        if update % (UPDATES // POINTS) == 0:
            curve.append((update * GAMES * STEPS, *measure_share(choose, games=200)))
            print(f"after {curve[-1][0]:,} decisions: win share {curve[-1][1]:.2f}")
        with torch.no_grad():
            data = collect(games, network)
        learn(data, network, optimizer)
    decisions, shares, lows, highs = np.array(curve).T
    plt.errorbar(decisions, shares, [shares - lows, highs - shares], label="one seat learns")
    plt.axhline(0.25, color="grey", linestyle=":", label="par")
    plt.xlabel("decisions"), plt.ylabel("win share against three random players"), plt.ylim(0, 1), plt.legend()
    plt.savefig("learning_curve.png", dpi=110)
    report(measure_share(choose), decisions=GAMES * STEPS * UPDATES, started=started)


if __name__ == "__main__":
    main()
