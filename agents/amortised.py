"""`amortised:PATH`: `mc` with networks that have seen what it does in the place of its playouts; much faster.

Like `mc` it looks at what `tuned` would do and a few other actions. Which of these it takes is up to a network of
`train.imitate` (amortised inference: Gershman and Goodman 2014, https://escholarship.org/uc/item/34j1h7k5) and to a
habit of keeping to `tuned`. It is weaker than a search with many playouts.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.mixture import Mixture, member_paths
from agents.network import GREEDY, NetworkPlayer, choose, drawn
from agents.search import shortlists
from felicity_env import NUM_ACTIONS, Player, View
from felicity_env.game import PLACE

SEARCH_LIKE = "search_like"  # in policy.json: its weights
_DRAW = 1  # apart from what `tuned` draws


class Weights(NamedTuple):
    """What makes a network's logits those of a search. Arrays or tensors [2]: laying a card, and in the auction."""

    logits: Any
    """By which the network's are multiplied."""
    habit: Any
    """Added for what `tuned` would do."""


def bidding(view: View) -> np.ndarray:
    """Integers [B]: 1 in the auction, else 0; which of the two `Weights` count."""
    return (view.states["phase"] != PLACE).astype(np.int64)


def search_logits(weights: Weights, logits: Any, bids: Any, is_default: Any) -> Any:
    """Arrays or tensors [B, NUM_ACTIONS] from a network's.

    bids: as `bidding` has it. is_default: bool [B, NUM_ACTIONS], what `tuned` would do.
    """
    return weights.logits[bids, None] * logits + weights.habit[bids, None] * is_default


class AmortisedPlayer:
    """A search's decisions without playouts, by one network of `train.imitate` in `PATH`, a folder or policy.json."""

    def __init__(self, path: str) -> None:
        self.network = NetworkPlayer(path)
        if SEARCH_LIKE not in self.network.about:
            raise ValueError(f"the policy in {path} is no search's; python -m train.imitate makes one that is")
        about = self.network.about[SEARCH_LIKE]
        self.weights = Weights(**{name: np.array(values, np.float32) for name, values in about.items()})

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        defaults, tried = shortlists(view)
        is_default = np.arange(NUM_ACTIONS) == defaults[:, None]
        logits = search_logits(self.weights, self.network.logits(view), bidding(view), is_default)
        return choose(logits, tried.view(np.int8), drawn(view.seeds, _DRAW))


def amortised_player(path: str) -> Player:
    """Of the network in `PATH`, or the mixture of those in its folders `0`, `1`, ...; raises as `network_player`."""
    if path.endswith(GREEDY):
        raise ValueError(f"amortised:{path}: it draws its actions, there is no {GREEDY}")
    members = [AmortisedPlayer(str(member)) for member in member_paths(Path(path))]
    return Mixture(members) if len(members) > 1 else members[0]
