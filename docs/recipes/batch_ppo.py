"""Learn by self-play with PPO in one file: all four seats of every game share one network."""

import time

import numpy as np
import torch
from measure import measure
from torch import nn

from agents.policy_file import save_policy
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch
from felicity_env.advantages import compute_advantages

GAMES, STEPS, UPDATES = 256, 64, 40
MINIBATCH, EPOCHS, RATE, CLIP, ENTROPY = 1024, 2, 1e-3, 0.2, 0.01


def build(outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(OBS_SIZE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, outputs))


def masked(logits: torch.Tensor, masks: np.ndarray) -> torch.distributions.Categorical:
    return torch.distributions.Categorical(logits=logits.masked_fill(torch.as_tensor(masks) == 0, -1e9))


def collect(batch: Batch, actor: nn.Module, critic: nn.Module) -> dict[str, np.ndarray]:
    """Play STEPS decisions in every game; the arrays of a batch change in place, so they are copied."""
    rows = []
    with torch.no_grad():
        for _ in range(STEPS):
            seen, masks, seats = batch.observations.copy(), batch.action_masks.copy(), batch.seats.copy()
            policy, values = (
                masked(actor(torch.as_tensor(seen)), masks),
                critic(torch.as_tensor(seen)).squeeze(1).numpy(),
            )
            actions = policy.sample()
            batch.step(actions.numpy())
            after = {"rewards": batch.rewards.copy(), "terminated": batch.terminated.copy()}
            before = {"seen": seen, "masks": masks, "seats": seats, "values": values}
            rows.append({**before, "actions": actions.numpy(), "logs": policy.log_prob(actions).numpy(), **after})
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def learn(data: dict[str, np.ndarray], actor: nn.Module, critic: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    played = {name: data[name] for name in ("rewards", "terminated", "seats", "values")}
    advantages, known = compute_advantages(**played, gamma=1.0, gae_lambda=0.95)  # for the seat that decided
    scaled = (advantages - advantages[known].mean()) / advantages[known].std()
    data = data | {"gains": scaled, "returns": advantages + data["values"]}
    rows = {
        name: torch.as_tensor(array[known]) for name, array in data.items() if name not in ("rewards", "terminated")
    }
    for _ in range(EPOCHS):
        for index in torch.randperm(len(rows["logs"])).split(MINIBATCH):
            part = {name: tensor[index] for name, tensor in rows.items()}
            policy = masked(actor(part["seen"]), part["masks"].numpy())
            ratio = (policy.log_prob(part["actions"]) - part["logs"]).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            surrogate = torch.minimum(ratio * part["gains"], clipped * part["gains"]).mean()
            error = (critic(part["seen"]).squeeze(1) - part["returns"]).square().mean()
            optimizer.zero_grad()
            (error - surrogate - ENTROPY * policy.entropy().mean()).backward()
            optimizer.step()


def main() -> None:
    """Learn, and play by the learned policy against three random players."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # faster with networks of this size
    started, batch, actor, critic = time.monotonic(), Batch(GAMES, 4, seed=1), build(NUM_ACTIONS), build(1)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], RATE)
    for update in range(UPDATES):
        learn(collect(batch, actor, critic), actor, critic, optimizer)
        print(f"update {update + 1} of {UPDATES}")

    linear = [layer for layer in actor if isinstance(layer, nn.Linear)]
    layers = [(layer.weight.detach().numpy().T, layer.bias.detach().numpy()) for layer in linear]
    save_policy("runs/batch_ppo", layers, open_mice=False, activation="relu", setups=["standard-4"])
    print("against stronger players:  python -m agents evaluate runs/batch_ppo --against anchor ev")

    def choose(seen: np.ndarray, mask: np.ndarray) -> int:
        with torch.no_grad():
            return int(masked(actor(torch.as_tensor(seen)), mask).sample())

    measure(choose, decisions=GAMES * STEPS * UPDATES, started=started)


if __name__ == "__main__":
    main()
