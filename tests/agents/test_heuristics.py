"""Heuristics: the yardstick follows its specification, sack values are exact, bids stop at their limits."""

import hashlib
import os
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.compiled import HEURISTICS
from agents.ev import STANDS, START_COST
from agents.sack_value import expected_sack_value, sack_moments
from felicity_env import NUM_ACTIONS, Batch
from felicity_env.game import PASS, PLACE, STATE, State, num_slots, sack_value, slot_owner
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from felicity_env.setups import STANDARD_PLAYERS
from tests.support.helpers import (
    ALL_SETUPS,
    C3,
    C5,
    C8,
    C11,
    C15,
    COMPILED,
    LARGE,
    M5,
    M8,
    RABBIT,
    SMALL,
    auction,
    bid,
    decide,
    draw_bits,
    make_view,
    new_game,
    play,
    random_game,
)
from tests.support.players import (
    MANY,
    alone_of_four,
    auction_positions,
    highest_raise,
    is_left_alone,
    last_of_four,
    own_card_face_down,
    placing_positions,
)

ROOT = Path(__file__).resolve().parents[2]

# The yardstick never changes: a change here would make every stored win share against it meaningless.
ANCHOR_DECISIONS = "7528113f5683cb81"


# --- anchor -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "highest"),
    [
        ((C3, C5, C8, C11), 27 - 6),
        ((C3, C3, C3, C3), 12 - 6),
        ((M8, M5, C15, C8), 10 - 6),  # negative cats count
        ((LARGE, C8, C3, C3), 14 - 6),  # a dog has value 0 and chases nothing
        ((SMALL, M8, C15, C3), 10 - 6),
        ((LARGE, SMALL, C8, C3), 11 - 6),
        ((RABBIT, C8, C3, C3), 14 - 6),
        ((M8, C8, C3, C3), 0),  # 6 - 6
        ((M8, M5, C3, C3), 0),
    ],
)
def test_anchor_raises_by_one_up_to_the_cats_less_what_a_pass_pays(cards, highest):
    assert highest_raise(agents.make("anchor"), last_of_four(*cards)) == highest


@pytest.mark.parametrize(
    ("players", "passes", "cards", "highest"),
    [
        (4, 0, (C3, C5, C8, C11), 9),  # 3 + 3 * 2.9 - 2 = 9.7
        (4, 0, (M8, C15, C15, C15), 0),  # -8 + 8.7 - 2
        (4, 1, (C3, C5, C8, C11), 9),  # 3 + its own 5 + 2 * 2.9 - 4 = 9.8
        (4, 1, (C3, M8, C15, C15), 0),
        (4, 2, (C3, C5, LARGE, C15), 4),  # 3 + 5 + 0 + 2.9 - 6 = 4.9: its own dog has value 0
        (5, 0, (C5, C3, C3, C3, C3), 14),  # 5 + 4 * 2.9 - 2 = 14.6
        (5, 1, (C5, C15, M8, M8, M8), 25),  # 20 + 8.7 - 3 = 25.7
        (5, 3, (C5, C5, C5, C5, C15), 16),  # 20 + 2.9 - 6 = 16.9
    ],
)
def test_anchor_counts_its_own_face_down_card_and_2_9_for_each_it_does_not_see(players, passes, cards, highest):
    assert highest_raise(agents.make("anchor"), play(auction(players, cards), *[PASS] * passes)) == highest


def test_anchor_counts_the_card_of_the_dummy():
    state = auction(3, (C5, M8, M8), dummy=(C8, M8, M5, C3, C5, C11, C15, LARGE, SMALL))
    assert highest_raise(agents.make("anchor"), state) == 15  # 8 + its own 5 + 2 * 2.9 - 3 = 15.8


@pytest.mark.parametrize(
    ("cards", "buys"),
    [
        ((M8, C3, C3, C3), True),  # 1
        ((M8, C5, C3, RABBIT), False),  # 0
        ((C3, M8, C5, LARGE), False),  # 0 to the anchor, which ignores dogs
        ((M8, SMALL, RABBIT, C3), False),  # -5 to the anchor, 3 in truth
        ((C15, LARGE, RABBIT, M8), True),  # 7 to the anchor, -8 in truth
    ],
)
def test_anchor_alone_without_a_bid_buys_if_its_count_is_at_least_one_and_it_has_a_mouse(cards, buys):
    state = alone_of_four(*cards)
    assert decide(agents.make("anchor"), state) == (bid(1) if buys else PASS)
    state.mice[3] = 0
    assert decide(agents.make("anchor"), state) == PASS


def test_anchor_never_bids_more_than_its_mice():
    state = last_of_four(C15, C15, C15, C15)
    state.mice[3], state.high_bid = 3, 2
    assert decide(agents.make("anchor"), state) == bid(3)
    state.high_bid = 3
    assert decide(agents.make("anchor"), state) == PASS


@pytest.mark.parametrize("hand", [(M8, M5, C3, C5, C8, C11, C15, LARGE, SMALL), (M5, RABBIT, SMALL), (C3, C15)])
def test_anchor_places_every_card_of_its_hand_equally_often(hand):
    state = new_game(4)
    state.hands[0] = sum(1 << card for card in hand)
    draws = 9000
    actions = agents.make("anchor").act(make_view(np.repeat(np.array([state], STATE), draws), draw_bits(draws)))
    counts = np.bincount(actions, minlength=NUM_ACTIONS)
    assert counts[list(hand)].sum() == draws
    expected = draws / len(hand)
    assert ((counts[list(hand)] - expected) ** 2 / expected).sum() < 27  # 0.999 of chi-square with 8 or fewer freedoms


def hash_decisions(code: str, steps: int) -> str:
    """Hash the actions that a player takes in games among copies of itself with 3, 4 and 5 seats."""
    digest, batch, player = hashlib.sha256(), Batch(12, [3, 4, 5] * 4, seed=1), agents.make(code)
    for _ in range(steps):
        actions = np.asarray(player.act(batch.view()), np.int64)
        digest.update(actions.astype("<i8").tobytes())
        batch.step(actions)
    return digest.hexdigest()[:16]


@pytest.mark.compiled("many games; the next test compares compiled with plain")
def test_anchor_decides_in_a_thousand_rounds_as_it_always_has():
    assert hash_decisions("anchor", 2000) == ANCHOR_DECISIONS


@pytest.mark.compiled("there is nothing compiled to compare with")
def test_players_decide_the_same_compiled_and_in_plain_python():
    names = tuple(HEURISTICS)
    code = f"from tests.agents.test_heuristics import *; print(*[hash_decisions(name, 40) for name in {names}])"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [hash_decisions(name, 40) for name in names], done.stderr


# --- ev ---------------------------------------------------------------------------------------------------------------


def list_possible_cards(state: State, slot: int) -> list[int]:
    """List the cards that a slot may hold by public knowledge: those of a set that its owner has not played yet."""
    if state.row[slot] >= 0:
        return [int(state.row[slot])]
    unseen = int(state.deck) & ~int(state.played[slot_owner(state, slot)])
    return [card for card in range(10) if unseen >> card & 1]


@kernel
def _write_values(combinations, out):
    for k in range(len(combinations)):
        out[k] = sack_value(combinations[k], combinations.shape[1])


def enumerate_sack(state: State) -> tuple[float, float]:
    """Return mean and variance of the value of the sack over every combination of possible cards."""
    slots = [list_possible_cards(state, slot) for slot in range(num_slots(state))]
    combinations = np.stack([axis.ravel() for axis in np.meshgrid(*slots)], axis=1).astype(np.int16)
    values = np.zeros(len(combinations))
    _write_values(combinations, values)
    return float(values.mean()), float(values.var())


def test_sack_moments_are_mean_and_variance_over_every_combination_of_possible_cards():
    hidden, placing_count = 0, 0
    placing = [redact(random_game(setup, 1).states[k : k + 1], 0)[0] for setup in ALL_SETUPS for k in (0, 1)]
    for state in [*(known for _, known in auction_positions(MANY)), *placing]:
        combinations = prod(len(list_possible_cards(state, slot)) for slot in range(num_slots(state)))
        if not COMPILED and combinations > 1000:
            continue
        hidden += combinations > 1
        placing_count += state.phase == PLACE
        mean, variance = sack_moments(state)
        assert (mean, variance) == pytest.approx(enumerate_sack(state), abs=1e-9)
        assert expected_sack_value(state) == mean
        assert variance == 0 or combinations > 1
    assert hidden > 2 * MANY
    assert placing_count >= len(ALL_SETUPS) or not COMPILED


def test_expected_sack_is_the_mean_over_resampled_worlds():
    rng = np.random.default_rng(5)
    for players in STANDARD_PLAYERS:
        state = auction(players)
        worlds = resample(np.repeat(redact(np.array([state], STATE), int(state.seat)), 4000), rng)
        values = [sack_value(world["row"], num_slots(state)) for world in worlds]
        expected = expected_sack_value(redact(np.array([state], STATE), int(state.seat))[0])
        assert abs(np.mean(values) - expected) < 4 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize(
    ("cards", "highest"),
    [
        ((C3, C5, C8, C11), 27 - 1 - 6),  # one other: now = last = 6, and the winner starts the next round
        ((LARGE, C5, C8, C11), 13 - 1 - 6),  # the large dog chases the 11
        ((SMALL, M8, C15, C3), 18 - 1 - 6),  # the small dog chases the -8
        ((LARGE, SMALL, C8, C11), 19 - 1 - 6),
        ((M8, C5, C3, C5), 0),
    ],
)
def test_ev_raises_up_to_the_value_of_the_sack_minus_start_and_pass(cards, highest):
    assert highest_raise(agents.make("ev"), last_of_four(*cards)) == highest


def test_ev_counts_no_start_in_the_last_round_and_no_pass_in_a_dry_one():
    state = last_of_four(C3, C5, C8, C11)
    state.round_number = 8
    assert highest_raise(agents.make("ev"), state) == 27 - 6
    state.pots[:] = 0
    assert highest_raise(agents.make("ev"), state) == 27


@pytest.mark.parametrize(
    ("cards", "buys"),
    [
        ((M8, C3, C3, C3), True),
        ((M8, C5, C3, RABBIT), False),
        ((M8, SMALL, RABBIT, C3), True),
        ((C15, LARGE, RABBIT, M8), False),
    ],
)
def test_ev_alone_without_a_bid_buys_a_sack_of_positive_value(cards, buys):
    assert decide(agents.make("ev"), alone_of_four(*cards)) == (bid(1) if buys else PASS)


def test_ev_raises_just_when_its_formula_says_so():
    compared = set()
    for truth, known in auction_positions(MANY):
        value, last = expected_sack_value(known), truth.pots[truth.num_seats - 2]
        raised = truth.high_bid + 1
        gain = value - raised
        if truth.passes < truth.num_seats - 1:
            start = START_COST if truth.round_number + 1 < truth.num_rounds else 0.0
            gain = STANDS * (value - start - raised) + (1 - STANDS) * last - truth.pots[truth.passes]
        if abs(gain) > 1e-9:
            raises = gain > 0 and raised <= truth.mice[truth.seat]
            assert decide(agents.make("ev"), truth) == (bid(raised) if raises else PASS)
            compared.add(raises)
    assert compared == {True, False}


@pytest.mark.parametrize(
    ("hand", "mice_on_table", "card"),
    [
        ((M8, M5, LARGE, RABBIT, SMALL, C3), True, RABBIT),
        ((M8, SMALL, C15), True, SMALL),
        ((M5, C11, C15), True, C11),
        ((LARGE, M8, M5), True, M8),
        ((M5, LARGE), True, M5),
        ((M8, M5, C3), False, M8),
        ((LARGE, M5, C3), False, M5),
        ((LARGE, RABBIT, C3), False, LARGE),
        ((C15, C11), False, C11),
    ],
)
def test_ev_places_its_worst_card_but_keeps_spoilers_for_rounds_without_mice(hand, mice_on_table, card):
    state = new_game(4)
    state.hands[0] = sum(1 << c for c in hand)
    state.pots[:] = state.pots if mice_on_table else 0
    assert decide(agents.make("ev"), state) == card


def test_a_round_has_mice_even_if_only_the_first_mouse_card_holds_some():
    state = new_game(4)
    state.hands[0] = 1 << M8 | 1 << C3
    state.pots[:3] = (2, 0, 0)
    assert decide(agents.make("ev"), state) == C3


# --- the other heuristics ---------------------------------------------------------------------------------------------


def ev_limit(state: State) -> float:
    """Return the bid at which the two sides of the formula of `ev` are equal."""
    value = expected_sack_value(state)
    if is_left_alone(state):
        return value
    start = START_COST if state.round_number + 1 < state.num_rounds else 0.0
    last, now = state.pots[state.num_seats - 2], state.pots[state.passes]
    return value - start + ((1 - STANDS) * last - now) / STANDS


LIMITS = {  # highest bid of each heuristic in a redacted state
    "pass": lambda state: 0.0,
    "greedy": expected_sack_value,
    "ev": ev_limit,
    "reckless": lambda state: expected_sack_value(state) + 10,
    "miser": lambda state: min(3.0, ev_limit(state)),
    "bluffer": lambda state: ev_limit(state) + 10 * (own_card_face_down(state) in (M8, M5, LARGE)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_bidder_raises_by_one_just_up_to_its_limit_and_its_mice(name):
    player, compared = agents.make(name), {True: 0, False: 0}
    for truth, known in auction_positions(MANY):
        raised, limit = truth.high_bid + 1, LIMITS[name](known)
        if abs(limit - raised) > 1e-9:
            raises = raised <= min(limit, truth.mice[truth.seat])
            assert decide(player, truth) == (bid(raised) if raises else PASS)
            compared[raises] += 1
    assert compared[False] > MANY
    assert compared[True] > 0 or name == "pass"


@pytest.mark.parametrize(
    ("cards", "value"),
    [((C3, C5, C8, C11), 27), ((LARGE, C5, C8, C11), 13), ((SMALL, M8, C15, C3), 18), ((M8, M5, C3, C3), -7)],
)
@pytest.mark.parametrize(("name", "extra"), [("greedy", 0), ("reckless", 10)])
def test_greedy_raises_up_to_the_value_whatever_a_pass_pays_and_reckless_ten_above(name, extra, cards, value):
    assert highest_raise(agents.make(name), last_of_four(*cards)) == max(0, value + extra)


@pytest.mark.parametrize(("cards", "highest"), [((C3, C5, C8, C11), 3), ((M5, C3, C3, C8), 2), ((M8, M5, C3, C3), 0)])
def test_miser_never_pays_more_than_three_and_no_more_than_ev(cards, highest):
    assert highest_raise(agents.make("miser"), last_of_four(*cards)) == highest
    assert highest_raise(agents.make("ev"), last_of_four(*cards)) >= highest


@pytest.mark.parametrize(("own", "extra"), [(M8, 10), (M5, 10), (LARGE, 10), (SMALL, 0), (RABBIT, 0), (C3, 0)])
def test_bluffer_goes_ten_above_ev_while_the_spoiler_of_the_sack_is_its_own_and_face_down(own, extra):
    state = play(auction(4, (C15, own, C3, C3), removed=[C11] * 4), bid(1))
    assert highest_raise(agents.make("bluffer"), state) == highest_raise(agents.make("ev"), state) + extra
    play(state, PASS)  # seat 1: its card is face up
    for _ in range(2):
        assert highest_raise(agents.make("bluffer"), state) == highest_raise(agents.make("ev"), state)
        state.seat = 0


@pytest.mark.parametrize("mice_on_table", [True, False])
@pytest.mark.parametrize(
    ("hand", "card"),
    [
        ((M8, M5, LARGE, RABBIT, SMALL, C3), M8),
        ((M5, LARGE, RABBIT), M5),
        ((LARGE, RABBIT, SMALL, C3), LARGE),
        ((RABBIT, SMALL, C3), RABBIT),
        ((SMALL, C3), SMALL),
        ((C8, C15, C11), C8),
    ],
)
def test_bluffer_places_its_worst_card_whether_there_are_mice_or_not(hand, card, mice_on_table):
    state = new_game(4)
    state.hands[0] = sum(1 << c for c in hand)
    state.pots[:] = state.pots if mice_on_table else 0
    assert decide(agents.make("bluffer"), state) == card


@pytest.mark.parametrize(
    ("name", "other"),
    [("pass", "random"), ("anchor", "random"), ("reckless", "random"), ("greedy", "random"), ("miser", "ev")],
)
def test_some_heuristics_place_the_same_cards_as_others(name, other):
    view = placing_positions()
    assert (agents.make(name).act(view) == agents.make(other).act(view)).all()
