"""Distribution of the other seats' hidden cards by Bayes' rule, given the policy that they play.

Under the rules alone every card that a player may still have is equally likely. But a policy does not place cards at
random, nor bid the same with every hand, so each decision of a seat carries information about its cards. A seat's
hidden cards are the card removed from its set and its face-down card: at most 90 possibilities. Given what everybody
has seen, the hidden cards of different seats are independent, so the posterior is exact.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from agents.policy_player import PolicyPlayer
from felicity_env.game import HIDDEN, NO_CARD, PLACE, State, step_all
from felicity_env.game_record import Game, initial_states, list_cards
from felicity_env.information import redact, resample
from felicity_env.observation import own_slot
from felicity_env.player import View

NOTHING_HIDDEN = NO_CARD  # in `placed`: the seat's card is visible, or not placed yet


class HiddenCards(NamedTuple):
    """Hidden cards that one seat may have: K possibilities, equally likely by the rules, with their probabilities."""

    removed: np.ndarray  # int64 [K]: card removed from the seat's set; NO_CARD where none was
    placed: np.ndarray  # int64 [K]: the seat's face-down card, or NOTHING_HIDDEN
    posterior: np.ndarray  # float64 [K]: probability after what the seat has done

    @property
    def prior(self) -> np.ndarray:
        """Probability of each possibility by the rules alone, float64 [K]."""
        return np.full(len(self.removed), 1 / len(self.removed))


def compute_posteriors(game: Game, seat: int, policy: PolicyPlayer) -> dict[int, HiddenCards]:
    """Compute the probabilities of the other seats' hidden cards, from what `seat` knows after a game's actions.

    policy: the policy that all other seats are assumed to play. Returns {seat: its possible hidden cards}.
    """
    known = redact(game.final_states(), seat)[0]
    return {other: _compute_posterior(game, known, other, policy) for other in range(known.num_seats) if other != seat}


def _compute_posterior(game: Game, known: State, other: int, policy: PolicyPlayer) -> HiddenCards:
    removed, placed = list_possibilities(known, other)
    logs = _log_likelihoods(game, other, removed, placed, policy)
    weights = np.exp(logs - logs.max())
    return HiddenCards(removed, placed, weights / weights.sum())


def list_possibilities(known: State, other: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the K pairs of a removed and a face-down card that seat `other` may have, int64 [K] each.

    known: a redacted state.
    """
    slot = own_slot(known, other)
    card = int(known.row[slot]) if slot < known.row_size else NO_CARD
    unseen = known.deck & ~known.played[other] & ~(1 << card if card >= 0 else 0)
    pairs = [
        (removed, placed)
        for removed in (list_cards(unseen) if known.removed[other] != NO_CARD else [NO_CARD])
        for placed in (list_cards(unseen) if card == HIDDEN else [NOTHING_HIDDEN])
        if placed != removed or card != HIDDEN
    ]
    return tuple(np.array(pairs, np.int64).T)


def _log_likelihoods(
    game: Game, other: int, removed: np.ndarray, placed: np.ndarray, policy: PolicyPlayer
) -> np.ndarray:
    """Return the log probability of all decisions of seat `other` for each of K possible pairs of hidden cards."""
    states = np.concatenate([_deal_with_removed(game, other, int(card)) for card in removed])
    last_round = int(game.final_states()["round_number"][0])
    logs = np.zeros(len(states))
    for action in game.actions:
        state, actions = states[0], np.full(len(states), action)
        if state.seat == other:
            if state.phase == PLACE and state.round_number == last_round and placed[0] != NOTHING_HIDDEN:
                actions = placed
            logs += np.log(np.maximum(compute_likelihoods(policy, states, actions), np.finfo(float).tiny))
        step_all(states, actions)
    return logs


def compute_likelihoods(policy: PolicyPlayer, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the probability with which a policy takes the action given for each of B states, float64 [B]."""
    return policy.probabilities(view_states(states))[np.arange(len(states)), actions].astype(float)


def view_states(states: np.ndarray) -> View:
    """Return a view with what the seats to act may know; its random bits are all 0."""
    seats = states["seat"].astype(np.int64)
    return View.make_unchecked(redact(states, seats), seats, np.zeros(len(states), np.uint64))


def _deal_with_removed(game: Game, other: int, removed: int) -> np.ndarray:
    """Return the initial state of a game, STATE [1], with `removed` as the card removed from the set of `other`.

    If `removed` is NO_CARD, the deal is not changed.
    """
    if removed == NO_CARD:
        return initial_states(game.setup, game.deal)
    cards = list(game.deal.removed)
    cards[other] = removed
    return initial_states(game.setup, replace(game.deal, removed=tuple(cards)))


def draw_worlds(known: np.ndarray, hidden: dict[int, HiddenCards], count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw worlds (full states that fit what a seat knows) in proportion to their probability, STATE [count].

    known: STATE [1], a position redacted for the seat. hidden: {other seat: its possible hidden cards}.
    """
    worlds = resample(np.repeat(known, count), rng)
    for other, cards in hidden.items():
        drawn = rng.choice(len(cards.placed), size=count, p=cards.posterior)
        put_cards(worlds, other, cards.removed[drawn], cards.placed[drawn])
    return worlds


def put_cards(worlds: np.ndarray, other: int, removed: np.ndarray, placed: np.ndarray) -> None:
    """Set the removed card, the face-down card and the resulting hand of seat `other` in full states [K].

    The states differ in hidden cards only. removed, placed: [K], as in `HiddenCards`.
    """
    gone = worlds["played"][:, other] | np.where(removed != NO_CARD, 1 << removed.clip(0), 0)
    if (slot := own_slot(worlds[0], other)) < worlds[0].row_size:
        worlds["row"][:, slot] = np.where(placed == NOTHING_HIDDEN, worlds["row"][:, slot], placed)
        gone |= 1 << worlds["row"][:, slot]
    worlds["removed"][:, other], worlds["hands"][:, other] = removed, worlds["deck"] & ~gone
