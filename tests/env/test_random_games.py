"""Random games, with every position checked against invariants.

The checks are compiled, so that tens of thousands of games take seconds. A kernel cannot raise: it returns the number
of a fault, and the test names the fault.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from felicity_env.batch import Batch
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    LARGE_DOG,
    MAX_BID,
    MAX_POTS,
    MAX_SEATS,
    MAX_SLOTS,
    MAX_TOTAL_MICE,
    NO_CARD,
    NO_SEAT,
    NUM_ACTIONS,
    NUM_CARDS,
    OVER,
    PASS,
    PHASES,
    PLACE,
    SMALL_DOG,
    STATE,
    Setup,
    deal,
    is_legal,
    legal_actions,
    nth_legal_action,
    num_legal_actions,
    score,
    step,
)
from felicity_env.kernel import kernel
from felicity_env.observation import AT, OBS_SIZE, SECTIONS, SLOT_SIZE, describe, observe
from felicity_env.player import random_action
from felicity_env.random_stream import mix
from felicity_env.rewards import REWARDS, reward_code, step_rewards
from felicity_env.setups import STANDARD_PLAYERS, standard_setup
from tests.support.helpers import ALL_SETUPS, COMPILED, ODD_SETUPS, diverse_action, random_game

GAMES = 20_000 if COMPILED else 20
VALUES = (-8, -5, 3, 5, 8, 11, 15, 0, 0, 0)
ROUND_REWARD = reward_code("round")
SIZES = {section.name: section.size for section in SECTIONS}

FAULTS = (
    "none",
    "F1: mice appeared or vanished",
    "F2: a seat holds more than it can, or less than nothing",
    "R2.4: a card of a set is missing or there twice",
    "R2.5: the dummy's cards do not fit the rounds played",
    "F4: a hand is not as long as the rounds left say",
    "is_legal and the action mask disagree",
    "num_legal_actions or nth_legal_action disagrees with the mask",
    "R8.1: a seat that is not to act has a mask, or something is legal when the game is over",
    "R4.2: the wrong seat is to act",
    "F5: the wrong slots are face up",
    "R4.4, F3: mouse cards do not fit the passes",
    "R4.3: bids do not fit",
    "R4.5: the seats in the auction do not fit the passes",
    "round or phase went backwards or jumped",
    "R5, R7.1: cat points are not the sum of the sacks",
    "gains do not sum to the change of the score",
    "R6: mouse cards were filled when they should not be, or not when they should",
    "R5.8, R4.9: the wrong seat starts",
    "an observation does not tell the truth",
    "something in the setup or the deal changed",
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
    SEAT_WRONG,
    FACE_UP_WRONG,
    POTS_WRONG,
    BIDS_WRONG,
    IN_AUCTION_WRONG,
    WENT_BACK,
    POINTS_WRONG,
    GAIN_WRONG,
    FILL_WRONG,
    START_WRONG,
    OBSERVATION_WRONG,
    SETUP_CHANGED,
    ENDLESS,
) = range(len(FAULTS))

# --- one position -----------------------------------------------------------------------------------------------------


@kernel
def _popcount(cards):
    count = 0
    for card in range(NUM_CARDS):
        count += cards >> card & 1
    return count


@kernel
def _check_mice(state, first):
    """Check the number of mice against the blank state that the game began from (F1, F2)."""
    total = was = first.bank
    best = 0
    for k in range(MAX_POTS):
        best = max(best, first.mouse_cards[k])
    total = state.bank
    for k in range(MAX_POTS):
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
    """Return the card of a seat in the row, as a bit set."""
    place = (seat - state.start_seat + state.num_seats) % state.num_seats + state.has_dummy
    return 1 << state.row[place] if place < state.row_size else 0


@kernel
def _check_cards(state):
    """Check that every card of a set is in exactly one place."""
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
        for action in range(NUM_ACTIONS):
            if seat != state.seat and mask[action]:
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
    return SOUND if count == num_legal_actions(state) > 0 else COUNT_WRONG


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
    """Check bids, mouse cards and face-up cards by the phase and the number of passes."""
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
    """Check that the amounts, the hand and the row decode to the truth, for every seat."""
    for seat in range(state.num_seats):
        observe(state, seat, True, out)
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
def _check_position(state, first, mask, out):
    """Return the first fault of a position, or SOUND."""
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


# --- one step ---------------------------------------------------------------------------------------------------------


@kernel
def _sack(row, size):
    """Return the value of the sack by R5 in terms of values, not of card numbers."""
    dogs = large = total = 0
    most = least = low = high = 0  # of the negative cats the furthest from zero and the nearest; of the positive ones
    for slot in range(size):
        value = VALUES[row[slot]]
        total += value
        dogs += row[slot] in (LARGE_DOG, SMALL_DOG)
        large += row[slot] == LARGE_DOG
        if value < 0:
            most = min(most, value)
            least = value if least == 0 else max(least, value)
        elif value > 0:
            high = max(high, value)
            low = value if low == 0 else min(low, value)
    if dogs != 1:
        return total
    if large:
        return total - (high if high else least)
    return total - (most if most else low)


@kernel
def _check_step(before, action, after):
    """Check that a step changes only what it may."""
    if after.deck != before.deck or after.num_seats != before.num_seats or after.num_rounds != before.num_rounds:
        return SETUP_CHANGED
    for seat in range(MAX_SEATS):
        if after.removed[seat] != before.removed[seat]:
            return SETUP_CHANGED
    if after.phase == OVER or after.round_number != before.round_number:
        return _check_end_of_round(before, action, after)
    if before.phase == PLACE:
        last = before.row_size + 1 == before.num_seats + before.has_dummy
        if after.phase != (AUCTION if last else PLACE):
            return WENT_BACK
        if before.row_size == before.has_dummy and before.seat != before.start_seat:
            return START_WRONG
        expected = before.start_seat if last else (before.seat + 1) % before.num_seats
        return SOUND if after.seat == expected else SEAT_WRONG
    if after.phase != AUCTION or after.passes < before.passes or after.high_bid < before.high_bid:
        return WENT_BACK
    expected = (before.seat + 1) % before.num_seats
    while not after.in_auction[expected]:
        expected = (expected + 1) % before.num_seats
    return SOUND if after.seat == expected else SEAT_WRONG


@kernel
def _check_end_of_round(before, action, after):
    over = before.round_number + 1 == before.num_rounds
    if before.phase != AUCTION or after.phase != (OVER if over else PLACE):
        return WENT_BACK
    if after.round_number != before.round_number + (0 if over else 1):
        return WENT_BACK
    alone = before.passes == before.num_seats - 1
    sold = not (alone and action == PASS)
    winner = _buyer(before, alone) if sold else NO_SEAT
    value = _sack(before.row, before.num_seats + before.has_dummy) if sold else 0
    price = (1 if alone else before.high_bid) if sold else 0
    if after.last_winner != winner or after.last_price != price or after.last_value != value:
        return POINTS_WRONG
    for seat in range(before.num_seats):
        if after.cat_points[seat] != before.cat_points[seat] + (value if seat == winner else 0):
            return POINTS_WRONG
    return _check_next_round(before, after, winner, price, over)


@kernel
def _buyer(before, alone):
    """Return who takes the sack: the last seat left, or the one other seat in the auction when `before.seat` passes."""
    if alone:
        return before.seat
    for seat in range(before.num_seats):
        if seat != before.seat and before.in_auction[seat]:
            return seat
    return NO_SEAT


@kernel
def _check_next_round(before, after, winner, price, over):
    total = 0
    for k in range(MAX_POTS):
        total += before.mouse_cards[k]
    filled = not over and winner != NO_SEAT and before.bank + price >= total
    for k in range(MAX_POTS):
        if after.pots[k] != (before.mouse_cards[k] if filled else 0):
            return FILL_WRONG
    if after.bank != before.bank + price - (total if filled else 0):
        return FILL_WRONG
    if over:
        return SOUND if after.seat == NO_SEAT else SEAT_WRONG
    start = before.start_seat if winner == NO_SEAT else winner
    return SOUND if after.start_seat == start == after.seat else START_WRONG


# --- whole games ------------------------------------------------------------------------------------------------------


@kernel
def _check_game(states, seed, varied, mask, out, rewards, sums):
    """Play a game from blank states[0]; states[1] is now, states[2] before. Return the first fault, or SOUND."""
    states[1] = states[0]
    deal(states[1], seed)
    sums[:] = 0.0
    random_bits = seed
    for _ in range(1000):
        fault = _check_position(states[1], states[0], mask, out)
        if fault != SOUND:
            return fault
        if states[1].phase == OVER:
            for seat in range(states[1].num_seats):
                if sums[seat] != score(states[1], seat) - states[0].mice[seat]:
                    return GAIN_WRONG
            return SOUND
        random_bits = np.uint64(mix(random_bits))
        action = diverse_action(states[1], random_bits) if varied else random_action(states[1], random_bits)
        states[2] = states[1]
        step(states[1], action)
        fault = _check_step(states[2], action, states[1])
        if fault != SOUND:
            return fault
        step_rewards(states[1], ROUND_REWARD, rewards)
        for seat in range(MAX_SEATS):
            sums[seat] += rewards[seat]
    return ENDLESS


@kernel
def _check_games(states, first_seed, games, mask, out, rewards, sums):
    """Return (fault, seed) of the first unsound game; every other game is played by `diverse_action`."""
    for game in range(games):
        seed = np.uint64(first_seed + game)
        fault = _check_game(states, seed, game % 2 == 1, mask, out, rewards, sums)
        if fault != SOUND:
            return fault, first_seed + game
    return SOUND, 0


def assert_sound_games(setup: Setup, games: int, first_seed: int = 0) -> None:
    states = np.zeros(3, STATE)
    states[:1] = setup.blank_state()
    mask, out = np.zeros(NUM_ACTIONS, np.int8), np.zeros(OBS_SIZE, np.float32)
    fault, seed = _check_games(states, first_seed, games, mask, out, np.zeros(MAX_SEATS), np.zeros(MAX_SEATS))
    assert fault == SOUND, f"{FAULTS[fault]} (seed {seed}, {setup})"


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_nothing_breaks_in_twenty_thousand_random_games(players):
    assert_sound_games(standard_setup(players), GAMES)


@pytest.mark.parametrize("setup", ODD_SETUPS)
def test_nothing_breaks_in_games_of_odd_setups(setup):
    assert_sound_games(setup, GAMES // 10)


def position_faults(state) -> str:
    first = standard_setup(int(state.num_seats)).blank_state()[0]
    mask, out = np.zeros(NUM_ACTIONS, np.int8), np.zeros(OBS_SIZE, np.float32)
    return FAULTS[_check_position(state, first, mask, out)]


def middle_of_an_auction():
    """Return a sound state of four seats in which seat 1 has passed."""
    played = random_game(standard_setup(4), 3)
    return next(s.copy() for s in played.states if s.phase == AUCTION and s.passes == 1 and s.high_bid and s.pots.any())


BROKEN = {  # what is set -> what the checks must say
    "F1": lambda s: setattr(s, "bank", s.bank + 1),
    "F2": lambda s: setattr(s, "bank", -1),
    "R2.4": lambda s: s.hands.__setitem__(0, s.deck),
    "R2.5": lambda s: s.played.__setitem__(DUMMY, 1),
    "F5": lambda s: setattr(s, "face_up", 4),
    "R4.4": lambda s: s.pots.__setitem__(2, 0) or s.pots.__setitem__(1, s.pots[1] + 6),
    "R4.3": lambda s: setattr(s, "high_bid", s.high_bid + 1),
    "R4.5": lambda s: s.in_auction.__setitem__(slice(0, 4), 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_checks_find_a_position_that_was_tampered_with(name):
    state = middle_of_an_auction()
    assert position_faults(state) == "none"
    BROKEN[name](state)
    assert name in position_faults(state)


def count_rare_cases(setup: Setup, seed: int) -> np.ndarray:
    """Count a game's void rounds, rounds without mice, sacks for one mouse, and last players without mice."""
    states = random_game(setup, seed).states
    alone = (states["phase"] == AUCTION) & (states["passes"] == setup.seats - 1)
    after = states[1:][alone[:-1]]
    void = after["last_winner"] == NO_SEAT
    placing = states[(states["phase"] == PLACE) & (states["round_number"] > 0)]
    poor = sum(state.mice[state.seat] == 0 for state in states[alone])
    return np.array([void.sum(), (~placing["pots"].any(axis=1)).sum(), (~void).sum(), poor])


def test_random_games_come_to_the_rare_cases_too():
    """Count the rare cases, without which the checks would prove little."""
    assert min(sum(count_rare_cases(setup, seed) for setup in ALL_SETUPS for seed in range(100))) > 10


# --- what an observation says -----------------------------------------------------------------------------------------


def list_cards(bits) -> list[int]:
    return [card for card in range(NUM_CARDS) if int(bits) >> card & 1]


def truth(state, seat: int, open_mice: bool) -> dict:
    """Return what `describe` must say, computed from the record."""
    players = int(state.num_seats)
    order = [(seat + k) % players for k in range(players)]
    position = (seat - int(state.start_seat)) % players
    own_slot = position + int(state.has_dummy)
    row = [int(card) for card in state.row[: state.row_size]]
    bidding = state.phase == AUCTION and state.passes < players - 1
    known = state.round_number > 0 or state.phase == OVER
    winner = None if state.last_winner == NO_SEAT else (int(state.last_winner) - seat) % players
    return {
        "num_players": players,
        "round": int(state.round_number),
        "phase": PHASES[state.phase],
        "position": position,
        "hand": list_cards(state.hands[seat]),
        "row": [card if slot < state.face_up or slot == own_slot else None for slot, card in enumerate(row)],
        "face_up": int(state.face_up),
        "pots": state.pots[: players - 1].tolist(),
        "pass_pays": int(state.pots[state.passes]) if bidding else 0,
        "bids": state.bids[order].tolist(),
        "in_auction": [bool(state.in_auction[other]) for other in order],
        "cat_points": state.cat_points[order].tolist(),
        "played": [list_cards(state.played[other]) for other in order],
        "dummy_played": list_cards(state.played[DUMMY]) if state.has_dummy else [],
        "mice": int(state.mice[seat]),
        "bank": int(state.bank),
        "high_bid": int(state.high_bid),
        "opponent_mice": state.mice[order[1:]].tolist() if open_mice else None,
        "last_round": (winner, int(state.last_price), int(state.last_value)) if known else None,
    }


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_an_observation_decodes_to_the_truth_field_by_field_for_every_seat(setup):
    out = np.empty(OBS_SIZE, np.float32)
    rng = np.random.default_rng(1)
    for seed in range(40):
        states = random_game(setup, seed).states
        chosen = {0, len(states) - 1, *rng.integers(len(states), size=4).tolist()}
        for state, seat, open_mice in ((states[k], s, o) for k in chosen for s in range(setup.seats) for o in (0, 1)):
            observe(state, seat, bool(open_mice), out)
            assert describe(out) == truth(state, seat, bool(open_mice))


def test_a_thermometer_is_a_row_of_ones_as_long_as_the_amount():
    out = np.empty(OBS_SIZE, np.float32)
    for state in random_game(ODD_SETUPS[-1], 5).states:
        for seat in range(5):
            observe(state, seat, False, out)
            for section, amount in (("face_up", state.face_up), ("mice_steps", state.mice[seat])):
                at, size = getattr(AT, section), SIZES[section]
                assert out[at : at + size].tolist() == [float(k < amount) for k in range(size)]


def feature_names() -> list[str]:
    return [f"{section.name}[{k}]" for section in SECTIONS for k in range(section.size)]


def test_every_feature_of_the_observation_varies():
    """Check that each entry takes several values over all numbers of players, with and without dummy and open mice."""
    low, high = np.full(OBS_SIZE, np.inf, np.float32), np.full(OBS_SIZE, -np.inf, np.float32)

    def take_in(seen):
        np.minimum(low, seen.min(axis=0), out=low)
        np.maximum(high, seen.max(axis=0), out=high)

    for setup in ALL_SETUPS:
        for open_mice in (False, True):
            batch = Batch(256, setup.seats, setup=setup, open_mice=open_mice, seed=3)
            for _ in range(150):
                batch.play_random(1)
                take_in(batch.observations)
            states = np.concatenate([random_game(setup, seed).states[-1:] for seed in range(5)])
            out = np.empty(OBS_SIZE, np.float32)
            for state in states:  # a batch restarts at once and never shows the end
                observe(state, 0, open_mice, out)
                take_in(out[None])
    assert [name for name, a, b in zip(feature_names(), low, high, strict=True) if a == b] == []


def test_observations_stay_in_a_modest_range():
    for players in STANDARD_PLAYERS:
        batch = Batch(256, players, open_mice=True, seed=4)
        for _ in range(100):
            batch.play_random(1)
            assert np.abs(batch.observations).max() <= 8
            assert np.isfinite(batch.observations).all()


# --- any setup --------------------------------------------------------------------------------------------------------


@st.composite
def setups(draw) -> Setup:
    """Draw any setup that can be played."""
    seats = draw(st.integers(2, 5))
    removed = draw(st.integers(0, 1))
    cards = draw(st.lists(st.integers(0, 9), min_size=1 + removed, max_size=10, unique=True))
    rounds = draw(st.integers(1, min(9, len(cards) - removed)))
    mice = draw(st.integers(0, MAX_BID))
    most = min(60, (MAX_BID - mice) // (rounds - 1)) if rounds > 1 else 60
    return Setup(
        seats=seats,
        mouse_cards=tuple(draw(st.lists(st.integers(0, most), min_size=seats - 1, max_size=seats - 1))),
        bank=draw(st.integers(0, MAX_TOTAL_MICE - seats * mice)),
        dummy=draw(st.booleans()) if seats < 5 else False,
        mice=mice,
        rounds=rounds,
        cards=tuple(cards),
        removed=removed,
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(setup=setups(), seed=st.integers(0, 2**32))
def test_every_possible_setup_plays_to_the_end(setup, seed):
    assert_sound_games(setup, 4, seed)


@settings(max_examples=50)
@given(setup=setups(), seed=st.integers(0, 2**32))
def test_every_possible_setup_is_described_truly(setup, seed):
    out = np.empty(OBS_SIZE, np.float32)
    states = random_game(setup, seed).states
    for state in (states[0], states[len(states) // 2], states[-1]):
        for seat in range(setup.seats):
            observe(state, seat, True, out)
            assert describe(out) == truth(state, seat, True)


@settings(max_examples=300)
@given(
    seats=st.integers(-1, 7),
    mouse_cards=st.lists(st.integers(-2, 20), max_size=6).map(tuple),
    bank=st.integers(-5, 1100),
    dummy=st.booleans(),
    mice=st.integers(-2, 70),
    rounds=st.integers(-1, 11),
    cards=st.lists(st.integers(-1, 11), max_size=11).map(tuple),
    removed=st.integers(-1, 2),
)
def test_any_setup_is_either_refused_or_playable(**fields):
    try:
        setup = Setup(**fields)
    except ValueError as error:
        refused = str(error)
    else:
        refused = ""
        assert_sound_games(setup, 1)
    assert refused == "" or refused.startswith("impossible setup: ")


def test_every_reward_scheme_of_a_game_is_zero_until_something_ends():
    rewards = np.empty(MAX_SEATS)
    for state in random_game(standard_setup(4), 11).states:
        for name in REWARDS:
            step_rewards(state, reward_code(name), rewards)
            between_rounds = state.phase == PLACE and state.row_size == 0
            if state.phase != OVER and not (name == "round" and between_rounds):
                assert not rewards.any()


def test_hidden_cards_never_stand_in_a_true_state():
    for setup in ALL_SETUPS:
        for state in random_game(setup, 2).states:
            assert (state.row != HIDDEN).all()
            assert (state.dummy_cards != HIDDEN).all()
            assert (state.removed[: setup.seats] != HIDDEN).all()
            assert (state.hands >= 0).all()
