"""`amortised:PATH`: `mc` with what a network learned from many playouts in their place, thousands of times as fast.

Like `mc` it looks at what `tuned` would do and a few other actions, and goes by how far ahead of that each of these is,
which a network of `train.distill` says (amortised inference: Gershman and Goodman 2014,
https://escholarship.org/uc/item/34j1h7k5). But the network errs, and a player that always took its word would have
habits that no search has, which whoever learns against it would learn to exploit. So it draws, each action as likely as
a search does it for all that the network knows: `train.distill` has watched one.
"""

from typing import NamedTuple

import numpy as np

from agents.network import NetworkPlayer, choose, uniforms_of
from agents.search import shortlists
from felicity_env import View
from felicity_env.game import PLACE
from felicity_env.kernel import kernel
from felicity_env.random_stream import split

SEARCH_LIKE = "search_like"  # in policy.json: its weights
_DRAW = 1


class Weights(NamedTuple):
    """What makes a network's logits those of a search: laying a card, and in the auction."""

    logits: tuple[float, float]
    """By which the network's are multiplied."""
    habit: tuple[float, float]
    """Added for what `tuned` would do."""


def search_logits(weights: Weights, logits: np.ndarray, phases: np.ndarray, defaults: np.ndarray) -> np.ndarray:
    """float32 [B, NUM_ACTIONS] from a network's, the phases and what `tuned` would do [B]."""
    bids = (phases != PLACE).astype(np.intp)
    found = np.array(weights.logits, np.float32)[bids, None] * logits
    found[np.arange(len(found)), defaults] += np.array(weights.habit, np.float32)[bids]
    return found


class AmortisedPlayer:
    """A search's decisions without playouts, from `PATH` (a run folder of `train.distill` or its policy.json)."""

    def __init__(self, path: str) -> None:
        self.network = NetworkPlayer(path)
        if SEARCH_LIKE not in self.network.about:
            raise ValueError(f"the policy in {path} tells no leads; python -m train.distill makes one that does")
        self.weights = Weights(**self.network.about[SEARCH_LIKE])

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        defaults, tried = shortlists(view)
        logits = search_logits(self.weights, self.network.logits(view), view.states["phase"], defaults)
        return choose(logits, tried.view(np.int8), uniforms_of(_other_words(view.seeds)))


def _other_words(seeds: np.ndarray) -> np.ndarray:
    """Words apart from those that `tuned` draws with."""
    words = np.empty(len(seeds), np.uint64)
    _split(seeds, words)
    return words


@kernel
def _split(seeds, out):
    for k in range(len(seeds)):
        out[k] = split(seeds[k], _DRAW)
