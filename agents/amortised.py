"""`amortised:PATH`: `mc` with what a network learned from many playouts in their place, thousands of times as fast.

As `mc` does, it goes by how much more an action brings than what `tuned` would do, looks at the same few actions, and
does what `tuned` would do unless another is clearly ahead. How far ahead each is says a network of `train.distill`
(amortised inference: Gershman and Goodman 2014, https://escholarship.org/uc/item/34j1h7k5).
"""

import numpy as np

from agents.network import NetworkPlayer
from agents.search import shortlists
from felicity_env import View

CLEAR = 0.015  # wins; about CONFIDENCE standard errors after some thousand playouts, so it plays as `mc` with those
TEMPERATURE = "temperature"  # in policy.json: a lead is the difference of two logits times this


class AmortisedPlayer:
    """A search's decisions without playouts, from `PATH` (a run folder of `train.distill` or its policy.json)."""

    def __init__(self, path: str) -> None:
        self.network = NetworkPlayer(path)
        if TEMPERATURE not in self.network.about:
            raise ValueError(f"the policy in {path} does not tell leads; python -m train.distill makes one that does")

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        defaults, tried = shortlists(view)
        leads = self.network.about[TEMPERATURE] * self.network.logits(view)
        leads[np.arange(len(view)), defaults] += CLEAR
        return np.where(tried, leads, -np.inf).argmax(axis=1)
