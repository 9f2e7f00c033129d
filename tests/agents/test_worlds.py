"""Worlds for search: they fit what a seat knows, and favour the cards that the models would place and bid with."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents import ev, worlds
from agents.compiled import heuristic_number
from agents.playout import play_out
from agents.worlds import DOUBT, MODELS, SELF, draw_world
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    MAX_SEATS,
    NO_CARD,
    PASS,
    PLACE,
    STATE,
    Setup,
    State,
    slot_owner,
)
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from felicity_env.random_stream import draw_below, mix
from tests.support.helpers import (
    ALL_SETUPS,
    C3,
    C5,
    C8,
    C11,
    C15,
    COMPILED,
    M5,
    M8,
    ODD_SETUPS,
    RABBIT,
    SMALL,
    auction,
    bid,
    draw_bits,
    lowest_card,
    new_game,
    plain,
    play,
    random_game,
)

GAMES = 12 if COMPILED else 1  # of each setup
EVERY = 2 if COMPILED else 7  # of their positions
DRAWS = 20_000 if COMPILED else 200
EV, ANCHOR, TUNED = (heuristic_number(code) for code in ("ev", "anchor", "tuned"))


@kernel
def _draw_worlds(states, models, scratch, seeds):
    for k in range(len(seeds)):
        draw_world(states[k], models[k], scratch, seeds[k])


@kernel
def _play_out_all(states, models, scratch, seeds):
    for k in range(len(seeds)):
        play_out(states[k], scratch, models[k], seeds[k])


def draw_worlds(known: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a world for each redacted state, and the models of its seats [B, MAX_SEATS]."""
    states, models = known.copy(), np.full((len(known), MAX_SEATS), -1, np.int64)
    _draw_worlds(states, models, np.zeros(1, STATE), seeds)
    return states, models


def draw_worlds_for(state: State, draws: int = DRAWS) -> tuple[np.ndarray, np.ndarray]:
    """Return many worlds for the seat to act in `state`."""
    known = redact(np.array([state], STATE), int(state.seat))
    return draw_worlds(np.repeat(known, draws), draw_bits(draws))


def positions(setup: Setup, *, games: int = GAMES, every: int = EVERY) -> np.ndarray:
    """Return true states of random games that are not over."""
    return np.concatenate([random_game(setup, seed).states[seed % 2 : -1 : every] for seed in range(games)])


def list_cards(cards: int) -> list[int]:
    return [card for card in range(10) if int(cards) >> card & 1]


# --- worlds fit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_a_world_is_one_that_its_seat_cannot_tell_from_the_truth(setup):
    truth = positions(setup)
    known = redact(truth, truth["seat"])
    states, models = draw_worlds(known, draw_bits(len(known)))
    assert redact(states, truth["seat"]).tobytes() == known.tobytes()
    assert ({PLACE, AUCTION} == set(truth["phase"].tolist()) and (states != truth).any()) or not COMPILED
    seats = np.arange(setup.seats)
    assert np.isin(models[:, seats], MODELS).all()
    assert (models[np.arange(len(truth)), truth["seat"]] == SELF).all()
    assert (models[:, setup.seats :] == -1).all()


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_in_a_world_every_card_of_every_set_is_in_one_place_and_none_is_hidden(setup):
    truth = positions(setup)
    states, _ = draw_worlds(redact(truth, truth["seat"]), draw_bits(len(truth)))
    for state in states:
        placed = {slot_owner(state, slot): int(state.row[slot]) for slot in range(state.row_size)}
        for seat in range(setup.seats):
            places = [*list_cards(state.hands[seat]), *list_cards(state.played[seat]), placed.get(seat, NO_CARD)]
            places.append(int(state.removed[seat]))
            assert sorted(card for card in places if card != NO_CARD) == sorted(setup.cards)
        if setup.dummy:
            turned = [card for card in state.dummy_cards.tolist() if card != NO_CARD]
            assert len(set(turned)) == len(turned) == len(setup.cards) - setup.removed
            assert set(turned) <= set(setup.cards)
            assert placed[DUMMY] == turned[state.round_number]


def early_position(setup: Setup, length: int) -> State:
    """Return a small game after `length` actions: lowest cards, then passes."""
    state = random_game(setup, 5).states[0].copy()
    for _ in range(length):
        play(state, lowest_card(state) if state.phase == PLACE else PASS)
    return state


@pytest.mark.parametrize("setup", [ODD_SETUPS[0], ODD_SETUPS[2], ODD_SETUPS[4]])
@pytest.mark.parametrize("length", range(5))
def test_worlds_are_all_those_that_fit_and_no_others(setup, length):
    """Compare hand, removed card and placed card of each opponent."""
    state = early_position(setup, length)
    states, _ = draw_worlds_for(state)
    uniform = resample(redact(np.repeat(np.array([state], STATE), DRAWS), int(state.seat)), np.random.default_rng(1))
    for seat in range(setup.seats):
        slots = [slot for slot in range(state.row_size) if slot_owner(state, slot) == seat]

        def kinds(of: np.ndarray, seat: int = seat, slots: list[int] = slots) -> set[tuple[int, ...]]:
            columns = [of["hands"][:, seat], of["removed"][:, seat], *(of["row"][:, slot] for slot in slots)]
            return set(zip(*(column.tolist() for column in columns), strict=True))

        assert kinds(states) <= kinds(uniform)
        assert kinds(states) == kinds(uniform) or not COMPILED
    assert (state.hands[: setup.seats] != HIDDEN).all()


# --- worlds favour what players do ------------------------------------------------------------------------------------


def frequency(states: np.ndarray, slot: int, *cards: int) -> float:
    return float(np.isin(states["row"][:, slot], cards).mean())


def near(expected: float, draws: int) -> Any:
    return pytest.approx(expected, abs=4.5 * np.sqrt(expected * (1 - expected) / draws) + 1e-9)


@pytest.mark.parametrize("passes", [0, 1, 2])
@pytest.mark.parametrize(
    ("dry", "first", "second"),  # card that `ev` places, and the one if that was removed
    [(False, RABBIT, SMALL), (True, M8, M5)],
)
def test_a_card_is_likely_that_its_model_would_place_whoever_has_passed_since(dry, first, second, passes):
    state = auction(4, (C15, C8, C3, C3))
    if dry:
        state.pots[:] = 0
    play(state, *[PASS] * passes)
    states, models = draw_worlds_for(state)
    slot, others = 3, [card for card in range(10) if card not in (first, second)]
    by_ev = states[models[:, slot] == EV]
    assert frequency(by_ev, slot, first) == near(0.9 * (1 - DOUBT) + DOUBT / 10, len(by_ev))
    assert frequency(by_ev, slot, second) == near(0.1 * (1 - DOUBT) + DOUBT / 10, len(by_ev))
    assert frequency(by_ev, slot, *others) == near(0.8 * DOUBT, len(by_ev))
    by_anchor = states[models[:, slot] == ANCHOR]
    for card in range(10):
        assert frequency(by_anchor, slot, card) == near(0.1, len(by_anchor))


def test_each_opponent_gets_each_model_as_often_as_the_list_has_it():
    _, models = draw_worlds_for(auction(5))
    for seat in range(1, 5):
        for number in set(MODELS.tolist()):
            expected = float((number == MODELS).mean())
            assert (models[:, seat] == number).mean() == near(expected, len(models))


def raise_to(high: int) -> State:
    """Return a state in which seat 1 has bid `high` on a sack with an open 15; its own card is face down."""
    state = auction(4, (C15, C8, C3, C3))
    state.mice[:] = 30
    return play(state, bid(1), bid(high))


def test_a_bid_above_the_value_of_a_spoiled_sack_makes_spoilers_unlikely():
    """Use `anchor`, which places at random and counts 15 + its card + 2 * 2.9 - 2 = 18.8 + its card."""
    for high, expected in ((2, 0.2), (18, 0.0)):
        states, models = draw_worlds_for(raise_to(high))
        by_anchor = states[models[:, 1] == ANCHOR]
        spoiled = frequency(by_anchor, 1, M8, M5)
        assert len(by_anchor) > DRAWS / 8
        assert abs(spoiled - expected) < (0.07 if COMPILED else 0.15)
        assert frequency(by_anchor, 1, C15) > 0.08


def test_a_bid_that_no_longer_stands_carries_no_information():
    state = play(raise_to(2), bid(3), bid(18), bid(19), bid(20), bid(21), PASS)
    assert (state.seat, state.bids[3], state.row[3], state.face_up) == (0, 0, C3, 2)
    states, models = draw_worlds_for(state)
    by_anchor = states[models[:, 3] == ANCHOR]
    assert frequency(by_anchor, 3, M8, M5) == near(0.2, len(by_anchor))


def is_independent(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two columns of small integers look independent, by chi-square without rare values."""
    table = np.zeros((16, 16))
    np.add.at(table, (first + 3, second + 3), 1)
    often = table.sum() / 50
    table = table[table.sum(axis=1) > often][:, table.sum(axis=0) > often]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedoms = (table.shape[0] - 1) * (table.shape[1] - 1)
    distance = ((table - expected) ** 2 / expected).sum()
    return bool(distance <= freedoms + 5 * np.sqrt(2 * freedoms) + 1e-9)


def test_two_columns_that_depend_on_each_other_are_detected():
    column = np.random.default_rng(0).integers(10, size=DRAWS)
    assert is_independent(column, np.random.default_rng(1).integers(10, size=DRAWS))
    assert not is_independent(column, (column + np.random.default_rng(1).integers(5, size=DRAWS)) % 10)


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (1, 3), (3, 1)])
def test_the_cards_of_two_opponents_are_independent(one, other):
    states, models = draw_worlds_for(auction(4))
    assert is_independent(states["row"][:, one], states["row"][:, other])
    assert is_independent(states["removed"][:, one], states["row"][:, other])
    assert is_independent(models[:, one], states["row"][:, other])


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (1, 3), (3, 1)])
def test_cards_placed_one_after_the_other_in_a_playout_are_independent(one, other):
    """Play the last round, after which the row stays, by `tuned`, which draws its cards."""
    state = new_game(4)
    state.round_number, state.mice[:] = 8, 0
    draws = DRAWS if COMPILED else 100
    states = np.repeat(np.array([state], STATE), draws)
    _play_out_all(states, np.full((draws, MAX_SEATS), TUNED), np.zeros(1, STATE), draw_bits(draws))
    assert is_independent(states["row"][:, one], states["row"][:, other])


# --- step by step in Python, where constants can be replaced ----------------------------------------------------------


@pytest.fixture
def draw_owner(monkeypatch: pytest.MonkeyPatch) -> Callable[..., np.ndarray]:
    """Return a function (state, slot, draws, **constants) -> worlds after `_draw_owner` in plain Python."""
    for name in ("_draw_owner", "_place_card", "_would_bid"):
        monkeypatch.setattr(worlds, name, plain(getattr(worlds, name)))
    monkeypatch.setattr(worlds, "mix", lambda bits: np.uint64(mix(np.uint64(bits))))
    monkeypatch.setattr(worlds, "draw_below", lambda bits, bound: draw_below(np.uint64(bits), bound))
    monkeypatch.setattr(worlds, "heuristic_action", lambda number, state, bits: ev.action(state, 0))

    def draw(state: State, slot: int, draws: int, **constants: object) -> np.ndarray:
        for name, value in constants.items():
            monkeypatch.setattr(worlds, name, value)
        known = np.repeat(redact(np.array([state], STATE), int(state.seat)), draws)
        models, scratch = np.zeros(MAX_SEATS, np.int64), np.zeros(1, STATE)
        for world, bits in zip(known, draw_bits(draws), strict=True):
            worlds._draw_owner(world, models, scratch, slot, slot_owner(world, slot), bits)
            assert models[slot_owner(world, slot)] in worlds.MODELS
        return known

    return draw


def test_with_full_doubt_every_pair_of_removed_and_placed_card_is_equally_likely(draw_owner):
    draws = 3000 if COMPILED else 1000
    states = draw_owner(auction(4), 2, draws, DOUBT=1)
    counts = np.zeros((10, 10))
    np.add.at(counts, (states["removed"][:, 2], states["row"][:, 2]), 1)
    assert (np.diag(counts) == 0).all()
    expected = draws / 90
    distance = ((counts - expected) ** 2 / expected)[~np.eye(10, dtype=bool)].sum()
    assert distance < 89 + 4 * np.sqrt(2 * 89)


def test_without_doubt_a_card_is_what_the_model_places(draw_owner):
    states = draw_owner(auction(4), 2, 200, DOUBT=0, MODELS=np.array([EV]))
    for state in states:
        assert state.row[2] == (SMALL if state.removed[2] == RABBIT else RABBIT)


def test_the_model_sees_the_state_as_it_was_when_it_placed_its_card(draw_owner, monkeypatch):
    state = play(auction(4, (C3, C5, C8, C11)), PASS, PASS)
    seen = []

    def look(number: int, state: State, bits: int) -> int:
        seen.append(state.copy())
        return ev.action(state, 0)

    monkeypatch.setattr(worlds, "heuristic_action", look)
    draw_owner(state, 3 if state.seat != 3 else 2, 1, DOUBT=0, MODELS=np.array([EV]))
    placing = seen[0]
    assert (placing.phase, placing.seat, placing.high_bid) == (PLACE, 3, 0)
    assert placing.mice.tolist() == new_game(4).mice.tolist()
    assert placing.pots.tolist() == new_game(4).pots.tolist()


def test_a_card_is_drawn_again_while_the_model_would_not_bid_until_the_tries_are_over(draw_owner, monkeypatch):
    tried: list[int] = []
    for accepted, tries in ((1, 1), (3, 3), (worlds.TRIES, worlds.TRIES), (99, worlds.TRIES)):

        def would_bid(*arguments: Any, accepted: int = accepted) -> bool:
            tried.append(arguments[5])  # the card
            return len(tried) == accepted

        tried.clear()
        monkeypatch.setattr(worlds, "_would_bid", would_bid)
        states = draw_owner(auction(4), 2, 1, DOUBT=1)
        assert len(tried) == tries
        assert states["row"][0, 2] == tried[-1]


@pytest.mark.parametrize(("own", "bids"), [(M8, False), (C15, True)])
def test_the_model_decides_about_a_standing_bid_as_it_was_made(draw_owner, monkeypatch, own, bids):
    """Use `ev`, which bids 18 on 15 and its own 15, but not on 15 and its own -8, and sees no cards of others."""
    state = raise_to(18)
    seen = []

    def look(number: int, state: State, bits: int) -> int:
        seen.append(state.copy())
        return ev.action(state, 0)

    monkeypatch.setattr(worlds, "heuristic_action", look)
    known = redact(np.array([state], STATE), 2)[0]
    assert worlds._would_bid(known, EV, np.zeros(1, STATE), 1, 1, own, np.uint64(0)) == bids
    asked = seen[0]
    assert (asked.seat, asked.high_bid, asked.row.tolist()) == (1, 17, [C15, own, HIDDEN, HIDDEN, NO_CARD])
    known.bids[1] = 0
    assert worlds._would_bid(known, EV, np.zeros(1, STATE), 1, 1, own, np.uint64(0))
    assert len(seen) == 1
