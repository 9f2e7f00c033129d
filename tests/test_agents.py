"""Players: the yardstick is as specified, values are exact, policies are read back as written, nobody sees too much."""

import hashlib
import json
import os
import subprocess
import sys
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import agents
from agents.belief import expected_sack, sack_moments
from agents.compiled import COMPILED as COMPILED_PLAYERS
from agents.compiled import CompiledPlayer
from agents.ev import STANDS, START_COST
from agents.mixture import MixturePlayer
from agents.network import NetworkPlayer, choose, load_policy, logits_of, save_policy
from agents.table import REFERENCE
from agents.tuned import (
    BY_SEATS,
    CARD_NOISE,
    IN_SACK,
    LIMIT_NOISE,
    WEIGHTS,
    bid_limit,
    card_to_place,
    weighted_action,
)
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch, View
from felicity_env.game import (
    AUCTION,
    NO_CARD,
    PASS,
    PLACE,
    SETUPS,
    STATE,
    State,
    is_legal,
    num_slots,
    sack_value,
    slot_owner,
    step,
)
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from tests.helpers import (
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
    new_game,
    play,
    random_game,
    random_words,
    reachable,
    view_of,
)
from train.policy import ActorCritic

ROOT = Path(__file__).resolve().parents[1]
MANY = 40 if COMPILED else 2

# The yardstick never changes: a change here would make every stored share against it worthless.
ANCHOR_DECISIONS = "7528113f5683cb81"


def highest_raise(player: agents.Player, state: State) -> int:
    """The highest bid the player makes here with mice enough; it must make every lower one and none above."""
    state.mice[state.seat] = 40
    bids = []
    for amount in range(1, 41):
        state.high_bid = amount - 1
        bids.append(decide(player, state) == bid(amount))
    assert bids == sorted(bids, reverse=True)
    return sum(bids)


def last_of_four(*cards: int, **dealt: object) -> State:
    """Seat 3 decides, opposite one other: it sees the whole row (its own card is the last), passing pays 6."""
    return play(auction(4, cards, removed=[RABBIT if RABBIT not in cards else SMALL] * 4, **dealt), PASS, PASS, bid(1))


def alone_of_four(*cards: int) -> State:
    """Seat 3 is alone and nobody has bid."""
    return play(auction(4, cards, removed=[RABBIT if RABBIT not in cards else C11] * 4), PASS, PASS, PASS)


def small_net(seed: int = 0, *, hidden: int = 12, scale: float = 1.0, greedy: bool = False) -> NetworkPlayer:
    """A network with random weights."""
    rng = np.random.default_rng(seed)
    sizes = [(OBS_SIZE, hidden), (hidden, NUM_ACTIONS)]
    layers = [
        (rng.normal(0, scale, size).astype(np.float32), rng.normal(0, 1, size[1]).astype(np.float32)) for size in sizes
    ]
    return NetworkPlayer.of(layers, greedy=greedy)


def everybody() -> dict[str, agents.Player]:
    coded = {code: agents.make(code) for code in COMPILED_PLAYERS}
    return coded | {"net": small_net(), "net@greedy": small_net(greedy=True)}


NAMES = list(everybody())


def played_batch(player: agents.Player, steps: int, *, games: int = 60, seed: int = 0) -> list[View]:
    """The views of every step of a batch of mixed tables in which `player` sits everywhere (the batch checks it)."""
    batch = Batch(games, [3, 4, 5] * (games // 3), seed=seed)
    views = []
    for _ in range(steps):
        views.append(batch.view())
        batch.step(player.act(views[-1]))
    return views


# --- anchor -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "highest"),
    [
        ((C3, C5, C8, C11), 27 - 6),
        ((C3, C3, C3, C3), 12 - 6),
        ((M8, M5, C15, C8), 10 - 6),  # negative cats count
        ((LARGE, C8, C3, C3), 14 - 6),  # a dog is worth 0 and chases nothing
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
        (4, 2, (C3, C5, LARGE, C15), 4),  # 3 + 5 + 0 + 2.9 - 6 = 4.9: its own dog is worth 0
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
    actions = agents.make("anchor").act(view_of(np.repeat(np.array([state], STATE), draws), random_words(draws)))
    counts = np.bincount(actions, minlength=NUM_ACTIONS)
    assert counts[list(hand)].sum() == draws
    expected = draws / len(hand)
    assert ((counts[list(hand)] - expected) ** 2 / expected).sum() < 27  # 0.999 of chi-square with 8 or fewer freedoms


def digest_of_decisions(code: str, steps: int) -> str:
    """Of the actions that a player takes in games among itself at 3, 4 and 5 seats."""
    digest, batch, player = hashlib.sha256(), Batch(12, [3, 4, 5] * 4, seed=1), agents.make(code)
    for _ in range(steps):
        actions = np.asarray(player.act(batch.view()), np.int64)
        digest.update(actions.astype("<i8").tobytes())
        batch.step(actions)
    return digest.hexdigest()[:16]


@pytest.mark.skipif(not COMPILED, reason="many games; the next test compares compiled with plain")
def test_anchor_decides_in_a_thousand_rounds_as_it_always_has():
    assert digest_of_decisions("anchor", 2000) == ANCHOR_DECISIONS


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
def test_players_decide_the_same_compiled_and_in_plain_python():
    names = tuple(COMPILED_PLAYERS)
    code = f"from tests.test_agents import *; print(*[digest_of_decisions(name, 40) for name in {names}])"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == [digest_of_decisions(name, 40) for name in names], done.stderr


# --- ev ---------------------------------------------------------------------------------------------------------------


def auction_positions(count: int) -> list[tuple[State, State]]:
    """(truth, as the seat to act may know it) at random moments of auctions of every setup."""
    positions = []
    for setup in ALL_SETUPS:
        rng = np.random.default_rng(setup.seats)
        for seed in range(count):
            states = random_game(setup, seed).states
            states = states[states["phase"] == AUCTION]
            picked = states[rng.integers(len(states), size=2)]
            positions += zip(picked, redact(picked, picked["seat"]), strict=True)
    return positions


def cards_that_fit(state: State, slot: int) -> list[int]:
    """What may lie in a slot, by what is public: every card of a set that its owner has not laid yet."""
    if state.row[slot] >= 0:
        return [int(state.row[slot])]
    unseen = int(state.deck) & ~int(state.played[slot_owner(state, slot)])
    return [card for card in range(10) if unseen >> card & 1]


@kernel
def _write_worths(rows, out):
    for k in range(len(rows)):
        out[k] = sack_value(rows[k], rows.shape[1])


def enumerated_sack(state: State) -> tuple[float, float]:
    """Mean and variance of the worth of the sack over every combination of cards that fit."""
    slots = [cards_that_fit(state, slot) for slot in range(num_slots(state))]
    rows = np.stack([axis.ravel() for axis in np.meshgrid(*slots)], axis=1).astype(np.int16)
    worths = np.zeros(len(rows))
    _write_worths(rows, worths)
    return float(worths.mean()), float(worths.var())


def test_sack_moments_are_mean_and_variance_over_every_combination_of_possible_cards():
    hidden, unlaid = 0, 0
    placing = [redact(random_game(setup, 1).states[k : k + 1], 0)[0] for setup in ALL_SETUPS for k in (0, 1)]
    for state in [*(known for _, known in auction_positions(MANY)), *placing]:
        combinations = prod(len(cards_that_fit(state, slot)) for slot in range(num_slots(state)))
        if not COMPILED and combinations > 1000:
            continue
        hidden += combinations > 1
        unlaid += state.phase == PLACE
        mean, variance = sack_moments(state)
        assert (mean, variance) == pytest.approx(enumerated_sack(state), abs=1e-9)
        assert expected_sack(state) == mean
        assert variance == 0 or combinations > 1
    assert hidden > 2 * MANY
    assert unlaid >= len(ALL_SETUPS) or not COMPILED


def test_expected_sack_is_the_mean_over_resampled_worlds():
    rng = np.random.default_rng(5)
    for players in SETUPS:
        state = auction(players)
        worlds = resample(np.repeat(redact(np.array([state], STATE), int(state.seat)), 4000), rng)
        values = [sack_value(world["row"], num_slots(state)) for world in worlds]
        expected = expected_sack(redact(np.array([state], STATE), int(state.seat))[0])
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
def test_ev_raises_up_to_the_worth_of_the_sack_less_start_and_pass(cards, highest):
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
def test_ev_alone_without_a_bid_buys_what_is_worth_its_price(cards, buys):
    assert decide(agents.make("ev"), alone_of_four(*cards)) == (bid(1) if buys else PASS)


def test_ev_raises_just_when_its_formula_says_so():
    compared = set()
    for truth, known in auction_positions(MANY):
        value, last = expected_sack(known), truth.pots[truth.num_seats - 2]
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


# --- players of one idea ----------------------------------------------------------------------------------------------


def own_card_face_down(state: State) -> int | None:
    """The card of the seat to act, if it lies and nobody else sees it."""
    slot = (state.seat - state.start_seat) % state.num_seats + state.has_dummy
    return None if slot < state.face_up else int(state.row[slot])


def is_left_alone(state: State) -> bool:
    return state.in_auction[: state.num_seats].sum() == 1


def limit_of_ev(state: State) -> float:
    """The bid at which the two sides of the formula of `ev` are equal."""
    value = expected_sack(state)
    if is_left_alone(state):
        return value
    start = START_COST if state.round_number + 1 < state.num_rounds else 0.0
    last, now = state.pots[state.num_seats - 2], state.pots[state.passes]
    return value - start + ((1 - STANDS) * last - now) / STANDS


LIMITS = {  # the highest bid of each, as the seat to act knows the state
    "pass": lambda state: 0.0,
    "greedy": expected_sack,
    "ev": limit_of_ev,
    "reckless": lambda state: expected_sack(state) + 10,
    "miser": lambda state: min(3.0, limit_of_ev(state)),
    "bluffer": lambda state: limit_of_ev(state) + 10 * (own_card_face_down(state) in (M8, M5, LARGE)),
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
    ("cards", "worth"),
    [((C3, C5, C8, C11), 27), ((LARGE, C5, C8, C11), 13), ((SMALL, M8, C15, C3), 18), ((M8, M5, C3, C3), -7)],
)
@pytest.mark.parametrize(("name", "extra"), [("greedy", 0), ("reckless", 10)])
def test_greedy_raises_up_to_the_worth_exactly_whatever_a_pass_pays_and_reckless_by_ten_more(name, extra, cards, worth):
    assert highest_raise(agents.make(name), last_of_four(*cards)) == max(0, worth + extra)


@pytest.mark.parametrize(("cards", "highest"), [((C3, C5, C8, C11), 3), ((M5, C3, C3, C8), 2), ((M8, M5, C3, C3), 0)])
def test_miser_never_pays_more_than_three_and_no_more_than_ev(cards, highest):
    assert highest_raise(agents.make("miser"), last_of_four(*cards)) == highest
    assert highest_raise(agents.make("ev"), last_of_four(*cards)) >= highest


@pytest.mark.parametrize(("own", "extra"), [(M8, 10), (M5, 10), (LARGE, 10), (SMALL, 0), (RABBIT, 0), (C3, 0)])
def test_bluffer_goes_ten_above_ev_while_the_spoiler_of_the_sack_is_its_own_and_face_down(own, extra):
    state = play(auction(4, (C15, own, C3, C3), removed=[C11] * 4), bid(1))
    assert highest_raise(agents.make("bluffer"), state) == highest_raise(agents.make("ev"), state) + extra
    play(state, PASS)  # seat 1: its card lies open
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


def placing_positions() -> View:
    states = np.concatenate([random_game(setup, seed).states for setup in SETUPS.values() for seed in range(MANY)])
    placing = states[states["phase"] == PLACE]
    return view_of(placing, random_words(len(placing)))


@pytest.mark.parametrize(
    ("name", "other"),
    [("pass", "random"), ("anchor", "random"), ("reckless", "random"), ("greedy", "random"), ("miser", "ev")],
)
def test_some_place_cards_as_others_do(name, other):
    view = placing_positions()
    assert (agents.make(name).act(view) == agents.make(other).act(view)).all()


# --- tuned ------------------------------------------------------------------------------------------------------------


MIDDLE = np.uint64(2**63)  # the word that moves no limit
SURE = 1e8  # weights of cards so large that noise moves none


def weights(**values: object) -> State:
    """A record of weights: these, all others 0."""
    record = np.zeros(1, WEIGHTS)
    for name, value in values.items():
        record[name] = value
    return record[0]


def positions_of(player: agents.Player) -> list[View]:
    """Random positions, and those of games of the player among itself, at 3, 4 and 5 seats."""
    played = played_batch(player, 6 * MANY, games=30 if COMPILED else 3)
    random = [random_game(setup, seed).states[:-1] for setup in SETUPS.values() for seed in range(MANY // 2)]
    return [*played[::3], *(view_of(states, random_words(len(states))) for states in random)]


def test_tuned_with_the_weights_of_ev_decides_as_ev_in_every_position():
    as_ev = weights(
        constant=-1,
        expected=1,
        now=-1.5,
        last=0.5,
        final=1,
        alone=1,
        card=SURE * np.array((-2, -2.2, 0, -0.2, -0.4, -0.6, -0.8, 0.4, -2.4, 0.2)),
        card_dry=SURE * np.array((3, 3, 0, 0, 0, 0, 0, 0, 3, 0)),
    )
    decisions = np.zeros(NUM_ACTIONS, int)
    for view in positions_of(agents.make("ev")):
        actions = [weighted_action(state, as_ev, MIDDLE) for state in view.states]
        assert actions == agents.make("ev").act(view).tolist()
        decisions += np.bincount(actions, minlength=NUM_ACTIONS)
    assert (decisions[: PASS + 2] > 0).all() or not COMPILED
    assert decisions.sum() > 100 * MANY


def test_tuned_plays_by_the_weights_of_its_number_of_seats():
    for view in positions_of(agents.make("tuned")):
        pairs = zip(view.states, view.seeds, strict=True)
        expected = [weighted_action(state, BY_SEATS[state.num_seats], word) for state, word in pairs]
        assert agents.make("tuned").act(view).tolist() == expected


def best_other(values: np.ndarray, state: State) -> float:
    return max(values[seat] for seat in range(state.num_seats) if seat != state.seat)


def mean_other(values: np.ndarray, state: State) -> float:
    return float(np.mean([values[seat] for seat in range(state.num_seats) if seat != state.seat]))


def lead_in_mice(state: State) -> float:
    return state.mice[state.seat] - mean_other(state.mice, state)


def lead_in_score(state: State) -> float:
    scores = state.mice + state.cat_points
    return scores[state.seat] - best_other(scores, state)


def place_in_turn(state: State) -> int:
    return (state.seat - state.start_seat) % state.num_seats


def mice_on_cards(state: State) -> list[int]:
    return [int(mice) for mice in state.pots if mice > 0]


def worth_of_own_card(state: State) -> float:
    card = own_card_face_down(state)
    return 0.0 if card is None else IN_SACK[card]


def fills_again(state: State) -> bool:
    """Whether the mouse cards are full in the next round if the raise by one now stands."""
    bidding = np.array([state], STATE)[0]
    bidding.mice[bidding.seat], bidding.round_number = 40, 0  # as if it could pay, and another round came
    bidding.row[:] = C3  # which cards lie there does not matter
    step(bidding, bid(bidding.high_bid + 1))
    while bidding.phase == AUCTION:
        step(bidding, PASS)
    return bidding.pots.sum() > 0


BID_FEATURES = {
    "constant": lambda state: 1.0,
    "expected": lambda state: sack_moments(state)[0],
    "expected_late": lambda state: sack_moments(state)[0] * state.round_number / 9,
    "spread": lambda state: sack_moments(state)[1] ** 0.5,
    "own_card": worth_of_own_card,
    "now": lambda state: min(mice_on_cards(state), default=0),
    "last": lambda state: max(mice_on_cards(state), default=0),
    "rivals": lambda state: state.in_auction[: state.num_seats].sum() - 1,
    "place": place_in_turn,
    "lead_mice": lead_in_mice,
    "lead_score": lead_in_score,
    "over": lambda state: state.round_number / 9,
    "dry": lambda state: not mice_on_cards(state),
    "refill": fills_again,
    "final": lambda state: state.round_number == 8,
    "alone": lambda state: 0.0,
}
CARD_FEATURES = {  # what the worth of a card is multiplied by
    "value_over": lambda state: state.round_number / 9,
    "value_lead_mice": lambda state: lead_in_mice(state) / 10,
    "value_lead_score": lambda state: lead_in_score(state) / 10,
    "value_place": place_in_turn,
}


def standard_auctions() -> list[State]:
    """As the seats to act know them."""
    return [known for truth, known in auction_positions(MANY) if truth.num_rounds == 9 and truth.mouse_cards.sum() < 16]


def test_every_weight_belongs_to_a_feature_that_is_tested():
    assert {*BID_FEATURES, *CARD_FEATURES, "card", "card_dry"} == set(WEIGHTS.names)


@pytest.mark.parametrize("name", BID_FEATURES)
def test_a_weight_of_one_moves_the_limit_of_a_bid_by_its_feature(name):
    one, more = weights(**{name: 1}), weights(**{"constant": 1, name: 2.5})
    values = []
    for state in standard_auctions():
        if not is_left_alone(state):
            values.append(float(BID_FEATURES[name](state)))
            assert bid_limit(state, one) == pytest.approx(values[-1])
            assert bid_limit(state, more) == pytest.approx(2.5 * values[-1] + (name != "constant"))
    assert len(values) > MANY
    assert len(set(values)) > 1 or name in ("constant", "alone")


@pytest.mark.parametrize("players", SETUPS)
def test_the_bid_that_just_fills_the_bank_for_all_mouse_cards_counts_as_one_that_fills_them(players):
    state, total = auction(players), sum(SETUPS[players].mouse_cards)
    for bank in range(total - 6, total - 1):
        state.bank, state.high_bid = bank, total - 1 - bank
        assert fills_again(state)
        assert bid_limit(state, weights(refill=1)) == 1
        state.high_bid -= 1
        assert not fills_again(state)
        assert bid_limit(state, weights(refill=1)) == 0


def test_left_alone_it_buys_what_is_worth_its_least_whatever_the_other_weights():
    met = 0
    known_worths = [alone_of_four(*cards) for cards in ((M8, C3, C3, C3), (M8, C5, C3, RABBIT), (M8, M5, C8, C5))]
    for state in [*standard_auctions(), *known_worths]:
        if is_left_alone(state):
            for name in BID_FEATURES:
                limit = sack_moments(state)[0] + 1 - (name == "alone")
                assert bid_limit(state, weights(**{name: 1})) == pytest.approx(limit)
            for least in (-3, 0, 1, 4):
                buys = state.mice[state.seat] > 0 and sack_moments(state)[0] >= least
                expected = bid(1) if buys else PASS
                assert weighted_action(state, weights(alone=least, constant=30), MIDDLE) == expected
            met += 1
    assert met > MANY // 4


@pytest.mark.parametrize("name", [*CARD_FEATURES, "card", "card_dry"])
def test_a_weight_moves_the_worth_of_a_card_by_its_feature(name):
    rng, view = np.random.default_rng(6), placing_positions()
    dry = [not mice_on_cards(state) for state in view.states]
    changed = 0
    for state, word, is_dry in zip(view.states, view.seeds, dry, strict=True):
        of_card, more_if_dry = rng.normal(0, 3, size=(2, 10))
        hand = [card for card in range(10) if state.hands[state.seat] >> card & 1]
        worth = of_card.copy()
        if name == "card_dry":
            worth += is_dry * more_if_dry
            record = weights(card=SURE * of_card, card_dry=SURE * more_if_dry)
        elif name == "card":
            record = weights(card=SURE * of_card)
        else:
            worth += CARD_FEATURES[name](state) * IN_SACK
            record = weights(card=SURE * of_card, **{name: SURE})
        best = max(hand, key=lambda card: worth[card])
        assert card_to_place(state, record, word) == best
        changed += best != max(hand, key=lambda card: of_card[card])
    assert changed > MANY or name == "card"
    assert 0 < sum(dry) < len(dry)


@pytest.mark.parametrize("limit", [0.0, 3.3, 4.5, 5.0, 6.9, 9.0])
def test_a_limit_is_moved_by_up_to_its_noise_to_either_side_with_equal_chance(limit):
    state, draws = last_of_four(C15, C15, C15, C15), 4000 if COMPILED else 200
    state.high_bid, as_told = 4, weights(constant=limit)
    raises = [weighted_action(state, as_told, word) == bid(5) for word in random_words(draws)]
    chance = np.clip((limit + LIMIT_NOISE - 5) / (2 * LIMIT_NOISE), 0, 1)
    assert abs(np.mean(raises) - chance) <= 4 * np.sqrt(chance * (1 - chance) / draws)


@pytest.mark.parametrize("hand", [(M8, M5, C3, C5, C8, C11, C15, LARGE, SMALL), (M5, RABBIT, SMALL), (C15,)])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_cards_are_laid_as_often_as_the_exponential_of_their_worth_says(hand, spread):
    state, draws = new_game(4), 6000 if COMPILED else 300
    state.hands[0] = sum(1 << card for card in hand)
    worth = spread * np.random.default_rng(7).normal(size=10)
    laid = [card_to_place(state, weights(card=worth), word) for word in random_words(draws)]
    expected = np.exp(worth[list(hand)] / CARD_NOISE)
    expected *= draws / expected.sum()
    counts = np.bincount(laid, minlength=10)[list(hand)]
    assert counts.sum() == draws
    assert ((counts - expected) ** 2 / expected).sum() < 27  # 0.999 of chi-square with 8 or fewer freedoms


# --- every player -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_at_every_table(name):
    player = everybody()[name]
    views = played_batch(player, 20 * MANY // 2)
    legal = [view.action_masks[np.arange(len(view)), player.act(view)] for view in views]
    assert np.concatenate(legal).all()
    assert sum(map(len, views)) > 500


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_in_odd_setups_too(name):
    player = everybody()[name]
    for setup in ALL_SETUPS:
        states = np.concatenate([random_game(setup, seed).states[:-1] for seed in range(3)])
        actions = player.act(view_of(states, random_words(len(states))))
        assert all(is_legal(state, int(action)) for state, action in zip(states, actions, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_an_action_is_the_same_in_all_worlds_that_the_seat_cannot_tell_apart(name):
    player, rng, changed = everybody()[name], np.random.default_rng(3), 0
    for setup in SETUPS.values():
        truth = np.concatenate([random_game(setup, seed).states[:-1:7] for seed in range(MANY // 2 + 1)])
        words, known = random_words(len(truth)), redact(truth, truth["seat"])
        worlds = resample(known, rng)
        changed += int((worlds["hands"] != truth["hands"]).any(axis=1).sum())
        assert (player.act(view_of(worlds, words)) == player.act(view_of(truth, words))).all()
    assert changed > 5 * MANY


@pytest.mark.parametrize("name", NAMES)
def test_an_action_depends_neither_on_the_size_nor_on_the_order_of_the_batch(name):
    player = everybody()[name]
    rng = np.random.default_rng(4)
    for view in played_batch(agents.make("random"), 3 * MANY)[::12]:
        together, order = player.act(view), rng.permutation(len(view))
        assert (player.act(view.take(order)) == together[order]).all()
        one_by_one = [int(player.act(view.take(np.array([row])))[0]) for row in range(len(view))]
        assert one_by_one == together.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_view_gets_no_actions_and_a_view_is_left_as_it_was(name):
    player = everybody()[name]
    view = Batch(9, [3, 4, 5] * 3).view()
    before = view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()
    assert player.act(view.take(np.array([], np.int64))).shape == (0,)
    assert player.act(view).shape == (9,)
    assert (view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()) == before


def games_held(root: object) -> list[object]:
    return [
        thing
        for thing in reachable(root)
        if isinstance(thing, Batch | View | np.random.Generator)
        or (isinstance(thing, np.ndarray | np.void) and thing.dtype == STATE)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_player_holds_on_to_a_game(name):
    player = everybody()[name]
    played_batch(player, 3)
    assert not games_held(player)


def test_a_player_that_holds_a_game_would_be_found():
    assert games_held(SimpleNamespace(memory={"last": [Batch(1).view().states]}))


# --- codes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", COMPILED_PLAYERS)
def test_a_code_makes_a_player(code):
    assert agents.make(code).act(Batch(3).view()).shape == (3,)


@pytest.mark.parametrize("code", ["", "evv", "EV", "ev ", "network", "no-module:make", ":make"])
def test_an_unknown_code_lists_those_there_are(code):
    with pytest.raises(ValueError, match=r"no player .*") as caught:
        agents.make(code)
    for name in agents.PLAYERS:
        assert f"\n  {name} " in str(caught.value)
    assert "package.module:function" in str(caught.value)


def test_every_code_has_a_line_of_help():
    assert all(code.help and "\n" not in code.help for code in agents.PLAYERS.values())


def test_a_colon_with_nothing_after_it_is_refused():
    for code in ("net:", "mc:", "mc"):
        with pytest.raises(ValueError, match="needs an argument: "):
            agents.make(code)


def test_a_code_that_takes_no_argument_refuses_one():
    with pytest.raises(ValueError, match="'ev' takes no argument, got '200'"):
        agents.make("ev:200")


def make_own_player() -> agents.Player:
    return agents.make("ev")


def make_nothing() -> None:
    return None


def test_a_function_of_a_module_makes_a_player():
    assert isinstance(agents.make("tests.test_agents:make_own_player"), CompiledPlayer)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("tests.no_such_module:make", "cannot make a player by tests.no_such_module:make"),
        ("tests.test_agents:no_such_function", "no_such_function"),
        ("tests.test_agents:", "cannot make a player"),
        ("tests.test_agents:make_nothing", "has no method act"),
    ],
)
def test_a_function_that_makes_no_player_is_named(code, message):
    with pytest.raises(ValueError, match=message):
        agents.make(code)


# --- network ----------------------------------------------------------------------------------------------------------


def test_the_numpy_network_computes_what_torch_computes():
    torch.manual_seed(0)
    linear = [torch.nn.Linear(a, b) for a, b in ((OBS_SIZE, 20), (20, 30), (30, NUM_ACTIONS))]
    model = torch.nn.Sequential(linear[0], torch.nn.Tanh(), linear[1], torch.nn.Tanh(), linear[2])
    layers = [(m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in linear]
    observations = np.concatenate([view.observations() for view in played_batch(agents.make("random"), 20)])
    with torch.no_grad():
        expected = model(torch.from_numpy(observations)).numpy()
    assert logits_of(layers, observations) == pytest.approx(expected, abs=1e-5)


def test_sampled_actions_are_as_frequent_as_the_softmax_over_legal_actions_says():
    player, draws = small_net(scale=0.1), 20_000
    state = np.array([play(auction(4), bid(3))], STATE)
    view = view_of(np.repeat(state, draws), random_words(draws))
    logits = logits_of(player.layers, view.observations()[:1])[0].astype(float)
    weights = np.where(view.action_masks[0] == 1, np.exp(logits - logits.max()), 0.0)
    expected = draws * weights / weights.sum()
    counts = np.bincount(player.act(view), minlength=NUM_ACTIONS)
    assert (counts[expected == 0] == 0).all()
    likely = expected > 5
    freedoms = int(likely.sum()) - 1
    distance = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    assert freedoms >= 4
    assert distance < freedoms + 4 * np.sqrt(2 * freedoms)


def test_the_greedy_network_takes_the_best_legal_action():
    player = small_net(greedy=True)
    view = played_batch(agents.make("random"), 30)[-1]
    logits = logits_of(player.layers, view.observations())
    legal = [np.flatnonzero(mask) for mask in view.action_masks]
    assert player.act(view).tolist() == [
        int(row[np.argmax(scores[row])]) for row, scores in zip(legal, logits, strict=True)
    ]


@pytest.mark.parametrize("uniform", [None, 0.0, 0.5, 1 - 2**-24])
def test_an_illegal_action_is_never_chosen_however_high_its_logit(uniform):
    rng = np.random.default_rng(0)
    masks = (rng.random((500, NUM_ACTIONS)) < 0.1).astype(np.int8)
    masks[:, 7] = 1
    logits = np.where(masks == 1, rng.normal(-50, 30, masks.shape), 1000.0).astype(np.float32)
    uniforms = None if uniform is None else np.full(500, uniform)
    chosen = choose(logits, masks, uniforms)
    assert masks[np.arange(500), chosen].all()


def saved_policy(folder: Path, **about: object) -> NetworkPlayer:
    folder.mkdir(exist_ok=True)
    player = small_net(1)
    save_policy(folder, player.layers, **{"open_mice": False, **about})
    return player


def test_a_policy_that_cannot_be_written_leaves_the_one_before_whole(tmp_path):
    saved_policy(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        save_policy(tmp_path, small_net(2).layers, open_mice=object())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_policy_is_read_back_as_it_was_written(tmp_path):
    written = saved_policy(tmp_path, timesteps=7)
    layers, about = load_policy(tmp_path)
    assert about["timesteps"] == 7
    for (weight, bias), (weight_read, bias_read) in zip(written.layers, layers, strict=True):
        assert weight.tobytes() == weight_read.tobytes()
        assert bias.tobytes() == bias_read.tobytes()
    view = played_batch(agents.make("random"), 25)[-1]
    assert agents.make(f"net:{tmp_path}").act(view).tolist() == written.act(view).tolist()
    assert agents.make(f"net:{tmp_path / 'policy.json'}").act(view).tolist() == written.act(view).tolist()


def test_the_greedy_form_of_a_saved_policy_plays_its_best_action(tmp_path):
    written = saved_policy(tmp_path)
    view = played_batch(agents.make("random"), 25)[-1]
    greedy = NetworkPlayer.of(written.layers, greedy=True).act(view)
    assert agents.make(f"net:{tmp_path}@greedy").act(view).tolist() == greedy.tolist()
    assert greedy.tolist() != written.act(view).tolist()


@pytest.mark.parametrize("code", ["net", "net:@greedy"])
@pytest.mark.parametrize("players", [3, 4, 5])
def test_the_reference_player_plays_at_every_table(code, players):
    net, batch = agents.make(code), Batch(30, players, seed=3)
    finished = np.zeros(30, bool)
    while not finished.all():
        actions = net.act(batch.view())
        assert batch.action_masks[np.arange(30), actions].all()
        batch.step(actions)
        finished |= batch.terminated


def test_the_reference_player_is_small_and_tells_how_it_was_made():
    assert sum(file.stat().st_size for file in REFERENCE.rglob("*") if file.is_file()) <= 4e6
    for member in agents.make("net").members:
        assert all(stage["command"].startswith("python -m ") and stage["commit"] for stage in member.about["lineage"])


def test_the_reference_player_in_torch_is_the_same():
    net, batch = agents.make("net"), Batch(300, 4, seed=3, open_mice=True)
    batch.play_random(40)
    view, masks = batch.view(), torch.from_numpy(batch.action_masks == 1)
    for member in net.members:
        found = ActorCritic.of(member).log_probabilities(torch.from_numpy(batch.observations), masks).exp()
        assert np.allclose(found.detach().numpy(), member.probabilities(view), atol=1e-4)


def mixture_of(folder: Path, count: int) -> MixturePlayer:
    """Saved, and read back."""
    for k in range(count):
        (folder / str(k)).mkdir(parents=True)
        save_policy(folder / str(k), small_net(k).layers, open_mice=False)
    player = agents.make(f"net:{folder}")
    assert isinstance(player, MixturePlayer)
    return player


@pytest.mark.parametrize("players", [3, 4, 5])
def test_a_mixture_plays_each_seat_for_a_whole_game_as_one_of_its_members(tmp_path, players):
    mixture, batch = mixture_of(tmp_path, 3), Batch(60, players, seed=5)
    members: dict[tuple[int, int], set[int]] = {}
    for _ in range(30):
        view = batch.view()
        actions = mixture.act(view)
        answers = np.array([member.act(view) for member in mixture.members])
        removed = batch.states["removed"][np.arange(60), batch.seats]
        assert (actions == answers[removed % 3, np.arange(60)]).all()
        for game in range(60):
            members.setdefault((int(batch.game_seeds[game]), int(batch.seats[game])), set()).add(removed[game] % 3)
        batch.step(actions)
    assert all(len(found) == 1 for found in members.values())
    assert set.union(*members.values()) == {0, 1, 2}


def test_the_chances_of_a_mixture_are_those_of_the_member_that_plays(tmp_path):
    mixture, view = mixture_of(tmp_path, 2), played_batch(agents.make("random"), 25)[-1]
    removed = view.states["removed"][np.arange(len(view)), view.seats]
    chances = np.array([member.probabilities(view) for member in mixture.members])
    assert np.allclose(mixture.probabilities(view), chances[removed % 2, np.arange(len(view))], atol=1e-6)


def test_where_no_card_is_removed_the_last_member_of_a_mixture_plays(tmp_path):
    mixture, view = mixture_of(tmp_path, 3), played_batch(agents.make("random"), 25)[-1]
    view.states["removed"] = NO_CARD
    assert mixture.act(view).tolist() == mixture.members[-1].act(view).tolist()
    assert mixture.act(view).tolist() != mixture.members[0].act(view).tolist()


def test_the_greedy_form_of_a_mixture_is_that_of_its_members(tmp_path):
    mixture_of(tmp_path, 2)
    for slash in ("", "/"):
        greedy = agents.make(f"net:{tmp_path}{slash}@greedy")
        assert isinstance(greedy, MixturePlayer)
        assert all(member.greedy for member in greedy.members)


def test_a_damaged_member_of_a_mixture_is_named(tmp_path):
    mixture_of(tmp_path, 2)
    truncate_tensors(tmp_path / "1")
    with pytest.raises(ValueError, match=r"no policy can be read from .*1:"):
        agents.make(f"net:{tmp_path}")


def test_a_policy_trained_with_open_mice_is_shown_them(tmp_path):
    view = played_batch(agents.make("random"), 25)[-1]
    written = saved_policy(tmp_path, open_mice=True)
    expected = NetworkPlayer.of(written.layers, open_mice=True, greedy=True).act(view).tolist()
    assert agents.make(f"net:{tmp_path}@greedy").act(view).tolist() == expected
    assert expected != NetworkPlayer.of(written.layers, greedy=True).act(view).tolist()


def change_json(folder: Path, **changes: object) -> None:
    file = folder / "policy.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def truncate_tensors(folder: Path) -> None:
    file = folder / "policy.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def other_layers(folder: Path, *shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    layers = [(np.zeros(weight, np.float32), np.zeros(bias, np.float32)) for weight, bias in shapes]
    save_policy(folder, layers, open_mice=False)


DAMAGES = {
    "no json": lambda f: (f / "policy.json").unlink(),
    "no tensors": lambda f: (f / "policy.safetensors").unlink(),
    "json cut off": lambda f: (f / "policy.json").write_text('{"format": '),
    "json is a list": lambda f: (f / "policy.json").write_text("[]"),
    "json is binary": lambda f: (f / "policy.json").write_bytes(b"\xff\xfe\x00"),
    "tensors cut off": truncate_tensors,
    "tensors are text": lambda f: (f / "policy.safetensors").write_text("these are no tensors"),
    "tensors empty": lambda f: (f / "policy.safetensors").write_bytes(b""),
    "other format": lambda f: change_json(f, format="felicity-policy-0"),
    "other rules": lambda f: change_json(f, rules_version=999),
    "other activation": lambda f: change_json(f, activation="sine"),
    "other sections": lambda f: change_json(f, sections=[["num_players", 4]]),
    "no layers": lambda f: other_layers(f),
    "too few inputs": lambda f: other_layers(f, ((OBS_SIZE - 1, NUM_ACTIONS), (NUM_ACTIONS,))),
    "too few actions": lambda f: other_layers(f, ((OBS_SIZE, NUM_ACTIONS - 1), (NUM_ACTIONS - 1,))),
    "layers do not meet": lambda f: other_layers(f, ((OBS_SIZE, 5), (5,)), ((6, NUM_ACTIONS), (NUM_ACTIONS,))),
    "bias of another size": lambda f: other_layers(f, ((OBS_SIZE, NUM_ACTIONS), (1,))),
    "weight in one dimension": lambda f: other_layers(f, ((OBS_SIZE,), (NUM_ACTIONS,))),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_policy_is_refused_by_its_path(tmp_path, damage):
    folder = tmp_path / "some_run"
    saved_policy(folder)
    assert NetworkPlayer(str(folder)).about["open_mice"] is False
    DAMAGES[damage](folder)
    with pytest.raises(ValueError, match="some_run"):
        agents.make(f"net:{folder}")


def test_a_policy_that_does_not_say_whether_mice_were_open_is_refused(tmp_path):
    saved_policy(tmp_path)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "open_mice"}))
    with pytest.raises(ValueError, match="damaged"):
        load_policy(tmp_path)


def test_a_path_without_a_policy_is_named():
    with pytest.raises(ValueError, match=r"no policy can be read from .*nowhere"):
        agents.make("net:nowhere/at/all")
