"""Every rule of RULES.md, one by one: the docstring of a test names the rule or fact that it holds."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from felicity_env import game
from felicity_env.game import (
    AUCTION,
    CARD_VALUES,
    DUMMY,
    HIDDEN,
    MAX_BID,
    NO_CARD,
    NO_SEAT,
    NUM_ACTIONS,
    OVER,
    PASS,
    PLACE,
    STATE,
    Setup,
    count_cards,
    deal,
    dummy_size,
    find_chased_cat,
    is_dry,
    is_legal,
    is_terminal,
    last_pot,
    legal_actions,
    nth_card,
    nth_legal_action,
    num_legal_actions,
    num_slots,
    pass_pays,
    rank,
    sack_value,
    score,
    slot_owner,
)
from felicity_env.game_record import Deal, draw_deal, initial_states
from felicity_env.information import redact
from felicity_env.observation import MICE_SCALE, OBS_HIGH, OBS_SIZE, describe, observe
from felicity_env.setups import standard_setup
from tests.support.helpers import (
    C3,
    C5,
    C8,
    C11,
    C15,
    LARGE,
    M5,
    M8,
    RABBIT,
    SMALL,
    auction,
    bid,
    lowest_card,
    new_game,
    play,
    play_round,
)

VALUES = (-8, -5, 3, 5, 8, 11, 15, 0, 0, 0)
MOUSE_CARDS = {3: (3, 6), 4: (2, 4, 6), 5: (2, 3, 4, 6)}
TOTALS = {3: 66, 4: 87, 5: 108}
PLAYERS = (3, 4, 5)
every_size = pytest.mark.parametrize("players", PLAYERS)


def list_cards(bits) -> list[int]:
    return [card for card in range(16) if int(bits) >> card & 1]


def legal(state) -> list[int]:
    """Return the legal actions of the acting seat, on which all functions that know them must agree."""
    actions = [action for action in range(-1, NUM_ACTIONS + 1) if is_legal(state, action)]
    assert np.flatnonzero(mask(state, state.seat)).tolist() == actions
    assert [nth_legal_action(state, n) for n in range(num_legal_actions(state))] == actions
    return actions


def mask(state, seat: int) -> np.ndarray:
    out = np.empty(NUM_ACTIONS, np.int8)
    legal_actions(state, seat, out)
    return out


def describe_for(state, seat: int, *, open_mice: bool = False) -> dict:
    out = np.empty(OBS_SIZE, np.float32)
    observe(state, seat, open_mice, out)
    return describe(out)


def mice_in_the_game(state) -> int:
    return int(state.mice.sum() + state.bank + state.pots.sum())


def seat_after(state, seat: int, places: int = 1) -> int:
    return (seat + places) % int(state.num_seats)


def all_pass(state):
    """Let all seats pass, the last one included."""
    return play(state, *[PASS] * state.num_seats)


def sell(state, price: int):
    """Let the acting seat bid `price` and all others pass."""
    return play(state, bid(price), *[PASS] * (state.num_seats - 1))


def last_round(players: int = 4, **dealt):
    """Return a standard game whose first round is the last one."""
    state = new_game(players, **dealt)
    state.num_rounds = 1
    return state


# --- R1: what is in the box -------------------------------------------------------------------------------------------


def test_a_set_holds_seven_cats_a_rabbit_and_two_dogs():
    """R1.1"""
    assert CARD_VALUES == VALUES
    assert (game.RABBIT, game.LARGE_DOG, game.SMALL_DOG) == (7, 8, 9)
    assert all(standard_setup(players).cards == tuple(range(10)) for players in PLAYERS)


def test_a_set_of_cards_is_an_integer_with_a_bit_for_each_card():
    """R1.1"""
    assert [count_cards(cards) for cards in (0, 1, 0b1001001, 0b1111111111)] == [0, 1, 3, 10]
    assert [nth_card(0b1001001, n) for n in range(3)] == [M8, C5, C15]


def test_the_numbers_that_stand_in_a_state_for_no_card_and_no_seat_never_change():
    """R8.1: stored states hold them, and have these sizes."""
    assert (NO_CARD, HIDDEN, NO_SEAT, DUMMY) == (-1, -2, -1, 5)
    assert (PLACE, AUCTION, OVER) == (0, 1, 2)
    sizes = {name: STATE[name].shape[0] for name in ("hands", "played", "row", "pots", "dummy_cards")}
    assert sizes == {"hands": 5, "played": 6, "row": 5, "pots": 4, "dummy_cards": 9}


def test_the_mouse_cards_in_use_hold_two_three_four_and_six_mice():
    """R1.2"""
    assert {value for players in PLAYERS for value in standard_setup(players).mouse_cards} == {2, 3, 4, 6}


def test_five_players_need_all_the_mice_in_the_box():
    """R1.3"""
    assert standard_setup(5).total_mice == 68 * 1 + 8 * 5


# --- R2: setup --------------------------------------------------------------------------------------------------------


@every_size
def test_mouse_cards_rise_from_left_to_right(players):
    """R2.1"""
    state = new_game(players)
    assert tuple(state.mouse_cards[: players - 1]) == MOUSE_CARDS[players]
    assert tuple(state.pots[: players - 1]) == MOUSE_CARDS[players]
    assert not state.pots[players - 1 :].any()


@every_size
def test_everybody_begins_with_fifteen_mice(players):
    """R2.2"""
    assert new_game(players).mice.tolist() == [15] * players + [0] * (5 - players)


@pytest.mark.parametrize(("players", "bank"), [(3, 21), (4, 27), (5, 33)])
def test_the_bank_before_the_first_fill(players, bank):
    """R2.3"""
    assert standard_setup(players).blank_state()[0].bank == bank


@every_size
def test_each_seat_holds_its_set_less_the_card_removed(players):
    """R2.4"""
    removed = [M8, C15, LARGE, RABBIT, C5][:players]
    state = new_game(players, removed=removed)
    for seat in range(players):
        assert list_cards(state.hands[seat]) == [card for card in range(10) if card != removed[seat]]


def test_only_the_owner_can_tell_which_card_is_missing():
    """R2.4"""
    states = initial_states(standard_setup(4), Deal((M8, C15, LARGE, RABBIT), (), 0))
    for seat in range(4):
        known = redact(states, seat)[0].removed[:4]
        assert [card != HIDDEN for card in known] == [other == seat for other in range(4)]
        assert known[seat] == states[0].removed[seat]


def test_any_card_may_be_removed_from_any_seat_with_the_same_chance():
    """R2.4"""
    removed = np.array([draw_deal(standard_setup(4), seed).removed for seed in range(4000)])
    counts = np.array([np.bincount(column, minlength=10) for column in removed.T])
    assert ((counts - 400) ** 2 / 400).sum(axis=1).max() < 33.7  # chi-square, 9 degrees, p = 0.0001
    pairs = np.bincount(removed[:, 0] * 10 + removed[:, 1], minlength=100)
    assert ((pairs - 40) ** 2 / 40).sum() < 160  # 99 degrees: the seats' removed cards are independent


def test_three_players_get_a_dummy_of_nine_different_cards():
    """R2.5"""
    dummies = [draw_deal(standard_setup(3), seed).dummy for seed in range(200)]
    assert all(len(set(dummy)) == len(dummy) == 9 for dummy in dummies)
    assert [standard_setup(players).dummy for players in PLAYERS] == [True, False, False]
    assert draw_deal(standard_setup(4), 0).dummy == draw_deal(standard_setup(5), 0).dummy == ()


@pytest.mark.parametrize("cards", [(M8, C5, LARGE), (M8, C3, C5, LARGE)])
@pytest.mark.parametrize("removed", [0, 1])
def test_the_dummys_pile_is_its_set_less_the_card_removed(cards, removed):
    """R2.5"""
    setup = Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, rounds=2, cards=cards, removed=removed)
    for seed in range(9):
        state = setup.blank_state()[0]
        assert dummy_size(state) == len(cards) - removed
        deal(state, np.uint64(seed))
        assert dummy_size(state) == len(cards) - removed
        assert set(state.removed[:2].tolist()) <= ({*cards} if removed else {NO_CARD})
        pile = [card for card in state.dummy_cards if card != NO_CARD]
        assert len(set(pile)) == len(pile) == len(cards) - removed
        assert set(pile) <= {*cards}


def test_the_dummy_is_shuffled_and_may_lack_any_card():
    """R2.5"""
    dummies = np.array([draw_deal(standard_setup(3), seed).dummy for seed in range(4000)])
    turned = np.array([np.bincount(column, minlength=10) for column in dummies.T])
    assert ((turned - 400) ** 2 / 400).sum(axis=1).max() < 33.7
    missing = 45 - dummies.sum(axis=1)
    assert ((np.bincount(missing, minlength=10) - 400) ** 2 / 400).sum() < 33.7


@every_size
def test_any_seat_may_start_with_the_same_chance(players):
    """R2.6"""
    starts = np.bincount(
        [draw_deal(standard_setup(players), seed).start_seat for seed in range(3000)], minlength=players
    )
    assert len(starts) == players
    assert ((starts - 3000 / players) ** 2 / (3000 / players)).sum() < 23.5


@every_size
def test_the_caller_may_set_the_start_player(players):
    """R2.6"""
    for seat in range(players):
        assert draw_deal(standard_setup(players), 1, {"start_seat": seat}).start_seat == seat
        assert new_game(players, start_seat=seat).seat == seat


@pytest.mark.parametrize(("players", "bank"), [(3, 12), (4, 15), (5, 18)])
def test_the_mouse_cards_are_filled_from_the_bank_before_the_first_round(players, bank):
    """R2.7"""
    state = standard_setup(players).blank_state()[0]
    deal(state, np.uint64(7))
    assert (state.bank, state.pots.sum()) == (bank, sum(MOUSE_CARDS[players]))


# --- R3: placing ------------------------------------------------------------------------------------------------------


@every_size
def test_a_game_has_nine_rounds(players):
    """R3.1"""
    state = new_game(players)
    for number in range(9):
        assert (state.round_number, state.phase) == (number, PLACE)
        sell(play_round(state), 1)
    assert is_terminal(state)


@every_size
def test_everybody_places_one_card_clockwise_from_the_start_player(players):
    """R3.1"""
    state = new_game(players, start_seat=players - 1)
    for k in range(players):
        assert (state.phase, state.seat) == (PLACE, (players - 1 + k) % players)
        play(state, C3 + k)
    assert state.phase == AUCTION
    assert state.row[state.has_dummy : num_slots(state)].tolist() == [C3 + k for k in range(players)]


def test_a_placed_card_leaves_the_hand_and_only_cards_in_hand_may_be_placed():
    """R3.1"""
    state = new_game(4, removed=[M5, C3, C3, C3])
    assert legal(state) == [M8, C3, C5, C8, C11, C15, RABBIT, LARGE, SMALL]
    play(state, C8)
    assert list_cards(state.hands[0]) == [M8, C3, C5, C11, C15, RABBIT, LARGE, SMALL]
    assert legal(state) == [M8, M5, C5, C8, C11, C15, RABBIT, LARGE, SMALL]


def test_cards_are_placed_face_down():
    """R3.1"""
    state = play(new_game(4), C3, C5)
    assert state.face_up == 0
    assert describe_for(state, 3)["row"] == [None, None]


@pytest.mark.parametrize("start_seat", range(4))
def test_the_start_players_card_is_leftmost(start_seat):
    """R3.2"""
    state = auction(4, [C3, C5, C8, C11], start_seat=start_seat)
    assert state.row[:4].tolist() == [C3, C5, C8, C11]
    assert [slot_owner(state, slot) for slot in range(4)] == [(start_seat + k) % 4 for k in range(4)]


@pytest.mark.parametrize("start_seat", range(3))
def test_with_three_players_the_dummy_is_leftmost_and_the_start_player_second(start_seat):
    """R3.2"""
    state = auction(3, [C3, C5, C8], start_seat=start_seat)
    assert state.row[:4].tolist() == [M8, C3, C5, C8]
    assert [slot_owner(state, slot) for slot in range(4)] == [DUMMY, *[(start_seat + k) % 3 for k in range(3)]]


def test_the_dummy_places_its_next_card_in_every_round():
    """R3.2"""
    dummy = (C15, LARGE, M8, C3, SMALL, C11, C5, RABBIT, M5)
    state = new_game(3, dummy=dummy)
    for card in dummy:
        assert (state.row[0], state.row_size) == (card, 1)
        sell(play_round(state), 1)


@every_size
def test_the_kth_pass_takes_the_kth_mouse_card_and_turns_the_slot_below_it(players):
    """R3.3"""
    state = auction(players)
    assert state.face_up == 1  # slot 0 has no mouse card: it is under the cat in the sack
    for k in range(1, players - 1):
        play(state, PASS)
        assert state.pots[k - 1] == 0
        assert state.pots[k] == MOUSE_CARDS[players][k]
        assert state.face_up == k + 1


# --- R4: the auction --------------------------------------------------------------------------------------------------


@every_size
def test_slot_zero_is_turned_when_all_cards_are_placed(players):
    """R4.1"""
    state = new_game(players, start_seat=1)
    for _ in range(players):
        assert (state.phase, state.face_up) == (PLACE, 0)
        play(state, C5)
    assert (state.phase, state.face_up) == (AUCTION, 1)
    shown = M8 if players == 3 else C5
    assert describe_for(state, 0)["row"][0] == shown


@every_size
def test_the_start_player_bids_first_and_then_the_others_clockwise(players):
    """R4.2"""
    state = auction(players, start_seat=2)
    for k in range(2 * players):
        assert state.seat == (2 + k) % players
        play(state, bid(k + 1))


def test_who_has_passed_is_skipped():
    """R4.2"""
    state = play(auction(5, start_seat=1), bid(1), PASS, bid(2), PASS, bid(3))
    order = []
    for amount in range(4, 10):
        order.append(int(state.seat))
        play(state, bid(amount))
    assert order == [1, 3, 0, 1, 3, 0]


def test_the_first_bid_is_one_mouse_to_all_that_the_bidder_holds():
    """R4.3"""
    assert legal(auction(4)) == [PASS, *[bid(amount) for amount in range(1, 16)]]


def test_a_bid_must_be_higher_than_the_highest_so_far_and_may_jump():
    """R4.3"""
    state = play(auction(4), bid(4))
    assert legal(state) == [PASS, *[bid(amount) for amount in range(5, 16)]]
    play(state, bid(11))
    assert legal(state) == [PASS, *[bid(amount) for amount in range(12, 16)]]
    assert (state.high_bid, state.bids[:2].tolist()) == (11, [4, 11])


def test_who_is_outbid_must_raise_above_the_highest_bid_or_pass():
    """R4.3"""
    state = play(auction(4), bid(4), bid(6), bid(7), bid(9))
    assert state.seat == 0
    assert legal(state) == [PASS, *[bid(amount) for amount in range(10, 16)]]


@pytest.mark.parametrize("highest", [0, 15, 40, MAX_BID - 1, MAX_BID])
def test_up_to_the_most_that_a_seat_can_hold_every_higher_bid_is_legal(highest):
    """R4.3"""
    state = auction(4)
    state.mice[0], state.high_bid = MAX_BID, highest
    assert legal(state) == [PASS, *[bid(amount) for amount in range(highest + 1, MAX_BID + 1)]]


@pytest.mark.parametrize("mice", [0, 3, 5])
def test_who_holds_no_more_than_the_highest_bid_can_only_pass(mice):
    """R4.3"""
    state = auction(4)
    state.mice[1] = mice
    play(state, bid(5))
    assert legal(state) == [PASS]
    assert num_legal_actions(state) == 1


def test_bids_cost_nothing_until_the_sack_is_sold():
    """R4.3"""
    state = play(auction(4), bid(3), bid(8), bid(15))
    assert state.mice[:4].tolist() == [15, 15, 15, 15]
    assert state.bank == 15


@pytest.mark.parametrize("highest", [0, 1, 14, 15])
def test_a_pass_is_always_allowed(highest):
    """R4.4"""
    state = auction(4)
    if highest:
        play(state, bid(highest))
    assert is_legal(state, PASS)


def test_the_last_player_may_pass_too():
    """R4.4"""
    assert is_legal(play(auction(4), PASS, PASS, PASS), PASS)


def test_who_passes_takes_the_own_bid_back_and_is_out_of_this_auction():
    """R4.4"""
    state = play(auction(4), bid(3), bid(5), bid(6), bid(7), PASS)
    assert (state.bids[0], state.in_auction[0], state.high_bid) == (0, 0, 7)
    assert state.mice[0] == 15 + 2
    assert state.in_auction[:4].tolist() == [0, 1, 1, 1]


@every_size
def test_the_kth_passer_takes_the_kth_mouse_card(players):
    """R4.4"""
    state = auction(players)
    for k, value in enumerate(MOUSE_CARDS[players]):
        assert pass_pays(state) == value
        play(state, PASS)
        assert state.mice[k] == 15 + value


def test_mouse_cards_go_by_the_order_of_passing_not_by_seat():
    """R4.4"""
    state = play(auction(4), bid(1), PASS, bid(2), bid(3), PASS, bid(4), PASS)
    assert state.mice[:4].tolist() == [15 + 4, 15 + 2, 15 - 4, 15 + 6]


def test_everybody_is_in_the_auction_again_in_the_next_round():
    """R4.4"""
    state = sell(auction(4), 3)
    assert state.in_auction[:4].tolist() == [1, 1, 1, 1]
    assert (state.bids.sum(), state.high_bid, state.passes) == (0, 0, 0)


def test_every_pass_turns_one_more_slot():
    """R4.5"""
    state = play(auction(5), bid(1))
    turned = [int(play(state, PASS).face_up) for _ in range(3)]
    assert turned == [2, 3, 4]


@pytest.mark.parametrize(("players", "before", "after"), [(3, 2, 4), (4, 3, 4), (5, 4, 5)])
def test_when_one_player_is_left_all_slots_are_turned(players, before, after):
    """R4.5"""
    state = play(auction(players), *[PASS] * (players - 2))
    assert state.face_up == before
    play(state, PASS)
    assert state.face_up == after == num_slots(state)


def test_second_pass_of_three_turns_both_last_cards():
    """R4.5"""
    state = play(auction(3, [C3, C5, C8]), PASS)
    assert describe_for(state, 0)["row"] == [M8, C3, None, None]
    assert describe_for(play(state, PASS), 0)["row"] == [M8, C3, C5, C8]


def test_a_further_pass_turns_nothing():
    """R4.5"""
    state = last_round()
    state = play(play_round(state), PASS, PASS, PASS)
    assert state.face_up == 4
    play(state, PASS)
    assert (state.phase, state.face_up, state.passes) == (OVER, 4, 3)


@every_size
def test_the_last_player_left_pays_the_bid_to_the_bank_and_takes_the_sack(players):
    """R4.6"""
    state = new_game(players)
    bank = int(state.bank)
    state.num_rounds = 1  # no refill that would hide the payment
    sell(play_round(state, cards=[C3, C5, C8, C11, C15][:players]), 9)
    value = sum(VALUES[card] for card in state.row[: num_slots(state)])
    assert (state.mice[0], state.bank, state.cat_points[0]) == (15 - 9, bank + 9, value)
    assert (state.last_winner, state.last_price, state.last_value) == (0, 9, value)
    assert not state.cat_points[1:].any()


def test_only_the_highest_bid_is_paid_and_only_by_its_bidder():
    """R4.6"""
    state = play(auction(4), bid(3), bid(5), bid(6), bid(7), PASS, PASS, PASS)
    assert state.mice[:4].tolist() == [17, 19, 21, 8]


@pytest.mark.parametrize("amounts", [(1, 2, 3), (1, 5, 15)])
def test_the_highest_bidder_is_never_asked_to_raise(amounts):
    """R4.7"""
    state = auction(4)
    play(state, *[bid(amount) for amount in amounts], PASS)  # the fourth seat passes
    bidder = 2
    while state.phase == AUCTION:
        assert state.seat != bidder
        play(state, PASS)
    assert state.last_winner == bidder


def test_the_auction_ends_at_once_when_all_but_the_highest_bidder_passed():
    """R4.7"""
    state = play(auction(4), PASS, PASS, bid(2))
    assert state.seat == 3
    play(state, PASS)
    assert (state.round_number, state.last_winner, state.last_price) == (1, 2, 2)


def test_the_last_player_without_a_bid_sees_the_whole_row_and_may_buy_for_exactly_one():
    """R4.8"""
    state = play(auction(4, [C3, C5, C8, C11]), PASS, PASS, PASS)
    assert (state.phase, state.seat) == (AUCTION, 3)
    assert describe_for(state, 3)["row"] == [C3, C5, C8, C11]
    assert legal(state) == [PASS, bid(1)]
    assert num_legal_actions(state) == 2


def test_without_mice_the_last_player_can_only_pass():
    """R4.8"""
    state = auction(4)
    state.mice[3] = 0
    play(state, PASS, PASS, PASS)
    assert legal(state) == [PASS]


def test_who_buys_for_one_mouse_is_the_winner_in_every_respect():
    """R4.8"""
    state = play(auction(4, [C15, LARGE, C3, C5]), PASS, PASS, PASS, bid(1))
    assert (state.mice[3], state.cat_points[3]) == (14, 3 + 5)  # the large dog took the 15 along
    assert (state.last_winner, state.last_price, state.last_value) == (3, 1, 8)
    assert (state.round_number, state.start_seat, state.seat) == (1, 3, 3)


@every_size
def test_a_row_that_nobody_buys_goes_to_the_box(players):
    """R4.9"""
    state = all_pass(auction(players, start_seat=1))
    assert not state.cat_points.any()
    assert (state.last_winner, state.last_price, state.last_value) == (NO_SEAT, 0, 0)
    assert all(len(list_cards(state.played[seat])) == 1 for seat in range(players))


@every_size
def test_a_void_round_counts_and_the_start_player_stays(players):
    """R4.9"""
    state = all_pass(auction(players, start_seat=1))
    assert (state.round_number, state.start_seat, state.seat) == (1, 1, 1)


@pytest.mark.parametrize(("players", "mice"), [(3, [18, 21, 15]), (4, [17, 19, 21, 15]), (5, [17, 18, 19, 21, 15])])
def test_the_earlier_passers_keep_their_mice_and_the_last_gets_none(players, mice):
    """R4.9"""
    state = all_pass(auction(players))
    assert state.mice[:players].tolist() == mice


@every_size
def test_the_round_after_a_void_one_has_no_mice(players):
    """R4.9"""
    state = auction(players)
    state.bank = 99
    all_pass(state)
    assert not state.pots.any()
    assert state.bank == 99
    play_round(state)
    before = state.mice.tolist()
    assert pass_pays(state) == 0
    play(state, PASS)
    assert state.mice.tolist() == before


# --- R5: the sack -----------------------------------------------------------------------------------------------------

DOGS = {  # row -> (cat that leaves, value of the rest)
    "R5.1 large dog: the highest": ((C3, LARGE, C15, M8), C15, -5),
    "R5.1 large dog: the highest, not the last": ((C11, C5, C8, LARGE), C11, 13),
    "R5.1 large dog: the only positive": ((LARGE, C3, M5, M8), C3, -13),
    "R5.2 small dog: the greatest magnitude": ((M5, SMALL, M8, C15), M8, 10),
    "R5.2 small dog: the only negative": ((C3, M5, C8, SMALL), M5, 11),
    "R5.3 large dog, no positive: nearest zero": ((M8, LARGE, M5, RABBIT), M5, -8),
    "R5.3 large dog, no positive, one cat": ((RABBIT, M8, LARGE, RABBIT), M8, 0),
    "R5.4 small dog, no negative: the lowest": ((C15, SMALL, C3, C5), C3, 20),
    "R5.4 small dog, no negative, with a rabbit": ((RABBIT, C11, SMALL, C8), C8, 11),
    "R5.5 large dog and rabbits": ((RABBIT, LARGE, RABBIT, RABBIT), NO_CARD, 0),
    "R5.5 small dog and rabbits": ((SMALL, RABBIT, RABBIT, RABBIT), NO_CARD, 0),
    "R5.6 two large dogs": ((LARGE, C15, LARGE, C3), NO_CARD, 18),
    "R5.6 two small dogs": ((SMALL, M8, C3, SMALL), NO_CARD, -5),
    "R5.6 one of each": ((LARGE, M8, SMALL, C15), NO_CARD, 7),
    "R5.6 three dogs": ((LARGE, SMALL, SMALL, C15), NO_CARD, 15),
    "R5.6 dogs alone": ((LARGE, LARGE, SMALL, LARGE), NO_CARD, 0),
    "R5.7 equal highest": ((C15, LARGE, C15, C3), C15, 18),
    "R5.7 equal negatives, small dog": ((M8, M8, SMALL, M5), M8, -13),
    "R5.7 equal negatives, large dog": ((M5, M5, LARGE, M8), M5, -13),
    "R5.7 equal lowest": ((C3, SMALL, C3, C5), C3, 8),
    "R5.8 no dog": ((M8, C15, RABBIT, C3), NO_CARD, 10),
}


@pytest.mark.parametrize("name", DOGS)
def test_the_dogs_chase_what_the_rules_say(name):
    """R5.1, R5.2, R5.3, R5.4, R5.5, R5.6, R5.7, R5.8"""
    row, chased, value = DOGS[name]
    cards = np.array(row, np.int16)
    assert (find_chased_cat(cards, 4), sack_value(cards, 4)) == (chased, value)
    removed = [RABBIT if card != RABBIT else C3 for card in row]
    state = sell(auction(4, row, removed=removed), 2)
    assert (state.cat_points[0], state.last_value, state.gain[0]) == (value, value, value - 2)


def test_the_order_of_the_cards_in_the_row_does_not_matter_to_the_dogs():
    """R5.1, R5.2"""
    for name, (row, _, value) in DOGS.items():
        for turn in range(4):
            assert sack_value(np.array(row[turn:] + row[:turn], np.int16), 4) == value, name


def compute_sack_by_the_book(row) -> int:
    """Return the value of the sack by R5 in terms of values, as the printed rules have it."""
    cats = sorted(VALUES[card] for card in row if VALUES[card])
    dogs = [card for card in row if card in (LARGE, SMALL)]
    positive = [value for value in cats if value > 0]
    negative = [value for value in cats if value < 0]
    if len(dogs) != 1 or not cats:
        return sum(cats)
    if dogs == [LARGE]:
        return sum(cats) - (max(positive) if positive else max(negative))
    return sum(cats) - (min(negative) if negative else min(positive))


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_every_possible_row_has_the_value_that_the_book_says(size):
    """R5.1, R5.2, R5.3, R5.4, R5.5, R5.6, R5.7"""
    for row in combinations_with_replacement(range(10), size):
        assert sack_value(np.array(row, np.int16), size) == compute_sack_by_the_book(row), row


def test_a_dog_of_the_dummy_chases_like_any_other():
    """R5.1"""
    state = new_game(3, dummy=(LARGE, *[card for card in range(9) if card != LARGE]))
    sell(play_round(state, cards=[C3, C15, C8]), 1)
    assert state.cat_points[0] == 3 + 8


@pytest.mark.parametrize("winner", range(4))
def test_the_winner_takes_what_is_left_and_starts_the_next_round(winner):
    """R5.8"""
    state = auction(4, [C3, SMALL, C15, M5], start_seat=1)
    passes = (winner - 1) % 4
    play(state, *[PASS] * passes)
    sold = play(state, bid(4 if passes < 3 else 1), *[PASS] * (3 - passes))
    assert sold.cat_points[:4].tolist() == [18 if seat == winner else 0 for seat in range(4)]
    assert (sold.start_seat, sold.seat, sold.phase) == (winner, winner, PLACE)


def test_cats_won_add_up_over_the_rounds():
    """R5.8"""
    state = sell(auction(4, [C3, C5, C8, C11]), 1)
    sell(play_round(state, cards=[M8, M8, C15, C15]), 1)
    assert state.cat_points[0] == 27 + (-8 - 8 + 15 + 15)


# --- R6: between rounds -----------------------------------------------------------------------------------------------

REFILLS = [
    (players, left, sum(MOUSE_CARDS[players]) + left >= sum(MOUSE_CARDS[players]))
    for players in PLAYERS
    for left in (-1, 0, 1)
]


@pytest.mark.parametrize(("players", "left", "filled"), REFILLS)
def test_mouse_cards_are_filled_all_or_none_by_what_the_bank_holds_with_the_price(players, left, filled):
    """R6.1, R6.2"""
    needed, price = sum(MOUSE_CARDS[players]), 5
    state = auction(players)
    state.bank = needed + left - price
    sell(state, price)
    assert state.pots[: players - 1].tolist() == (list(MOUSE_CARDS[players]) if filled else [0] * (players - 1))
    assert state.bank == (left if filled else needed + left)


@every_size
def test_without_mice_on_the_cards_who_passes_gets_nothing(players):
    """R6.2"""
    state = auction(players)
    state.bank = 0
    play_round(sell(state, 1))
    start, before = int(state.seat), state.mice.copy()
    play(state, bid(2), *[PASS] * (players - 1))
    before[start] -= 2
    assert state.mice.tolist() == before.tolist()


def test_the_bank_is_looked_at_again_after_every_round():
    """R6.2"""
    state = auction(4)
    state.bank = 0
    filled = []
    for price in (5, 5, 1, 1):
        sell(state, price)
        filled.append(bool(state.pots.any()))
        play_round(state)
    assert filled == [False, False, False, True]  # the bank held 5, 10, 11 and 12
    assert state.bank == 0


def test_a_round_without_mice_is_followed_by_a_filled_one_when_the_bank_has_grown():
    """R6.2"""
    state = auction(4)
    state.bank = 0
    sell(state, 7)
    assert (state.bank, state.pots.sum()) == (7, 0)
    sell(play_round(state), 5)
    assert (state.bank, state.pots[:3].tolist()) == (0, [2, 4, 6])


@pytest.mark.parametrize("bank", [0, 11, 12, 60])
def test_after_a_void_round_nothing_is_filled_whatever_the_bank_holds(bank):
    """R6.3"""
    state = auction(4)
    state.bank = bank
    all_pass(state)
    assert (state.bank, state.pots.sum()) == (bank, 0)


def test_the_dry_round_after_a_void_one_is_one_round_only():
    """R6.3"""
    state = all_pass(auction(4))
    sell(play_round(state), 1)
    assert state.pots[:3].tolist() == [2, 4, 6]


def test_a_second_void_round_makes_another_dry_one():
    """R6.3"""
    state = all_pass(auction(4))
    all_pass(play_round(state))
    assert (state.round_number, state.pots.sum(), state.bank) == (2, 0, 15)
    assert state.mice[:4].tolist() == [17, 19, 21, 15]


@pytest.mark.parametrize("end", [sell, lambda state, _: all_pass(state)], ids=["sold", "void"])
def test_after_the_ninth_round_nothing_is_filled_and_the_game_is_over(end):
    """R6.4"""
    state = new_game(4)
    for _ in range(8):
        sell(play_round(state), 1)
    state.bank = 50
    end(play_round(state), 1)
    assert is_terminal(state)
    assert (state.pots.sum(), state.bank) == (0, 50 + max(state.last_price, 0))
    assert (state.seat, state.round_number) == (NO_SEAT, 8)
    assert not mask(state, 0).any()
    assert not any(is_legal(state, action) for action in range(NUM_ACTIONS))


# --- R7: the end ------------------------------------------------------------------------------------------------------


def test_the_score_is_cats_and_mice_and_nothing_else():
    """R7.1"""
    state = sell(play_round(last_round(removed=[C3] * 4), cards=[C15, RABBIT, LARGE, SMALL]), 6)
    assert [score(state, seat) for seat in range(4)] == [15 + 9, 17, 19, 21]


def test_negative_cats_count_against_their_owner():
    """R7.1"""
    state = sell(play_round(last_round(), cards=[M8, M8, M5, C3]), 15)
    assert score(state, 0) == -18


TIES = {  # (cat points, mice) of each seat -> rank of each seat
    "clear": ([(30, 10), (20, 10), (10, 10), (0, 10)], [1, 2, 3, 4]),
    "higher score beats more cats": ([(10, 31), (40, 0), (0, 0), (0, 1)], [1, 2, 4, 3]),
    "tie broken by cats": ([(10, 20), (20, 10), (0, 0), (0, 1)], [2, 1, 4, 3]),
    "tie broken by cats, negative": ([(-5, 20), (5, 10), (-8, 0), (-8, 1)], [2, 1, 4, 3]),
    "tie broken by a single cat point": ([(11, 20), (12, 19), (-1, 2), (-2, 3)], [2, 1, 3, 4]),
    "a single point ahead beats more cats": ([(10, 21), (30, 0), (5, 8), (12, 0)], [1, 2, 3, 4]),
    "shared by two": ([(20, 10), (5, 5), (20, 10), (1, 1)], [1, 3, 1, 4]),
    "shared by two of three tied": ([(20, 10), (20, 10), (10, 20), (0, 0)], [1, 1, 3, 4]),
    "shared by all": ([(7, 7)] * 4, [1, 1, 1, 1]),
    "second place shared": ([(30, 9), (10, 1), (10, 1), (10, 0)], [1, 2, 2, 4]),
}


@pytest.mark.parametrize("name", TIES)
def test_ties_go_to_the_higher_sum_of_cats_and_are_shared_after_that(name):
    """R7.2"""
    holdings, ranks = TIES[name]
    state = new_game(4)
    state.phase = OVER
    for seat, (cats, mice) in enumerate(holdings):
        state.cat_points[seat], state.mice[seat] = cats, mice
    assert [rank(state, seat) for seat in range(4)] == ranks


# --- R8: who knows what -----------------------------------------------------------------------------------------------


def test_a_card_face_down_is_known_to_its_owner_alone():
    """R8.1"""
    state = auction(4, [C3, C5, C8, C11])
    assert [describe_for(state, seat)["row"] for seat in range(4)] == [
        [C3, None, None, None],
        [C3, C5, None, None],
        [C3, None, C8, None],
        [C3, None, None, C11],
    ]


def test_the_dummys_card_is_known_to_nobody_until_it_is_turned():
    """R8.1"""
    state = new_game(3)
    for k in range(3):
        assert all(describe_for(state, seat)["row"][0] is None for seat in range(3))
        play(state, C3 + k)
    assert all(describe_for(state, seat)["row"][0] == M8 for seat in range(3))


def test_hands_removed_cards_and_the_dummys_future_are_hidden_from_the_others():
    """R8.1"""
    states = initial_states(standard_setup(3), Deal((M8, M5, C3), (C3, C5, C8, C11, C15, RABBIT, LARGE, SMALL, M8), 0))
    play(states[0], C5, C8, C11)
    known = redact(states, 1)[0]
    assert known.hands[:3].tolist() == [HIDDEN, int(states[0].hands[1]), HIDDEN]
    assert known.removed[:3].tolist() == [HIDDEN, M5, HIDDEN]
    assert known.row[:4].tolist() == [C3, HIDDEN, C8, HIDDEN]
    assert known.dummy_cards.tolist() == [C3] + [HIDDEN] * 8


def test_the_mask_of_a_seat_that_is_not_to_act_is_empty():
    """R8.1"""
    state = new_game(4, start_seat=2)
    assert [int(mask(state, seat).sum()) for seat in range(4)] == [0, 0, 9, 0]
    play_round(state)
    assert [int(mask(state, seat).sum()) for seat in range(4)] == [0, 0, 16, 0]


def test_the_mice_of_the_others_are_shown_only_when_asked_for():
    """R8.2"""
    state = play(auction(4), PASS, PASS)
    assert describe_for(state, 2)["opponent_mice"] is None
    assert describe_for(state, 2, open_mice=True)["opponent_mice"] == [15, 17, 19]
    assert describe_for(state, 2)["mice"] == 15


def test_everything_public_is_shown_to_everybody():
    """R8.3"""
    state = sell(auction(4, [C3, C5, C8, C15], start_seat=1), 4)
    play_round(state, cards=[M8, M8, LARGE, C3])
    play(state, bid(2), PASS, bid(3))
    for seat in range(4):
        shown = describe_for(state, seat)
        order = [(seat + k) % 4 for k in range(4)]
        assert shown["bids"] == [[0, 2, 0, 3][other] for other in order]
        assert shown["in_auction"] == [other != 2 for other in order]
        assert (shown["pots"], shown["bank"], shown["high_bid"]) == ([0, 4, 6], 15 + 4 - 12, 3)
        assert (shown["round"], shown["position"], shown["face_up"]) == (1, (seat - 1) % 4, 2)
        assert shown["row"][:2] == [M8, M8]
        assert shown["cat_points"] == [31 if other == 1 else 0 for other in order]
        assert shown["played"] == [[[C15], [C3], [C5], [C8]][other] for other in order]
        assert shown["last_round"] == ((1 - seat) % 4, 4, 31)


def test_the_bank_tells_the_sum_of_the_others_mice():
    """R8.3"""
    state = play(auction(5), PASS, bid(4), PASS)
    shown = describe_for(state, 4)
    assert TOTALS[5] - shown["bank"] - sum(shown["pots"]) - shown["mice"] == state.mice[:4].sum()


# --- facts ------------------------------------------------------------------------------------------------------------


@every_size
def test_no_mouse_appears_or_vanishes(players):
    """F1"""
    state = new_game(players)
    assert mice_in_the_game(state) == TOTALS[players] == standard_setup(players).total_mice
    for number in range(9):
        play_round(state)
        while state.phase == AUCTION and state.round_number == number:
            raises = state.passes == 0 and state.high_bid < min(3, state.mice[state.seat])
            play(state, bid(state.high_bid + 1) if raises else PASS)
            assert mice_in_the_game(state) == TOTALS[players]
    assert is_terminal(state)


def test_a_seat_that_takes_the_best_mouse_card_in_every_round_holds_sixty_nine():
    """F2"""
    state = new_game(4, start_seat=0)
    for number in range(9):
        assert state.mice[0] == 15 + 6 * number <= MAX_BID
        state.bank, state.mice[3] = 60, 15  # a bound: in a real game the bank and the buyers would run dry
        play(play_round(state), bid(1), PASS, PASS, bid(2), PASS)
        state.start_seat = state.seat = 0 if number < 8 else NO_SEAT
    assert (state.phase, state.mice[0]) == (OVER, 69)


def test_the_highest_bid_is_sixty_three_and_is_action_seventy_three():
    """F2"""
    assert (MAX_BID, NUM_ACTIONS) == (15 + 6 * 8, 74)
    state = auction(4)
    state.mice[0] = 63
    assert legal(state)[-1] == bid(63) == NUM_ACTIONS - 1
    assert not is_legal(state, bid(64))
    assert mask(state, 0).sum() == num_legal_actions(state) == 64


def test_a_setup_in_which_a_seat_could_hold_more_than_the_highest_bid_is_refused():
    """F2"""
    assert Setup(seats=2, mouse_cards=(6,), bank=0, mice=15).rounds == 9
    with pytest.raises(ValueError, match="F2"):
        Setup(seats=2, mouse_cards=(6,), bank=0, mice=16)


@pytest.mark.parametrize("dummy", [2, -1, 0, 1, 0.5, None])
def test_a_dummy_that_is_neither_true_nor_false_is_refused(dummy):
    """R2.5"""
    with pytest.raises(ValueError, match="dummy must be True or False"):
        Setup(seats=3, mouse_cards=(3, 6), bank=21, dummy=dummy)


def test_a_setup_whose_mice_exceed_the_bounds_of_the_observation_is_refused():
    """R2.3"""
    setup = Setup(seats=5, mouse_cards=(2, 3, 4, 6), bank=999 - 75)
    assert setup.total_mice / MICE_SCALE <= OBS_HIGH
    with pytest.raises(ValueError, match="there are 1000 mice in hands and bank; the most is 999"):
        Setup(seats=5, mouse_cards=(2, 3, 4, 6), bank=1000 - 75)
    with pytest.raises(ValueError, match="bank cannot be negative: -1"):
        Setup(seats=3, mouse_cards=(3, 6), bank=-1)


def test_only_a_pass_in_an_auction_pays_and_not_the_last_ones():
    """R4.4, R4.9"""
    state = new_game(4)
    assert (int(state.pots[0]), pass_pays(state)) == (2, 0)
    play_round(state, PASS, PASS)
    assert pass_pays(state) == 6
    play(state, PASS)
    assert pass_pays(state) == 0


@pytest.mark.parametrize("players", PLAYERS)
def test_the_gains_of_a_round_stay_until_the_first_card_of_the_next(players):
    """R6.1"""
    state = sell(auction(players, [C3, C5, C8, C11, C15][:players]), 4)
    gains = state.gain[:players].tolist()
    assert gains == [int(state.last_value) - 4, *MOUSE_CARDS[players]]
    play(state, M8)
    assert not state.gain.any()


@every_size
def test_the_last_mouse_card_is_full_until_the_last_pass_that_pays(players):
    """R4.4"""
    state = auction(players)
    for _ in range(players - 1):
        assert last_pot(state) == MOUSE_CARDS[players][-1]
        play(state, PASS)
    assert last_pot(state) == 0


@every_size
def test_a_round_is_dry_if_no_mouse_card_holds_mice(players):
    """R6.2, R6.3"""
    state = auction(players)
    for _ in range(players - 1):
        assert not is_dry(state)
        play(state, PASS)
    assert is_dry(state)
    play(state, PASS)
    assert (state.phase, is_dry(state)) == (PLACE, True)
    sell(play_round(state), 1)
    assert not is_dry(state)


@every_size
def test_an_auction_that_ends_empties_every_mouse_card(players):
    """F3"""
    assert len(standard_setup(players).mouse_cards) == players - 1
    state = last_round(players)
    sell(play_round(state), 1)
    assert not state.pots.any()
    state = last_round(players)
    all_pass(play_round(state))
    assert not state.pots.any()


@every_size
def test_the_ninth_card_is_forced(players):
    """F4"""
    state = new_game(players)
    for number in range(9):
        assert num_legal_actions(state) == 9 - number
        sell(play_round(state), 1)
    assert not state.hands.any()


@every_size
def test_every_seat_places_nine_cards_and_the_removed_one_is_never_seen(players):
    """F4"""
    removed = [C8, M8, RABBIT, LARGE, C3][:players]
    state = new_game(players, removed=removed)
    placed = [[] for _ in range(players)]
    for _ in range(9):
        for _ in range(players):
            placed[state.seat].append(lowest_card(state))
            play(state, lowest_card(state))
        sell(state, 1)
    assert placed == [[card for card in range(10) if card != gone] for gone in removed]


@pytest.mark.parametrize(("players", "expected"), [(3, [1, 2, 4]), (4, [1, 2, 3, 4]), (5, [1, 2, 3, 4, 5])])
def test_slots_face_up_during_an_auction(players, expected):
    """F5"""
    state = auction(players)
    face_up = [int(state.face_up)]
    for _ in range(players - 1):
        face_up.append(int(play(state, PASS).face_up))
    assert face_up == expected


def test_a_bid_turns_no_card():
    """F5"""
    state = auction(4)
    assert [int(play(state, bid(amount)).face_up) for amount in range(1, 9)] == [1] * 8


def test_the_next_seat_is_clockwise_from_the_one_that_acted():
    """R4.2"""
    state = play(auction(3, start_seat=2), bid(1))
    assert state.seat == seat_after(state, 2)


def test_every_rule_and_fact_is_cited_by_a_test():
    """Compare the numbers of RULES.md with those cited here."""
    sizes = {1: 3, 2: 7, 3: 3, 4: 9, 5: 8, 6: 4, 7: 2, 8: 3}
    numbers = {f"R{part}.{k}" for part, size in sizes.items() for k in range(1, size + 1)}
    numbers |= {f"F{k}" for k in range(1, 6)}
    docstrings = [test.__doc__ or "" for name, test in globals().items() if name.startswith("test_")]
    cited = {number for text in docstrings for number in text.replace(",", " ").split()}
    assert numbers - cited == set()
