"""Beliefs about the other seats' hidden cards, from what a position shows, if all seats play a known policy.

A seat that has placed a card face down chose it by its policy; that choice is weighed exactly, because the position in
which it was made can be reconstructed. A seat's present bid is weighed as a raise by one. What a position does not show
(bids of seats that have passed, choices in earlier rounds) is not used; `posterior.py` uses it, from a whole game.
"""

import numpy as np

from agents.policy_player import PolicyPlayer
from agents.posterior import NOTHING_HIDDEN, HiddenCards, compute_likelihoods, list_possibilities, put_cards
from agents.worlds import take_back_passes
from felicity_env.game import AUCTION, NO_CARD, PASS, PLACE
from felicity_env.kernel import kernel
from felicity_env.observation import own_slot

LEAST = 1e-6  # probability of an action that a policy never takes, so that no world becomes impossible


def compute_beliefs(known: np.ndarray, seat: int, policy: PolicyPlayer) -> dict[int, HiddenCards]:
    """Compute the probabilities of the other seats' hidden cards; return {seat: its possible hidden cards}.

    known: STATE [1], a position redacted for `seat`. policy: the policy that all other seats are assumed to play.
    """
    others = (other for other in range(known[0].num_seats) if other != seat)
    return {other: _compute_belief(known, other, policy) for other in others}


def _compute_belief(known: np.ndarray, other: int, policy: PolicyPlayer) -> HiddenCards:
    removed, placed = list_possibilities(known[0], other)
    return HiddenCards(removed, placed, weigh_possibilities(known, other, removed, placed, policy))


def weigh_possibilities(
    known: np.ndarray, other: int, removed: np.ndarray, placed: np.ndarray, policy: PolicyPlayer
) -> np.ndarray:
    """Return the probabilities of K pairs of a removed and a face-down card of seat `other`, float64 [K]."""
    weights = np.ones(len(placed))
    if placed[0] != NOTHING_HIDDEN:
        states = np.repeat(known, len(placed))
        put_cards(states, other, removed, placed)
        if known[0].phase == AUCTION and known[0].bids[other]:
            bid = int(known[0].bids[other])
            weights *= _likelihoods(policy, _before_bid(states, other, bid), np.full(len(placed), PASS + bid))
        weights *= _likelihoods(policy, _before_placing(states, other, placed), placed)
    return weights / weights.sum()


def _likelihoods(policy: PolicyPlayer, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    return np.maximum(compute_likelihoods(policy, states, actions), LEAST)


def _before_bid(states: np.ndarray, seat: int, bid: int) -> np.ndarray:
    """Return states [K] as they were when `seat` made its present bid, if that was a raise by one."""
    before = states.copy()
    before["bids"] = np.minimum(before["bids"], bid - 1)
    before["bids"][:, seat] = 0
    before["high_bid"], before["seat"] = bid - 1, seat
    return before


def _before_placing(states: np.ndarray, seat: int, placed: np.ndarray) -> np.ndarray:
    """Return states [K] as they were when `seat` placed the card `placed` [K] in this round."""
    before, slot = states.copy(), own_slot(states[0], seat)
    _take_back_all_passes(before)
    before["bids"], before["high_bid"], before["passes"] = 0, 0, 0
    before["in_auction"][:, : states[0].num_seats] = 1
    before["row"][:, slot:], before["row_size"], before["face_up"] = NO_CARD, slot, 0
    before["phase"], before["seat"] = PLACE, seat
    before["hands"][:, seat] |= 1 << placed
    return before


@kernel
def _take_back_all_passes(states):
    for k in range(len(states)):
        take_back_passes(states[k])
