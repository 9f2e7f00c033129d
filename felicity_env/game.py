"""The rules of Felicity: The Cat in the Sack. THE FILE TO READ; it is ordered as RULES.md is and cites its numbers.

A game is one record of type `STATE`. `deal` starts it, `legal_actions` says what the acting seat may do, `step` does it
(and trusts its input: the faces check), `score` and `rank` count it up. All chance is in the deal; a clone is a copy of
the record. The same functions run compiled (see `kernel.py`) and as plain Python.

Actions: 0..9 place that card, `PASS` = 10, `PASS + b` bids b mice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from felicity_env.kernel import kernel
from felicity_env.random_stream import Word, below, mix

RULES_VERSION = 1  # changes when a stored game would play otherwise

# --- R1: what is in the box -------------------------------------------------------------------------------------------

CARD_VALUES = (-8, -5, 3, 5, 8, 11, 15, 0, 0, 0)  # R1.1: seven cats, rabbit, large dog, small dog
NUM_CARDS = 10
NUM_CATS = 7
RABBIT, LARGE_DOG, SMALL_DOG = 7, 8, 9
NO_CARD = -1  # an empty place
HIDDEN = -2  # a card that the holder of a redacted state does not know

MAX_SEATS = 5
MAX_SETS = 6  # one a seat and the dummy's, which is always the last
DUMMY = 5
MAX_SLOTS = 5
MAX_ROUNDS = 9
MAX_POTS = 4
MAX_BID = 63  # F2
MAX_BANK = 999  # far above R2.3; keeps every amount within int16 and the observation's bounds
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
                # the setup (R2.1-R2.5), constant through a game
                ("num_seats", np.int16),  # 2..5
                ("has_dummy", np.int16),  # 0 or 1: a set of cards without a player (R2.5)
                ("deck", np.int16),  # bit c: card c belongs to every set
                ("num_rounds", np.int16),  # 1..9
                ("mouse_cards", np.int16, MAX_POTS),  # worth of each mouse card, left to right, then zeros
                # the deal, known in part (R8.1)
                ("removed", np.int16, MAX_SEATS),  # card out of each seat's set; NO_CARD: none taken; HIDDEN: not known
                ("hands", np.int16, MAX_SEATS),  # bit c: the seat holds card c; HIDDEN
                ("dummy_cards", np.int16, MAX_ROUNDS),  # in the order turned; NO_CARD past the end; HIDDEN
                # the table
                ("round_number", np.int16),  # 0..8 (every np.record has a method `round`)
                ("phase", np.int16),  # PLACE, AUCTION, OVER
                ("seat", np.int16),  # who acts; NO_SEAT when over
                ("start_seat", np.int16),  # who placed and bid first in this round
                ("row", np.int16, MAX_SLOTS),  # card per slot, left to right; NO_CARD: none yet; HIDDEN
                ("row_size", np.int16),  # slots that hold a card
                ("face_up", np.int16),  # slots 0..face_up-1 are face up; 0 while placing
                ("pots", np.int16, MAX_POTS),  # mice on each mouse card: 0 once taken or never filled
                ("bids", np.int16, MAX_SEATS),  # 0: has not bid or has passed
                ("in_auction", np.int16, MAX_SEATS),  # 0 once passed
                ("high_bid", np.int16),
                ("passes", np.int16),  # in this round
                ("mice", np.int16, MAX_SEATS),  # in hands; secret at the table but kept by memory (R8.2)
                ("bank", np.int16),
                # the past
                ("cat_points", np.int16, MAX_SEATS),  # sum of the cats won
                ("gain", np.int16, MAX_SEATS),  # mice + cat points won this round (kept until the next card is laid)
                ("played", np.int16, MAX_SETS),  # bit c: card c of that set lay in an earlier round
                ("last_winner", np.int16),  # of the last finished round; NO_SEAT: nobody bought, or none is finished
                ("last_price", np.int16),
                ("last_value", np.int16),  # worth of the sack sold, dogs resolved; 0 if none was
            ],
            align=True,
        ),
    )
)

# --- R2: setup --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """What is on the table before the deal. `SETUPS` holds the rows of R2.1-R2.5; smaller ones serve exact solving.

    Raises `ValueError` with the reason when no such game can be played.
    """

    seats: int
    mouse_cards: tuple[int, ...]  # worth of each, left to right; one fewer than seats
    bank: int  # before the first fill
    dummy: bool = False
    mice: int = 15
    rounds: int = 9
    cards: tuple[int, ...] = tuple(range(NUM_CARDS))  # which of the ten make up a set
    removed: int = 1  # cards taken out of each set unseen: 0 or 1

    def __post_init__(self) -> None:
        for name in ("mouse_cards", "cards"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        numbers = (self.seats, self.bank, self.mice, self.rounds, self.removed, *self.mouse_cards, *self.cards)
        if not all(type(number) is int for number in numbers):
            raise ValueError(f"impossible setup: all but `dummy` must be integers: {self}")
        for fault, reason in self._faults():
            if fault:
                raise ValueError(f"impossible setup: {reason}")

    def _faults(self) -> Iterator[tuple[bool, str]]:
        yield not 2 <= self.seats <= MAX_SEATS, f"seats must be 2 to {MAX_SEATS}, not {self.seats}"
        yield self.dummy and self.seats == MAX_SEATS, f"{MAX_SEATS} seats and a dummy need {MAX_SLOTS + 1} slots"
        yield self.removed not in (0, 1), f"removed must be 0 or 1, not {self.removed}"
        yield len(set(self.cards)) != len(self.cards), f"cards {self.cards} repeat"
        yield not set(self.cards) <= set(range(NUM_CARDS)), f"cards must be 0 to {NUM_CARDS - 1}, not {self.cards}"
        yield not 1 <= self.rounds <= MAX_ROUNDS, f"rounds must be 1 to {MAX_ROUNDS}, not {self.rounds}"
        yield self.rounds > self.hand_size, f"{self.rounds} rounds, but {self.hand_size} cards in hand"
        yield len(self.mouse_cards) != self.seats - 1, f"{self.seats} seats need {self.seats - 1} mouse cards (F3)"
        yield min(self.mouse_cards) < 0, f"mouse cards cannot be negative: {self.mouse_cards}"
        yield max(self.mouse_cards) > MAX_BID, f"mouse cards hold at most {MAX_BID} mice: {self.mouse_cards}"
        yield self.mice < 0, f"mice cannot be negative: {self.mice}"
        yield not 0 <= self.bank <= MAX_BANK, f"bank must be 0 to {MAX_BANK}, not {self.bank}"
        most = self.mice + max(self.mouse_cards) * (self.rounds - 1)
        yield most > MAX_BID, f"a seat could hold {most} mice at a bid; the most is {MAX_BID} (F2)"

    @property
    def hand_size(self) -> int:
        return len(self.cards) - self.removed

    @property
    def total_mice(self) -> int:
        """Mice in the game, constant (F1)."""
        return self.seats * self.mice + self.bank

    def blank_state(self) -> np.ndarray:
        """An array [1] of STATE with the setup written in and nothing dealt."""
        states = np.zeros(1, STATE)
        state = states[0]
        state.num_seats, state.has_dummy, state.num_rounds = self.seats, self.dummy, self.rounds
        state.deck = sum(1 << card for card in self.cards)
        state.mouse_cards[: len(self.mouse_cards)] = self.mouse_cards
        state.mice[: self.seats], state.bank = self.mice, self.bank
        state.removed[:], state.dummy_cards[:] = HIDDEN if self.removed else NO_CARD, NO_CARD
        return states


SETUPS = {
    3: Setup(seats=3, mouse_cards=(3, 6), bank=21, dummy=True),
    4: Setup(seats=4, mouse_cards=(2, 4, 6), bank=27),
    5: Setup(seats=5, mouse_cards=(2, 3, 4, 6), bank=33),
}


@kernel
def deal(state: State, seed: Word) -> None:
    """R2.4-R2.7: draw the removed cards, the dummy's order and the start player from `seed`, and begin."""
    word = mix(np.uint64(seed))
    for seat in range(state.num_seats):
        if state.removed[seat] != NO_CARD:
            word = mix(word)
            state.removed[seat] = nth_card(state.deck, below(word, count_cards(state.deck)))
    if state.has_dummy:
        left = state.deck
        for turn in range(min(dummy_size(state), MAX_ROUNDS)):
            word = mix(word)
            card = nth_card(left, below(word, count_cards(left)))
            state.dummy_cards[turn] = card
            left &= ~(1 << card)
    state.start_seat = below(mix(word), state.num_seats)
    begin(state)


@kernel
def begin(state: State) -> None:
    """R2.4, R2.7: from removed cards, dummy and start player to the first card placed: hands, mouse cards, round 1."""
    for seat in range(state.num_seats):
        removed = state.removed[seat]
        state.hands[seat] = state.deck if removed == NO_CARD else state.deck & ~(1 << removed)
    state.last_winner = NO_SEAT
    fill_mouse_cards(state)
    start_round(state)


@kernel
def dummy_size(state: State) -> int:
    """Cards the dummy has to turn: its set less the one removed (R2.5)."""
    return count_cards(state.deck) - (0 if state.removed[0] == NO_CARD else 1)


@kernel
def count_cards(cards: int) -> int:
    """How many cards a bit set holds."""
    count = 0
    while cards:
        cards &= cards - 1
        count += 1
    return count


@kernel
def nth_card(cards: int, n: int) -> int:
    """The n-th lowest card of a bit set, counted from 0."""
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
    """R3.1, R3.2: an empty row (the dummy's next card leftmost); the start player places first."""
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
    """Cards in a full row: one a seat and the dummy's."""
    return state.num_seats + state.has_dummy


@kernel
def slot_owner(state: State, slot: int) -> int:
    """R3.1, R3.2: the seat whose card lies in `slot`, or DUMMY."""
    if slot < state.has_dummy:
        return DUMMY
    return wrap(state, state.start_seat + slot - state.has_dummy)


@kernel
def wrap(state: State, seat: int) -> int:
    """Clockwise past the last seat comes seat 0: any number from -num_seats to 2 * num_seats - 1 as a seat."""
    if seat < 0:
        return seat + state.num_seats
    return seat - state.num_seats if seat >= state.num_seats else seat


@kernel
def place(state: State, card: int) -> None:
    """R3.1: the acting seat puts a card of its hand face down; when the row is full the auction opens (R4.1)."""
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
    """Whether one seat is left in the auction."""
    return state.passes == state.num_seats - 1


@kernel
def highest_legal_bid(state: State) -> int:
    """R4.3, R4.8: the most the acting seat may bid: its mice, or 1 when it is alone with the whole row face up."""
    return min(state.mice[state.seat], 1 if is_alone(state) else MAX_BID)


@kernel
def bid(state: State, amount: int) -> None:
    """R4.3: the acting seat raises to `amount`; who is alone in the auction buys at once (R4.8)."""
    state.bids[state.seat] = amount
    state.high_bid = amount
    if is_alone(state):
        sell(state, state.seat)
    else:
        pass_turn_on(state)


@kernel
def pass_turn_on(state: State) -> None:
    """R4.2: clockwise to the next seat that has not passed."""
    seat = wrap(state, state.seat + 1)
    while not state.in_auction[seat]:
        seat = wrap(state, seat + 1)
    state.seat = seat


@kernel
def pass_pays(state: State) -> int:
    """R4.4: mice on the lowest mouse card still filled, which the next to pass takes; 0 outside the auction."""
    if state.phase != AUCTION or is_alone(state):
        return 0
    return state.pots[state.passes]


@kernel
def leave_auction(state: State) -> None:
    """R4.4: the acting seat takes its bid back and the next mouse card, and is out; R4.9 if it was the last one."""
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
    """R4.6, R5.8: `winner` pays the highest bid to the bank, takes the sack, and starts the next round."""
    value = sack_value(state.row, num_slots(state))
    state.mice[winner] -= state.high_bid
    state.bank += state.high_bid
    state.cat_points[winner] += value
    state.gain[winner] += value - state.high_bid
    state.last_winner, state.last_price, state.last_value = winner, state.high_bid, value
    finish_round(state, winner, True)


@kernel
def scrap_row(state: State) -> None:
    """R4.9, R6.3: nobody bought; the row goes to the box, the start player stays, the next round is dry."""
    state.last_winner, state.last_price, state.last_value = NO_SEAT, 0, 0
    finish_round(state, state.start_seat, False)


# --- R5: the sack -----------------------------------------------------------------------------------------------------


@kernel
def chased_cat(row: Any, size: int) -> int:
    """R5.1-R5.7: the cat that leaves with the dog, or NO_CARD.

    Cats are numbered by value and all negative ones come first, so the fallbacks of R5.3 and R5.4 fold into one line: a
    large dog chases the highest cat of the row (15 .. 3, then -5, then -8), a small dog the lowest (-8, -5, then 3 ..).
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
    """R5, R7.1: sum of the cats of a face-up row that are left once the dogs have gone."""
    chased = chased_cat(row, size)
    value = 0
    for slot in range(size):
        value += CARD_VALUES[row[slot]]
    return value if chased == NO_CARD else value - CARD_VALUES[chased]


# --- R6: between rounds -----------------------------------------------------------------------------------------------


@kernel
def finish_round(state: State, next_start: int, fill: bool) -> None:
    """R6: turn the page: cards remembered, mouse cards filled if they may be, next round; or the end (R6.4)."""
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
    """R6.1, R6.2: all mouse cards are filled if the bank holds enough for all, else none."""
    total = mice_to_fill(state)
    if state.bank < total:
        return
    for k in range(state.num_seats - 1):
        state.pots[k] = state.mouse_cards[k]
    state.bank -= total


@kernel
def mice_to_fill(state: State) -> int:
    """R6.1: the sum of all mouse cards."""
    total = 0
    for k in range(state.num_seats - 1):
        total += state.mouse_cards[k]
    return total


@kernel
def last_pot(state: State) -> int:
    """Mice on the last mouse card, which the last seat to pass takes; 0 throughout a dry round (R6.2)."""
    return state.pots[state.num_seats - 2]


# --- R7: the end ------------------------------------------------------------------------------------------------------


@kernel
def is_terminal(state: State) -> bool:
    return state.phase == OVER


@kernel
def score(state: State, seat: int) -> int:
    """R7.1: cats won and mice held."""
    return state.cat_points[seat] + state.mice[seat]


@kernel
def rank(state: State, seat: int) -> int:
    """R7.2: 1 + the number of seats strictly ahead: by score, then by sum of cats."""
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
    """Play one legal action of the acting seat. Trusts its input; see `is_legal`."""
    if state.phase == PLACE:
        place(state, action)
    elif action == PASS:
        leave_auction(state)
    else:
        bid(state, action - PASS)


@kernel
def is_legal(state: State, action: int) -> bool:
    """Whether the acting seat may play `action` now (R3.1, R4.3, R4.4, R4.8); `action` is any integer."""
    if state.phase == PLACE:
        return 0 <= action < NUM_CARDS and (state.hands[state.seat] >> action) & 1 == 1
    if state.phase == AUCTION:
        return action == PASS or PASS + state.high_bid < action <= PASS + highest_legal_bid(state)
    return False


@kernel
def legal_actions(state: State, seat: int, mask: Any) -> None:
    """Write the action mask [NUM_ACTIONS] of `seat`: 1 where legal; all zero unless `seat` is to act (R8.1)."""
    hand = lowest = highest = 0
    if seat == state.seat and state.phase == PLACE:
        hand = state.hands[seat]
    elif seat == state.seat:
        lowest, highest = PASS + state.high_bid + 1, PASS + highest_legal_bid(state)
    for card in range(NUM_CARDS):
        mask[card] = (hand >> card) & 1
    mask[PASS] = lowest > 0
    for action in range(PASS + 1, NUM_ACTIONS):  # a comparison at each place is faster than a loop of unknown length
        mask[action] = lowest <= action <= highest


@kernel
def num_legal_actions(state: State) -> int:
    """How many actions the acting seat may choose from; there is one while the game is not over."""
    if state.phase == PLACE:
        return count_cards(state.hands[state.seat])
    return 1 + max(0, highest_legal_bid(state) - state.high_bid)


@kernel
def nth_legal_action(state: State, n: int) -> int:
    """The n-th lowest legal action of the acting seat, counted from 0: no mask needs to be read."""
    if state.phase == PLACE:
        return nth_card(state.hands[state.seat], n)
    return PASS if n == 0 else PASS + state.high_bid + n
