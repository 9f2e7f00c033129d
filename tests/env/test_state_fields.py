"""Checks of states, field by field: which other values a field of a real position may have, and which are refused."""

from functools import cache

import numpy as np
import pytest

from felicity_env import SETUPS, Batch, Setup, redact
from felicity_env.game import (
    AUCTION,
    CARD_VALUES,
    HIDDEN,
    MAX_BID,
    MAX_ROUNDS,
    MAX_SEATS,
    MAX_SLOTS,
    MAX_TOTAL_MICE,
    NO_CARD,
    NO_SEAT,
    NUM_CARDS,
    OVER,
    PLACE,
    STATE,
)
from felicity_env.setups import setup_name
from felicity_env.state_check import FAULTS, check_games, check_states, find_fault
from tests.support.helpers import ALL_SETUPS

CARDS = tuple(range(-3, NUM_CARDS + 2))
VALUES = (*CARDS, 31, 62, 63, 64, 65, 127, 1023, 1024, 30000, -30000)
MOST_POINTS = MAX_ROUNDS * MAX_SLOTS * max(CARD_VALUES)  # the best card in every slot of every round
AUCTION_FAULT = FAULTS.index("bids, passes, face-up cards and mouse cards do not fit together")
SALE_FAULT = FAULTS.index("the last sale is impossible")


@cache
def list_positions(setup: Setup) -> np.ndarray:
    """Return up to ten positions of a random game, from the deal to the end."""
    batch = Batch(1, setup=setup, seed=5, autoreset=False)
    positions = [batch.states.copy()]
    while (batch.seats != NO_SEAT).any():
        batch.play_random(1)
        positions.append(batch.states.copy())
    chosen = np.unique(np.linspace(0, len(positions) - 1, 10).astype(int))
    return np.concatenate(positions)[chosen]


@pytest.fixture(params=ALL_SETUPS, ids=lambda setup: setup_name(setup))
def positions(request: pytest.FixtureRequest) -> np.ndarray:
    return list_positions(request.param)


def change(position: np.void, field: str, index: int, value: int) -> np.ndarray:
    """Return a position, as an array [1], with another value in one field; index: place in a field with several."""
    changed = np.array([position])
    changed[field].reshape(1, -1)[0, index] = value
    return changed


def list_possible(position: np.void, field: str, index: int = 0, values: tuple[int, ...] = VALUES) -> set[int]:
    """Return those of some values, other than its own, that a field of a position may have."""
    own = int(np.atleast_1d(position[field])[index])
    others = [value for value in (*values, own - 1, own + 1) if value != own]
    return {value for value in others if not find_fault(change(position, field, index, value)[0])}


def check_bounds(position: np.void, field: str, index: int = 0, *, low: int, high: int) -> None:
    """Check that a field of a position may have the values from `low` to `high`, and none beyond them."""
    for value, is_possible in ((low - 1, False), (low, True), (high, True), (high + 1, False)):
        assert (find_fault(change(position, field, index, value)[0]) == 0) == is_possible


@pytest.mark.parametrize(
    "field",
    [
        *("num_seats", "has_dummy", "deck", "round_number", "phase", "row_size", "face_up"),
        *("in_auction", "high_bid", "passes", "played"),
    ],
)
def test_no_other_value_of_a_field_that_follows_from_the_others_is_possible(field, positions):
    count = STATE[field].shape[0] if STATE[field].shape else 1
    for position in positions:
        for index in range(count):
            assert not list_possible(position, field, index), (field, index, position)


def test_who_begins_a_round_is_the_last_winner_and_owns_the_first_card_in_the_row(positions):
    for position in positions:
        others = set(range(position["num_seats"])) - {position["start_seat"]}
        is_open = position["phase"] == OVER or (position["phase"] == AUCTION and position["last_winner"] == NO_SEAT)
        found = list_possible(position, "start_seat")
        assert found <= (others if is_open else set())
        for start in found:  # the owners of the cards in the row change, but not the cards of any seat
            cards = position["row"][position["has_dummy"] : position["row_size"]]
            assert (np.roll(cards, start - position["start_seat"]) == cards).all()


def test_a_number_of_mice_is_possible_from_none_to_the_most_of_a_game(positions):
    for position in positions[positions["phase"] == PLACE]:
        free = MAX_TOTAL_MICE - int(position["bank"] + position["mice"].sum() + position["pots"].sum())
        check_bounds(position, "bank", low=0, high=free + int(position["bank"]))
        for seat in range(position["num_seats"]):
            check_bounds(position, "mice", seat, low=0, high=free + int(position["mice"][seat]))
        for seat in range(position["num_seats"], MAX_SEATS):
            assert not list_possible(position, "mice", seat)


def test_a_seat_in_an_auction_has_the_mice_that_it_bids(positions):
    bidding = [position for position in positions[positions["phase"] == AUCTION] if position["high_bid"] > 0]
    for position in bidding:
        seat = int(np.argmax(position["bids"]))
        bid = int(position["bids"][seat])
        assert not find_fault(change(position, "mice", seat, bid)[0])
        assert find_fault(change(position, "mice", seat, bid - 1)[0])


@pytest.mark.parametrize("field", ["cat_points", "gain"])
def test_points_are_possible_up_to_those_of_every_card_of_a_game(field, positions):
    for position in positions:
        for seat in range(position["num_seats"]):
            check_bounds(position, field, seat, low=-MOST_POINTS, high=MOST_POINTS)


def test_the_last_sale_has_a_price_that_can_be_bid_and_a_value_that_cards_can_have(positions):
    for position in positions:
        if position["last_winner"] == NO_SEAT:
            assert not list_possible(position, "last_price")
            assert not list_possible(position, "last_value")
        else:
            check_bounds(position, "last_price", low=1, high=MAX_BID)
            check_bounds(position, "last_value", low=-MOST_POINTS, high=MOST_POINTS)


def test_who_won_the_last_sale_begins_the_next_round_and_at_the_end_it_is_any_seat(positions):
    for position in positions:
        possible = list_possible(position, "last_winner")
        if position["phase"] != OVER:
            assert not possible
        elif position["last_winner"] != NO_SEAT:
            assert possible == set(range(position["num_seats"])) - {position["last_winner"]}


def test_before_the_first_sale_there_is_no_price_or_value(positions):
    for position in positions[(positions["phase"] != OVER) & (positions["round_number"] == 0)]:
        sold = change(position, "last_winner", 0, position["start_seat"])[0]
        assert find_fault(change(sold, "last_price", 0, 3)[0]) == SALE_FAULT
        for field in ("last_price", "last_value"):
            assert find_fault(change(position, field, 0, 5)[0]) == SALE_FAULT


def test_rounds_are_at_least_the_present_one_and_no_more_than_cards(positions):
    for position in positions:
        cards = int(position["deck"]).bit_count() - (position["removed"][0] != NO_CARD)
        most = min(cards, MAX_ROUNDS)
        possible = set(range(position["round_number"] + 1, most + 1)) if position["phase"] != OVER else set()
        found = list_possible(position, "num_rounds")
        assert found <= possible
        if not position["has_dummy"]:  # more rounds need more cards of the dummy
            assert found == possible - {int(position["num_rounds"])}


def test_a_mouse_card_that_is_taken_may_have_had_any_number_of_mice_that_can_be_bid(positions):
    for position in positions:
        for k, own in enumerate(position["mouse_cards"].tolist()):
            found = list_possible(position, "mouse_cards", k)
            if k >= position["num_seats"] - 1:
                assert not found, "there is one for each seat but the last"
            elif k < position["passes"]:
                assert found == {mice for mice in (*VALUES, own - 1, own + 1) if 0 <= mice <= MAX_BID} - {own}
            else:
                assert found <= set(range(MAX_BID + 1))


def test_cards_of_a_seat_are_possible_as_they_are_or_masked(positions):
    for position in positions:
        for seat in range(position["num_seats"]):
            assert list_possible(position, "hands", seat, CARDS) <= {HIDDEN}
            removed = list_possible(position, "removed", seat, CARDS)
            assert removed == (set() if position["removed"][seat] == NO_CARD else {HIDDEN})
        for slot in range(position["row_size"]):
            is_dummy = slot == 0 and position["has_dummy"]
            assert list_possible(position, "row", slot, CARDS) == (set() if is_dummy else {HIDDEN})
        for slot in range(position["row_size"], MAX_SLOTS):
            assert not list_possible(position, "row", slot, CARDS)


@pytest.mark.parametrize("field", ["hands", "removed"])
def test_the_cards_of_a_masked_seat_still_fit_its_set(field, positions):
    for position in positions[positions["phase"] != OVER]:
        masked = redact(np.array([position]), int(position["seat"]))[0]
        for seat in range(position["num_seats"]):
            assert not find_fault(change(masked, field, seat, position[field][seat])[0])
            for value in (-3, *range(NUM_CARDS + 1), 1 << NUM_CARDS):
                if not find_fault(change(masked, field, seat, value)[0]):
                    cards = value if field == "hands" else 1 << value
                    assert cards & ~int(position["deck"]) == 0
                    assert cards & int(position["played"][seat]) == 0


def test_cards_of_the_dummy_are_known_once_they_are_played(positions):
    for position in positions:
        for turn in range(MAX_ROUNDS):
            found = list_possible(position, "dummy_cards", turn, CARDS)
            size = int(position["deck"]).bit_count() - (position["removed"][0] != NO_CARD)
            if not position["has_dummy"] or turn >= size or turn <= position["round_number"]:
                assert not found  # that of the present round lies in the row
            else:
                seen = sum(1 << int(card) for card in position["dummy_cards"] if card >= 0)
                unseen = {card for card in range(NUM_CARDS) if int(position["deck"]) & ~seen & 1 << card}
                assert found == unseen | {HIDDEN}


def test_the_highest_bid_is_that_of_one_seat_which_does_not_act(positions):
    for position in positions[positions["phase"] == AUCTION]:
        if position["high_bid"] > 0:
            raised = change(position, "bids", int(position["seat"]), position["high_bid"])[0]
            assert find_fault(raised) == AUCTION_FAULT


def test_a_full_position_is_one_of_its_game_alone():
    blanks = {setup: setup.blank_state() for setup in ALL_SETUPS}
    numbers = np.zeros(1, np.int64)
    for own in ALL_SETUPS:
        states = Batch(1, setup=own, seed=3).states.copy()
        check_games(states, blanks[own], numbers)
        for other in ALL_SETUPS:
            if other != own:
                with pytest.raises(ValueError, match=r"it has another setup|is no position"):
                    check_games(states, blanks[other], numbers)


@pytest.mark.parametrize("fields", [("hands",), ("removed",), ("row", "dummy_cards")])
def test_a_position_without_some_of_its_cards_is_none_of_a_full_game(fields):
    states = Batch(1, num_players=3, seed=3).states.copy()
    for field in fields:
        states[field] = redact(states, 0)[field]
    check_states(states)
    with pytest.raises(ValueError, match="it lacks cards"):
        check_games(states, SETUPS["standard-3"].blank_state(), np.zeros(1, np.int64))
