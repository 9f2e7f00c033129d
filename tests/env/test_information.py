"""Information: nothing hidden leaks, and the resampler draws the possible worlds.

All tests use one definition: a world is possible for a seat if a game with that deal and those face-down cards shows
the seat the same information state. Everything a seat is shown must be the same in all its possible worlds.
"""

import gc
import re
from collections.abc import Callable, Iterator
from itertools import permutations, product
from math import prod
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from experiments.checks.pairs import Pair, actions_in_world, draw_pairs, rebuild_game
from felicity_env.batch import Batch
from felicity_env.game import (
    AUCTION,
    DUMMY,
    HIDDEN,
    NO_SEAT,
    NUM_ACTIONS,
    PASS,
    STATE,
    Setup,
    begin,
    is_legal,
    legal_actions,
    slot_owner,
    step,
)
from felicity_env.game_record import Deal, Game, draw_deal
from felicity_env.information import encode_information_state, information_state, redact, resample
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE, describe, observe
from felicity_env.player import View, write_action_masks, write_observations
from felicity_env.rewards import REWARDS, reward_code, step_rewards
from felicity_env.setups import SETUPS, STANDARD_PLAYERS, standard_setup
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
    MAX_LENGTH,
    ODD_SETUPS,
    RABBIT,
    auction,
    play,
    random_game,
)

WORLDS = 8
PAIRS = 1_000 if COMPILED else 50  # for each standard setup
REPLAYED = 200  # pairs of each setup whose games are replayed in plain Python, one for each world


def distinct_worlds(pair: Pair, rng: np.random.Generator, count: int = WORLDS) -> np.ndarray:
    worlds = resample(redact(np.repeat(pair.states, count), pair.seat), rng)
    return np.unique(worlds.view(np.uint8).reshape(count, -1), axis=0).reshape(-1).view(STATE)


# --- nothing leaks ----------------------------------------------------------------------------------------------------


@kernel
def _write_rewards(states, code, out):
    for k in range(len(states)):
        step_rewards(states[k], code, out[k])


def collect_shown(states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Return what a face shows `seats`, as bytes [B, ...]: mask, rewards, observation with and without open mice."""
    observations = np.empty((2, len(states), OBS_SIZE), np.float32)
    masks = np.empty((len(states), NUM_ACTIONS), np.int8)
    rewards = np.empty((len(REWARDS), len(states), 5))
    for open_mice in (0, 1):
        write_observations(states, seats, bool(open_mice), observations[open_mice])
    write_action_masks(states, seats, masks)
    for name in REWARDS:
        _write_rewards(states, reward_code(name), rewards[reward_code(name)])
    parts = [*observations, masks, *rewards]
    return np.concatenate([part.view(np.uint8).reshape(len(states), -1) for part in parts], axis=1)


@kernel
def _replay(states, actions):
    """Play `actions` [B, N] from the deals in `states`, each up to the first -1; return whether all were legal."""
    for k in range(len(states)):
        begin(states[k])
        for n in range(actions.shape[1]):
            if actions[k, n] < 0:
                break
            if not is_legal(states[k], actions[k, n]):
                return False
            step(states[k], actions[k, n])
    return True


def replay_worlds(pairs: list[Pair], worlds: np.ndarray) -> np.ndarray:
    """Return the final states of the games that are rebuilt from `worlds`, one for each of `pairs`."""
    states = np.zeros(len(pairs), STATE)
    actions = np.full((len(pairs), MAX_LENGTH), -1, np.int16)
    for k, (pair, world) in enumerate(zip(pairs, worlds, strict=True)):
        setup = pair.played.game.setup
        states[k : k + 1] = setup.blank_state()
        states["removed"][k, : setup.seats] = world["removed"][: setup.seats]
        states["dummy_cards"][k] = world["dummy_cards"]
        states["start_seat"][k] = pair.played.game.deal.start_seat
        actions[k, : pair.length] = actions_in_world(pair, world)
    assert _replay(states, actions)
    return states


CASES = {
    **SETUPS,
    **dict(enumerate(ODD_SETUPS)),
}


def pairs_at(case: str, *, early: int, most: int = PAIRS) -> list[Pair]:
    return draw_pairs(CASES[case], min(PAIRS if CASES[case] in SETUPS.values() else 200, most), seed=5, early=early)


@pytest.mark.parametrize("case", CASES)
def test_all_that_a_seat_is_shown_is_the_same_in_every_world_that_it_holds_possible(case):
    pairs = pairs_at(case, early=2)
    eightfold = [pair for pair in pairs for _ in range(WORLDS)]
    states = np.concatenate([pair.states for pair in eightfold])
    seats = np.array([pair.seat for pair in eightfold])
    redacted = redact(states, seats)
    worlds = resample(redacted, np.random.default_rng(1))
    truth = collect_shown(states, seats)
    assert (collect_shown(worlds, seats) == truth).all()
    assert (collect_shown(redacted, seats) == truth).all()
    assert redact(redacted, seats).tobytes() == redacted.tobytes()
    assert redact(worlds, seats).tobytes() == redacted.tobytes()
    assert (worlds != states).any()


@pytest.mark.parametrize("case", CASES)
def test_every_resampled_world_can_be_reached_by_a_legal_game(case):
    pairs = pairs_at(case, early=2)
    eightfold = [pair for pair in pairs for _ in range(WORLDS)]
    states = np.concatenate([pair.states for pair in eightfold])
    worlds = resample(redact(states, np.array([pair.seat for pair in eightfold])), np.random.default_rng(2))
    assert replay_worlds(eightfold, worlds).tobytes() == worlds.tobytes()


@pytest.mark.parametrize("case", CASES)
def test_the_information_state_is_the_same_in_every_world_that_the_seat_holds_possible(case):
    rng = np.random.default_rng(3)
    for pair in pairs_at(case, early=9, most=REPLAYED):
        truth = information_state(pair.game, pair.seat)
        encoded = encode_information_state(truth).tobytes() if pair.length % 5 == 0 else None
        for world in distinct_worlds(pair, rng):
            memory = information_state(rebuild_game(pair, world), pair.seat)
            assert memory == truth
            assert encoded is None or encode_information_state(memory).tobytes() == encoded


def test_the_information_state_tells_the_redacted_state_and_only_grows():
    """Check perfect recall: what is known at an early position is the beginning of what is known later."""
    for players, setup in ((players, standard_setup(players)) for players in STANDARD_PLAYERS):
        played = random_game(setup, 17)
        for seat in range(players):
            whole = information_state(played.game, seat)
            for length in range(0, len(played.states), 7):
                part = information_state(Pair(played, length, seat).game, seat)
                assert whole[: len(part)] == part
    for setup in (ODD_SETUPS[0], ODD_SETUPS[2], ODD_SETUPS[4]):
        told: dict[str, bytes] = {}
        for pair in draw_pairs(setup, 500, seed=9):
            known = redact(pair.states, pair.seat).tobytes()
            assert told.setdefault(str(information_state(pair.game, pair.seat)), known) == known
        assert len(told) < 450  # often the same events, and so the same state


def test_different_information_states_have_different_codes():
    codes = {}
    for pair in draw_pairs(ODD_SETUPS[0], 300, seed=9):
        events = information_state(pair.game, pair.seat)
        code = encode_information_state(events).tobytes()
        assert codes.setdefault(code, events) == events
    assert len(codes) > 100


def test_the_batch_and_its_views_show_what_the_redacted_states_show():
    batch = Batch(64, 4, seed=8)
    for _ in range(60):
        view = batch.view()
        assert view.states.tobytes() == redact(batch.states, batch.seats).tobytes()
        assert view.observations().tobytes() == batch.observations.tobytes()
        assert view.action_masks.tobytes() == batch.action_masks.tobytes()
        batch.play_random(1)


@pytest.mark.parametrize("seat", range(4))
def test_one_mouse_moved_between_two_opponents_shows_only_with_open_mice(seat):
    state = play(auction(4, [C3, C5, C8, C11]), 11, PASS, 12)
    moved = state.copy()
    moved.mice[(seat + 1) % 4] -= 1
    moved.mice[(seat + 2) % 4] += 1
    for open_mice in (False, True):
        before, after = np.empty((2, OBS_SIZE), np.float32)
        observe(state, seat, open_mice, before)
        observe(moved, seat, open_mice, after)
        assert (before.tobytes() == after.tobytes()) != open_mice


def test_one_mouse_moved_between_two_opponents_shows_in_a_batch_only_with_open_mice():
    for open_mice in (False, True):
        batch = Batch(1, 4, open_mice=open_mice, seed=1)
        batch.play_random(6)
        seat = int(batch.seats[0])
        before = batch.observe(seat).copy()
        batch.states["mice"][0, (seat + 1) % 4] -= 1
        batch.states["mice"][0, (seat + 3) % 4] += 1
        assert (batch.observe(seat).tobytes() == before.tobytes()) != open_mice


# --- planted leaks are caught -----------------------------------------------------------------------------------------

Look = Callable[[np.record, int], bytes]  # all that a seat is shown of a state


def leaking_pairs(look: Look, pairs: list[Pair]) -> int:
    """Count the `pairs` whose seat is shown something that differs between the worlds it holds possible."""
    rng = np.random.default_rng(4)
    leaks = 0
    for pair in pairs:
        worlds = resample(redact(np.repeat(pair.states, WORLDS), pair.seat), rng)
        leaks += len({look(state, pair.seat) for state in (pair.states[0], *worlds)}) > 1
    return leaks


def honest_observation(state: Any, seat: int) -> np.ndarray:
    out = np.empty(OBS_SIZE, np.float32)
    observe(state, seat, False, out)
    return out


def honest_mask(state: Any, seat: int) -> np.ndarray:
    out = np.empty(NUM_ACTIONS, np.int8)
    legal_actions(state, seat, out)
    return out


def with_number(number: Callable[[Any, int], int]) -> Look:
    """Return a look at an observation in which one entry that seems unused carries a number."""

    def look(state: Any, seat: int) -> bytes:
        out = honest_observation(state, seat)
        out[-1] += number(state, seat) / 1024
        return out.tobytes()

    return look


def next_dummy_card(state: Any, seat: int) -> int:
    return int(state.dummy_cards[min(state.round_number + 1, 8)])


def mask_as_if_to_act(state: Any, seat: int) -> bytes:
    """Return the mask of a planted bug: it holds the hand of another seat."""
    out = np.zeros(NUM_ACTIONS, np.int8)
    next_seat = (seat + 1) % int(state.num_seats)
    for card in range(10):
        out[card] = int(state.hands[next_seat]) >> card & 1
    return out.tobytes()


PLANTED: dict[str, Look] = {
    "hand of the next seat": with_number(lambda state, seat: int(state.hands[(seat + 1) % int(state.num_seats)])),
    "hand of the seat before": with_number(lambda state, seat: int(state.hands[seat - 1 if seat else 2])),
    "face-down card of the last slot": with_number(lambda state, _: int(state.row[3])),
    "face-down card of the second slot": with_number(lambda state, _: int(state.row[1])),
    "card just placed": with_number(lambda state, _: int(state.row[state.row_size - 1])),
    "next card of the dummy": with_number(next_dummy_card),
    "dummy's card before it is turned": with_number(lambda state, _: int(state.row[0])),
    "removed card of the next seat": with_number(lambda state, seat: int(state.removed[(seat + 1) % 3])),
    "one bit of a hand": with_number(lambda state, seat: int(state.hands[(seat + 1) % 3]) & 1),
    "mask of a seat not to act": mask_as_if_to_act,
}
HONEST: dict[str, Look] = {
    "observation": lambda state, seat: honest_observation(state, seat).tobytes(),
    "mask": lambda state, seat: honest_mask(state, seat).tobytes(),
    "own hand": with_number(lambda state, seat: int(state.hands[seat])),
    "own removed card": with_number(lambda state, seat: int(state.removed[seat])),
    "played cards": with_number(lambda state, _: int(state.played.sum())),
    "mice of all": with_number(lambda state, _: int(state.mice[0])),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_leak_is_caught(name):
    assert leaking_pairs(PLANTED[name], draw_pairs(standard_setup(3), 60, seed=6)) >= 3


@pytest.mark.parametrize("name", HONEST)
def test_what_a_seat_may_know_is_not_taken_for_a_leak(name):
    assert leaking_pairs(HONEST[name], draw_pairs(standard_setup(3), 60, seed=6)) == 0


# --- the resampler is sound -------------------------------------------------------------------------------------------


def possible_worlds(pair: Pair) -> dict[bytes, int]:
    """Return every world with the same information state: try every deal and every placement of this round."""
    truth = information_state(pair.game, pair.seat)
    worlds: dict[bytes, int] = {}
    for game in candidate_games(pair):
        try:
            memory = information_state(game, pair.seat)
        except ValueError:
            continue  # a card that is not in that hand
        if memory == truth:
            worlds.setdefault(game.final_states().tobytes(), len(worlds))
    return worlds


def candidate_games(pair: Pair) -> Iterator[Game]:
    game = pair.game
    setup, dealt = game.setup, game.deal
    removals = [
        setup.cards if setup.removed and seat != pair.seat else dealt.removed[seat : seat + 1]
        for seat in range(setup.seats if setup.removed else 0)
    ]
    dummies = permutations(setup.cards, len(dealt.dummy))
    for removed, dummy, actions in product(product(*removals), list(dummies), list(candidate_actions(pair))):
        yield Game(setup, Deal(removed, dummy, dealt.start_seat), actions)


def candidate_actions(pair: Pair) -> Iterator[tuple[int, ...]]:
    """Yield the actions of the game with any cards in place of those that others placed in this round."""
    state = pair.states[0]
    slots = range(int(state.has_dummy), int(state.row_size))
    choices = [
        [int(state.row[slot])] if slot_owner(state, slot) == pair.seat else pair.game.setup.cards for slot in slots
    ]
    for cards in product(*choices):
        world = state.copy()
        world.row[slots.start : slots.stop] = cards
        yield actions_in_world(pair, world)


def count_worlds(state: Any, seat: int) -> int:
    """Count the worlds that fit: each opponent's choices and the dummy's are independent."""
    known = redact(np.array([state], STATE), seat)[0]
    factors = []
    for slot in range(known.has_dummy, known.num_seats + known.has_dummy):
        owner = slot_owner(known, slot)
        if owner == seat:
            continue
        unseen = bin(int(known.deck) & ~int(known.played[owner])).count("1")
        unseen -= slot < known.row_size and known.row[slot] != HIDDEN
        factors += [unseen] if known.row[slot] == HIDDEN else []
        factors += [unseen - (known.row[slot] == HIDDEN)] if known.removed[owner] == HIDDEN else []
    unseen = bin(int(known.deck) & ~int(known.played[DUMMY])).count("1")
    unseen -= known.has_dummy and known.dummy_cards[known.round_number] != HIDDEN
    factors += [unseen - k for k in range(int((known.dummy_cards == HIDDEN).sum()))]
    return prod(int(factor) for factor in factors)


FEW_CARDS = (
    Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=4, rounds=3, cards=(M8, C5, C15, LARGE)),
    Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=3, rounds=2, cards=(M5, C11, RABBIT)),
    Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=3, rounds=3, cards=(M5, C3, C11, RABBIT), removed=0),
    Setup(seats=2, mouse_cards=(1,), bank=3, mice=3, rounds=4, cards=(M8, M5, C3, C5, C15)),
)


@pytest.mark.parametrize("setup", FEW_CARDS)
def test_every_possible_world_is_drawn_equally_often(setup):
    rng = np.random.default_rng(7)
    checked = 0
    for pair in draw_pairs(setup, 24, seed=7):
        worlds = possible_worlds(pair)
        assert len(worlds) == count_worlds(pair.states[0], pair.seat)
        draws = resample(redact(np.repeat(pair.states, 200 * len(worlds)), pair.seat), rng)
        counts = np.bincount([worlds[draw.tobytes()] for draw in draws], minlength=len(worlds))
        chi_square = ((counts - 200) ** 2 / 200).sum()
        freedom = len(worlds) - 1
        assert chi_square <= freedom + 5 * np.sqrt(2 * freedom) + 5
        checked += len(worlds) > 1
    assert checked >= 8


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_the_truth_is_drawn_as_often_as_any_other_world(players):
    pairs = draw_pairs(standard_setup(players), 3000, seed=10)
    # Late positions, where the truth is one of few.
    pairs = [pair._replace(length=len(pair.played.states) - 1 - pair.length) for pair in pairs]
    states = np.concatenate([pair.states for pair in pairs])
    seats = np.array([pair.seat for pair in pairs])
    chances = np.array([1 / count_worlds(pair.states[0], pair.seat) for pair in pairs])
    assert (chances < 1).mean() > 0.5  # a resampler that returns the truth must not pass
    assert (chances > 0.01).mean() > 0.1  # nor may the truth be so rare that nothing is measured
    redacted, rng = redact(states, seats), np.random.default_rng(11)
    hits = np.mean([resample(redacted, rng) == states for _ in range(WORLDS)])
    standard_error = np.sqrt((chances * (1 - chances)).sum() / WORLDS) / len(pairs)
    assert standard_error > 0
    assert abs(hits - chances.mean()) < 3 * standard_error


def test_at_the_end_of_a_full_game_only_the_dummys_future_is_unknown():
    """All nine cards have been seen: N is 1, and the resampler returns the truth."""
    for players in (4, 5):
        played = random_game(standard_setup(players), 3)
        final = played.states[-1:]
        for seat in range(players):
            world = resample(redact(final, seat), np.random.default_rng(0))
            assert world.tobytes() == final.tobytes()


def test_resampling_draws_from_the_generator_it_is_given():
    states = redact(random_game(standard_setup(4), 1).states[:1], 0)
    first = resample(states, np.random.default_rng(3))
    assert resample(states, np.random.default_rng(3)).tobytes() == first.tobytes()
    assert len({resample(states, np.random.default_rng(k)).tobytes() for k in range(20)}) > 15


# --- secrets that an agent could reach --------------------------------------------------------------------------------

NOT_FOLLOWED = (ModuleType, type, FunctionType, BuiltinFunctionType)


def reachable_from(thing: object) -> list[object]:
    """Return everything that can be reached from `thing` without passing through a module, a class or a function."""
    found: dict[int, object] = {}
    waiting = [thing]
    while waiting:
        item = waiting.pop()
        if id(item) in found or isinstance(item, NOT_FOLLOWED):
            continue
        found[id(item)] = item
        waiting += gc.get_referents(item)
        if isinstance(item, np.ndarray) and item.base is not None:  # the collector does not see the base of an array
            waiting.append(item.base)
    return list(found.values())


def find_secrets(thing: object, batch: Batch) -> list[str]:
    """Return what is reachable from `thing` and no player may have."""
    found = []
    for item in reachable_from(thing):
        if isinstance(item, np.random.Generator | np.random.BitGenerator | np.random.RandomState | Batch | Game | Deal):
            found.append(type(item).__name__)
        if isinstance(item, np.ndarray):
            found += [
                f"shares memory with {name}" for name, array in list_arrays(batch) if np.shares_memory(item, array)
            ]
            if item.dtype == STATE:
                found += ["a true state"] * any(state.tobytes() in list_states(batch) for state in item)
            elif item.dtype.kind in "iu":
                found += ["a game's seed"] * bool(np.isin(item.astype(np.uint64), batch.game_seeds).any())
        if isinstance(item, int) and item in batch.game_seeds.tolist():
            found.append("a game's seed")
    return found


def list_arrays(batch: Batch) -> list[tuple[str, np.ndarray]]:
    return [(name, getattr(batch, name)) for name in ("states", "final_states", "game_seeds", "observations")]


def list_states(batch: Batch) -> set[bytes]:
    return {state.tobytes() for state in batch.states}


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_no_true_state_generator_or_seed_can_be_reached_from_a_view(players):
    batch = Batch(16, players, seed=12)
    for _ in range(40):
        view = batch.view()
        assert view.action_masks.any(axis=1).all()  # cached in the view: part of what can be reached
        for handed_out in (view, view.take(np.arange(3)), batch.view(np.array([2, 5]))):
            assert len(reachable_from(handed_out)) > 3
            assert find_secrets(handed_out, batch) == []
        batch.play_random(1)


def test_secrets_planted_in_a_view_are_found():
    batch = Batch(4, 4, seed=13)
    batch.play_random(5)
    view = batch.view()
    planted = {
        "a true state": batch.states.copy(),
        "shares memory with states": batch.states[:1],
        "a game's seed": int(batch.game_seeds[0]),
        "Batch": batch,
        "Generator": np.random.default_rng(0),
        "Game": [{"deep": random_game(standard_setup(4), 0).game}],
    }
    for name, secret in planted.items():
        tampered = View(view.states, view.seats, view.seeds)
        tampered.extra = secret
        assert name in find_secrets(tampered, batch)


def test_a_states_record_holds_no_seed_and_nothing_of_64_bits():
    assert {STATE.fields[name][0].base for name in STATE.names} == {np.dtype(np.int16)}
    assert not [name for name in STATE.names if "seed" in name or "word" in name]


def test_the_seeds_given_to_players_differ_by_game_seat_and_decision_and_not_by_batch():
    small, large = Batch(3, 4, seed=14), Batch(30, 4, seed=14)
    seeds = []
    for _ in range(50):
        seeds.append(large.view().seeds)
        assert small.view().seeds.tolist() == seeds[-1][:3].tolist()
        small.play_random(1)
        large.play_random(1)
    assert len(np.unique(np.concatenate(seeds))) == 50 * 30


def test_a_seat_that_nobody_hides_from_keeps_all_of_its_own():
    for pair in draw_pairs(standard_setup(5), 50, seed=15):
        known, true = redact(pair.states, pair.seat)[0], pair.states[0]
        assert (known.hands[pair.seat], known.removed[pair.seat]) == (true.hands[pair.seat], true.removed[pair.seat])
        public = [name for name in STATE.names if name not in ("hands", "removed", "dummy_cards", "row")]
        assert all(np.array_equal(known[name], true[name]) for name in public)


def test_redacting_hides_every_card_that_the_seat_has_not_seen():
    for pair in draw_pairs(standard_setup(3), 200, seed=16):
        known, true = redact(pair.states, pair.seat)[0], pair.states[0]
        for slot in range(int(true.row_size)):
            open_to_seat = slot < true.face_up or slot_owner(true, slot) == pair.seat
            assert (known.row[slot] == HIDDEN) != open_to_seat
        turned = int(true.round_number) + (true.phase >= AUCTION)
        assert (known.dummy_cards == HIDDEN).tolist() == [turn >= turned for turn in range(9)]
        others = [seat for seat in range(3) if seat != pair.seat]
        assert (known.hands[others] == HIDDEN).all()
        assert (known.removed[others] == HIDDEN).all()
        assert true.seat == NO_SEAT or known.seat == true.seat


def test_two_worlds_with_the_same_public_past_but_other_hands_look_alike():
    """Compare two games that differ in an opponent's removed card: only the owner can tell (R2.4)."""
    looks = []
    for removed in (C15, M8):
        state = auction(4, [C3, C5, C8, C11], removed=[RABBIT, removed, RABBIT, RABBIT])
        looks.append([honest_observation(state, seat).tobytes() for seat in range(4)])
    assert [a == b for a, b in zip(*looks, strict=True)] == [True, False, True, True]


@pytest.mark.parametrize("seat", [-1, 4, 5, 1.0, "0", True])
def test_a_seat_that_is_not_in_the_game_has_no_information_state(seat):
    setup = SETUPS["standard-4"]
    game = Game(setup, draw_deal(setup, 1))
    with pytest.raises(ValueError, match="seat must be an integer from 0 to 3"):
        information_state(game, seat)


@pytest.mark.parametrize("number", [np.inf, np.nan, 1j, "a"])
def test_an_observation_of_other_than_finite_numbers_is_not_described(number):
    with pytest.raises(ValueError, match="finite real numbers"):
        describe(np.full(OBS_SIZE, number))


KINDS = {
    "int": lambda value: type(value) is int,
    "str": lambda value: type(value) is str,
    "list of int": lambda value: isinstance(value, list) and all(type(each) is int for each in value),
    "list of bool": lambda value: isinstance(value, list) and all(type(each) is bool for each in value),
    "list of lists of int": lambda value: all(KINDS["list of int"](each) for each in value),
    "list of int or None": lambda value: all(each is None or type(each) is int for each in value),
    "list of int, or None": lambda value: value is None or KINDS["list of int"](value),
    "tuple, or None": lambda value: value is None or isinstance(value, tuple),
}


@pytest.mark.parametrize("open_mice", [False, True])
def test_the_documented_keys_of_a_description_are_the_real_ones_with_their_types(open_mice):
    documented = dict(re.findall(r"- `(\w+)` \(([^)]+)\):", describe.__doc__))
    for setup in ALL_SETUPS:
        states = random_game(setup, 1).states
        for state in (states[0], states[len(states) // 2], states[-1]):
            observation = np.empty(OBS_SIZE, np.float32)
            observe(state, 0, open_mice, observation)
            values = describe(observation)
            assert list(values) == list(documented)
            for key, value in values.items():
                assert KINDS[documented[key]](value), key
            assert (values["opponent_mice"] is None) == (not open_mice)
            assert (values["last_round"] is None) == (values["round"] == 0 and values["phase"] != "over")
