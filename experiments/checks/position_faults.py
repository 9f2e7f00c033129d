"""Checks that one position of a game obeys the rules, stated independently of the functions that play the game.

The checks are compiled functions, which cannot raise errors. They return the number of a fault, which `FAULTS` names,
or SOUND if there is none.
"""

from felicity_env.game import (
    AUCTION,
    DUMMY,
    MAX_BID,
    MAX_POTS,
    MAX_SEATS,
    MAX_SLOTS,
    NO_CARD,
    NUM_ACTIONS,
    NUM_CARDS,
    OVER,
    PASS,
    PLACE,
    is_legal,
    legal_actions,
    nth_legal_action,
    num_legal_actions,
)
from felicity_env.kernel import kernel
from felicity_env.observation import AT, OBS_HIGH, OBS_LOW, OBS_SIZE, SLOT_SIZE, observe

FAULTS: tuple[str, ...] = (
    "none",
    "F1: mice appeared or vanished",
    "F2: a seat holds more than it can, or less than nothing",
    "R2.4: a card of a set is missing or there twice",
    "R2.5: the dummy's cards do not fit the rounds played",
    "F4: a hand is not as long as the rounds left say",
    "is_legal and the action mask disagree",
    "num_legal_actions or nth_legal_action disagrees with the mask",
    "R8.1: a seat that is not to act has a mask, or something is legal when the game is over",
    "R3.1, R4.3, R4.4, R4.8: the action mask is not what the rules allow",
    "R4.2: the wrong seat is to act",
    "F5: the wrong slots are face up",
    "R4.4, F3: mouse cards do not fit the passes",
    "R4.3: bids do not fit, or do not increase",
    "R4.5: the seats in the auction do not fit the passes",
    "round or phase went backwards or jumped",
    "R5, R7.1: cat points are not the sum of the sacks",
    "R7.1: gains do not sum to the change of the score",
    "R7.2: ranks, win shares or margins do not fit the scores",
    "R6: mouse cards were filled when they should not be, or not when they should",
    "R5.8, R4.9: the wrong seat starts",
    "an observation does not tell the truth",
    "an observation is not finite or leaves its bounds",
    "something in the setup or the deal changed",
    "R6.4: a game does not have its number of rounds, or a seat did not place in each",
    "the game does not end",
)
(
    SOUND,
    MICE_LOST,
    MICE_BOUND,
    CARDS_WRONG,
    DUMMY_WRONG,
    HAND_SIZE_WRONG,
    MASK_WRONG,
    COUNT_WRONG,
    MASK_LEAKS,
    MASK_AGAINST_RULES,
    SEAT_WRONG,
    FACE_UP_WRONG,
    POTS_WRONG,
    BIDS_WRONG,
    IN_AUCTION_WRONG,
    WENT_BACK,
    POINTS_WRONG,
    GAIN_WRONG,
    RANKS_WRONG,
    FILL_WRONG,
    START_WRONG,
    OBSERVATION_WRONG,
    OUT_OF_BOUNDS,
    SETUP_CHANGED,
    ROUNDS_WRONG,
    ENDLESS,
) = range(len(FAULTS))


@kernel
def _popcount(cards):
    count = 0
    for card in range(NUM_CARDS):
        count += cards >> card & 1
    return count


@kernel
def _check_mice(state, first):
    """Return the first fault in the numbers of mice of a state (F1, F2), or SOUND if there is none.

    first: the state of the same game before the deal.
    """
    total, was, best = state.bank, first.bank, 0
    for k in range(MAX_POTS):
        best = max(best, first.mouse_cards[k])
        total += state.pots[k]
    for seat in range(MAX_SEATS):
        total += state.mice[seat]
        was += first.mice[seat]
        if not 0 <= state.mice[seat] <= first.mice[seat] + best * state.num_rounds:
            return MICE_BOUND
        if state.phase != OVER and state.in_auction[seat] and state.mice[seat] > MAX_BID:
            return MICE_BOUND
    if state.bank < 0:
        return MICE_BOUND
    return SOUND if total == was else MICE_LOST


@kernel
def _card_in_row(state, seat):
    """Return the card that a seat has placed in the current round, as a bit set, or 0 if it has placed none yet."""
    place = (seat - state.start_seat + state.num_seats) % state.num_seats + state.has_dummy
    return 1 << state.row[place] if place < state.row_size else 0


@kernel
def _check_cards(state):
    """Return the first fault in the cards of a state, or SOUND if every card of each set is in exactly one place.

    The places are the hand, the row, the cards of earlier rounds and the removed card. The dummy is checked too.
    """
    for seat in range(state.num_seats):
        removed = 0 if state.removed[seat] == NO_CARD else 1 << state.removed[seat]
        placed = _card_in_row(state, seat)
        together = state.hands[seat] + state.played[seat] + removed + placed  # a sum, so a card twice shows
        if together != state.deck or (state.hands[seat] | state.played[seat] | removed | placed) != state.deck:
            return CARDS_WRONG
        rounds_placed = state.round_number + (1 if placed else 0)
        if _popcount(state.hands[seat]) != _popcount(state.deck) - (1 if removed else 0) - rounds_placed:
            return HAND_SIZE_WRONG
    return _check_dummy(state)


@kernel
def _check_dummy(state):
    if not state.has_dummy:
        return SOUND if state.played[DUMMY] == 0 else DUMMY_WRONG
    turned = all_cards = 0
    for turn in range(state.num_rounds):
        bit = 1 << state.dummy_cards[turn]
        if all_cards & bit or not state.deck & bit:
            return DUMMY_WRONG
        all_cards |= bit
        if turn < state.round_number:
            turned |= bit
    fits = state.played[DUMMY] == turned and state.row[0] == state.dummy_cards[state.round_number]
    return SOUND if fits else DUMMY_WRONG


@kernel
def _check_mask(state, mask):
    count = 0
    if state.phase == OVER:
        return _check_no_mask(state, mask)
    for seat in range(state.num_seats):
        legal_actions(state, seat, mask)
        if seat != state.seat and mask.any():
            return MASK_LEAKS
    legal_actions(state, state.seat, mask)
    for action in range(NUM_ACTIONS):
        if bool(mask[action]) != is_legal(state, action):
            return MASK_WRONG
        if mask[action]:
            if nth_legal_action(state, count) != action:
                return COUNT_WRONG
            count += 1
    if is_legal(state, -1) or is_legal(state, NUM_ACTIONS):
        return MASK_WRONG
    if count != num_legal_actions(state) or count == 0:
        return COUNT_WRONG
    return check_mask_by_rules(state, mask)


@kernel
def check_mask_by_rules(state, mask):
    """Return SOUND if the action mask of the acting seat agrees with the rules, or else MASK_AGAINST_RULES.

    The rules are those of placing and bidding (R3.1, R4.3, R4.4, R4.8).
    """
    seat, bidders, highest = state.seat, 0, 0
    for other in range(state.num_seats):
        bidders += state.in_auction[other]
        highest = max(highest, state.bids[other])
    removed = 0 if state.removed[seat] == NO_CARD else 1 << state.removed[seat]
    held = state.deck - removed - state.played[seat]
    most = min(state.mice[seat], 1 if bidders == 1 else MAX_BID)
    for action in range(NUM_ACTIONS):
        if state.phase == PLACE:
            allowed = action < NUM_CARDS and held >> action & 1 == 1
        else:
            allowed = action == PASS or (action > PASS and highest < action - PASS <= most)
        if allowed != (mask[action] == 1):
            return MASK_AGAINST_RULES
    return SOUND


@kernel
def _check_no_mask(state, mask):
    for seat in range(state.num_seats):
        legal_actions(state, seat, mask)
        for action in range(NUM_ACTIONS):
            if mask[action] or is_legal(state, action):
                return MASK_LEAKS
    return SOUND


@kernel
def _check_auction(state):
    """Return the first fault in the bids, mouse cards and face-up cards of a state, or SOUND if there is none.

    They are compared with what the phase and the number of passes require.
    """
    slots = state.num_seats + state.has_dummy
    alone = state.passes == state.num_seats - 1
    turned = 0 if state.phase == PLACE else (slots if alone else state.passes + 1)
    if state.face_up != turned or (state.phase != PLACE and state.row_size != slots):
        return FACE_UP_WRONG
    full = empty = True
    for k in range(state.num_seats - 1):
        if state.pots[k] != 0:
            empty = False
        if state.pots[k] != (0 if k < state.passes else state.mouse_cards[k]):
            full = False
    if not (full or empty):
        return POTS_WRONG
    highest = still_in = 0
    for seat in range(state.num_seats):
        highest = max(highest, state.bids[seat])
        still_in += state.in_auction[seat]
        if state.bids[seat] > 0 and (state.phase == PLACE or not state.in_auction[seat]):
            return BIDS_WRONG
        if state.phase == AUCTION and state.bids[seat] > state.mice[seat]:
            return BIDS_WRONG
    if highest != state.high_bid or highest > MAX_BID:
        return BIDS_WRONG
    return SOUND if still_in == state.num_seats - state.passes else IN_AUCTION_WRONG


@kernel
def _check_observation(state, out):
    """Return the first fault in the observations of all seats of a state, or SOUND if there is none.

    An observation is faulty if a number is outside its bounds, or if it encodes mice, points, bids, a hand or a row
    other than those of the state. out: array for one observation, float32 [OBS_SIZE], which is overwritten.
    """
    for seat in range(state.num_seats):
        observe(state, seat, True, out)
        inside = 0
        for entry in range(OBS_SIZE):  # without a branch, which is faster; nan is not inside
            inside += (out[entry] >= OBS_LOW) & (out[entry] <= OBS_HIGH)
        if inside != OBS_SIZE:
            return OUT_OF_BOUNDS
        fits = out[AT.mice] * 16 == state.mice[seat] and out[AT.bank] * 16 == state.bank
        fits = fits and out[AT.high_bid] * 16 == state.high_bid and out[AT.last_value] * 64 == state.last_value
        for card in range(NUM_CARDS):
            fits = fits and out[AT.hand + card] == (state.hands[seat] >> card & 1)
        for k in range(state.num_seats):
            other = (seat + k) % state.num_seats
            fits = fits and out[AT.cat_points + k] * 64 == state.cat_points[other]
            fits = fits and out[AT.bids + k] * 16 == state.bids[other]
            fits = fits and (k == 0 or out[AT.opponent_mice + k - 1] * 16 == state.mice[other])
        for slot in range(MAX_SLOTS):
            fits = fits and _slot_fits(state, seat, slot, out)
        if not fits:
            return OBSERVATION_WRONG
    return SOUND


@kernel
def _slot_fits(state, seat, slot, out):
    at = AT.row + slot * SLOT_SIZE
    own = (seat - state.start_seat + state.num_seats) % state.num_seats + state.has_dummy
    fits = out[at] == (slot < state.row_size)
    for card in range(NUM_CARDS):
        shown = slot < state.row_size and state.row[slot] == card and (slot < state.face_up or slot == own)
        fits = fits and out[at + 1 + card] == shown
    return fits


@kernel
def check_position(state, first, mask, out):
    """Return the number of the first fault of a position, or SOUND if it obeys the rules.

    first: the state of the same game before the deal. mask, out: arrays for an action mask and an observation, which
    are overwritten.
    """
    fault = _check_mice(state, first)
    if fault == SOUND:
        fault = _check_cards(state)
    if fault == SOUND:
        fault = _check_mask(state, mask)
    if fault == SOUND:
        fault = _check_auction(state)
    if fault == SOUND:
        fault = _check_observation(state, out)
    return fault
