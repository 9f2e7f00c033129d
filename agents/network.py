"""Trained policy as a player: a multilayer perceptron in NumPy that samples from a softmax over the legal actions."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from agents.layouts import encode_layout
from agents.policy_check import get_observation_version
from agents.policy_file import Layers, load_policy
from agents.policy_player import PolicyPlayer
from felicity_env.game import NUM_ACTIONS, PASS
from felicity_env.kernel import kernel
from felicity_env.observation import AT, MICE_SCALE, OBSERVATION_VERSION
from felicity_env.player import View


def forward(
    layers: Layers, observations: np.ndarray, activation: str = "tanh", observation_version: int = OBSERVATION_VERSION
) -> np.ndarray:
    """Compute the logits of a multilayer perceptron, float32 [B, NUM_ACTIONS], from observations [B, OBS_SIZE].

    observation_version: layout of the observation that the network reads; the observations are converted to it.
    """
    outputs = apply_layers(layers, encode_layout(observations, observation_version), activation)
    return outputs if outputs.shape[1] == NUM_ACTIONS else add_raise_logits(outputs, observations)


def apply_layers(layers: Layers, inputs: np.ndarray, activation: str) -> np.ndarray:
    """Compute the outputs of a multilayer perceptron, float32 [B, outputs], from inputs [B, inputs]."""
    hidden = inputs
    for weight, bias in layers[:-1]:
        hidden = hidden @ weight
        hidden += bias
        if activation == "tanh":
            np.tanh(hidden, out=hidden)
        else:
            np.maximum(hidden, 0.0, out=hidden)
    weight, bias = layers[-1]
    return hidden @ weight + bias


def digest_layers(layers: Layers) -> str:
    """Return the first 8 hex digits of the SHA-256 of all weights and biases of some layers."""
    return sha256(b"".join(array.tobytes() for layer in layers for array in layer)).hexdigest()[:8]


def add_raise_logits(outputs: np.ndarray, observations: np.ndarray) -> np.ndarray:
    """Add to the logit of each bid the logit of its raise: the mice by which it exceeds the highest bid.

    outputs: [B, NUM_ACTIONS + MAX_BID], logits of the actions, followed by those of raises by 1, 2, ... mice. Returns
    [B, NUM_ACTIONS].
    """
    logits = outputs[:, :NUM_ACTIONS].copy()
    _add_raise_logits(outputs[:, NUM_ACTIONS:], observations[:, AT.high_bid], logits)
    return logits


@kernel
def _add_raise_logits(raises, high_bids, logits):
    for k in range(len(logits)):
        lowest = PASS + 1 + max(0, int(high_bids[k] * MICE_SCALE))  # the product is exact
        for action in range(lowest, NUM_ACTIONS):
            logits[k, action] += raises[k, action - lowest]


class NetworkPlayer(PolicyPlayer):
    """Player with the policy of one network; it samples its actions, or takes the best one if `greedy`.

    layers: weight [inputs, outputs] and bias of each layer. open_mice: whether the network sees the other seats' mice.
    activation: "tanh" or "relu". observation_version: layout of the observation that the network reads. metadata:
    contents of the policy's JSON file.
    """

    def __init__(
        self,
        layers: Layers,
        *,
        open_mice: bool,
        activation: str,
        observation_version: int = OBSERVATION_VERSION,
        greedy: bool = False,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.layers, self.open_mice, self.activation = layers, open_mice, activation
        self.observation_version = observation_version
        self.greedy, self.metadata = greedy, metadata or {}

    @classmethod
    def load(cls, path: Path | str, *, greedy: bool = False) -> "NetworkPlayer":
        """Load the player of a trained policy from a run folder, a policy.json or a checkpoint.

        Raises `ValueError` as `load_policy` does.
        """
        layers, metadata = load_policy(Path(path))
        return cls(
            layers,
            open_mice=metadata["open_mice"],
            activation=metadata["activation"],
            observation_version=get_observation_version(metadata),
            greedy=greedy,
            metadata=metadata,
        )

    @property
    def members(self) -> "tuple[NetworkPlayer, ...]":
        """Members of this player, as a mixture has them: only the player itself, in a tuple."""
        return (self,)

    @property
    def raises(self) -> bool:
        """True if the network has an extra logit for each size of a raise above the highest bid."""
        return self.layers[-1][1].size > NUM_ACTIONS

    def digest(self) -> str:
        """Return a digest that identifies the weights: the first 8 hex digits of their SHA-256."""
        return digest_layers(self.layers)

    def logits(self, view: View) -> np.ndarray:
        """Return the logits for B decisions, float32 [B, NUM_ACTIONS]; those of illegal actions have no meaning."""
        return self.compute_logits(view.observations(self.open_mice))

    def compute_logits(self, observations: np.ndarray) -> np.ndarray:
        """Compute the logits for observations [B, OBS_SIZE], which show the mice of others if `open_mice`."""
        return forward(self.layers, observations, self.activation, self.observation_version)
