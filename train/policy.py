"""The networks of the self-play trainer: an actor and a critic that see what their seat sees."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.network import Layers, NetworkPlayer
from felicity_env import NUM_ACTIONS, OBS_SIZE
from felicity_env.game import MAX_BID, PASS
from felicity_env.observation import AT, MICE_SCALE

_HIDDEN_GAIN, _ACTOR_GAIN, _CRITIC_GAIN = 2**0.5, 0.01, 1.0  # as PPO is usually begun (Huang et al. 2022, "37 details")
_NEVER = -1e9
ACTIVATION = "relu"
ILLEGAL = -40.0  # log probability of an illegal action: next to nothing, but no denormal number, which would be slow


def perceptron(sizes: Sequence[int], *, gain: float, generator: torch.Generator) -> nn.Sequential:
    """Linear layers with ReLU between them, orthogonal weights; gain: of the last one."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        linear: Any = nn.utils.skip_init(nn.Linear, before, after)  # its own start would draw from the global generator
        last = len(layers) == 2 * (len(sizes) - 2)
        nn.init.orthogonal_(linear.weight, gain if last else _HIDDEN_GAIN, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, nn.ReLU()]
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    """Two networks apart from each other."""

    def __init__(self, hidden_sizes: Sequence[int], *, raises: bool, seed: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        outputs = NUM_ACTIONS + (MAX_BID if raises else 0)
        self.actor = perceptron([OBS_SIZE, *hidden_sizes, outputs], gain=_ACTOR_GAIN, generator=generator)
        self.critic = perceptron([OBS_SIZE, *hidden_sizes, 1], gain=_CRITIC_GAIN, generator=generator)

    @classmethod
    def of(cls, player: NetworkPlayer) -> "ActorCritic":
        """With the policy of a player such as `agents.make("net")`, and a critic that knows nothing yet."""
        if player.activation != ACTIVATION:
            raise ValueError(f"between the layers is {ACTIVATION} here, but that player has {player.activation}")
        sizes = [bias.size for _, bias in player.layers[:-1]]
        network = cls(sizes, raises=player.raises, seed=0)
        network.load_layers(player.layers)
        return network

    def logits(self, observations: Tensor) -> Tensor:
        """float32 [N, NUM_ACTIONS]."""
        outputs = self.actor(observations).float()
        if outputs.shape[1] == NUM_ACTIONS:
            return outputs
        high_bid = (observations[:, AT.high_bid] * MICE_SCALE).round().long()
        raises = torch.arange(NUM_ACTIONS, device=outputs.device) - PASS - 1 - high_bid[:, None]
        added = outputs[:, NUM_ACTIONS:].gather(1, raises.clamp(0, MAX_BID - 1))
        return outputs[:, :NUM_ACTIONS] + torch.where(raises >= 0, added, 0.0)

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """float32 [N, NUM_ACTIONS]: of the legal actions; `ILLEGAL` elsewhere. masks: bool [N, NUM_ACTIONS]."""
        return masked_log_softmax(self.logits(observations), masks)

    def values(self, observations: Tensor) -> Tensor:
        """float32 [N]."""
        return self.critic(observations).float().squeeze(-1)

    def layers(self) -> Layers:
        """The actor's layers [in, out] as NumPy arrays."""
        linear = [module for module in self.actor if isinstance(module, nn.Linear)]
        return [(_array(layer.weight.T), _array(layer.bias)) for layer in linear]

    def load_layers(self, layers: Layers) -> None:
        """The inverse of `layers`; raises `RuntimeError` or `ValueError` where shapes differ."""
        linear = [name for name, module in self.actor.named_children() if isinstance(module, nn.Linear)]
        state = {}
        for name, (weight, bias) in zip(linear, layers, strict=True):
            state |= {f"{name}.weight": torch.from_numpy(weight.T.copy()), f"{name}.bias": torch.from_numpy(bias)}
        self.actor.load_state_dict(state)


def masked_log_softmax(logits: Tensor, masks: Tensor) -> Tensor:
    """Log probabilities over the legal actions of each row; `ILLEGAL` elsewhere."""
    return torch.where(masks, torch.where(masks, logits, _NEVER).log_softmax(dim=-1), ILLEGAL)


def fitting_options(player: NetworkPlayer) -> list[str]:
    """What `python -m train --algorithm selfplay` must be told so that its networks are like a player's."""
    sizes = " ".join(str(bias.size) for _, bias in player.layers[:-1])
    raises = "--raises" if player.raises else "--no-raises"
    mice = "--open-mice" if player.open_mice else "--no-open-mice"
    return [f"--hidden-sizes {sizes}", raises, mice]


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy().copy()
