"""Neural networks of the self-play trainer: an actor and a separate critic; both read the acting seat's observation."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.layouts import count_inputs, encode_layout
from agents.network import NetworkPlayer
from agents.policy_file import Layers
from felicity_env import NUM_ACTIONS
from felicity_env.game import MAX_BID
from felicity_env.observation import OBSERVATION_VERSION
from train.priors import count_further_mice

ACTIVATION = "relu"
_HIDDEN_GAIN, _ACTOR_GAIN, _CRITIC_GAIN = 2**0.5, 0.01, 1.0  # usual for PPO (Huang et al. 2022, "37 details")
_NEVER = -1e9
ILLEGAL = -40.0  # log probability of an illegal action: almost zero, and no denormal number, which would be slow


def create_perceptron(sizes: Sequence[int], *, gain: float, generator: torch.Generator) -> nn.Sequential:
    """Create a network of linear layers with ReLU between them and orthogonal initial weights.

    sizes: numbers of inputs, of units in each hidden layer, and of outputs. gain: factor of the initial weights in the
    last layer. generator: source of the random weights.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        linear: Any = nn.utils.skip_init(nn.Linear, inputs, outputs)  # default weights would use the global generator
        is_last = len(layers) == 2 * (len(sizes) - 2)
        nn.init.orthogonal_(linear.weight, gain if is_last else _HIDDEN_GAIN, generator=generator)
        nn.init.zeros_(linear.bias)
        layers += [linear] if is_last else [linear, nn.ReLU()]
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    """Policy network (actor) and value network (critic) without common layers.

    raises: if true, the logit of a bid is the sum of two outputs: one for the bid, and one for the size of its raise
    over the highest bid. prior_rate: with `raises`, each further mouse is exp(-prior_rate) times as likely before
    training. observation_version: layout of the observation that both networks read.
    """

    def __init__(
        self,
        hidden_sizes: Sequence[int],
        *,
        raises: bool,
        seed: int,
        prior_rate: float = 0.0,
        observation_version: int = OBSERVATION_VERSION,
    ) -> None:
        super().__init__()
        self.observation_version, inputs = observation_version, count_inputs(observation_version)
        generator = torch.Generator().manual_seed(seed)
        outputs = NUM_ACTIONS + (MAX_BID if raises else 0)
        self.actor = create_perceptron([inputs, *hidden_sizes, outputs], gain=_ACTOR_GAIN, generator=generator)
        if raises:
            with torch.no_grad():
                self.actor[-1].bias[NUM_ACTIONS:] = -prior_rate * torch.arange(MAX_BID)  # type: ignore[index]
        self.critic = create_perceptron([inputs, *hidden_sizes, 1], gain=_CRITIC_GAIN, generator=generator)

    @classmethod
    def from_player(cls, player: NetworkPlayer) -> "ActorCritic":
        """Create networks with the policy of a player and an untrained critic.

        Raises `ValueError` if the player's network has another activation function.
        """
        if player.activation != ACTIVATION:
            raise ValueError(f"the player has {player.activation} between its layers, these networks have {ACTIVATION}")
        settings = match_network(player)
        network = cls(seed=0, **{name: value for name, value in settings.items() if name != "open_mice"})
        set_layers(network.actor, player.layers)
        return network

    def logits(self, observations: Tensor) -> Tensor:
        """Return the policy's logits of all actions, legal or not, for N observations, float32 [N, NUM_ACTIONS]."""
        outputs = self.actor(self._encode(observations)).float()
        if outputs.shape[1] == NUM_ACTIONS:
            return outputs
        raises = count_further_mice(observations)
        added = outputs[:, NUM_ACTIONS:].gather(1, raises.clamp(0, MAX_BID - 1))
        return outputs[:, :NUM_ACTIONS] + torch.where(raises >= 0, added, 0.0)

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return the policy's log probability of each action, for N observations, [N, NUM_ACTIONS].

        masks: bool [N, NUM_ACTIONS], True for legal actions. Illegal actions get the constant `ILLEGAL`, the logarithm
        of a probability of almost zero.
        """
        return masked_log_softmax(self.logits(observations), masks)

    def values(self, observations: Tensor) -> Tensor:
        """Return the critic's estimate of the return at each observation, float32 [N]."""
        return self.critic(self._encode(observations)).float().squeeze(-1)

    def _encode(self, observations: Tensor) -> Tensor:
        if self.observation_version == OBSERVATION_VERSION:
            return observations
        encoded = encode_layout(observations.float().cpu().numpy(), self.observation_version)
        return torch.from_numpy(encoded).to(observations)


def copy_layers(network: nn.Sequential) -> Layers:
    """Return copies of the weights and biases of a network's linear layers."""
    linear = [module for module in network if isinstance(module, nn.Linear)]
    return [(_copy_array(layer.weight.T), _copy_array(layer.bias)) for layer in linear]


def set_layers(network: nn.Sequential, layers: Layers) -> None:
    """Set the weights and biases of a network's linear layers; raise an error if the shapes differ.

    The error is a `RuntimeError`, or a `ValueError` if the number of layers differs.
    """
    linear = [name for name, module in network.named_children() if isinstance(module, nn.Linear)]
    state = {}
    for name, (weight, bias) in zip(linear, layers, strict=True):
        state |= {f"{name}.weight": torch.from_numpy(weight.T.copy()), f"{name}.bias": torch.from_numpy(bias)}
    network.load_state_dict(state)


def masked_log_softmax(logits: Tensor, masks: Tensor) -> Tensor:
    """Return the log probabilities of the legal actions in each row of `logits`; illegal actions get `ILLEGAL`.

    masks: bool array of the same shape as `logits`, True for legal actions. `ILLEGAL` is the logarithm of almost zero.
    """
    return torch.where(masks, torch.where(masks, logits, _NEVER).log_softmax(dim=-1), ILLEGAL)


def match_network(player: NetworkPlayer) -> dict[str, Any]:
    """Return the settings of self-play training that create networks of the same form as a player's network."""
    hidden_sizes = tuple(bias.size for _, bias in player.layers[:-1])
    return {
        "hidden_sizes": hidden_sizes,
        "raises": player.raises,
        "open_mice": player.open_mice,
        "observation_version": player.observation_version,
    }


def _copy_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy().copy()
