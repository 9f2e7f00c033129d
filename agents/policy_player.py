"""Players with a policy: they compute logits, and sample from a softmax over the legal actions."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from felicity_env.game import NUM_ACTIONS
from felicity_env.kernel import kernel
from felicity_env.player import View
from felicity_env.random_stream import uniform

if TYPE_CHECKING:
    from agents.network import NetworkPlayer


class PolicyPlayer(ABC):
    """Player that knows the probability of each action; it samples its actions, or takes the best one if `greedy`."""

    greedy: bool

    @property
    @abstractmethod
    def members(self) -> "tuple[NetworkPlayer, ...]":
        """Networks of which the player consists."""

    @abstractmethod
    def digest(self) -> str:
        """Return a digest that identifies the networks: 8 hex digits of a SHA-256."""

    @abstractmethod
    def logits(self, view: View) -> np.ndarray:
        """Return the logits for B decisions, float32 [B, NUM_ACTIONS]; those of illegal actions have no meaning."""

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, int64 [B]."""
        return choose_actions(self.logits(view), view, greedy=self.greedy)

    def probabilities(self, view: View) -> np.ndarray:
        """Return the probability with which each action is taken, for B decisions, float32 [B, NUM_ACTIONS]."""
        logits = self.logits(view)
        if self.greedy:
            return np.eye(NUM_ACTIONS, dtype=np.float32)[take_best_actions(logits, view.action_masks)]
        weights = softmax_weights(logits, view.action_masks)
        return weights / weights.sum(axis=1, keepdims=True)


def choose_actions(logits: np.ndarray, view: View, *, greedy: bool) -> np.ndarray:
    """Return an action for each of B decisions: sampled with the random bits of the view, or the best one if `greedy`.

    logits: [B, NUM_ACTIONS]. Returns int64 [B].
    """
    if greedy:
        return take_best_actions(logits, view.action_masks)
    return sample_actions(logits, view.action_masks, to_uniforms(view.seeds))


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
