"""Random games, with every position checked against invariants, which are compiled (`experiments.checks`)."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.checks.game_faults import check_games
from experiments.checks.position_faults import FAULTS, check_mask_by_rules, check_position
from felicity_env.batch import Batch
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    MAX_BID,
    MAX_SEATS,
    MAX_TOTAL_MICE,
    NO_SEAT,
    NUM_ACTIONS,
    NUM_CARDS,
    OVER,
    PASS,
    PHASES,
    PLACE,
    Setup,
    legal_actions,
)
from felicity_env.observation import OBS_SIZE, SECTIONS, describe, observe
from felicity_env.rewards import REWARDS, reward_code, step_rewards
from felicity_env.setups import STANDARD_PLAYERS, standard_setup
from tests.support.helpers import ALL_SETUPS, COMPILED, ODD_SETUPS, random_game

GAMES = 5_000 if COMPILED else 20
SIZES = {section.name: section.size for section in SECTIONS}


def assert_sound_games(setup: Setup, games: int, seed: int = 0) -> None:
    found = check_games(setup, range(games), seed)
    assert not found.first_games, f"{found.first_games} ({setup})"
    assert found.decisions > games


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_nothing_breaks_in_five_thousand_random_games(players):
    assert_sound_games(standard_setup(players), GAMES)


@pytest.mark.parametrize("setup", ODD_SETUPS)
def test_nothing_breaks_in_games_of_odd_setups(setup):
    assert_sound_games(setup, GAMES * 2 // 5)


def position_faults(state) -> str:
    first = standard_setup(int(state.num_seats)).blank_state()[0]
    mask, out = np.zeros(NUM_ACTIONS, np.int8), np.zeros(OBS_SIZE, np.float32)
    return FAULTS[check_position(state, first, mask, out)]


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


@pytest.mark.parametrize("action", [3, PASS, PASS + 1, PASS + 40])
def test_a_mask_against_the_rules_is_found(action):
    state, mask = middle_of_an_auction(), np.zeros(NUM_ACTIONS, np.int8)
    legal_actions(state, state.seat, mask)
    assert FAULTS[check_mask_by_rules(state, mask)] == "none"
    mask[action] = 1 - mask[action]
    assert "the action mask is not what the rules allow" in FAULTS[check_mask_by_rules(state, mask)]


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


def feature_names() -> list[str]:
    return [f"{section.name}[{k}]" for section in SECTIONS for k in range(section.size)]


@pytest.mark.compiled("hundreds of thousands of positions")
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


@pytest.mark.compiled("hundreds of thousands of positions")
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
