"""`amortised:PATH`: `mc` with what a network learned from many playouts in their place, thousands of times as fast.

Like `mc` it looks at what `tuned` would do and a few other actions. Which of these a search takes says a network of
`train.imitate` (amortised inference: Gershman and Goodman 2014, https://escholarship.org/uc/item/34j1h7k5), and a habit
of keeping to `tuned`. Weaker than a search it is all the same.
"""

from pathlib import Path
from typing import Any

import numpy as np

from agents.mixture import Mixture, member_paths
from agents.network import GREEDY, NetworkPlayer, choose, drawn
from agents.search import shortlists
from felicity_env import NUM_ACTIONS, Player, View
from felicity_env.game import PLACE

HABIT, SHARPNESS = "habit", "sharpness"  # in policy.json
_DRAW = 1  # apart from what `tuned` draws


def bidding(view: View) -> np.ndarray:
    """Integers [B]: 1 in the auction, else 0."""
    return (view.states["phase"] != PLACE).astype(np.int64)


def search_logits(logits: Any, habit: Any, bids: Any, is_default: Any) -> Any:
    """Arrays or tensors [B, NUM_ACTIONS] from a network's.

    habit: [2], added for what `tuned` would do when a card is laid, and in the auction. bids: [B] as `bidding` has it.
    is_default: bool [B, NUM_ACTIONS], what `tuned` would do.
    """
    return logits + habit[bids, None] * is_default


class AmortisedPlayer:
    """A search's decisions without playouts, by one network of `train.imitate` in `PATH`, a folder or policy.json."""

    def __init__(self, path: str) -> None:
        self.network = NetworkPlayer(path)
        about = self.network.about
        if HABIT not in about:
            raise ValueError(f"the policy in {path} is no search's; python -m train.imitate makes one that is")
        self.habit, self.sharpness = np.array(about[HABIT], np.float32), about[SHARPNESS]

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        defaults, tried = shortlists(view)
        is_default = np.arange(NUM_ACTIONS) == defaults[:, None]
        logits = search_logits(self.network.logits(view), self.habit, bidding(view), is_default)
        return choose(self.sharpness * logits, tried.view(np.int8), drawn(view.seeds, _DRAW))


def amortised_player(path: str) -> Player:
    """Of the network in `PATH`, or the mixture of those in its folders `0`, `1`, ...; raises as `network_player`."""
    if path.endswith(GREEDY):
        raise ValueError(f"amortised:{path}: it draws its actions, there is no {GREEDY}")
    members = [AmortisedPlayer(str(member)) for member in member_paths(Path(path))]
    return Mixture(members) if len(members) > 1 else members[0]
