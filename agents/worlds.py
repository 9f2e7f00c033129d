"""Worlds for search: full states that fit what a seat knows, weighted by what the other seats have done.

Uniform worlds (`information.resample`) treat every card that a player may still have as equally likely. But players do
not place cards at random, nor bid for sacks that they have spoiled. Here every other seat gets a random player of
`MODELS` as its model, and its face-down card is the one that this model places from a random hand that fits. Model and
card are drawn again until the model would have made the seat's current bid, at most `TRIES` times; the last draw is
accepted in any case. With probability `DOUBT` a card is drawn uniformly instead. So every world that fits is possible.
"""

import numpy as np

from agents.compiled import heuristic_action, heuristic_number
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    NO_CARD,
    PASS,
    PLACE,
    State,
    count_cards,
    is_dry,
    nth_card,
    slot_owner,
)
from felicity_env.information import redact_state, resample_state
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.random_stream import RandomBits, draw_below, mix, split, uniform

MODELS = np.array([heuristic_number(code) for code in ("tuned", "tuned", "ev", "anchor")])
SELF = heuristic_number("tuned")  # player assumed for the searching seat in playouts
DOUBT = 1 / 8
TRIES = 4


@outlined_kernel
def draw_world(world: State, models: np.ndarray, scratch: np.ndarray, random_bits: RandomBits) -> None:
    """Fill in the hidden cards of a redacted state in place, and draw the player assumed for each seat.

    models: int64 [seats], receives the numbers of these compiled players. scratch: STATE [1], workspace.
    """
    viewer = world.seat
    for seat in range(world.num_seats):
        random_bits = mix(random_bits)
        models[seat] = SELF if seat == viewer else MODELS[draw_below(random_bits, len(MODELS))]
    for slot in range(world.row_size):
        owner = slot_owner(world, slot)
        if owner != DUMMY and world.row[slot] == HIDDEN:
            _draw_owner(world, models, scratch, slot, owner, split(random_bits, slot))
    resample_state(world, mix(random_bits))


@outlined_kernel
def _draw_owner(world, models, scratch, slot, owner, random_bits):
    """Draw the hidden card in `slot`, and the hand, removed card and assumed player of the seat that placed it.

    owner: the seat that placed it. The results are written into `world` and `models`.
    """
    unseen = world.deck & ~world.played[owner]
    hand = unseen
    removed = card = NO_CARD
    for _ in range(TRIES):
        random_bits = mix(random_bits)
        models[owner] = MODELS[draw_below(random_bits, len(MODELS))]
        if world.removed[owner] != NO_CARD:
            random_bits = mix(random_bits)
            removed = nth_card(unseen, draw_below(random_bits, count_cards(unseen)))
            hand = unseen & ~(1 << removed)
        random_bits = mix(random_bits)
        if uniform(random_bits) < DOUBT:
            card = nth_card(hand, draw_below(split(random_bits, 0), count_cards(hand)))
        else:
            card = _place_card(world, models[owner], scratch, owner, hand, split(random_bits, 0))
        if _would_bid(world, models[owner], scratch, slot, owner, card, split(random_bits, 1)):
            break
    world.row[slot] = card
    world.removed[owner] = removed
    world.hands[owner] = hand & ~(1 << card)


@kernel
def take_back_passes(state: State) -> None:
    """Set mice and mouse cards of a position in an auction to what they were before the first pass."""
    dry = is_dry(state)
    for seat in range(state.num_seats):
        state.mice[seat] -= state.gain[seat]
        dry = dry and state.gain[seat] == 0
    if not dry:
        for k in range(state.passes):
            state.pots[k] = state.mouse_cards[k]


@outlined_kernel
def _place_card(world, model, scratch, owner, hand, random_bits):
    """Return the card that the assumed player places from `hand`, with all mice as they were before anyone passed."""
    scratch[0] = world
    state = scratch[0]
    take_back_passes(state)
    state.phase, state.seat, state.high_bid = PLACE, owner, 0
    state.hands[owner] = hand
    return heuristic_action(model, state, random_bits)


@outlined_kernel
def _would_bid(world, model, scratch, slot, owner, card, random_bits):
    """Return whether the assumed player of a seat, after placing `card`, would have made the seat's current bid.

    It is true if the seat has not bid.
    """
    if world.phase != AUCTION or world.bids[owner] == 0:
        return True
    scratch[0] = world
    state = scratch[0]
    state.seat = owner
    state.row[slot] = card
    state.high_bid = world.bids[owner] - 1
    redact_state(state, owner)
    return heuristic_action(model, state, random_bits) > PASS
