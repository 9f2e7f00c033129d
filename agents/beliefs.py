"""Beliefs about the other seats' hidden cards, from what a position shows, if all seats play a known policy.

A seat that has placed a card face down chose it by its policy; that choice is weighed exactly, because the position in
which it was made can be reconstructed. A seat's present bid is weighed as a raise by one. What a position does not show
(bids of seats that have passed, choices in earlier rounds) is not used; `posterior.py` uses it, from a whole game.
"""

import numpy as np

from agents.posterior import NOTHING_HIDDEN, Policy, list_possibilities, put_cards
from agents.worlds import take_back_passes
from felicity_env.game import AUCTION, NO_CARD, PASS, PLACE
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from felicity_env.observation import own_slot
from felicity_env.player import View

LEAST = 1e-6  # probability of an action that a policy never takes, so that no world becomes impossible


def draw_worlds(known: np.ndarray, seat: int, policy: Policy, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw worlds (full states that fit what `seat` knows) in proportion to their probability, STATE [count].

    known: STATE [1], a position redacted for `seat`. policy: the policy that all other seats are assumed to play.
    """
    worlds = resample(np.repeat(known, count), rng)
    for other in range(known[0].num_seats):
        if other != seat:
            removed, placed = (np.array(column) for column in zip(*list_possibilities(known[0], other), strict=True))
            drawn = rng.choice(len(removed), size=count, p=weigh_possibilities(known, other, removed, placed, policy))
            put_cards(worlds, other, removed[drawn], placed[drawn])
    return worlds


def weigh_possibilities(
    known: np.ndarray, other: int, removed: np.ndarray, placed: np.ndarray, policy: Policy
) -> np.ndarray:
    """Return the probabilities of K pairs of a removed and a face-down card of seat `other`, float64 [K]."""
    weights = np.ones(len(placed))
    if placed[0] != NOTHING_HIDDEN:
        states = np.repeat(known, len(placed))
        put_cards(states, other, removed, placed)
        if known[0].phase == AUCTION and known[0].bids[other]:
            bid = int(known[0].bids[other])
            weights *= _probabilities(policy, _before_bid(states, other, bid), other, np.full(len(placed), PASS + bid))
        weights *= _probabilities(policy, _before_placing(states, other, placed), other, placed)
    return weights / weights.sum()


def _probabilities(policy: Policy, states: np.ndarray, seat: int, actions: np.ndarray) -> np.ndarray:
    seats = np.full(len(states), seat)
    view = View.make_unchecked(redact(states, seats), seats, np.zeros(len(states), np.uint64))
    return np.maximum(policy.probabilities(view)[np.arange(len(states)), actions].astype(float), LEAST)


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
