"""Trained policy as a player: a multilayer perceptron in NumPy that samples from a softmax over the legal actions."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from agents.policy_file import Layers, load_policy
from felicity_env import NUM_ACTIONS, View
from felicity_env.game import MAX_BID, PASS
from felicity_env.kernel import kernel
from felicity_env.observation import AT, MICE_SCALE
from felicity_env.random_stream import split, uniform


def forward(layers: Layers, observations: np.ndarray, activation: str = "tanh") -> np.ndarray:
    """Compute logits float32 [B, NUM_ACTIONS] from observations [B, OBS_SIZE]."""
    hidden = observations
    for weight, bias in layers[:-1]:
        hidden = hidden @ weight
        hidden += bias
        if activation == "tanh":
            np.tanh(hidden, out=hidden)
        else:
            np.maximum(hidden, 0.0, out=hidden)
    weight, bias = layers[-1]
    outputs = hidden @ weight + bias
    return outputs if outputs.shape[1] == NUM_ACTIONS else add_raise_logits(outputs, observations)


def add_raise_logits(outputs: np.ndarray, observations: np.ndarray) -> np.ndarray:
    """Add to the logit of each bid the one for the size of its raise, in the last MAX_BID columns of `outputs`."""
    high_bid = np.rint(observations[:, AT.high_bid] * MICE_SCALE).astype(np.int64)
    raises = np.arange(NUM_ACTIONS) - PASS - 1 - high_bid[:, None]
    added = np.take_along_axis(outputs[:, NUM_ACTIONS:], raises.clip(0, MAX_BID - 1), axis=1)
    return outputs[:, :NUM_ACTIONS] + np.where(raises >= 0, added, np.float32(0.0))


def take_best_actions(logits: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return the legal action of each row with the highest logit, int64 [B]."""
    return np.where(masks == 1, logits, -np.inf).argmax(axis=1)


def sample_actions(logits: np.ndarray, masks: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return a legal action for each row, int64 [B], drawn from the softmax by `uniforms` [B] in [0, 1)."""
    sums = softmax_weights(logits, masks).cumsum(axis=1)
    return (sums > uniforms[:, None] * sums[:, -1:]).argmax(axis=1)


def softmax_weights(logits: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return the probability of each action [B, NUM_ACTIONS] relative to the best; 0 where illegal."""
    legal = np.where(masks == 1, logits, -np.inf)
    return np.exp(legal - legal.max(axis=1, keepdims=True))


@kernel
def _write_uniforms(random_bits, out):
    for k in range(len(random_bits)):
        out[k] = uniform(random_bits[k])


@kernel
def _write_split_uniforms(seeds, part, out):
    for k in range(len(seeds)):
        out[k] = uniform(split(seeds[k], part))


def to_uniforms(random_bits: np.ndarray) -> np.ndarray:
    """Convert random bits uint64 [B] to numbers in [0, 1), float64 [B]."""
    out = np.empty(len(random_bits))
    _write_uniforms(random_bits, out)
    return out


def draw_uniforms(seeds: np.ndarray, part: int) -> np.ndarray:
    """Draw a number in [0, 1) from each seed, float64 [K]; each `part` gives independent ones. seeds: uint64 [K]."""
    out = np.empty(len(seeds))
    _write_split_uniforms(seeds, part, out)
    return out


class NetworkPlayer:
    """Player with the policy of one network; it samples, or takes the best action if `greedy`.

    layers: weight [inputs, outputs] and bias of each layer. open_mice: whether the network sees the others' mice.
    activation: "tanh" or "relu". metadata: contents of policy.json.
    """

    def __init__(
        self,
        layers: Layers,
        *,
        open_mice: bool,
        activation: str,
        greedy: bool = False,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.layers, self.open_mice, self.activation = layers, open_mice, activation
        self.greedy, self.metadata = greedy, metadata or {}

    @classmethod
    def load(cls, path: Path | str, *, greedy: bool = False) -> "NetworkPlayer":
        """Read a policy from a run folder or its policy.json; raises `ValueError` as `load_policy`."""
        layers, metadata = load_policy(Path(path))
        open_mice, activation = bool(metadata["open_mice"]), metadata["activation"]
        return cls(layers, open_mice=open_mice, activation=activation, greedy=greedy, metadata=metadata)

    @property
    def members(self) -> "tuple[NetworkPlayer, ...]":
        """Networks that take part in the policy: this one alone."""
        return (self,)

    @property
    def raises(self) -> bool:
        """Presence of a logit for each size of a raise."""
        return self.layers[-1][1].size > NUM_ACTIONS

    @property
    def digest(self) -> str:
        """First 8 hex digits of the weights' SHA-256."""
        return sha256(b"".join(array.tobytes() for layer in self.layers for array in layer)).hexdigest()[:8]

    def act(self, view: View) -> np.ndarray:
        """Return actions int64 [B]."""
        logits = self.logits(view)
        if self.greedy:
            return take_best_actions(logits, view.action_masks)
        return sample_actions(logits, view.action_masks, to_uniforms(view.seeds))

    def probabilities(self, view: View) -> np.ndarray:
        """Return the probability of each action when the policy samples, float32 [B, NUM_ACTIONS]."""
        weights = softmax_weights(self.logits(view), view.action_masks)
        return weights / weights.sum(axis=1, keepdims=True)

    def logits(self, view: View) -> np.ndarray:
        """Return logits float32 [B, NUM_ACTIONS]; those of illegal actions have no meaning."""
        return forward(self.layers, view.observations(self.open_mice), self.activation)
