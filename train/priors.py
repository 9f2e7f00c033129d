"""Priors: policies towards which a policy is drawn while it learns. To add one, add a line to `PRIORS`.

A policy loses reward for its KL divergence from the prior, times a weight. With a uniform prior this is the usual bonus
for entropy; but there are dozens of legal bids, so that bonus buys large raises, which give mice away. A prior in
which large raises are rare allows larger weights, and these keep a policy hard to exploit.
"""

import torch
from torch import Tensor

from felicity_env import NUM_ACTIONS
from felicity_env.game import PASS
from felicity_env.observation import AT, MICE_SCALE

# Rate of each prior: a bid that is m mice higher than the lowest raise is exp(-rate * m) times as likely. All cards are
# equally likely, and so are a pass and the lowest raise.
PRIORS = {
    "uniform": 0.0,  # all legal actions alike, so that everything is explored
    "e1": 1.0,  # large raises are rare, as among sensible players, but are explored
    "e2": 2.0,  # raises by one are the rule; it leaves as little to exploit as `e1`, and wins more against `ev`
}


def count_further_mice(observations: Tensor) -> Tensor:
    """Return for N observations by how many mice each bid exceeds the lowest raise, int64 [N, NUM_ACTIONS].

    The numbers of other actions, and of bids that are too low, are negative.
    """
    high_bid = (observations[:, AT.high_bid].float() * MICE_SCALE).round().long()
    return torch.arange(NUM_ACTIONS, device=observations.device) - PASS - 1 - high_bid[:, None]


def prior_logits(rate: float, observations: Tensor) -> Tensor:
    """Return the logits of a prior for N observations, float32 [N, NUM_ACTIONS]; illegal actions have some, too.

    rate: rate of the prior, as in `PRIORS`.
    """
    return -rate * count_further_mice(observations).clamp(min=0).float()
