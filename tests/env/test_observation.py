"""The observation vector, compared section by section with a second encoder, written from the meaning of each section.

The second encoder is slow and plain: it knows the state and the rules' words, but none of the encoder's constants.
"""

from typing import Any

import numpy as np
import pytest

from felicity_env.game import Setup, State
from felicity_env.observation import (
    OBS_HIGH,
    OBS_LOW,
    OBS_SIZE,
    OBSERVATION_VERSION,
    PRIVILEGED_SECTIONS,
    PRIVILEGED_SIZE,
    SECTIONS,
    can_see,
    describe,
    observe,
    observe_everything,
    own_slot,
)
from tests.support.helpers import ALL_SETUPS, random_game

SIZES = {
    **{"num_players": 4, "has_dummy": 1, "open_mice": 1, "phase": 3, "round": 9, "position": 5, "hand": 10},
    **{"row": 55, "face_up": 5, "pots": 4, "pass_pays": 1, "bids": 5, "in_auction": 5, "cat_points": 5, "played": 50},
    **{"dummy_played": 10, "mice": 1, "bank": 1, "high_bid": 1},
    **{"opponent_mice": 4, "last_known": 1, "last_winner": 5, "last_price": 1, "last_value": 1},
}
PRIVILEGED_SIZES = {"acting": 5, "other_hands": 40, "full_row": 50, "dummy_cards": 90}
PLACE, AUCTION, OVER = range(3)
NOBODY, NO_CARD = -1, -1
ONE_ROUND = Setup(seats=4, mouse_cards=(2, 4, 6), bank=27, rounds=1)  # over in round 0
SETUPS = (*ALL_SETUPS, ONE_ROUND)
setups = pytest.mark.parametrize("setup", SETUPS, ids=range(len(SETUPS)))


def draw_positions(setup, seed: int = 5) -> list[State]:
    """Return some positions of a random game: the first, the last, and some of each phase between them."""
    states = random_game(setup, seed).states
    chosen = {0, 1, len(states) - 2, len(states) - 1, *range(2, len(states), max(1, len(states) // 12))}
    return [states[k] for k in sorted(chosen)]


def one_hot(index: int, size: int) -> list[int]:
    return [int(k == index) for k in range(size)]


def steps(amount: int, size: int) -> list[int]:
    return [int(k < amount) for k in range(size)]


def flags(bits: Any) -> list[int]:
    return [int(bits) >> card & 1 for card in range(10)]


def by_seat(state: State, seat: int) -> list[int]:
    """Return the seats in the order of an observation: the observing one, its left neighbour, ..."""
    return [(seat + k) % int(state.num_seats) for k in range(state.num_seats)]


def fill(values: list[Any], size: int) -> list[Any]:
    return [*values, *[0] * (size - len(values))]


def place_of(state: State, seat: int) -> int:
    """Return how many seats after the start player a seat places and bids."""
    return (seat - int(state.start_seat)) % int(state.num_seats)


def encode_row(state: State, seat: int) -> list[int]:
    row = []
    for slot in range(5):
        is_placed = slot < state.row_size
        is_seen = is_placed and (slot < state.face_up or slot == place_of(state, seat) + state.has_dummy)
        row += [int(is_placed), *one_hot(state.row[slot] if is_seen else NO_CARD, 10)]
    return row


def encode(state: State, seat: int, *, open_mice: bool) -> dict[str, list[float]]:
    """Return the entries of each section by its meaning."""
    seats = by_seat(state, seat)
    is_paid = state.phase == AUCTION and state.passes < state.num_seats - 1
    was_sold = state.last_winner != NOBODY
    return {
        "num_players": one_hot(state.num_seats - 2, 4),
        "has_dummy": [state.has_dummy],
        "open_mice": [int(open_mice)],
        "phase": one_hot(state.phase, 3),
        "round": one_hot(state.round_number, 9),
        "position": one_hot(place_of(state, seat), 5),
        "hand": flags(state.hands[seat]),
        "row": encode_row(state, seat),
        "face_up": steps(state.face_up, 5),
        "pots": [mice / 16 for mice in state.pots],
        "pass_pays": [state.pots[state.passes] / 16 if is_paid else 0],
        "bids": fill([state.bids[other] / 16 for other in seats], 5),
        "in_auction": fill([state.in_auction[other] for other in seats], 5),
        "cat_points": fill([state.cat_points[other] / 64 for other in seats], 5),
        "played": fill([flag for other in seats for flag in flags(state.played[other])], 50),
        "dummy_played": flags(state.played[5]),
        "mice": [state.mice[seat] / 16],
        "bank": [state.bank / 16],
        "high_bid": [state.high_bid / 16],
        "opponent_mice": fill([state.mice[other] / 16 for other in seats[1:]] if open_mice else [], 4),
        "last_known": [int(state.round_number > 0 or state.phase == OVER)],
        "last_winner": one_hot(seats.index(state.last_winner) if was_sold else NOBODY, 5),
        "last_price": [state.last_price / 16],
        "last_value": [state.last_value / 64],
    }


def encode_privileged(state: State, seat: int) -> dict[str, list[float]]:
    seats = by_seat(state, seat)
    cards = [state.row[slot] if slot < state.row_size else NO_CARD for slot in range(5)]
    return {
        "acting": one_hot(NOBODY if state.phase == OVER else seats.index(state.seat), 5),
        "other_hands": fill([flag for other in seats[1:] for flag in flags(state.hands[other])], 40),
        "full_row": [flag for card in cards for flag in one_hot(card, 10)],
        "dummy_cards": [flag for card in state.dummy_cards for flag in one_hot(card, 10)],
    }


def split(out: np.ndarray, sizes: dict[str, int]) -> dict[str, list[float]]:
    parts = np.split(out, np.cumsum([*sizes.values()])[:-1])
    return {name: part.tolist() for name, part in zip(sizes, parts, strict=True)}


def test_the_layout_is_that_of_the_documentation():
    assert {section.name: section.size for section in SECTIONS} == SIZES
    assert {section.name: section.size for section in PRIVILEGED_SECTIONS} == PRIVILEGED_SIZES
    assert (OBSERVATION_VERSION, OBS_SIZE, PRIVILEGED_SIZE) == (2, 188, 188 + 185)
    assert (OBS_LOW, OBS_HIGH) == (-8, 64)


@setups
@pytest.mark.parametrize("open_mice", [False, True])
def test_every_section_has_its_meaning(setup, open_mice):
    """R8.1-R8.3"""
    for state in draw_positions(setup):
        for seat in range(setup.seats):
            out = np.full(OBS_SIZE, np.nan, np.float32)
            observe(state, seat, open_mice, out)
            assert split(out, SIZES) == encode(state, seat, open_mice=open_mice)


@setups
def test_a_critic_sees_all_cards_and_all_mice(setup):
    for state in draw_positions(setup):
        for seat in range(setup.seats):
            out = np.full(PRIVILEGED_SIZE, np.nan, np.float32)
            observe_everything(state, seat, out)
            expected = encode(state, seat, open_mice=True) | encode_privileged(state, seat)
            assert split(out, SIZES | PRIVILEGED_SIZES) == expected


@setups
def test_a_seat_sees_its_own_slot_and_those_face_up(setup):
    """R8.1"""
    for state in draw_positions(setup):
        for seat in range(setup.seats):
            own = place_of(state, seat) + state.has_dummy
            assert own_slot(state, seat) == own
            slots = range(setup.seats + setup.dummy)
            assert [bool(can_see(state, slot, seat)) for slot in slots] == [
                slot < state.face_up or slot == own for slot in slots
            ]


def list_cards(bits: Any) -> list[int]:
    return [card for card in range(10) if int(bits) >> card & 1]


def read_row(state: State, seat: int) -> list[int | None]:
    own = place_of(state, seat) + state.has_dummy
    return [int(state.row[k]) if k < state.face_up or k == own else None for k in range(state.row_size)]


@setups
def test_a_description_tells_the_own_card_by_the_position(setup):
    for state in draw_positions(setup):
        for seat in range(setup.seats if state.phase == AUCTION else 0):
            out = np.empty(OBS_SIZE, np.float32)
            observe(state, seat, False, out)
            seen = describe(out)
            own = seen["row"][seen["position"] - seen["num_players"]]
            assert own == state.row[place_of(state, seat) + state.has_dummy]


@setups
@pytest.mark.parametrize("open_mice", [False, True])
def test_a_description_says_what_the_state_says(setup, open_mice):
    for state in draw_positions(setup):
        for seat in range(setup.seats):
            out = np.empty(OBS_SIZE, np.float32)
            observe(state, seat, open_mice, out)
            seats = by_seat(state, seat)
            winner = None if state.last_winner == NOBODY else seats.index(state.last_winner)
            last = (winner, int(state.last_price), int(state.last_value))
            is_paid = state.phase == AUCTION and state.passes < state.num_seats - 1
            assert describe(out) == {
                "num_players": state.num_seats,
                "round": state.round_number,
                "phase": ("place", "auction", "over")[state.phase],
                "position": place_of(state, seat),
                "hand": list_cards(state.hands[seat]),
                "row": read_row(state, seat),
                "face_up": state.face_up,
                "pots": state.pots[: setup.seats - 1].tolist(),
                "pass_pays": state.pots[state.passes] if is_paid else 0,
                "bids": [state.bids[other] for other in seats],
                "in_auction": [bool(state.in_auction[other]) for other in seats],
                "cat_points": [state.cat_points[other] for other in seats],
                "played": [list_cards(state.played[other]) for other in seats],
                "dummy_played": list_cards(state.played[5]),
                "mice": state.mice[seat],
                "bank": state.bank,
                "high_bid": state.high_bid,
                "opponent_mice": [state.mice[other] for other in seats[1:]] if open_mice else None,
                "last_round": last if state.round_number > 0 or state.phase == OVER else None,
            }


@pytest.mark.parametrize("shape", [(OBS_SIZE + 1,), (OBS_SIZE - 1,), (1, OBS_SIZE), ()])
def test_a_vector_of_another_shape_is_not_described(shape):
    with pytest.raises(ValueError, match="an observation has shape"):
        describe(np.zeros(shape, np.float32))
