"""Redacted states, the worlds drawn from them and what a seat remembers, in a few positions with plain expectations.

`test_information.py` tests the same in many more positions, by rebuilding games.
"""

import numpy as np
import pytest

from felicity_env.game import HIDDEN, NO_CARD, PLACE, STATE, Setup, State
from felicity_env.game_record import Deal, Game
from felicity_env.information import encode_information_state, information_state, redact, resample
from felicity_env.setups import standard_setup
from tests.support.helpers import ALL_SETUPS, C5, LARGE, M8, random_game

PASS = 10
DUMMY = 5
each_setup = pytest.mark.parametrize("setup", ALL_SETUPS, ids=range(len(ALL_SETUPS)))


def draw_positions(setup: Setup, seed: int = 8) -> np.ndarray:
    """Return a dozen positions of a random game, the first and the last among them, STATE [B]."""
    states = random_game(setup, seed).states
    return states[sorted({0, len(states) - 1, *range(1, len(states), max(1, len(states) // 12))})]


def is_known(state: State, slot: int, seat: int) -> bool:
    """Return whether a seat knows the card in a slot: it is face up, or its own."""
    place = slot - int(state.has_dummy)
    return slot < state.face_up or (place >= 0 and (state.start_seat + place) % state.num_seats == seat)


def hide(state: State, seat: int) -> np.ndarray:
    """Return what a seat may know of a state, STATE [1], by R8.1 and R8.3."""
    states = np.array([state], STATE)
    known = states[0]
    for other in set(range(state.num_seats)) - {seat}:
        known.hands[other] = HIDDEN
        known.removed[other] = NO_CARD if state.removed[other] == NO_CARD else HIDDEN
    for slot in range(state.row_size):
        known.row[slot] = state.row[slot] if is_known(state, slot, seat) else HIDDEN
    turned = state.round_number + (state.phase != PLACE)
    for turn in range(9):
        if turn >= turned and state.dummy_cards[turn] != NO_CARD:
            known.dummy_cards[turn] = HIDDEN
    return states


@each_setup
def test_a_redacted_state_holds_what_the_seat_may_know_and_nothing_else(setup):
    """R8.1"""
    states = draw_positions(setup)
    for seat in range(setup.seats):
        expected = np.concatenate([hide(state, seat) for state in states])
        assert redact(states, seat).tobytes() == expected.tobytes()


@each_setup
def test_states_may_be_redacted_for_a_seat_each(setup):
    states = draw_positions(setup)
    seats = np.arange(len(states)) % setup.seats
    expected = [redact(states[k : k + 1], int(seat)).tobytes() for k, seat in enumerate(seats)]
    assert [state.tobytes() for state in redact(states, seats)] == expected


@each_setup
def test_a_world_fits_what_the_seat_knows_and_has_every_card_once(setup):
    """R2.4, R2.5"""
    known = redact(draw_positions(setup), 1)
    for seed in range(3):
        worlds = resample(known, np.random.default_rng(seed))
        assert redact(worlds, 1).tobytes() == known.tobytes()
        for world in worlds:
            assert list_sets(world) == [sorted(setup.cards)] * (setup.seats + setup.dummy)


def list_sets(world: State) -> list[list[int]]:
    """Return the cards of each seat and of the dummy: those in hand, in the row, placed before and removed."""
    sets = []
    for seat in range(world.num_seats):
        cards = read_bits(world.hands[seat]) + read_bits(world.played[seat])
        cards += [int(world.removed[seat])] if world.removed[seat] != NO_CARD else []
        place = int((seat - world.start_seat) % world.num_seats + world.has_dummy)
        sets.append(sorted(cards + ([int(world.row[place])] if place < world.row_size else [])))
    if world.has_dummy:
        pile = [int(card) for card in world.dummy_cards if card != NO_CARD]
        assert read_bits(world.played[DUMMY]) == sorted(pile[: world.round_number])
        assert world.row[0] == pile[world.round_number]
        sets.append(sorted({*pile, *read_bits(world.deck)}))
        assert len(set(pile)) == len(pile)
    return sets


def read_bits(bits) -> list[int]:
    return [card for card in range(10) if int(bits) >> card & 1]


def test_worlds_differ_in_every_card_that_the_seat_cannot_know():
    setup = ALL_SETUPS[0]
    known = redact(random_game(setup, 1).states[:3], 0)
    worlds = np.concatenate([resample(known, np.random.default_rng(seed)) for seed in range(60)])
    for seat in (1, 2):
        assert len(set(worlds["removed"][:, seat])) == 10
        assert len(set(worlds["hands"][:, seat])) >= 10
    assert all(len(set(worlds["dummy_cards"][:, turn])) == 10 for turn in range(9))


def test_hundreds_of_worlds_differ():
    known = redact(np.repeat(random_game(ALL_SETUPS[0], 1).states[:1], 1000), 0)
    worlds = resample(known, np.random.default_rng(5))
    assert len({world.tobytes() for world in worlds}) > 900


# --- perfect recall ---------------------------------------------------------------------------------------------------

SHORT = Game(
    Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=4, rounds=2, cards=(M8, C5, LARGE)),
    Deal((C5, M8), (LARGE, M8), 1),
    (C5, M8, PASS + 2, PASS, LARGE, LARGE, PASS, PASS),
)


def test_a_seat_remembers_its_hand_and_every_public_event():
    """R8.1, R8.2"""
    assert information_state(SHORT, 0) == [
        *[("seat", 0, 2), ("hand", (M8, LARGE)), ("start", 1), ("pots", 2)],
        *[("place", 1, None), ("place", 0, M8), ("turn", 0, LARGE), ("bid", 1, 2), ("pass", 0, 2)],
        *[("turn", 1, C5), ("turn", 2, M8), ("sold", 1, 2, -8), ("pots", 2)],
        *[("place", 1, None), ("place", 0, LARGE), ("turn", 0, M8), ("pass", 1, 2), ("turn", 1, LARGE)],
        *[("turn", 2, LARGE), ("pass", 0, 0), ("scrapped",)],
    ]
    assert information_state(SHORT, 1)[:6] == [
        *[("seat", 1, 2), ("hand", (C5, LARGE)), ("start", 1), ("pots", 2)],
        *[("place", 1, C5), ("place", 0, None)],
    ]


def test_a_seat_remembers_a_bid_of_two_digits_and_a_sack_that_seat_0_bought():
    setup = standard_setup(4)
    game = Game(setup, Deal((M8, M8, M8, M8), (), 0), (C5, C5, C5, C5, PASS + 12, PASS, PASS, PASS))
    events = information_state(game, 3)
    assert ("bid", 0, 12) in events
    assert ("sold", 0, 12, 4 * 5) in events


def test_events_are_encoded_as_their_number_and_their_values():
    seat, hand, start, place, passed, bid, turn, sold, scrapped, pots = range(1, 11)
    rows = encode_information_state(information_state(SHORT, 0))
    assert (rows.shape, rows.dtype) == ((3 + 9 * 85, 4), np.int16)
    assert rows[:21].tolist() == [
        *[[seat, 0, 2, 0], [hand, 1 << M8 | 1 << LARGE, 0, 0], [start, 1, 0, 0], [pots, 2, 0, 0]],
        *[[place, 1, -1, 0], [place, 0, M8, 0], [turn, 0, LARGE, 0], [bid, 1, 2, 0], [passed, 0, 2, 0]],
        *[[turn, 1, C5, 0], [turn, 2, M8, 0], [sold, 1, 2, -8], [pots, 2, 0, 0]],
        *[[place, 1, -1, 0], [place, 0, LARGE, 0], [turn, 0, M8, 0], [passed, 1, 2, 0], [turn, 1, LARGE, 0]],
        *[[turn, 2, LARGE, 0], [passed, 0, 0, 0], [scrapped, 0, 0, 0]],
    ]
    assert not rows[21:].any()
