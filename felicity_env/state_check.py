"""Checks of states that come from outside: a saved batch, a checkpoint, or arrays that a user made.

The kernels of the rules trust their input: a damaged state can hang them or make them read past the end of a table.
`find_fault` returns the index in `FAULTS` of the first reason why a state cannot be part of any game, or 0. Cards may
be masked (see `information.redact`).
"""

import numpy as np

from felicity_env.game import (
    AUCTION,
    CARD_VALUES,
    DUMMY,
    HIDDEN,
    MAX_BID,
    MAX_POTS,
    MAX_ROUNDS,
    MAX_SEATS,
    MAX_SLOTS,
    MAX_TOTAL_MICE,
    NO_CARD,
    NO_SEAT,
    NUM_CARDS,
    OVER,
    PLACE,
    State,
    count_cards,
    dummy_size,
    is_legal,
    num_slots,
    slot_owner,
    step,
    wrap,
)
from felicity_env.kernel import kernel

FAULTS = (
    "",
    "seats, dummy, deck, rounds or mouse cards are impossible",
    "round, phase or the seat to act is impossible",
    "the row does not fit the phase and the seat to act",
    "the cards of a seat are not those of its set",
    "the cards of the dummy are not those of its set",
    "bids, passes, face-up cards and mouse cards do not fit together",
    "a number of mice or points is impossible",
    "the last sale is impossible",
    "it lacks cards, which are masked",
    "it has another setup, or other mice, than this game",
)
_MOST_POINTS = MAX_ROUNDS * MAX_SLOTS * max(CARD_VALUES)


@kernel
def find_fault(state: State) -> int:
    """Check whether a state is possible in any game; return the number of its first fault, or 0 if it has none.

    The number is an index of `FAULTS`. Cards of the state may be masked.
    """
    if not _has_possible_setup(state):
        return 1
    if not _has_possible_turn(state):
        return 2
    if not _has_possible_row(state):
        return 3
    for seat in range(MAX_SEATS):
        if not _has_own_cards(state, seat):
            return 4
    if not _has_dummy_cards(state):
        return 5
    if not (_has_possible_auction(state) and _has_possible_pots(state)):
        return 6
    if not _has_possible_amounts(state):
        return 7
    return 0 if _has_possible_sale(state) else 8


@kernel
def find_fault_in_game(state: State, blank: State) -> int:
    """Check whether a state is possible in one given game; return the number of its first fault, or 0 if it has none.

    The number is an index of `FAULTS`. A masked card is a fault. blank: the state of this game before the deal, see
    `Setup.blank_state`.
    """
    fault = find_fault(state)
    if fault:
        return fault
    if _is_masked(state):
        return 9
    return 0 if _has_setup(state, blank) else 10


@kernel
def _has_setup(state, blank):
    """Return whether a state has the same setup and the same total number of mice (F1) as `blank`.

    blank: state before the deal.
    """
    same = state.num_seats == blank.num_seats and state.has_dummy == blank.has_dummy and state.deck == blank.deck
    same = same and state.num_rounds == blank.num_rounds
    same = same and (state.removed[0] == NO_CARD) == (blank.removed[0] == NO_CARD)
    for k in range(MAX_POTS):
        same = same and state.mouse_cards[k] == blank.mouse_cards[k]
    return same and _count_mice(state) == _count_mice(blank)


@kernel
def _is_masked(state):
    masked = False
    for seat in range(state.num_seats):
        masked = masked or state.hands[seat] == HIDDEN or state.removed[seat] == HIDDEN
    for slot in range(MAX_SLOTS):
        masked = masked or state.row[slot] == HIDDEN
    for turn in range(MAX_ROUNDS):
        masked = masked or state.dummy_cards[turn] == HIDDEN
    return masked


@kernel
def _count_mice(state):
    total = state.bank
    for seat in range(state.num_seats):
        total += state.mice[seat]
    for k in range(MAX_POTS):
        total += state.pots[k]
    return total


@kernel
def _has_possible_setup(state):
    if not (2 <= state.num_seats <= MAX_SEATS and 0 <= state.has_dummy <= 1 and num_slots(state) <= MAX_SLOTS):
        return False
    if not (0 < state.deck < 1 << NUM_CARDS and 1 <= state.num_rounds <= MAX_ROUNDS):
        return False
    possible = state.num_rounds <= count_cards(state.deck) - (0 if state.removed[0] == NO_CARD else 1)
    for k in range(MAX_POTS):
        most = MAX_BID if k < state.num_seats - 1 else 0
        possible = possible and 0 <= state.mouse_cards[k] <= most
    return possible


@kernel
def _has_possible_turn(state):
    possible = 0 <= state.round_number < state.num_rounds and PLACE <= state.phase <= OVER
    possible = possible and 0 <= state.start_seat < state.num_seats
    if state.phase == OVER:
        return possible and state.seat == NO_SEAT and state.round_number == state.num_rounds - 1
    return possible and 0 <= state.seat < state.num_seats


@kernel
def _has_possible_row(state):
    if state.phase == PLACE:
        placed = state.row_size - state.has_dummy
        possible = 0 <= placed < state.num_seats and state.seat == wrap(state, state.start_seat + placed)
    else:
        possible = state.row_size == num_slots(state)
    for slot in range(MAX_SLOTS):
        is_placed = state.row[slot] == HIDDEN or 0 <= state.row[slot] < NUM_CARDS
        possible = possible and (is_placed if slot < state.row_size else state.row[slot] == NO_CARD)
    return possible


@kernel
def _has_own_cards(state, seat):
    """Return whether all cards of a seat together can be its set, with each card once.

    They are its removed card, its hand, the cards that it placed in earlier rounds and its card in the row. Some may be
    masked.
    """
    hand, played, removed = state.hands[seat], state.played[seat], state.removed[seat]
    if seat >= state.num_seats:
        return hand == 0 and played == 0
    if not (removed == HIDDEN or NO_CARD <= removed < NUM_CARDS) or not (hand == HIDDEN or 0 <= hand < 1 << NUM_CARDS):
        return False
    if (removed == NO_CARD) != (state.removed[0] == NO_CARD):
        return False
    if not 0 <= played < 1 << NUM_CARDS or count_cards(played) != state.round_number:
        return False
    known, count = played, state.round_number
    if removed >= 0:
        known, count = known | 1 << removed, count + 1
    if hand != HIDDEN:
        known, count = known | hand, count + count_cards(hand)
    for slot in range(state.row_size):
        if slot_owner(state, slot) == seat and state.row[slot] >= 0:
            known, count = known | 1 << state.row[slot], count + 1
    unknown = count_cards(state.deck) - count
    masked = int(removed == HIDDEN) + int(_hides_card(state, seat))  # in plain Python, NumPy adds bools as "or"
    is_possible = unknown >= masked if hand == HIDDEN else unknown == masked
    return is_possible and known & ~state.deck == 0 and count_cards(known) == count


@kernel
def _hides_card(state, seat):
    """Return whether the card that a seat has placed in this round is masked."""
    hides = False
    for slot in range(state.row_size):
        hides = hides or (slot_owner(state, slot) == seat and state.row[slot] == HIDDEN)
    return hides


@kernel
def _has_dummy_cards(state):
    """Return whether the dummy's pile, its cards of earlier rounds and its card in the row agree with each other."""
    if not state.has_dummy:
        possible = state.played[DUMMY] == 0
        for turn in range(MAX_ROUNDS):
            possible = possible and state.dummy_cards[turn] == NO_CARD
        return possible
    seen, played, possible = 0, 0, True
    size = min(dummy_size(state), MAX_ROUNDS)
    for turn in range(MAX_ROUNDS):
        card = state.dummy_cards[turn]
        if turn >= size:
            possible = possible and card == NO_CARD
        elif card == HIDDEN:
            possible = possible and turn >= state.round_number
        elif not (0 <= card < NUM_CARDS) or not state.deck >> card & 1 or seen >> card & 1:
            return False
        else:
            seen |= 1 << card
            if turn < state.round_number:
                played |= 1 << card
    return possible and state.played[DUMMY] == played and state.row[0] == state.dummy_cards[state.round_number]


@kernel
def _has_possible_auction(state):
    possible, inside, highest, holders = True, 0, 0, 0
    for seat in range(MAX_SEATS):
        bid, is_in = state.bids[seat], state.in_auction[seat]
        possible = possible and 0 <= is_in <= (1 if seat < state.num_seats else 0) and 0 <= bid <= MAX_BID * is_in
        inside += is_in
        highest = max(highest, bid)
        holders += bid > 0 and bid == state.high_bid
    possible = possible and state.passes == state.num_seats - inside and inside >= 1
    possible = possible and state.high_bid == highest and holders == (1 if highest > 0 else 0)
    if state.phase == PLACE:
        return possible and highest == 0 and state.passes == 0 and state.face_up == 0
    possible = possible and state.face_up == (num_slots(state) if inside == 1 else state.passes + 1)
    if state.phase == AUCTION:
        is_outbid = highest == 0 or state.bids[state.seat] < highest
        possible = possible and state.in_auction[state.seat] == 1 and is_outbid and (inside > 1 or highest == 0)
    return possible


@kernel
def _has_possible_pots(state):
    """Return whether the mouse cards that nobody has taken are all full or all empty, and all others are empty."""
    full = empty = True
    for k in range(MAX_POTS):
        is_left = state.passes <= k < state.num_seats - 1
        full = full and state.pots[k] == (state.mouse_cards[k] if is_left else 0)
        empty = empty and state.pots[k] == 0
    return full or empty


@kernel
def _has_possible_amounts(state):
    possible = 0 <= state.bank <= MAX_TOTAL_MICE
    for seat in range(MAX_SEATS):
        most = MAX_TOTAL_MICE if seat < state.num_seats else 0
        possible = possible and 0 <= state.mice[seat] <= most
        possible = possible and (state.phase != AUCTION or state.bids[seat] <= state.mice[seat])
        for points in (state.cat_points[seat], state.gain[seat]):
            possible = possible and -_MOST_POINTS <= points <= _MOST_POINTS
    return possible and _count_mice(state) <= MAX_TOTAL_MICE


@kernel
def _has_possible_sale(state):
    winner, price, value = state.last_winner, state.last_price, state.last_value
    if winner == NO_SEAT:
        return price == 0 and value == 0
    happened = state.round_number > 0 or state.phase == OVER
    possible = happened and 0 <= winner < state.num_seats and 1 <= price <= MAX_BID and abs(value) <= _MOST_POINTS
    return possible and (state.phase == OVER or state.start_seat == winner)


@kernel
def _find_first_fault(states, out):
    out[0] = -1
    for k in range(len(states)):
        out[1] = find_fault(states[k])
        if out[1]:
            out[0] = k
            return


@kernel
def _find_first_fault_in_games(states, blanks, setup_numbers, out):
    out[0] = -1
    for k in range(len(states)):
        out[1] = find_fault_in_game(states[k], blanks[setup_numbers[k]])
        if out[1]:
            out[0] = k
            return


@kernel
def _play_while_legal(states, actions, lengths, played):
    """Play actions[k, : lengths[k]] in states[k] up to the first illegal one, and count those played in played[k]."""
    for k in range(len(states)):
        while played[k] < lengths[k] and is_legal(states[k], int(actions[k, played[k]])):
            step(states[k], int(actions[k, played[k]]))
            played[k] += 1


def check_states(states: np.ndarray) -> None:
    """Check that each of `states` [B], masked or not, is a possible position of some game.

    Raises `ValueError` with the index of the first impossible state and its fault.
    """
    out = np.zeros(2, np.int64)
    _find_first_fault(states, out)
    if out[0] >= 0:
        raise ValueError(f"states[{out[0]}] is no position of a game: {FAULTS[out[1]]}")


def check_games(states: np.ndarray, blanks: np.ndarray, setup_numbers: np.ndarray) -> None:
    """Check that each of `states` [B] is a possible full state of its game.

    Game k began as blanks[setup_numbers[k]], a state before the deal. Raises `ValueError` with the index of the first
    impossible state and its fault.
    """
    out = np.zeros(2, np.int64)
    _find_first_fault_in_games(states, blanks, setup_numbers, out)
    if out[0] >= 0:
        raise ValueError(f"the state of game {out[0]} is no position of its game: {FAULTS[out[1]]}")


def check_records(first_states: np.ndarray, actions: np.ndarray, lengths: np.ndarray, states: np.ndarray) -> None:
    """Check that in each game k the actions actions[k, : lengths[k]] lead from first_states[k] to states[k].

    All states must be possible ones of their games. Raises `ValueError` with the index of the first game in which the
    actions are illegal or lead to another state.
    """
    replayed, played = first_states.copy(), np.zeros_like(lengths)
    _play_while_legal(replayed, actions, lengths, played)
    faults = np.flatnonzero((played != lengths) | (replayed != states))
    if len(faults):
        raise ValueError(f"the recorded actions of game {faults[0]} do not lead from its first state to its state")
