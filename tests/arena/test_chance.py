"""Chance in the arena: deals, orders and the random bits of seats are independent, and nothing else favours a seat.

Each source of bias (a leaked card, a seat advantage, a shared random stream) is planted, and the test that detects it
must pass on the unchanged arena.
"""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product
from math import factorial
from typing import Any

import numpy as np
import pytest

from agents import Player, make
from agents.arena import blocks as arena
from agents.arena.blocks import (
    MEASURES,
    deal_blocks,
    draw_seats,
    list_streams,
    play_blocks,
)
from agents.arena.estimates import compare_paired, estimate_share
from agents.arena.games import Games
from felicity_env import Setup, View, batch, game_seed
from felicity_env.buffers import Buffers
from felicity_env.game import DUMMY, HIDDEN
from felicity_env.game_record import draw_deal, initial_states
from felicity_env.information import redact
from felicity_env.random_stream import decision_seed, mix
from felicity_env.setups import STANDARD_PLAYERS, standard_setup
from tests.support.arena_players import (
    BLOCKS,
    MANY,
    SEED,
    Eager,
    FirstLegal,
    Plain,
    Spy,
    Varied,
    assert_same,
    deterministic,
    many_games,
    stochastic,
)
from tests.support.helpers import COMPILED

UNCLEAR = 5.0  # standard deviations: chance exceeds this in none of some hundred statistics


# --- who sits beside whom ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_players_sit_in_one_circular_order_in_a_block_and_each_of_them_once_in_each_seat(players):
    seats = draw_seats(players, range(50), SEED)
    assert seats.shape == (50, players, players)
    assert seats.dtype == np.int64
    assert (seats[:, :, 0] == np.arange(players)).all()
    for sitting in (seats, seats.transpose(0, 2, 1)):  # by game, and by player
        assert (np.sort(sitting, axis=2) == np.arange(players)).all()
    assert (np.diff(seats, axis=1) % players == 1).all()
    assert (play_blocks(deterministic(players), num_deals=range(7, 9), seed=SEED).seats == seats[7:9]).all()


def order_by_hand(players: int, seed: int, block: int) -> list[int]:
    """Return the seats of a block: the order of the others is number k of all, in lexicographic order."""
    number = game_seed(seed, arena._ORDER_STREAM, block) % factorial(players - 1)
    free, places = list(range(1, players)), [0]
    for left in range(players - 2, -1, -1):
        digit, number = divmod(number, factorial(left))
        places.append(free.pop(digit))
    return [places.index(place) for place in range(players)]


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_the_order_of_a_block_depends_on_the_seed_and_its_number_alone(players):
    seats = draw_seats(players, range(40), SEED)
    orders = [[int(player) for player in np.argsort(first)] for first in seats[:, 0]]
    assert orders == [order_by_hand(players, SEED, block) for block in range(40)]
    for blocks in (range(1), range(7, 40), range(3, 40, 5)):
        assert (draw_seats(players, blocks, SEED) == seats[blocks]).all()
    assert (draw_seats(players, range(40), SEED + 1) != seats).any()


def orders_drawn(players: int, blocks: int) -> np.ndarray:
    """Return the number of the circular order of every block, from 0."""
    known = {order: number for number, order in enumerate(permutations(range(1, players)))}
    return np.array([known[tuple(first[1:].tolist())] for first in draw_seats(players, range(blocks), SEED)[:, 0]])


def unevenness(kinds: np.ndarray, num_kinds: int) -> float:
    """Compute how far kinds are from equally frequent: chi-square less its mean, in standard deviations."""
    expected = len(kinds) / num_kinds
    chi_square = ((np.bincount(kinds, minlength=num_kinds) - expected) ** 2 / expected).sum()
    return float((chi_square - (num_kinds - 1)) / np.sqrt(2 * (num_kinds - 1)))


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_all_circular_orders_come_up_equally_often_whatever_came_before_and_whoever_starts(players):
    count, kinds = 10 * MANY, factorial(players - 1)
    orders = orders_drawn(players, count)
    starts = deal_blocks(standard_setup(players), range(count), SEED)["start_seat"][::players].astype(np.int64)
    assert unevenness(orders, kinds) < UNCLEAR
    assert unevenness(orders[1:] * kinds + orders[:-1], kinds**2) < UNCLEAR
    assert unevenness(orders * players + starts, kinds * players) < UNCLEAR
    uneven = np.where(np.arange(count) % 5 == 0, 0, orders)
    assert unevenness(uneven, kinds) > UNCLEAR or not COMPILED


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_named_one_place_further_on_in_the_circle_the_players_play_the_same_games(players):
    named = deterministic(players)
    for block in (range(block, block + 1) for block in range(BLOCKS)):
        places = draw_seats(players, block, 5)[0, 0]
        following = np.argsort(places)[(places + 1) % players]  # the player who sits after each player
        forward = play_blocks(named, num_deals=block, seed=5)
        turned = play_blocks([named[player] for player in following], num_deals=block, seed=5)
        for name in MEASURES:  # the same games one rotation later
            assert (np.roll(turned.measures[name], -1, axis=1) == forward.measures[name][:, :, following]).all()
        assert np.roll(turned.rounds, -1, axis=1).tobytes() == forward.rounds.tobytes()


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_in_which_order_copies_are_named_changes_nothing(players):
    copies = [Plain(make("anchor")), *(make("anchor") for _ in range(players - 2))]
    expected = play_blocks([Varied(), *copies], num_deals=BLOCKS, seed=5)
    for named in permutations(copies):
        assert_same(play_blocks([Varied(), *named], num_deals=BLOCKS, seed=5), expected)


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_one_against_copies_does_the_same_in_each_seat_wherever_it_is_named(players):
    for one, copy in ((FirstLegal(), make("ev")), (make("ev"), Eager())):
        lineups = [[one if player == place else copy for player in range(players)] for place in range(players)]
        blocks = [play_blocks(lineup, num_deals=BLOCKS, seed=5) for lineup in lineups]
        for place, name in product(range(players), MEASURES):
            assert (blocks[place].block_means_by_seat(place, name) == blocks[0].block_means_by_seat(0, name)).all()


def seats_in_fixed_order(players: int, blocks: range, seed: int) -> np.ndarray:
    """Return seats in the order of the names: who sits beside whom is the same in all blocks."""
    seats = (np.arange(players) + np.arange(players)[:, None]) % players
    return np.tile(seats, (len(blocks), 1, 1))


def compute_gap(codes: Sequence[str]) -> float:
    """Compute how much more the first wins than the second, in standard errors."""
    blocks = play_blocks([make(code) for code in codes], num_deals=4000, seed=12)
    gap = blocks.block_means(0) - blocks.block_means(1)
    return float(gap.mean() / (gap.std() / np.sqrt(len(gap))))


@many_games
@pytest.mark.parametrize(
    "codes", [("ev", "ev", "anchor"), ("anchor", "anchor", "ev", "ev"), ("anchor", "anchor", "ev", "ev", "ev")]
)
def test_equal_players_in_a_mixed_lineup_are_equal_as_they_would_not_be_in_a_fixed_order(codes, monkeypatch):
    assert abs(compute_gap(codes)) < 3
    monkeypatch.setattr(arena, "draw_seats", seats_in_fixed_order)
    assert compute_gap(codes) > UNCLEAR


# --- chance -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_the_deal_of_a_block_is_that_of_its_seed_in_all_rotations(players):
    setup = standard_setup(players)
    for block, states in zip(range(5, 9), np.split(deal_blocks(setup, range(5, 9), SEED), 4), strict=True):
        expected = draw_deal(setup, game_seed(SEED, arena._DEAL_STREAM, block))
        assert states.tobytes() == initial_states(setup, expected).tobytes() * players


def spy_seeds(lineup: list[Player], place: int, block: int) -> tuple[list[list[int]], np.ndarray]:
    """Return the seeds of the player at `place` (by seat, by decision) and its hands, in one block."""
    spy = Spy(lineup[place])
    play_blocks([*lineup[:place], spy, *lineup[place + 1 :]], num_deals=range(block, block + 1), seed=SEED)
    random_bits: list[list[int]] = [[] for _ in lineup]
    hands = np.zeros(len(lineup), np.int64)
    for view in spy.views:  # in one block the seat determines the rotation
        for state, seat, seed in zip(view.states, view.seats, view.seeds, strict=True):
            hands[seat] = hands[seat] or state["hands"][seat]
            random_bits[seat].append(int(seed))
    return random_bits, hands


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_another_opponent_changes_neither_the_deal_nor_the_seeds_of_the_others(players):
    lineup, place, block = stochastic(players), 1, 3
    random_bits, hands = spy_seeds(lineup, place, block)
    streams = list_streams(standard_setup(players), range(block, block + 1), SEED)
    sat = draw_seats(players, range(block, block + 1), SEED)[0, :, place].tolist()
    for seat in range(players):
        stream = streams[sat.index(seat)]
        assert random_bits[seat] == [
            int(decision_seed(stream, seat, number)) for number in range(len(random_bits[seat]))
        ]
        assert len(random_bits[seat]) >= 18
    for other in range(players):
        for newcomer in (make("pass"), Eager()) if other != place else ():
            changed = [*lineup[:other], newcomer, *lineup[other + 1 :]]
            theirs, their_hands = spy_seeds(changed, place, block)
            assert (their_hands == hands).all()
            assert theirs != random_bits  # the games went otherwise
            for seat in range(players):
                common = min(len(random_bits[seat]), len(theirs[seat]))
                assert theirs[seat][:common] == random_bits[seat][:common]


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_deals_are_the_same_whoever_plays(players):
    lineups = (stochastic(players), deterministic(players), [FirstLegal() for _ in range(players)])
    rounds = [play_blocks(lineup, num_deals=BLOCKS, seed=SEED).rounds for lineup in lineups]
    for other in rounds[1:]:
        assert (other["start_seat"][:, :, 0] == rounds[0]["start_seat"][:, :, 0]).all()
        assert (other["cards"][..., DUMMY] == rounds[0]["cards"][..., DUMMY]).all()
        assert other.tobytes() != rounds[0].tobytes()


def record_seeds(players: int, streams: np.ndarray) -> np.ndarray:
    """Return the seeds of views, [blocks, rotations, seats, decisions]; all pass, so the games go in lockstep."""
    setup = standard_setup(players)
    start = initial_states(setup, draw_deal(setup, 0, {"start_seat": 0}))
    seats = np.tile(np.arange(players), (len(streams), 1))
    spies = [Spy(FirstLegal()) for _ in range(players)]
    Games(setup, np.repeat(start, len(streams)), streams, seats).play(spies)
    random_bits = np.array([[view.seeds for view in spy.views] for spy in spies])  # [seats, decisions, games]
    return random_bits.transpose(2, 0, 1).reshape(-1, players, players, 18)


def dependence(first: np.ndarray, second: np.ndarray) -> float:
    """Compute how far two samples of random bits are from independent.

    The result is the largest of several statistics, in standard deviations: how often they agree in each bit, and
    chi-square of the four highest and the four lowest bits.
    """
    first, second = (np.ravel(random_bits).astype(np.uint64) for random_bits in np.broadcast_arrays(first, second))
    count, differ = len(first), first ^ second
    agree = [((differ >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(63)]  # deal seeds have 63 bits
    distances = np.abs(np.array(agree) - 0.5) * 2 * np.sqrt(count)
    for bits in (
        [(random_bits >> np.uint64(59)) & np.uint64(15) for random_bits in (first, second)],
        [first & 15, second & 15],
    ):
        counts = np.bincount((bits[0] * 16 + bits[1]).astype(np.int64), minlength=256)
        chi_square = ((counts - count / 256) ** 2 / (count / 256)).sum()
        distances = np.append(distances, abs(chi_square - 255) / np.sqrt(2 * 255))
    return float(distances.max())


def deal_seeds(blocks: int) -> np.ndarray:
    return np.array([game_seed(SEED, arena._DEAL_STREAM, block) for block in range(blocks)], np.uint64)


def dependences(players: int, streams: np.ndarray) -> dict[str, float]:
    """Return the dependence between all pairs that must be independent."""
    random_bits = record_seeds(players, streams)
    deals, streams_by_game, first = deal_seeds(len(random_bits)), streams.reshape(-1, players), random_bits[..., 0]
    return {
        "seats": max(dependence(random_bits[:, :, 0], random_bits[:, :, seat]) for seat in range(1, players)),
        "decisions": dependence(random_bits[..., 1:], random_bits[..., :-1]),
        "rotations": dependence(random_bits[:, 1:], random_bits[:, :-1]),
        "blocks": dependence(random_bits[1:], random_bits[:-1]),
        "deal and seeds": max(dependence(deals, first[:, 0, seat]) for seat in range(players)),
        "deal and stream": max(dependence(deals, streams_by_game[:, rotation]) for rotation in range(players)),
        "stream and seeds": max(dependence(streams_by_game, first[:, :, seat]) for seat in range(players)),
        "repeats": float(random_bits.size - len(np.unique(random_bits))),
    }


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_seats_decisions_rotations_blocks_and_deals_draw_independent_seeds(players):
    found = dependences(players, list_streams(standard_setup(players), range(MANY), SEED))
    assert {name: distance for name, distance in found.items() if distance >= UNCLEAR} == {}


def test_the_deal_the_order_and_the_play_of_a_block_are_drawn_from_streams_that_know_nothing_of_each_other():
    streams = (arena._DEAL_STREAM, arena._PLAY_STREAM, arena._ORDER_STREAM)
    random_bits = [np.array([game_seed(SEED, stream, block) for block in range(2000)], np.uint64) for stream in streams]
    assert max(dependence(first, second) for first, second in combinations(random_bits, 2)) < UNCLEAR


def plant_seeds(monkeypatch: pytest.MonkeyPatch, make_seed: Callable[[np.uint64, int, int], Any]) -> None:
    """Let views carry other seeds: functions of the stream, the seat and the number of the decision."""

    def write_seeds(buffers: Buffers, indices: np.ndarray, out: np.ndarray) -> None:
        seats = buffers.seats[indices]
        numbers = buffers.decisions[indices, seats]
        triples = zip(buffers.game_seeds[indices], seats, numbers, strict=True)
        out[:] = [int(make_seed(stream, int(seat), int(number))) for stream, seat, number in triples]

    monkeypatch.setattr(batch, "write_acting_seeds", write_seeds)


@pytest.mark.parametrize(
    ("shared", "make_seed"),
    [
        ("seats", lambda stream, seat, number: decision_seed(stream, 0, number)),
        ("decisions", lambda stream, seat, number: decision_seed(stream, seat, 0)),
        ("decisions", lambda stream, seat, number: decision_seed(stream, seat, number // 2)),
        ("stream and seeds", lambda stream, seat, number: stream),
    ],
)
def test_seeds_that_are_shared_would_be_found(monkeypatch, shared, make_seed):
    plant_seeds(monkeypatch, make_seed)
    found = dependences(4, list_streams(standard_setup(4), range(20), SEED))
    assert found[shared] > 2 * UNCLEAR
    assert found["repeats"] > 0


@pytest.mark.parametrize(
    ("shared", "plant"),
    [
        ("rotations", lambda streams: np.repeat(streams[::4], 4)),
        ("blocks", lambda streams: np.tile(streams[:4], len(streams) // 4)),
        ("deal and stream", lambda streams: np.repeat(deal_seeds(len(streams) // 4), 4)),
    ],
)
def test_streams_that_are_shared_would_be_found(shared, plant):
    streams = list_streams(standard_setup(4), range(20), SEED)
    assert dependences(4, streams)[shared] < UNCLEAR
    assert dependences(4, plant(streams))[shared] > 2 * UNCLEAR


def unmix(random_bits: np.ndarray) -> np.ndarray:
    """Invert `random_stream.mix`."""
    random_bits = random_bits ^ (random_bits >> np.uint64(31)) ^ (random_bits >> np.uint64(62))
    random_bits = random_bits * np.uint64(pow(0x94D049BB133111EB, -1, 2**64))
    random_bits = random_bits ^ (random_bits >> np.uint64(27)) ^ (random_bits >> np.uint64(54))
    random_bits = random_bits * np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
    return (random_bits ^ (random_bits >> np.uint64(30)) ^ (random_bits >> np.uint64(60))) - np.uint64(
        0x9E3779B97F4A7C15
    )


def guesses(random_bits: np.ndarray) -> list[np.ndarray]:
    """Return guesses at the seed of the deal or the stream of the game from one or two random bits."""
    made = [random_bits, unmix(random_bits), unmix(unmix(random_bits))]
    made += [
        random_bits ^ random_bits[:, :1],
        random_bits - random_bits[:, :1],
        unmix(random_bits ^ random_bits[:, :1]),
        unmix(random_bits - random_bits[:, :1]),
    ]
    made += [guess ^ np.uint64(0xD1B54A32D192ED03) for guess in made]
    return [guess >> np.uint64(shift) for guess in made for shift in (0, 1)]


def count_guessed_seeds(random_bits: np.ndarray, seeds: np.ndarray) -> int:
    """Count the guesses from random bits [games, decisions] that hit the seeds [games]."""
    return sum(int((guess == seeds[:, None]).sum()) for guess in guesses(random_bits))


def test_neither_the_deal_nor_the_stream_follows_from_the_seeds_in_an_obvious_way():
    streams, deals = list_streams(standard_setup(4), range(20), SEED), np.repeat(deal_seeds(20), 4)
    derived = [game_seed(int(deal), rotation, 0) for deal in deals for rotation in range(4)]
    assert not np.isin(streams, deals).any()
    assert not np.isin(streams, np.array(derived, np.uint64)).any()
    random_bits = record_seeds(4, streams).reshape(len(streams), -1)
    for seeds in (deals, streams):
        assert count_guessed_seeds(random_bits, seeds) == 0
        assert count_guessed_seeds(np.stack([seeds, random_bits[:, 0]], axis=1), seeds) > 0
        mixed = np.array([int(mix(seed)) for seed in seeds], np.uint64)
        assert count_guessed_seeds(np.stack([mixed, random_bits[:, 0]], axis=1), seeds) >= len(seeds)


# --- planted biases ---------------------------------------------------------------------------------------------------


def count_leaking_states(views: list[View]) -> int:
    """Count the states that show more than their seat may know."""
    shown = np.concatenate([view.states for view in views])
    known = redact(shown, np.concatenate([view.seats for view in views]))
    return sum(state.tobytes() != redacted.tobytes() for state, redacted in zip(shown, known, strict=True))


def leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let views hold the truth."""

    def show_all(states: np.ndarray, indices: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
        out[:] = states[indices]

    monkeypatch.setattr(batch, "redact_games", show_all)


@many_games
@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_bidder_who_is_shown_hidden_cards_is_clear_of_par_and_the_honest_one_is_not(players, monkeypatch):
    lineup = [Plain(make("anchor")), *(make("anchor") for _ in range(players - 1))]
    honest = play_blocks(lineup, num_deals=400, seed=6)
    assert not is_off_par(honest.block_means(0), players)
    leak(monkeypatch)  # only views leak, not the kernels of players
    leaked = play_blocks(lineup, num_deals=400, seed=6)
    assert estimate_share(leaked.block_means(0)).low > 1 / players + 0.05
    for measure in ("win_share", "profit"):
        gained = compare_paired(leaked.block_means(0, measure), honest.block_means(0, measure))
        assert gained.difference.low > 0


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_views_show_only_what_their_seats_may_know(players, monkeypatch):
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_deals=BLOCKS, seed=6)
    assert [count_leaking_states(spy.views) for spy in spies] == [0] * players
    assert all((view.states["hands"] == HIDDEN).any(axis=1).all() for spy in spies for view in spy.views)
    leak(monkeypatch)
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_deals=BLOCKS, seed=6)
    assert min(count_leaking_states(spy.views) for spy in spies) > 0


def start_at(monkeypatch: pytest.MonkeyPatch, seat_of_rotation: Callable[[np.ndarray], np.ndarray]) -> None:
    """Let `seat_of_rotation` choose the seat that starts the games of the arena."""

    def deal(setup: Setup, blocks: range, seed: int) -> np.ndarray:
        states = deal_blocks(setup, blocks, seed)
        states["start_seat"] = states["seat"] = seat_of_rotation(np.arange(len(states)) % setup.seats)
        return states

    monkeypatch.setattr(arena, "deal_blocks", deal)


def is_off_par(values: np.ndarray, players: int) -> bool:
    estimate = estimate_share(values)
    return estimate.low > 1 / players + 1e-9 or estimate.high < 1 / players - 1e-9


@many_games
@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_player_who_always_starts_is_off_par_against_copies_of_itself(players, monkeypatch):
    copies = [make("ev") for _ in range(players)]
    assert not is_off_par(play_blocks(copies, num_deals=MANY, seed=8).block_means(0), players)
    start_at(monkeypatch, lambda rotation: rotation)  # the seat of player 0
    blocks = play_blocks(copies, num_deals=MANY, seed=8)
    assert is_off_par(blocks.block_means(0), players)
    assert (blocks.rounds["start_seat"][:, :, 0] == np.arange(players)).all()


@many_games
@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_seat_with_an_advantage_is_seen_by_seat_and_cancels_over_the_rotations(players, monkeypatch):
    copies = [make("ev") for _ in range(players)]
    start_at(monkeypatch, lambda rotation: 0 * rotation)
    blocks = play_blocks(copies, num_deals=MANY, seed=8)
    for player in range(players):
        assert is_off_par(blocks.block_means_by_seat(player)[:, 0], players)
        assert blocks.block_means(player) == pytest.approx(np.full(MANY, 1 / players), abs=1e-12)
        # without rotation the seat would pass for strength
        assert is_off_par(blocks.measures["win_share"][:, 0, player], players) or player > 0


def test_deals_that_differ_between_rotations_would_be_found(monkeypatch):
    def deal_rotations(setup: Setup, blocks: range, seed: int) -> np.ndarray:
        return deal_blocks(setup, range(setup.seats * len(blocks)), seed)[:: setup.seats]

    copies = [make("ev") for _ in range(4)]
    monkeypatch.setattr(arena, "deal_blocks", deal_rotations)
    assert np.ptp(play_blocks(copies, num_deals=10, seed=1).block_means(0)) > 0.1
