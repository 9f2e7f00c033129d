"""Information that a seat has (R8): states with hidden cards masked, full states that fit them, and events seen.

`redact` masks what a seat cannot know even if it remembers all public events. `resample` fills in possible cards; every
full state that fits is equally likely. The removed cards and the order of the dummy are uniform by R2.4 and R2.5, and
each unseen card of a seat is assumed to be equally likely to have been placed (a prior; players may judge better).
"""

from typing import Any

import numpy as np

from felicity_env.game import (
    DUMMY,
    HIDDEN,
    MAX_BID,
    MAX_ROUNDS,
    NO_CARD,
    PASS,
    PLACE,
    STATE,
    Setup,
    State,
    count_cards,
    is_terminal,
    nth_card,
    num_slots,
    pass_pays,
    slot_owner,
    step,
)
from felicity_env.game_record import Game, initial_states, is_integer, list_cards
from felicity_env.kernel import kernel
from felicity_env.observation import can_see
from felicity_env.random_stream import RandomBits, draw_below, mix


@kernel
def redact_state(state: State, seat: int) -> None:
    """Hide all cards in a state that `seat` may not know, in place (R8.1).

    These are the hands and removed cards of other seats, face-down cards that other seats or the dummy placed, and the
    dummy's cards that are not turned up yet.
    """
    for other in range(state.num_seats):
        if other != seat:
            state.hands[other] = HIDDEN
            if state.removed[other] != NO_CARD:
                state.removed[other] = HIDDEN
    for slot in range(state.face_up, state.row_size):
        if not can_see(state, slot, seat):
            state.row[slot] = HIDDEN
    if state.has_dummy:
        dummy_turned = state.round_number + (1 if state.face_up > 0 else 0)
        for turn in range(dummy_turned, MAX_ROUNDS):
            if state.dummy_cards[turn] != NO_CARD:
                state.dummy_cards[turn] = HIDDEN


@kernel
def resample_state(state: State, bits: RandomBits) -> None:
    """Replace the hidden cards of a redacted state by random possible cards, in place.

    All full states that agree with the known cards are equally likely.
    """
    for slot in range(state.row_size):
        if slot_owner(state, slot) != DUMMY:
            bits = _resample_seat(state, slot_owner(state, slot), slot, bits)
    for seat in range(state.num_seats):
        if state.hands[seat] == HIDDEN:
            bits = _resample_hand(state, seat, state.deck & ~state.played[seat], bits)
    if state.has_dummy:
        _resample_dummy(state, bits)


@kernel
def _resample_seat(state, seat, slot, bits):
    """Draw the hidden cards of a seat that has placed a card in this round: face-down card, removed card and hand.

    Returns the random bits from which the next draw continues.
    """
    if state.hands[seat] != HIDDEN:
        return bits
    unseen = state.deck & ~state.played[seat]
    if state.row[slot] == HIDDEN:
        bits = mix(bits)
        state.row[slot] = nth_card(unseen, draw_below(bits, count_cards(unseen)))
    return _resample_hand(state, seat, unseen & ~(1 << state.row[slot]), bits)


@kernel
def _resample_hand(state, seat, unseen, bits):
    if state.removed[seat] == HIDDEN:
        bits = mix(bits)
        state.removed[seat] = nth_card(unseen, draw_below(bits, count_cards(unseen)))
        unseen &= ~(1 << state.removed[seat])
    state.hands[seat] = unseen
    return bits


@kernel
def _resample_dummy(state, bits):
    unseen = state.deck & ~state.played[DUMMY]
    for turn in range(state.round_number, MAX_ROUNDS):
        if state.dummy_cards[turn] == HIDDEN:
            bits = mix(bits)
            state.dummy_cards[turn] = nth_card(unseen, draw_below(bits, count_cards(unseen)))
        if state.dummy_cards[turn] != NO_CARD:
            unseen &= ~(1 << state.dummy_cards[turn])
    state.row[0] = state.dummy_cards[state.round_number]


@kernel
def redact_games(states: np.ndarray, indices: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
    """Write a copy of states[indices[k]] into out[k], for each k, with only what seats[k] may know."""
    for k in range(len(indices)):
        out[k] = states[indices[k]]
        redact_state(out[k], seats[k])


@kernel
def _resample_rows(states, bits):
    for k in range(len(states)):
        resample_state(states[k], bits[k])


def redact(states: np.ndarray, seats: Any) -> np.ndarray:
    """Return copies of `states` [B] in which all cards that a seat may not know are masked.

    seats: the same seat for all states, or one seat per state, integers [B].
    """
    indices = np.arange(len(states))
    out = np.empty(len(states), STATE)
    redact_games(states, indices, np.broadcast_to(np.asarray(seats, np.int64), indices.shape).copy(), out)
    return out


def resample(redacted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random full state for each redacted state [B], with its hidden cards filled in.

    All full states that agree with the known cards are equally likely.
    """
    worlds = redacted.copy()
    _resample_rows(worlds, rng.integers(2**64, size=len(worlds), dtype=np.uint64))
    return worlds


# --- perfect recall ---------------------------------------------------------------------------------------------------

# The kind of an event is its index in this tuple.
EVENTS = ("", "seat", "hand", "start", "place", "pass", "bid", "turn", "sold", "scrapped", "pots")
MAX_EVENTS = 768  # rows of an encoded information state, more than `count_events` of any setup
EVENT_SIZE = 4  # kind, seat or slot, first number, second number
UNSEEN = -1

Event = tuple[Any, ...]


class Recall:
    """All that each seat has seen in a game, in order; `play` plays an action and adds what it shows.

    first: state before the first decision, an array [1] of STATE. events: list of the events that each seat has seen,
    [seats]; `information_state` lists their forms.
    """

    def __init__(self, first: np.ndarray) -> None:
        self._states = first.copy()
        self.actions: list[int] = []
        self.events: list[list[Event]] = []
        start, seats = ("start", int(self.state.start_seat)), int(self.state.num_seats)
        for seat in range(seats):
            hand = list_cards(self.state.hands[seat])
            self.events.append([("seat", seat, seats), ("hand", hand), start, _read_pots(self.state)])

    @property
    def state(self) -> State:
        """State of the game now."""
        return self._states[0]

    def play(self, action: int) -> None:
        """Play a legal action."""
        before = self._states[0].copy()
        step(self.state, action)
        self.actions.append(action)
        for seat, events in enumerate(self.events):
            events += _list_step_events(before, action, self.state, seat)


def information_state(game: Game, seat: int) -> list[Event]:
    """Return a list of all events that `seat` has seen in a recorded game, in order, with hidden cards as None.

    Events: ("seat", own seat, number of seats), ("hand", cards), ("start", seat), ("pots", mice on all mouse cards),
    ("place", seat, card or None), ("turn", slot, card), ("bid", seat, mice), ("pass", seat, mice taken),
    ("sold", seat, price, value), ("scrapped",).
    """
    if not is_integer(seat) or not 0 <= seat < game.setup.seats:
        raise ValueError(f"seat must be an integer from 0 to {game.setup.seats - 1}, not {seat!r}")
    recall = Recall(initial_states(game.setup, game.deal))
    for action, _ in game.states():
        if action is not None:
            recall.play(action)
    return recall.events[seat]


def count_auction_decisions(setup: Setup) -> int:
    """Return how many decisions an auction may have: bids increase, and everybody may pass."""
    return min(MAX_BID, sum(setup.mouse_cards) * setup.rounds + setup.mice) + setup.seats


def count_events(setup: Setup) -> int:
    """Return how many events a seat may see in a game of a setup."""
    slots = setup.seats + int(setup.dummy)
    a_round = setup.seats + count_auction_decisions(setup) + slots + 2  # placed, auction, turned, sold, pots filled
    return 3 + setup.rounds * a_round  # seat, hand and start


def _read_pots(state: State) -> Event:
    return ("pots", int(state.pots.sum()))


def _list_step_events(before: State, action: int, after: State, seat: int) -> list[Event]:
    actor = int(before.seat)
    round_over = is_terminal(after) or after.round_number != before.round_number
    row = before.row if round_over else after.row
    turned = num_slots(before) if round_over else after.face_up
    events: list[Event] = []
    if before.phase == PLACE:
        events.append(("place", actor, action if actor == seat else None))
    elif action == PASS:
        events.append(("pass", actor, int(pass_pays(before))))
    else:
        events.append(("bid", actor, action - PASS))
    events += [("turn", slot, int(row[slot])) for slot in range(before.face_up, turned)]
    if round_over:
        sold = ("sold", int(after.last_winner), int(after.last_price), int(after.last_value))
        events.append(sold if after.last_winner >= 0 else ("scrapped",))
        if not is_terminal(after):
            events.append(_read_pots(after))
    return events


def encode_information_state(events: list[Event]) -> np.ndarray:
    """Convert the events that a seat has seen to int16 [MAX_EVENTS, EVENT_SIZE], padded with rows of zeros.

    A row is the kind of an event (index in `EVENTS`) and its numbers. A hidden card is `UNSEEN`; a hand is a bit set.
    """
    out = np.zeros((MAX_EVENTS, EVENT_SIZE), np.int16)
    for k, (kind, *numbers) in enumerate(events):
        if kind == "hand":
            numbers = [sum(1 << card for card in numbers[0])]
        values = [UNSEEN if number is None else number for number in numbers]
        out[k, : 1 + len(values)] = [EVENTS.index(kind), *values]
    return out
