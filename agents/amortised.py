"""`amortised:PATH`: `mc` with what a network learned from many playouts in their place, thousands of times as fast.

Like `mc` it looks at what `tuned` would do and a few other actions, and goes by how far ahead of that each of these is,
which a network of `train.distill` says (amortised inference: Gershman and Goodman 2014,
https://escholarship.org/uc/item/34j1h7k5). But the network errs, and a player that always took its word would have
habits that no search has, which whoever learns against it would learn to exploit. So it draws, about as likely as a
search would do each.
"""

import numpy as np

from agents.network import NetworkPlayer, choose, uniforms_of
from agents.search import shortlists
from felicity_env import View
from felicity_env.game import PLACE
from felicity_env.kernel import kernel
from felicity_env.random_stream import split

# Laying a card and in the auction: those under which 6,300 decisions of mc:800 among copies of `net` are likeliest.
SHARPNESS = np.array([19.0, 36.0], np.float32)  # logits for a lead of a win
HABIT = np.array([1.6, 2.3], np.float32)  # logits for what `tuned` would do
TEMPERATURE = "temperature"  # in policy.json: a lead is the difference of two of the network's logits times this
_DRAW = 1


class AmortisedPlayer:
    """A search's decisions without playouts, from `PATH` (a run folder of `train.distill` or its policy.json)."""

    def __init__(self, path: str) -> None:
        self.network = NetworkPlayer(path)
        if TEMPERATURE not in self.network.about:
            raise ValueError(f"the policy in {path} does not tell leads; python -m train.distill makes one that does")

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        defaults, tried = shortlists(view)
        bids = (view.states["phase"] != PLACE).astype(np.intp)
        leads = np.float32(self.network.about[TEMPERATURE]) * self.network.logits(view)
        logits = SHARPNESS[bids, None] * leads
        logits[np.arange(len(view)), defaults] += HABIT[bids]
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
