"""Worlds drawn by belief fit what a seat knows, and lean to what players do; worlds played out are fair and ended."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agents import worlds
from agents.compiled import COMPILED as CODES
from agents.compiled import NUMBERS, CompiledPlayer
from agents.ev import ev_action
from agents.playout import MARGIN_WEIGHT, play_out, utilities
from agents.worlds import DOUBT, MODELS, SELF, draw_world
from felicity_env import View
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    MAX_SEATS,
    NO_CARD,
    OVER,
    PASS,
    PLACE,
    STATE,
    Setup,
    State,
    is_terminal,
    rank,
    slot_owner,
    step,
)
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from felicity_env.random_stream import below, mix
from tests.helpers import (
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
    lowest_card,
    new_game,
    plain,
    play,
    random_game,
    random_words,
)

GAMES = 12 if COMPILED else 1  # of each setup
EVERY = 2 if COMPILED else 7  # of their positions
DRAWS = 20_000 if COMPILED else 200
EV, ANCHOR, TUNED = NUMBERS["ev"], NUMBERS["anchor"], NUMBERS["tuned"]


@kernel
def _draw_worlds(states, models, room, words):
    for k in range(len(words)):
        draw_world(states[k], models[k], room, words[k])


@kernel
def _play_out_all(states, models, scratch, words):
    for k in range(len(words)):
        play_out(states[k], scratch, models[k], words[k])


@kernel
def _utilities_of(states, values, out):
    for k in range(len(states)):
        utilities(states[k], values)
        for seat in range(MAX_SEATS):
            out[k, seat] = values[0, seat]


def drawn(known: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A world for each redacted state, and who plays its seats [B, MAX_SEATS]."""
    states, models = known.copy(), np.full((len(known), MAX_SEATS), -1, np.int64)
    _draw_worlds(states, models, np.zeros(1, STATE), words)
    return states, models


def drawn_for(state: State, draws: int = DRAWS) -> tuple[np.ndarray, np.ndarray]:
    """Many worlds that the seat to act in `state` believes in."""
    known = redact(np.array([state], STATE), int(state.seat))
    return drawn(np.repeat(known, draws), random_words(draws))


def positions(setup: Setup, *, games: int = GAMES, every: int = EVERY) -> np.ndarray:
    """True states of random games in which somebody is to act."""
    return np.concatenate([random_game(setup, seed).states[seed % 2 : -1 : every] for seed in range(games)])


def cards_in(cards: int) -> list[int]:
    return [card for card in range(10) if int(cards) >> card & 1]


# --- worlds fit -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_a_world_is_one_that_its_seat_cannot_tell_from_the_truth(setup):
    truth = positions(setup)
    known = redact(truth, truth["seat"])
    states, models = drawn(known, random_words(len(known)))
    assert redact(states, truth["seat"]).tobytes() == known.tobytes()
    assert ({PLACE, AUCTION} == set(truth["phase"].tolist()) and (states != truth).any()) or not COMPILED
    seats = np.arange(setup.seats)
    assert np.isin(models[:, seats], MODELS).all()
    assert (models[np.arange(len(truth)), truth["seat"]] == SELF).all()
    assert (models[:, setup.seats :] == -1).all()


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_in_a_world_every_card_of_every_set_is_in_one_place_and_none_is_hidden(setup):
    truth = positions(setup)
    states, _ = drawn(redact(truth, truth["seat"]), random_words(len(truth)))
    for state in states:
        laid = {slot_owner(state, slot): int(state.row[slot]) for slot in range(state.row_size)}
        for seat in range(setup.seats):
            places = [*cards_in(state.hands[seat]), *cards_in(state.played[seat]), laid.get(seat, NO_CARD)]
            places.append(int(state.removed[seat]))
            assert sorted(card for card in places if card != NO_CARD) == sorted(setup.cards)
        if setup.dummy:
            turned = [card for card in state.dummy_cards.tolist() if card != NO_CARD]
            assert len(set(turned)) == len(turned) == len(setup.cards) - setup.removed
            assert set(turned) <= set(setup.cards)
            assert laid[DUMMY] == turned[state.round_number]


def early_position(setup: Setup, length: int) -> State:
    """A small game after so many actions: lowest cards, then passes."""
    state = random_game(setup, 5).states[0].copy()
    for _ in range(length):
        play(state, lowest_card(state) if state.phase == PLACE else PASS)
    return state


@pytest.mark.parametrize("setup", [ODD_SETUPS[0], ODD_SETUPS[2], ODD_SETUPS[4]])
@pytest.mark.parametrize("length", range(5))
def test_no_world_that_fits_is_ruled_out_and_no_other_let_in(setup, length):
    """Of each opponent: what it laid, what it lost, what it holds."""
    state = early_position(setup, length)
    states, _ = drawn_for(state)
    uniform = resample(redact(np.repeat(np.array([state], STATE), DRAWS), int(state.seat)), np.random.default_rng(1))
    for seat in range(setup.seats):
        slots = [slot for slot in range(state.row_size) if slot_owner(state, slot) == seat]

        def kinds(of: np.ndarray, seat: int = seat, slots: list[int] = slots) -> set[tuple[int, ...]]:
            columns = [of["hands"][:, seat], of["removed"][:, seat], *(of["row"][:, slot] for slot in slots)]
            return set(zip(*(column.tolist() for column in columns), strict=True))

        assert kinds(states) <= kinds(uniform)
        assert kinds(states) == kinds(uniform) or not COMPILED
    assert (state.hands[: setup.seats] != HIDDEN).all()


# --- worlds lean to what players do -----------------------------------------------------------------------------------


def share(states: np.ndarray, slot: int, *cards: int) -> float:
    return float(np.isin(states["row"][:, slot], cards).mean())


def near(expected: float, draws: int) -> Any:
    return pytest.approx(expected, abs=4.5 * np.sqrt(expected * (1 - expected) / draws) + 1e-9)


@pytest.mark.parametrize("passes", [0, 1, 2])
@pytest.mark.parametrize(
    ("dry", "first", "second"),  # what `ev` lays, and what it lays if that card is the one removed
    [(False, RABBIT, SMALL), (True, M8, M5)],
)
def test_a_card_is_believed_that_its_player_would_lay_whoever_has_passed_since(dry, first, second, passes):
    state = auction(4, (C15, C8, C3, C3))
    if dry:
        state.pots[:] = 0
    play(state, *[PASS] * passes)
    states, models = drawn_for(state)
    slot, others = 3, [card for card in range(10) if card not in (first, second)]
    by_ev = states[models[:, slot] == EV]
    assert share(by_ev, slot, first) == near(0.9 * (1 - DOUBT) + DOUBT / 10, len(by_ev))
    assert share(by_ev, slot, second) == near(0.1 * (1 - DOUBT) + DOUBT / 10, len(by_ev))
    assert share(by_ev, slot, *others) == near(0.8 * DOUBT, len(by_ev))
    by_anchor = states[models[:, slot] == ANCHOR]
    for card in range(10):
        assert share(by_anchor, slot, card) == near(0.1, len(by_anchor))


def test_each_opponent_is_taken_for_each_model_as_often_as_the_list_has_it():
    _, models = drawn_for(auction(5))
    for seat in range(1, 5):
        for number in set(MODELS.tolist()):
            expected = float((number == MODELS).mean())
            assert (models[:, seat] == number).mean() == near(expected, len(models))


def raised_to(high: int) -> State:
    """Seat 2 decides; seat 1 has bid `high` on a sack that begins with a 15, and its own card is face down."""
    state = auction(4, (C15, C8, C3, C3))
    state.mice[:] = 30
    return play(state, bid(1), bid(high))


def test_a_bid_above_the_worth_of_a_spoiled_sack_makes_spoilers_unlikely():
    """`anchor` lays at random, and counts 15 + its card + 2 * 2.9 - 2 = 18.8 + its card."""
    for high, expected in ((2, 0.2), (18, 0.0)):
        states, models = drawn_for(raised_to(high))
        by_anchor = states[models[:, 1] == ANCHOR]
        spoiled = share(by_anchor, 1, M8, M5)
        assert len(by_anchor) > DRAWS / 8
        assert abs(spoiled - expected) < (0.07 if COMPILED else 0.15)
        assert share(by_anchor, 1, C15) > 0.08


def test_a_bid_that_is_no_longer_standing_says_nothing():
    state = play(raised_to(2), bid(3), bid(18), bid(19), bid(20), bid(21), PASS)
    assert (state.seat, state.bids[3], state.row[3], state.face_up) == (0, 0, C3, 2)
    states, models = drawn_for(state)
    by_anchor = states[models[:, 3] == ANCHOR]
    assert share(by_anchor, 3, M8, M5) == near(0.2, len(by_anchor))


def independent(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two columns of small integers look independent: chi-square, rare values left out."""
    table = np.zeros((16, 16))
    np.add.at(table, (first + 3, second + 3), 1)
    often = table.sum() / 50
    table = table[table.sum(axis=1) > often][:, table.sum(axis=0) > often]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedoms = (table.shape[0] - 1) * (table.shape[1] - 1)
    distance = ((table - expected) ** 2 / expected).sum()
    return bool(distance <= freedoms + 5 * np.sqrt(2 * freedoms) + 1e-9)


def test_two_columns_that_depend_on_each_other_would_be_found():
    column = np.random.default_rng(0).integers(10, size=DRAWS)
    assert independent(column, np.random.default_rng(1).integers(10, size=DRAWS))
    assert not independent(column, (column + np.random.default_rng(1).integers(5, size=DRAWS)) % 10)


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (1, 3), (3, 1)])
def test_what_is_believed_of_two_opponents_is_independent(one, other):
    states, models = drawn_for(auction(4))
    assert independent(states["row"][:, one], states["row"][:, other])
    assert independent(states["removed"][:, one], states["row"][:, other])
    assert independent(models[:, one], states["row"][:, other])


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (1, 3), (3, 1)])
def test_cards_laid_one_after_the_other_in_a_playout_are_independent(one, other):
    """All play as `tuned`, whose cards are drawn; it is the last round, so that the row stays as it was laid."""
    state = new_game(4)
    state.round_number, state.mice[:] = 8, 0
    draws = DRAWS if COMPILED else 100
    states = np.repeat(np.array([state], STATE), draws)
    ended = played_out(states, np.full((draws, MAX_SEATS), TUNED), random_words(draws))
    assert independent(ended["row"][:, one], ended["row"][:, other])


# --- step by step in Python, where constants can be replaced ----------------------------------------------------------


@pytest.fixture
def believe(monkeypatch: pytest.MonkeyPatch) -> Callable[..., np.ndarray]:
    """A function (state, slot, draws, **constants) -> worlds after `_believe` of that slot, run as plain Python."""
    for name in ("_believe", "_laid", "_would_bid"):
        monkeypatch.setattr(worlds, name, plain(getattr(worlds, name)))
    monkeypatch.setattr(worlds, "mix", lambda word: np.uint64(mix(np.uint64(word))))
    monkeypatch.setattr(worlds, "below", lambda word, bound: below(np.uint64(word), bound))
    monkeypatch.setattr(worlds, "compiled_action", lambda number, state, word: ev_action(state))

    def believed(state: State, slot: int, draws: int, **constants: object) -> np.ndarray:
        for name, value in constants.items():
            monkeypatch.setattr(worlds, name, value)
        known = np.repeat(redact(np.array([state], STATE), int(state.seat)), draws)
        models, room = np.zeros(MAX_SEATS, np.int64), np.zeros(1, STATE)
        for world, word in zip(known, random_words(draws), strict=True):
            worlds._believe(world, models, room, slot, slot_owner(world, slot), word)
            assert models[slot_owner(world, slot)] in worlds.MODELS
        return known

    return believed


def test_without_belief_every_pair_of_removed_and_laid_card_is_equally_likely(believe):
    draws = 3000 if COMPILED else 1000
    states = believe(auction(4), 2, draws, DOUBT=1)
    counts = np.zeros((10, 10))
    np.add.at(counts, (states["removed"][:, 2], states["row"][:, 2]), 1)
    assert (np.diag(counts) == 0).all()
    expected = draws / 90
    distance = ((counts - expected) ** 2 / expected)[~np.eye(10, dtype=bool)].sum()
    assert distance < 89 + 4 * np.sqrt(2 * 89)


def test_without_doubt_a_card_is_what_the_model_lays(believe):
    states = believe(auction(4), 2, 200, DOUBT=0, MODELS=np.array([EV]))
    for state in states:
        assert state.row[2] == (SMALL if state.removed[2] == RABBIT else RABBIT)


def test_the_model_sees_the_table_as_it_was_when_it_laid_its_card(believe, monkeypatch):
    state = play(auction(4, (C3, C5, C8, C11)), PASS, PASS)
    seen = []

    def look(number: int, state: State, word: int) -> int:
        seen.append(state.copy())
        return ev_action(state)

    monkeypatch.setattr(worlds, "compiled_action", look)
    believe(state, 3 if state.seat != 3 else 2, 1, DOUBT=0, MODELS=np.array([EV]))
    laying = seen[0]
    assert (laying.phase, laying.seat, laying.high_bid) == (PLACE, 3, 0)
    assert laying.mice.tolist() == new_game(4).mice.tolist()
    assert laying.pots.tolist() == new_game(4).pots.tolist()


def test_a_card_is_drawn_again_up_to_so_many_times_while_the_model_would_not_bid(believe, monkeypatch):
    tried: list[int] = []
    for accepted, tries in ((1, 1), (3, 3), (worlds.TRIES, worlds.TRIES), (99, worlds.TRIES)):

        def would_bid(*arguments: Any, accepted: int = accepted) -> bool:
            tried.append(arguments[5])  # the card
            return len(tried) == accepted

        tried.clear()
        monkeypatch.setattr(worlds, "_would_bid", would_bid)
        states = believe(auction(4), 2, 1, DOUBT=1)
        assert len(tried) == tries
        assert states["row"][0, 2] == tried[-1]


@pytest.mark.parametrize(("own", "bids"), [(M8, False), (C15, True)])
def test_a_standing_bid_is_put_to_the_model_as_it_was_made(believe, monkeypatch, own, bids):
    """`ev` bids 18 on 15 and its own 15, but not on 15 and its own -8; it does not see the cards of others."""
    state = raised_to(18)
    seen = []

    def look(number: int, state: State, word: int) -> int:
        seen.append(state.copy())
        return ev_action(state)

    monkeypatch.setattr(worlds, "compiled_action", look)
    known = redact(np.array([state], STATE), 2)[0]
    assert worlds._would_bid(known, EV, np.zeros(1, STATE), 1, 1, own, np.uint64(0)) == bids
    asked = seen[0]
    assert (asked.seat, asked.high_bid, asked.row.tolist()) == (1, 17, [C15, own, HIDDEN, HIDDEN, NO_CARD])
    known.bids[1] = 0
    assert worlds._would_bid(known, EV, np.zeros(1, STATE), 1, 1, own, np.uint64(0))
    assert len(seen) == 1


# --- playing out ------------------------------------------------------------------------------------------------------


def played_out(states: np.ndarray, models: np.ndarray, words: np.ndarray) -> np.ndarray:
    ended = states.copy()
    _play_out_all(ended, models, np.zeros(1, STATE), words)
    return ended


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_a_playout_ends_the_game_and_conserves_mice(setup):
    truth = positions(setup, games=4 if COMPILED else 1, every=EVERY + 1)
    states, _ = drawn(redact(truth, truth["seat"]), random_words(len(truth)))
    models = np.random.default_rng(1).integers(len(CODES), size=(len(truth), MAX_SEATS))
    ended = played_out(states, models, random_words(len(truth), 1))
    assert (ended["phase"] == OVER).all()
    in_game = ended["mice"][:, : setup.seats].sum(axis=1) + ended["pots"].sum(axis=1) + ended["bank"]
    assert (in_game == setup.total_mice).all()
    assert (ended["mice"] >= 0).all()


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_a_playout_is_what_players_do_who_see_their_views(setup):
    """Players who draw nothing by lot: their decisions follow from what they are shown."""
    codes = ("ev", "miser", "bluffer")
    truth = positions(setup, games=2 if COMPILED else 1, every=9 * EVERY)
    seated = np.random.default_rng(2).integers(len(codes), size=(len(truth), MAX_SEATS))
    models = np.array([NUMBERS[code] for code in codes])[seated]
    ended = played_out(truth, models, random_words(len(truth)))
    for state, players, end in zip(truth.copy(), models, ended, strict=True):
        while not is_terminal(state):
            seat = int(state.seat)
            view = View(redact(np.array([state], STATE), seat), np.array([seat]), np.zeros(1, np.uint64))
            code = next(code for code in codes if NUMBERS[code] == players[seat])
            step(state, int(CompiledPlayer(code).act(view)[0]))
        assert state.tobytes() == end.tobytes()


def test_the_utility_is_the_share_of_the_victory_and_a_little_for_the_margin():
    for setup in ALL_SETUPS:
        ended = np.concatenate([random_game(setup, seed).states[-1:] for seed in range(30 if COMPILED else 3)])
        ended["mice"][::3, : setup.seats], ended["cat_points"][::3, : setup.seats] = 7, 5  # all win
        out = np.full((len(ended), MAX_SEATS), np.nan)
        _utilities_of(ended, np.full((2, MAX_SEATS), np.nan), out)
        seats = range(setup.seats)
        for state, values in zip(ended, out, strict=True):
            winners = [seat for seat in seats if rank(state, seat) == 1]
            scores = [int(state.mice[seat] + state.cat_points[seat]) for seat in seats]
            for seat in seats:
                margin = scores[seat] - (sum(scores) - scores[seat]) / (setup.seats - 1)
                share_of_victory = 1 / len(winners) if seat in winners else 0
                assert values[seat] == pytest.approx(share_of_victory + MARGIN_WEIGHT * margin)
            assert (values[setup.seats :] == 0).all()
