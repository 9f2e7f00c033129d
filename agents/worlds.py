"""Worlds that fit what a seat knows, drawn by belief: who are the others, what would they have laid, and bid for?

Uniform worlds (`information.resample`) hold every card that a player may still have for equally likely. But players do
not lay cards at random, nor bid for sacks they have spoiled. Here every other seat is taken for one of `MODELS`, its
face-down card for what that model lays from a random hand that fits, and both are drawn again while the model would not
have made the seat's standing bid. After `TRIES` the last draw stays, and with the chance `DOUBT` a card is uniform, so
no world that fits is ruled out.
"""

from typing import Any

import numpy as np

from agents.compiled import NUMBERS, compiled_action
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    NO_CARD,
    PASS,
    PLACE,
    State,
    count_cards,
    last_pot,
    nth_card,
    slot_owner,
)
from felicity_env.information import redact_state, resample_state
from felicity_env.kernel import outlined_kernel
from felicity_env.random_stream import Word, below, mix, split

MODELS = np.array([NUMBERS[code] for code in ("tuned", "tuned", "ev", "anchor")])
SELF = NUMBERS["tuned"]  # how the searching seat is taken to play on
DOUBT = 1 / 8
TRIES = 4


@outlined_kernel
def draw_world(world: State, models: np.ndarray, room: Any, word: Word) -> None:
    """Fill a redacted state, in place, with a world drawn by belief, and say in `models` [seats] who plays each seat.

    room: STATE [1] to work in.
    """
    viewer = world.seat
    for seat in range(world.num_seats):
        word = mix(word)
        models[seat] = SELF if seat == viewer else MODELS[below(word, len(MODELS))]
    for slot in range(world.row_size):
        owner = slot_owner(world, slot)
        if owner != DUMMY and world.row[slot] == HIDDEN:
            _believe(world, models, room, slot, owner, split(word, slot))
    resample_state(world, mix(word))


@outlined_kernel
def _believe(world, models, room, slot, owner, word):
    """Choose the player, the card in `slot` and the hand of its owner."""
    unseen = world.deck & ~world.played[owner]
    hand = unseen
    removed = card = NO_CARD
    for _ in range(TRIES):
        word = mix(word)
        models[owner] = MODELS[below(word, len(MODELS))]
        if world.removed[owner] != NO_CARD:
            word = mix(word)
            removed = nth_card(unseen, below(word, count_cards(unseen)))
            hand = unseen & ~(1 << removed)
        word = mix(word)
        if below(word, 1024) < 1024 * DOUBT:
            card = nth_card(hand, below(split(word, 0), count_cards(hand)))
        else:
            card = _laid(world, models[owner], room, owner, hand, split(word, 0))
        if _would_bid(world, models[owner], room, slot, owner, card, split(word, 1)):
            break
    world.row[slot] = card
    world.removed[owner] = removed
    world.hands[owner] = hand & ~(1 << card)


@outlined_kernel
def _laid(world, model, room, owner, hand, word):
    """The card that a model lays from `hand`: when it did, nobody had passed and been paid yet."""
    room[0] = world
    state = room[0]
    for seat in range(world.num_seats):
        state.mice[seat] -= state.gain[seat]
    if last_pot(state) > 0:
        for k in range(state.passes):
            state.pots[k] = state.mouse_cards[k]
    state.phase, state.seat, state.high_bid = PLACE, owner, 0
    state.hands[owner] = hand
    return compiled_action(model, state, word)


@outlined_kernel
def _would_bid(world, model, room, slot, owner, card, word):
    """Whether a model that has laid `card` makes the standing bid of its seat."""
    if world.phase != AUCTION or world.bids[owner] == 0:
        return True
    room[0] = world
    state = room[0]
    state.seat = owner
    state.row[slot] = card
    state.high_bid = world.bids[owner] - 1
    redact_state(state, owner)
    return compiled_action(model, state, word) > PASS
