"""What the others may hide, by Bayes' rule, when it is known how they play.

The rules alone make every card that a player may still have equally likely. But a policy does not lay cards at random,
nor bid alike with every hand: each decision of a seat says something of what it holds. What a seat hides (the card that
was removed from its set, and its card face down) has at most 90 possibilities, and given what everybody saw, those of
different seats are independent: so the posterior is exact.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from felicity_env import View
from felicity_env.game import (
    HIDDEN,
    NO_CARD,
    NUM_CARDS,
    PLACE,
    State,
    slot_owner,
    step,
)
from felicity_env.information import redact, resample
from felicity_env.transcript import Game, dealt_states

NOTHING_HIDDEN = NO_CARD  # in `laid`: the seat's card is seen, or not laid yet


class Policy(Protocol):
    """Whoever can say how likely each of its actions is."""

    def probabilities(self, view: View) -> np.ndarray:
        """[B, NUM_ACTIONS], each row adding up to 1 over the legal actions."""
        ...


class Hidden(NamedTuple):
    """What one seat may hide: K possibilities."""

    removed: np.ndarray  # int64 [K]: card removed from its set; NO_CARD where none was
    laid: np.ndarray  # int64 [K]: its card face down, or NOTHING_HIDDEN
    prior: np.ndarray  # float64 [K]: by the rules alone
    posterior: np.ndarray  # float64 [K]: after all that it did


def posterior(game: Game, seat: int, policy: Policy) -> dict[int, Hidden]:
    """What each other seat may hide from `seat` after the actions of `game`, if it plays as `policy`."""
    known = redact(game.final_states(), seat)[0]
    return {other: _hidden_of(game, known, other, policy) for other in range(known.num_seats) if other != seat}


def _hidden_of(game: Game, known: State, other: int, policy: Policy) -> Hidden:
    removed, laid = (np.array(column) for column in zip(*_possibilities(known, other), strict=True))
    logs = _log_likelihoods(game, other, removed, laid, policy)
    weights = np.exp(logs - logs.max())
    return Hidden(removed, laid, np.full(len(laid), 1 / len(laid)), weights / weights.sum())


def _possibilities(known: State, other: int) -> Iterator[tuple[int, int]]:
    """(removed card, card face down) of `other` that fit a redacted state."""
    slots = [slot for slot in range(known.row_size) if slot_owner(known, slot) == other]
    card = int(known.row[slots[0]]) if slots else NO_CARD
    unseen = known.deck & ~known.played[other] & ~(1 << card if card >= 0 else 0)
    for removed in _cards(unseen) if known.removed[other] != NO_CARD else [NO_CARD]:
        held = [other_card for other_card in _cards(unseen) if other_card != removed]
        for laid in held if card == HIDDEN else [NOTHING_HIDDEN]:
            yield removed, laid


def _cards(bits: int) -> list[int]:
    return [card for card in range(NUM_CARDS) if bits >> card & 1]


def _log_likelihoods(game: Game, other: int, removed: np.ndarray, laid: np.ndarray, policy: Policy) -> np.ndarray:
    """Log probability of all that `other` did, for each possibility [K]."""
    states = np.concatenate([_dealt(game, other, int(card)) for card in removed])
    last_round = int(game.final_states()["round_number"][0])
    logs, everybody = np.zeros(len(states)), np.full(len(states), other)
    for action in game.actions:
        state, chosen = states[0], np.full(len(states), action)
        if state.seat == other:
            if state.phase == PLACE and state.round_number == last_round and laid[0] != NOTHING_HIDDEN:
                chosen = laid
            view = View(redact(states, everybody), everybody, np.zeros(len(states), np.uint64))
            chances = policy.probabilities(view)[np.arange(len(states)), chosen]
            logs += np.log(np.maximum(chances, np.finfo(float).tiny))
        for k in range(len(states)):
            step(states[k], chosen[k])
    return logs


def _dealt(game: Game, other: int, removed: int) -> np.ndarray:
    """The first state [1] of the game, had that card been removed from the set of `other`."""
    if removed == NO_CARD:
        return dealt_states(game.setup, game.deal)
    cards = list(game.deal.removed)
    cards[other] = removed
    return dealt_states(game.setup, replace(game.deal, removed=tuple(cards)))


def draw_worlds(game: Game, seat: int, hidden: dict[int, Hidden], count: int, rng: np.random.Generator) -> np.ndarray:
    """Worlds STATE [count] that `seat` cannot tell from the true one, what the others hide drawn from its posterior."""
    worlds = resample(np.repeat(redact(game.final_states(), seat), count), rng)
    for other, types in hidden.items():
        for k, chosen in enumerate(rng.choice(len(types.laid), size=count, p=types.posterior)):
            _put(worlds[k], other, int(types.removed[chosen]), int(types.laid[chosen]))
    return worlds


def _put(world: State, other: int, removed: int, laid: int) -> None:
    """Give `other` the card removed and the card face down."""
    gone = world.played[other] | (1 << removed if removed != NO_CARD else 0)
    for slot in range(world.row_size):
        if slot_owner(world, slot) == other:
            if laid != NOTHING_HIDDEN:
                world.row[slot] = laid
            gone |= 1 << world.row[slot]
    world.removed[other], world.hands[other] = removed, world.deck & ~gone
