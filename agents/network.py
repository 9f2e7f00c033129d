"""Trained policy as a player: a multilayer perceptron in NumPy that samples from a softmax over the legal actions."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from agents.layouts import encode_layout
from agents.policy_file import Layers, get_observation_version, load_policy
from felicity_env.game import MAX_BID, NUM_ACTIONS, PASS
from felicity_env.kernel import kernel
from felicity_env.observation import AT, MICE_SCALE, OBSERVATION_VERSION
from felicity_env.player import View
from felicity_env.random_stream import uniform


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
    high_bid = np.rint(observations[:, AT.high_bid] * MICE_SCALE).astype(np.int64)
    raises = np.arange(NUM_ACTIONS) - PASS - 1 - high_bid[:, None]
    added = np.take_along_axis(outputs[:, NUM_ACTIONS:], raises.clip(0, MAX_BID - 1), axis=1)
    return outputs[:, :NUM_ACTIONS] + np.where(raises >= 0, added, np.float32(0.0))


def take_best_actions(logits: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return the legal action with the highest logit for each of B decisions, int64 [B]."""
    return np.where(masks == 1, logits, -np.inf).argmax(axis=1)


def sample_actions(logits: np.ndarray, masks: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Sample an action for each of B decisions from the softmax over the legal actions, int64 [B].

    uniforms: [B], a random number in [0, 1) for each decision.
    """
    sums = softmax_weights(logits, masks).cumsum(axis=1)
    return (sums > uniforms[:, None] * sums[:, -1:]).argmax(axis=1)


def softmax_weights(logits: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return unnormalised softmax probabilities, [B, NUM_ACTIONS]: 0 for illegal actions, 1 for the best legal one."""
    legal = np.where(masks == 1, logits, -np.inf)
    return np.exp(legal - legal.max(axis=1, keepdims=True))


@kernel
def _write_uniforms(random_bits, out):
    for k in range(len(random_bits)):
        out[k] = uniform(random_bits[k])


def to_uniforms(random_bits: np.ndarray) -> np.ndarray:
    """Convert random bits, uint64 [B], to uniform numbers in [0, 1), float64 [B]."""
    out = np.empty(len(random_bits))
    _write_uniforms(random_bits, out)
    return out


class NetworkPlayer:
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

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, int64 [B]."""
        logits = self.logits(view)
        if self.greedy:
            return take_best_actions(logits, view.action_masks)
        return sample_actions(logits, view.action_masks, to_uniforms(view.seeds))

    def probabilities(self, view: View) -> np.ndarray:
        """Return the probability with which each action is taken, for B decisions, float32 [B, NUM_ACTIONS]."""
        logits = self.logits(view)
        if self.greedy:
            return np.eye(NUM_ACTIONS, dtype=np.float32)[take_best_actions(logits, view.action_masks)]
        weights = softmax_weights(logits, view.action_masks)
        return weights / weights.sum(axis=1, keepdims=True)

    def logits(self, view: View) -> np.ndarray:
        """Return the logits for B decisions, float32 [B, NUM_ACTIONS]; those of illegal actions have no meaning."""
        observations = view.observations(self.open_mice)
        return forward(self.layers, observations, self.activation, self.observation_version)
