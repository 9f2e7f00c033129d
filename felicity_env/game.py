"""Rules of the game Felicity: The Cat in the Sack, in the order of RULES.md and with its rule numbers.

To understand the project, read this file first. A game is one record of type `STATE`. `deal` starts it, `legal_actions`
lists what the acting seat may do, `step` plays an action without checking it (the environments check), `score` and
`rank` give the result. All chance is in the deal; a copy of the record is a clone of the game. The same functions run
compiled (see `kernel.py`) and as plain Python.

Actions: 0..9 place that card, `PASS` = 10, `PASS + b` bids b mice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from felicity_env.kernel import kernel
from felicity_env.random_stream import RandomBits, draw_below, mix

RULES_VERSION = 1  # increases when stored games would replay differently

# --- R1: what is in the box -------------------------------------------------------------------------------------------

CARD_VALUES = (-8, -5, 3, 5, 8, 11, 15, 0, 0, 0)  # R1.1: seven cats, rabbit, large dog, small dog
NUM_CARDS = 10
NUM_CATS = 7
RABBIT, LARGE_DOG, SMALL_DOG = 7, 8, 9
NO_CARD = -1  # no card: an empty slot, or nothing removed
HIDDEN = -2  # a card that is masked because a seat may not know it (see `information.redact`)

MAX_SEATS = 5
MAX_SETS = 6  # one set for each seat, and the dummy's, which is always the last
DUMMY = 5
MAX_SLOTS = 5
MAX_ROUNDS = 9
MAX_POTS = 4
MAX_BID = 63  # F2
MAX_TOTAL_MICE = 999  # far above R2.1-R2.3; keeps every amount within the observation's bounds
PASS = 10
NUM_ACTIONS = PASS + MAX_BID + 1
NO_SEAT = -1

PLACE, AUCTION, OVER = 0, 1, 2
PHASES = ("place", "auction", "over")

State = Any  # one record of STATE inside kernels: a Numba record compiled, an np.record in plain Python

STATE = np.dtype(
    (
        np.record,
        np.dtype(
            [
                # the setup (R2.1-R2.5), constant during a game
                ("num_seats", np.int16),  # 2..5
                ("has_dummy", np.int16),  # 0 or 1: a set of cards without a player (R2.5)
                ("deck", np.int16),  # bit c: card c belongs to every set
                ("num_rounds", np.int16),  # 1..9
                ("mouse_cards", np.int16, MAX_POTS),  # mice that fill each mouse card, left to right, then zeros
                # the deal, known in part (R8.1)
                ("removed", np.int16, MAX_SEATS),  # card out of each seat's set; NO_CARD: none taken; HIDDEN: not known
                ("hands", np.int16, MAX_SEATS),  # bit c: the seat holds card c; or HIDDEN
                ("dummy_cards", np.int16, MAX_ROUNDS),  # in the order turned up; NO_CARD past the end; or HIDDEN
                # the table
                ("round_number", np.int16),  # 0..8 (every np.record has a method `round`)
                ("phase", np.int16),  # PLACE, AUCTION, OVER
                ("seat", np.int16),  # seat to act; NO_SEAT when the game is over
                ("start_seat", np.int16),  # seat that places and bids first in this round
                ("row", np.int16, MAX_SLOTS),  # card in each slot, left to right; NO_CARD: none yet; or HIDDEN
                ("row_size", np.int16),  # number of slots that hold a card
                ("face_up", np.int16),  # slots 0..face_up-1 are face up; 0 while placing
                ("pots", np.int16, MAX_POTS),  # mice on each mouse card: 0 once taken or never filled
                ("bids", np.int16, MAX_SEATS),  # latest bid of each seat; 0: has not bid or has passed
                ("in_auction", np.int16, MAX_SEATS),  # 1, or 0 once the seat has passed
                ("high_bid", np.int16),
                ("passes", np.int16),  # number of passes in this round
                ("mice", np.int16, MAX_SEATS),  # that each seat holds; they follow from public payments (R8.2)
                ("bank", np.int16),
                # earlier rounds
                ("cat_points", np.int16, MAX_SEATS),  # sum of the cats won
                ("gain", np.int16, MAX_SEATS),  # mice + cat points won this round; reset by the next round's first card
                ("played", np.int16, MAX_SETS),  # bit c: card c of that set was placed in an earlier round
                ("last_winner", np.int16),  # buyer in the last finished round; NO_SEAT: nobody bought, or no round yet
                ("last_price", np.int16),
                ("last_value", np.int16),  # value of the sack sold, dogs resolved; 0 if none was
            ],
            align=True,
        ),
    )
)

# --- R2: setup --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """Setup of a game: number of seats, mouse cards, mice and cards (R2.1-R2.5).

    The standard setups are in `setups.SETUPS`. Raises `ValueError` with the reason if no game can be played with it.
    """

    seats: int
    mouse_cards: tuple[int, ...]  # mice on each mouse card when full, left to right; one card fewer than seats
    bank: int  # mice in the bank before the first fill
    dummy: bool = False  # whether a set of cards without a player takes part
    mice: int = 15  # of each seat at the beginning
    rounds: int = 9
    cards: tuple[int, ...] = tuple(range(NUM_CARDS))  # cards of each set, of the ten that exist
    removed: int = 1  # number of cards taken out of each set unseen, 0 or 1

    def __post_init__(self) -> None:
        for name in ("mouse_cards", "cards"):
            value = getattr(self, name)
            object.__setattr__(self, name, tuple(value) if isinstance(value, Iterable) else value)
        for fault, reason in chain(self._wrong_types(), self._faults()):
            if fault:
                raise ValueError(f"impossible setup: {reason}")

    def _wrong_types(self) -> Iterator[tuple[bool, str]]:
        """Yield a pair for each field: whether its value has a wrong type, and the message that says which is right."""
        for name, value in vars(self).items():
            if name == "dummy":
                yield type(value) is not bool, f"dummy must be True or False, not {value!r}"
            elif name in ("mouse_cards", "cards"):
                are_integers = type(value) is tuple and all(type(number) is int for number in value)
                yield not are_integers, f"{name} must be integers, not {value!r}"
            else:
                yield type(value) is not int, f"{name} must be an integer, not {value!r}"

    def _faults(self) -> Iterator[tuple[bool, str]]:
        """Yield a pair for each possible fault: whether the setup has it, and the message that explains it."""
        yield not 2 <= self.seats <= MAX_SEATS, f"seats must be 2 to {MAX_SEATS}, not {self.seats}"
        yield self.dummy and self.seats == MAX_SEATS, f"{MAX_SEATS} seats and a dummy need {MAX_SLOTS + 1} slots"
        yield self.removed not in (0, 1), f"removed must be 0 or 1, not {self.removed}"
        yield len(set(self.cards)) != len(self.cards), f"cards {self.cards} repeat"
        yield not set(self.cards) <= set(range(NUM_CARDS)), f"cards are numbers 0 to {NUM_CARDS - 1}, not {self.cards}"
        yield not 1 <= self.rounds <= MAX_ROUNDS, f"rounds must be 1 to {MAX_ROUNDS}, not {self.rounds}"
        yield self.rounds > self.hand_size, f"{self.rounds} rounds, but {self.hand_size} cards in hand"
        yield len(self.mouse_cards) != self.seats - 1, f"{self.seats} seats need {self.seats - 1} mouse cards (F3)"
        yield min(self.mouse_cards) < 0, f"mouse cards cannot be negative: {self.mouse_cards}"
        yield max(self.mouse_cards) > MAX_BID, f"mouse cards hold at most {MAX_BID} mice: {self.mouse_cards}"
        yield self.mice < 0, f"mice cannot be negative: {self.mice}"
        yield self.bank < 0, f"bank cannot be negative: {self.bank}"
        total = self.total_mice
        yield total > MAX_TOTAL_MICE, f"there are {total} mice in hands and bank; the most is {MAX_TOTAL_MICE}"
        most = self.mice + max(self.mouse_cards) * (self.rounds - 1)
        yield most > MAX_BID, f"a seat could hold {most} mice at a bid; the most is {MAX_BID} (F2)"

    @property
    def hand_size(self) -> int:
        """Number of cards that each seat holds at the beginning of a game."""
        return len(self.cards) - self.removed

    @property
    def total_mice(self) -> int:
        """Total number of mice in all hands, in the bank and on the mouse cards; constant during a game (F1)."""
        return self.seats * self.mice + self.bank

    def blank_state(self) -> np.ndarray:
        """Return the state before the deal, STATE [1]: it holds the setup, and no card is dealt yet."""
        states = np.zeros(1, STATE)
        state = states[0]
        state.num_seats, state.has_dummy, state.num_rounds = self.seats, self.dummy, self.rounds
        state.deck = sum(1 << card for card in self.cards)
        state.mouse_cards[: len(self.mouse_cards)] = self.mouse_cards
        state.mice[: self.seats], state.bank = self.mice, self.bank
        state.removed[:], state.dummy_cards[:] = HIDDEN if self.removed else NO_CARD, NO_CARD
        return states


@kernel
def deal(state: State, seed: RandomBits) -> None:
    """Draw the deal of a game at random from `seed`, and begin the game (R2.4-R2.7).

    The deal is the removed cards, the order of the dummy's cards and the start seat.
    """
    bits = mix(np.uint64(seed))
    for seat in range(state.num_seats):
        if state.removed[seat] != NO_CARD:
            bits = mix(bits)
            state.removed[seat] = nth_card(state.deck, draw_below(bits, count_cards(state.deck)))
    if state.has_dummy:
        left = state.deck
        for turn in range(min(dummy_size(state), MAX_ROUNDS)):
            bits = mix(bits)
            card = nth_card(left, draw_below(bits, count_cards(left)))
            state.dummy_cards[turn] = card
            left &= ~(1 << card)
    state.start_seat = draw_below(mix(bits), state.num_seats)
    begin(state)


@kernel
def begin(state: State) -> None:
    """Fill the hands and the mouse cards of a state whose deal is set, and start round 1 (R2.4, R2.7)."""
    for seat in range(state.num_seats):
        removed = state.removed[seat]
        state.hands[seat] = state.deck if removed == NO_CARD else state.deck & ~(1 << removed)
    state.last_winner = NO_SEAT
    fill_mouse_cards(state)
    start_round(state)


@kernel
def dummy_size(state: State) -> int:
    """Return the number of cards in the dummy's pile: its set without the card removed from it, if any (R2.5)."""
    return count_cards(state.deck) - (0 if state.removed[0] == NO_CARD else 1)


@kernel
def count_cards(cards: int) -> int:
    """Return the number of cards in a set of cards, an integer with one bit per card."""
    count = 0
    while cards:
        cards &= cards - 1
        count += 1
    return count


@kernel
def nth_card(cards: int, n: int) -> int:
    """Return the n-th lowest card (from n = 0) in a set of cards, an integer with one bit per card."""
    card = 0
    while True:
        if cards >> card & 1:
            if n == 0:
                return card
            n -= 1
        card += 1


# --- R3: placing ------------------------------------------------------------------------------------------------------


@kernel
def start_round(state: State) -> None:
    """Start a round: clear the row, put the dummy's card first, if any, and let the start player act (R3.1, R3.2)."""
    state.row[:] = NO_CARD
    state.row_size = 0
    if state.has_dummy:
        state.row[0] = state.dummy_cards[state.round_number]
        state.row_size = 1
    state.face_up = state.high_bid = state.passes = 0
    for seat in range(state.num_seats):
        state.bids[seat] = 0
        state.in_auction[seat] = 1
    state.phase = PLACE
    state.seat = state.start_seat


@kernel
def num_slots(state: State) -> int:
    """Return the number of cards in a full row: one per seat, and one more if there is a dummy."""
    return state.num_seats + state.has_dummy


@kernel
def slot_owner(state: State, slot: int) -> int:
    """Return the seat that places its card in `slot` of the row in this round, or DUMMY (R3.1, R3.2)."""
    if slot < state.has_dummy:
        return DUMMY
    return wrap(state, state.start_seat + slot - state.has_dummy)


@kernel
def wrap(state: State, seat: int) -> int:
    """Return `seat` modulo the number of seats; `seat` must be from -num_seats to 2 * num_seats - 1."""
    if seat < 0:
        return seat + state.num_seats
    return seat - state.num_seats if seat >= state.num_seats else seat


@kernel
def place(state: State, card: int) -> None:
    """Place a card of the acting seat face down in the row; once the row is full, open the auction (R3.1, R4.1)."""
    if state.row_size == state.has_dummy:
        state.gain[:] = 0
    state.hands[state.seat] &= ~(1 << card)
    state.row[state.row_size] = card
    state.row_size += 1
    if state.row_size == num_slots(state):
        state.phase = AUCTION
        state.face_up = 1
        state.seat = state.start_seat  # R4.2
    else:
        state.seat = wrap(state, state.seat + 1)


# --- R4: the auction --------------------------------------------------------------------------------------------------


@kernel
def is_alone(state: State) -> bool:
    """Return whether all seats but one have passed in this auction."""
    return state.passes == state.num_seats - 1


@kernel
def highest_legal_bid(state: State) -> int:
    """Return the highest bid that the acting seat may make: its mice, at most 1 if all others passed (R4.3, R4.8)."""
    # If all others passed and there was a bid, the sack is sold already: nobody is asked (R4.6).
    return min(state.mice[state.seat], 1 if is_alone(state) else MAX_BID)


@kernel
def bid(state: State, amount: int) -> None:
    """Bid `amount` mice for the acting seat; if all others have passed, it buys the sack at once (R4.3, R4.8)."""
    state.bids[state.seat] = amount
    state.high_bid = amount
    if is_alone(state):
        sell(state, state.seat)
    else:
        pass_turn_on(state)


@kernel
def pass_turn_on(state: State) -> None:
    """Give the turn to the next seat, clockwise, that has not passed in this auction (R4.2)."""
    seat = wrap(state, state.seat + 1)
    while not state.in_auction[seat]:
        seat = wrap(state, seat + 1)
    state.seat = seat


@kernel
def pass_pays(state: State) -> int:
    """Return the number of mice that the acting seat would take from a mouse card by passing now, or 0 (R4.4)."""
    if state.phase != AUCTION or is_alone(state):
        return 0
    return state.pots[state.passes]


@kernel
def leave_auction(state: State) -> None:
    """Pass for the acting seat, which takes the mice of the next mouse card (R4.4).

    If only one seat with a bid is left after the pass, it buys the sack (R4.6). If all others had passed before, the
    row is discarded instead (R4.9).
    """
    if is_alone(state):
        scrap_row(state)
        return
    seat = state.seat
    paid = pass_pays(state)
    state.mice[seat] += paid
    state.gain[seat] += paid
    state.pots[state.passes] = 0
    state.bids[seat] = 0
    state.in_auction[seat] = 0
    state.passes += 1
    state.face_up = num_slots(state) if is_alone(state) else state.passes + 1  # R4.5
    pass_turn_on(state)
    if is_alone(state) and state.high_bid > 0:
        sell(state, state.seat)


@kernel
def sell(state: State, winner: int) -> None:
    """Sell the sack: `winner` pays its bid to the bank, scores the cats and starts the next round (R4.6, R5.8)."""
    value = sack_value(state.row, num_slots(state))
    state.mice[winner] -= state.high_bid
    state.bank += state.high_bid
    state.cat_points[winner] += value
    state.gain[winner] += value - state.high_bid
    state.last_winner, state.last_price, state.last_value = winner, state.high_bid, value
    finish_round(state, winner, True)


@kernel
def scrap_row(state: State) -> None:
    """Discard the row because nobody bought it: the start player stays, and no mouse card is filled (R4.9, R6.3)."""
    state.last_winner, state.last_price, state.last_value = NO_SEAT, 0, 0
    finish_round(state, state.start_seat, False)


# --- R5: the sack -----------------------------------------------------------------------------------------------------


@kernel
def find_chased_cat(row: Any, size: int) -> int:
    """Return the cat that a dog chases out of a sold sack, or NO_CARD if no cat is chased (R5.1-R5.7).

    The sack is the first `size` cards of `row`.
    """
    dogs = 0
    large = False
    lowest = highest = NO_CARD
    for slot in range(size):
        card = row[slot]
        if card >= LARGE_DOG:
            dogs += 1
            large = card == LARGE_DOG
        elif card < NUM_CATS:
            highest = max(highest, card)
            lowest = card if lowest == NO_CARD else min(lowest, card)
    if dogs != 1:
        return NO_CARD  # none, or R5.6
    return highest if large else lowest


@kernel
def sack_value(row: Any, size: int) -> int:
    """Return the points of a sack: the sum of its cats without the one that a dog chases out (R5, R7.1)."""
    chased = find_chased_cat(row, size)
    value = 0
    for slot in range(size):
        value += CARD_VALUES[row[slot]]
    return value if chased == NO_CARD else value - CARD_VALUES[chased]


# --- R6: between rounds -----------------------------------------------------------------------------------------------


@kernel
def finish_round(state: State, next_start: int, fill: bool) -> None:
    """Finish a round: end the game after the last round, and begin the next round after any other (R6).

    next_start: seat that starts the next round. fill: whether the bank fills the mouse cards before it.
    """
    if state.round_number + 1 == state.num_rounds:
        state.phase = OVER
        state.seat = NO_SEAT
        return
    for slot in range(num_slots(state)):
        state.played[slot_owner(state, slot)] |= 1 << state.row[slot]
    state.round_number += 1
    state.start_seat = next_start
    if fill:
        fill_mouse_cards(state)
    start_round(state)


@kernel
def fill_mouse_cards(state: State) -> None:
    """Put mice from the bank on all mouse cards, or on none if the bank holds too few for all (R6.1, R6.2)."""
    total = mice_to_fill(state)
    if state.bank < total:
        return
    for k in range(state.num_seats - 1):
        state.pots[k] = state.mouse_cards[k]
    state.bank -= total


@kernel
def mice_to_fill(state: State) -> int:
    """Return the number of mice that fill all mouse cards (R6.1)."""
    total = 0
    for k in range(state.num_seats - 1):
        total += state.mouse_cards[k]
    return total


@kernel
def last_pot(state: State) -> int:
    """Return the number of mice that lie on the last mouse card, the one farthest to the right."""
    return state.pots[state.num_seats - 2]


@kernel
def is_dry(state: State) -> bool:
    """Return whether no mice are on the mouse cards, as throughout a dry round (R6.2)."""
    mice = 0
    for k in range(state.num_seats - 1):
        mice += state.pots[k]
    return mice == 0


# --- R7: the end ------------------------------------------------------------------------------------------------------


@kernel
def is_terminal(state: State) -> bool:
    """Return whether the game is over (R6.4)."""
    return state.phase == OVER


@kernel
def score(state: State, seat: int) -> int:
    """Return the score of a seat: the points of the cats that it has won plus its mice (R7.1)."""
    return state.cat_points[seat] + state.mice[seat]


@kernel
def rank(state: State, seat: int) -> int:
    """Return the rank of a seat: 1 + the number of seats strictly ahead, by score, then by the sum of cats (R7.2)."""
    own = score(state, seat)
    ahead = 0
    for other in range(state.num_seats):
        theirs = score(state, other)
        if theirs > own or (theirs == own and state.cat_points[other] > state.cat_points[seat]):
            ahead += 1
    return ahead + 1


# --- acting -----------------------------------------------------------------------------------------------------------


@kernel
def step(state: State, action: int) -> None:
    """Play one legal action of the acting seat. The action is not checked; see `is_legal`."""
    if state.phase == PLACE:
        place(state, action)
    elif action == PASS:
        leave_auction(state)
    else:
        bid(state, action - PASS)


@kernel
def step_all(states: np.ndarray, actions: np.ndarray) -> None:
    """Play one legal action in each of B games, in place. states: STATE [B]. actions: int64 [B]."""
    for k in range(len(states)):
        step(states[k], actions[k])


@kernel
def is_legal(state: State, action: int) -> bool:
    """Return whether `action` (any integer) is legal for the acting seat (R3.1, R4.3, R4.4, R4.8)."""
    if state.phase == PLACE:
        return 0 <= action < NUM_CARDS and (state.hands[state.seat] >> action) & 1 == 1
    if state.phase == AUCTION:
        return action == PASS or PASS + state.high_bid < action <= PASS + highest_legal_bid(state)
    return False


# Tables of flags, because whole rows of them are combined several times as fast as single actions are compared.
CARD_FLAGS = (np.arange(1 << NUM_CARDS)[:, None] >> np.arange(NUM_CARDS) & 1).astype(np.int8)  # [set, card]
_FROM = np.triu(np.ones((MAX_BID + 2, MAX_BID), np.int8), -1)  # [lowest, k]: whether bid k + 1 is at least `lowest`
_UP_TO = np.tri(MAX_BID + 1, MAX_BID, -1, np.int8)  # [highest, k]: whether bid k + 1 is at most `highest`


@kernel
def legal_actions(state: State, seat: int, mask: Any) -> None:
    """Write the action mask of `seat` into `mask` [NUM_ACTIONS]: 1 for each legal action, and 0 for all others.

    If the seat is not the one to act, the whole mask is 0 (R8.1).
    """
    hand = lowest = highest = 0
    if seat == state.seat and state.phase == PLACE:
        hand = state.hands[seat]
    elif seat == state.seat:
        lowest, highest = state.high_bid + 1, highest_legal_bid(state)
    for card in range(NUM_CARDS):
        mask[card] = CARD_FLAGS[hand, card]
    mask[PASS] = lowest > 0
    for k in range(MAX_BID):
        mask[PASS + 1 + k] = _FROM[lowest, k] & _UP_TO[highest, k]


@kernel
def num_legal_actions(state: State) -> int:
    """Return the number of legal actions of the acting seat; it is at least 1 until the game is over."""
    if state.phase == PLACE:
        return count_cards(state.hands[state.seat])
    return 1 + max(0, highest_legal_bid(state) - state.high_bid)


@kernel
def nth_legal_action(state: State, n: int) -> int:
    """Return the n-th legal action of the acting seat, counted from n = 0 in ascending order."""
    if state.phase == PLACE:
        return nth_card(state.hands[state.seat], n)
    return PASS if n == 0 else PASS + state.high_bid + n
