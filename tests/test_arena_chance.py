"""Chance in the arena: deals, orders and the words of seats are independent, and nothing else favours a seat.

What could bias a result is planted (a leaked card, a seat advantage, a shared random stream), and the test that finds
it must pass on the arena as it is.
"""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product
from math import factorial
from typing import Any

import numpy as np
import pytest

from agents import Player, arena, games, make
from agents.arena import MEASURES, bootstrap, deal_blocks, paired_difference, play_blocks, seat_streams, seats_of
from agents.games import Games
from felicity_env import View, game_seed
from felicity_env.game import DUMMY, HIDDEN, SETUPS
from felicity_env.information import redact
from felicity_env.random_stream import decision_seed, mix
from felicity_env.transcript import dealt_states, draw_deal
from tests.arena_players import (
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
from tests.helpers import COMPILED

UNCLEAR = 5.0  # standard deviations from independence that chance may bring about in some hundred statistics


# --- who sits beside whom ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", SETUPS)
def test_players_sit_in_one_circular_order_in_a_block_and_each_of_them_once_in_each_seat(players):
    seats = seats_of(players, range(50), SEED)
    assert seats.shape == (50, players, players)
    assert seats.dtype == np.int64
    assert (seats[:, :, 0] == np.arange(players)).all()
    for sitting in (seats, seats.transpose(0, 2, 1)):  # of the players in a game, of a player in the games of a block
        assert (np.sort(sitting, axis=2) == np.arange(players)).all()
    assert (np.diff(seats, axis=1) % players == 1).all()
    assert (play_blocks(deterministic(players), num_blocks=range(7, 9), seed=SEED).seats == seats[7:9]).all()


def order_by_hand(players: int, seed: int, block: int) -> list[int]:
    """The players from the one named first around the table: the places of the others, in lexicographic order."""
    number = game_seed(seed, arena._ORDER_STREAM, block) % factorial(players - 1)
    free, places = list(range(1, players)), [0]
    for left in range(players - 2, -1, -1):
        digit, number = divmod(number, factorial(left))
        places.append(free.pop(digit))
    return [places.index(place) for place in range(players)]


@pytest.mark.parametrize("players", SETUPS)
def test_the_order_of_a_block_depends_on_the_seed_and_its_number_alone(players):
    seats = seats_of(players, range(40), SEED)
    orders = [[int(player) for player in np.argsort(first)] for first in seats[:, 0]]
    assert orders == [order_by_hand(players, SEED, block) for block in range(40)]
    for blocks in (range(1), range(7, 40), range(3, 40, 5)):
        assert (seats_of(players, blocks, SEED) == seats[blocks]).all()
    assert (seats_of(players, range(40), SEED + 1) != seats).any()


def orders_drawn(players: int, blocks: int) -> np.ndarray:
    """The number of the circular order of every block, from 0."""
    known = {order: number for number, order in enumerate(permutations(range(1, players)))}
    return np.array([known[tuple(first[1:].tolist())] for first in seats_of(players, range(blocks), SEED)[:, 0]])


def unevenness(kinds: np.ndarray, num_kinds: int) -> float:
    """How far kinds are from equally frequent: chi-square less its mean, in standard deviations."""
    expected = len(kinds) / num_kinds
    chi_square = ((np.bincount(kinds, minlength=num_kinds) - expected) ** 2 / expected).sum()
    return float((chi_square - (num_kinds - 1)) / np.sqrt(2 * (num_kinds - 1)))


@pytest.mark.parametrize("players", SETUPS)
def test_all_circular_orders_come_up_equally_often_whatever_came_before_and_whoever_starts(players):
    count, kinds = 10 * MANY, factorial(players - 1)
    orders = orders_drawn(players, count)
    starts = deal_blocks(players, range(count), SEED)["start_seat"][::players].astype(np.int64)
    assert unevenness(orders, kinds) < UNCLEAR
    assert unevenness(orders[1:] * kinds + orders[:-1], kinds**2) < UNCLEAR
    assert unevenness(orders * players + starts, kinds * players) < UNCLEAR
    uneven = np.where(np.arange(count) % 5 == 0, 0, orders)
    assert unevenness(uneven, kinds) > UNCLEAR or not COMPILED


@pytest.mark.parametrize("players", SETUPS)
def test_named_one_place_further_on_in_the_circle_the_players_play_the_same_games(players):
    named = deterministic(players)
    for block in (range(block, block + 1) for block in range(BLOCKS)):
        places = seats_of(players, block, 5)[0, 0]
        following = np.argsort(places)[(places + 1) % players]  # of each player the one who sits after it
        forward = play_blocks(named, num_blocks=block, seed=5)
        turned = play_blocks([named[player] for player in following], num_blocks=block, seed=5)
        for name in MEASURES:  # the same games one rotation later
            assert (np.roll(turned.measures[name], -1, axis=1) == forward.measures[name][:, :, following]).all()
        assert np.roll(turned.rounds, -1, axis=1).tobytes() == forward.rounds.tobytes()


@pytest.mark.parametrize("players", SETUPS)
def test_in_which_order_copies_are_named_changes_nothing(players):
    copies = [Plain(make("anchor")), *(make("anchor") for _ in range(players - 2))]
    expected = play_blocks([Varied(), *copies], num_blocks=BLOCKS, seed=5)
    for named in permutations(copies):
        assert_same(play_blocks([Varied(), *named], num_blocks=BLOCKS, seed=5), expected)


@pytest.mark.parametrize("players", SETUPS)
def test_one_against_copies_does_the_same_in_each_seat_wherever_it_is_named(players):
    for one, copy in ((FirstLegal(), make("ev")), (make("ev"), Eager())):
        tables = [[one if player == place else copy for player in range(players)] for place in range(players)]
        blocks = [play_blocks(table, num_blocks=BLOCKS, seed=5) for table in tables]
        for place, name in product(range(players), MEASURES):
            assert (blocks[place].by_seat(place, name) == blocks[0].by_seat(0, name)).all()


def seats_in_fixed_order(players: int, blocks: range, seed: int) -> np.ndarray:
    """As named, around the table: who sits beside whom is the same in all blocks."""
    seats = (np.arange(players) + np.arange(players)[:, None]) % players
    return np.tile(seats, (len(blocks), 1, 1))


def gap_of_equals(codes: Sequence[str]) -> float:
    """How much more the first wins than the second, in standard errors."""
    blocks = play_blocks([make(code) for code in codes], num_blocks=4000, seed=12)
    gap = blocks.mean_of(0) - blocks.mean_of(1)
    return float(gap.mean() / (gap.std() / np.sqrt(len(gap))))


@many_games
@pytest.mark.parametrize(
    "codes", [("ev", "ev", "anchor"), ("anchor", "anchor", "ev", "ev"), ("anchor", "anchor", "ev", "ev", "ev")]
)
def test_equal_players_at_a_mixed_table_are_equal_as_they_would_not_be_in_a_fixed_order(codes, monkeypatch):
    assert abs(gap_of_equals(codes)) < 3
    monkeypatch.setattr(arena, "seats_of", seats_in_fixed_order)
    assert gap_of_equals(codes) > UNCLEAR


# --- chance -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", SETUPS)
def test_the_deal_of_a_block_is_that_of_its_seed_in_all_rotations(players):
    for block, dealt in zip(range(5, 9), np.split(deal_blocks(players, range(5, 9), SEED), 4), strict=True):
        expected = draw_deal(SETUPS[players], game_seed(SEED, arena._DEAL_STREAM, block))
        assert dealt.tobytes() == dealt_states(SETUPS[players], expected).tobytes() * players


def words_of_a_spy(table: list[Player], place: int, block: int) -> tuple[list[list[int]], np.ndarray]:
    """(words in the order of its decisions for each seat of the one at `place`, hands dealt to it) in one block."""
    spy = Spy(table[place])
    play_blocks([*table[:place], spy, *table[place + 1 :]], num_blocks=range(block, block + 1), seed=SEED)
    words: list[list[int]] = [[] for _ in table]
    hands = np.zeros(len(table), np.int64)
    for view in spy.views:  # in one block the seat tells the rotation
        for state, seat, word in zip(view.states, view.seats, view.seeds, strict=True):
            hands[seat] = hands[seat] or state["hands"][seat]
            words[seat].append(int(word))
    return words, hands


@pytest.mark.parametrize("players", SETUPS)
def test_another_opponent_changes_neither_the_deal_nor_the_words_of_the_others(players):
    table, place, block = stochastic(players), 1, 3
    words, hands = words_of_a_spy(table, place, block)
    streams = seat_streams(players, range(block, block + 1), SEED)
    sat = seats_of(players, range(block, block + 1), SEED)[0, :, place].tolist()
    for seat in range(players):
        stream = streams[sat.index(seat)]
        assert words[seat] == [int(decision_seed(stream, seat, number)) for number in range(len(words[seat]))]
        assert len(words[seat]) >= 18
    for other in range(players):
        for newcomer in (make("pass"), Eager()) if other != place else ():
            changed = [*table[:other], newcomer, *table[other + 1 :]]
            theirs, their_hands = words_of_a_spy(changed, place, block)
            assert (their_hands == hands).all()
            assert theirs != words  # the games went otherwise
            for seat in range(players):
                common = min(len(words[seat]), len(theirs[seat]))
                assert theirs[seat][:common] == words[seat][:common]


@pytest.mark.parametrize("players", SETUPS)
def test_deals_are_the_same_whoever_plays(players):
    tables = (stochastic(players), deterministic(players), [FirstLegal() for _ in range(players)])
    rounds = [play_blocks(table, num_blocks=BLOCKS, seed=SEED).rounds for table in tables]
    for other in rounds[1:]:
        assert (other["start_seat"][:, :, 0] == rounds[0]["start_seat"][:, :, 0]).all()
        assert (other["cards"][..., DUMMY] == rounds[0]["cards"][..., DUMMY]).all()
        assert other.tobytes() != rounds[0].tobytes()


def recorded_words(players: int, streams: np.ndarray) -> np.ndarray:
    """The words that views carry, [blocks, rotations, seats, decisions]; all pass, so the games go in lockstep."""
    start = dealt_states(SETUPS[players], draw_deal(SETUPS[players], 0, {"start_seat": 0}))
    seats = np.tile(np.arange(players), (len(streams), 1))
    spies = [Spy(FirstLegal()) for _ in range(players)]
    Games(SETUPS[players], np.repeat(start, len(streams)), streams, seats).play(spies)
    words = np.array([[view.seeds for view in spy.views] for spy in spies])  # [seats, decisions, games]
    return words.transpose(2, 0, 1).reshape(-1, players, players, 18)


def dependence(first: np.ndarray, second: np.ndarray) -> float:
    """How far two rows of words are from independent, in standard deviations of the most telling statistic.

    Statistics: how often they agree in each bit, and chi-square of the four highest and the four lowest bits.
    """
    first, second = (np.ravel(words).astype(np.uint64) for words in np.broadcast_arrays(first, second))
    count, differ = len(first), first ^ second
    agree = [((differ >> np.uint64(bit)) & np.uint64(1)).mean() for bit in range(63)]  # deal seeds have 63 bits
    distances = np.abs(np.array(agree) - 0.5) * 2 * np.sqrt(count)
    for bits in ([(words >> np.uint64(59)) & np.uint64(15) for words in (first, second)], [first & 15, second & 15]):
        counts = np.bincount((bits[0] * 16 + bits[1]).astype(np.int64), minlength=256)
        chi_square = ((counts - count / 256) ** 2 / (count / 256)).sum()
        distances = np.append(distances, abs(chi_square - 255) / np.sqrt(2 * 255))
    return float(distances.max())


def deal_seeds(blocks: int) -> np.ndarray:
    return np.array([game_seed(SEED, arena._DEAL_STREAM, block) for block in range(blocks)], np.uint64)


def dependences(players: int, streams: np.ndarray) -> dict[str, float]:
    """Between all that should know nothing of each other."""
    words = recorded_words(players, streams)
    deals, games_of, first = deal_seeds(len(words)), streams.reshape(-1, players), words[..., 0]
    return {
        "seats": max(dependence(words[:, :, 0], words[:, :, seat]) for seat in range(1, players)),
        "decisions": dependence(words[..., 1:], words[..., :-1]),
        "rotations": dependence(words[:, 1:], words[:, :-1]),
        "blocks": dependence(words[1:], words[:-1]),
        "deal and words": max(dependence(deals, first[:, 0, seat]) for seat in range(players)),
        "deal and stream": max(dependence(deals, games_of[:, rotation]) for rotation in range(players)),
        "stream and words": max(dependence(games_of, first[:, :, seat]) for seat in range(players)),
        "repeats": float(words.size - len(np.unique(words))),
    }


@pytest.mark.parametrize("players", SETUPS)
def test_seats_decisions_rotations_blocks_and_deals_draw_independent_words(players):
    found = dependences(players, seat_streams(players, range(MANY), SEED))
    assert {name: distance for name, distance in found.items() if distance >= UNCLEAR} == {}


def test_the_deal_the_order_and_the_play_of_a_block_are_drawn_from_streams_that_know_nothing_of_each_other():
    streams = (arena._DEAL_STREAM, arena._PLAY_STREAM, arena._ORDER_STREAM)
    words = [np.array([game_seed(SEED, stream, block) for block in range(2000)], np.uint64) for stream in streams]
    assert max(dependence(first, second) for first, second in combinations(words, 2)) < UNCLEAR


def plant_words(monkeypatch: pytest.MonkeyPatch, word_of: Callable[[np.uint64, int, int], Any]) -> None:
    """Let views carry other words: of the stream, the seat and the number of the decision."""

    def words(table: games.Table, rows: np.ndarray, out: np.ndarray) -> None:
        seats = table.states["seat"][rows].astype(np.int64)
        numbers = table.decisions[rows, seats]
        triples = zip(table.streams[rows], seats, numbers, strict=True)
        out[:] = [int(word_of(stream, int(seat), int(number))) for stream, seat, number in triples]

    monkeypatch.setattr(games, "_words", words)


@pytest.mark.parametrize(
    ("shared", "word_of"),
    [
        ("seats", lambda stream, seat, number: decision_seed(stream, 0, number)),
        ("decisions", lambda stream, seat, number: decision_seed(stream, seat, 0)),
        ("decisions", lambda stream, seat, number: decision_seed(stream, seat, number // 2)),
        ("stream and words", lambda stream, seat, number: stream),
    ],
)
def test_words_that_are_shared_would_be_found(monkeypatch, shared, word_of):
    plant_words(monkeypatch, word_of)
    found = dependences(4, seat_streams(4, range(20), SEED))
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
    streams = seat_streams(4, range(20), SEED)
    assert dependences(4, streams)[shared] < UNCLEAR
    assert dependences(4, plant(streams))[shared] > 2 * UNCLEAR


def unmixed(words: np.ndarray) -> np.ndarray:
    """The inverse of `random_stream.mix`."""
    words = words ^ (words >> np.uint64(31)) ^ (words >> np.uint64(62))
    words = words * np.uint64(pow(0x94D049BB133111EB, -1, 2**64))
    words = words ^ (words >> np.uint64(27)) ^ (words >> np.uint64(54))
    words = words * np.uint64(pow(0xBF58476D1CE4E5B9, -1, 2**64))
    return (words ^ (words >> np.uint64(30)) ^ (words >> np.uint64(60))) - np.uint64(0x9E3779B97F4A7C15)


def guesses(words: np.ndarray) -> list[np.ndarray]:
    """What one would try to make the seed of the deal or the stream of the game from a word, or from two."""
    made = [words, unmixed(words), unmixed(unmixed(words))]
    made += [words ^ words[:, :1], words - words[:, :1], unmixed(words ^ words[:, :1]), unmixed(words - words[:, :1])]
    made += [guess ^ np.uint64(0xD1B54A32D192ED03) for guess in made]
    return [guess >> np.uint64(shift) for guess in made for shift in (0, 1)]


def seeds_guessed(words: np.ndarray, seeds: np.ndarray) -> int:
    """How many of the guesses from words [games, decisions] hit the seeds [games]."""
    return sum(int((guess == seeds[:, None]).sum()) for guess in guesses(words))


def test_neither_the_deal_nor_the_stream_is_had_from_the_words_in_an_obvious_way():
    streams, deals = seat_streams(4, range(20), SEED), np.repeat(deal_seeds(20), 4)
    derived = [game_seed(int(deal), rotation, 0) for deal in deals for rotation in range(4)]
    assert not np.isin(streams, deals).any()
    assert not np.isin(streams, np.array(derived, np.uint64)).any()
    words = recorded_words(4, streams).reshape(len(streams), -1)
    for seeds in (deals, streams):
        assert seeds_guessed(words, seeds) == 0
        assert seeds_guessed(np.stack([seeds, words[:, 0]], axis=1), seeds) > 0
        mixed = np.array([int(mix(seed)) for seed in seeds], np.uint64)
        assert seeds_guessed(np.stack([mixed, words[:, 0]], axis=1), seeds) >= len(seeds)


# --- planted biases ---------------------------------------------------------------------------------------------------


def rows_not_redacted(views: list[View]) -> int:
    """How many rows show more than their seat may know."""
    shown = np.concatenate([view.states for view in views])
    known = redact(shown, np.concatenate([view.seats for view in views]))
    return sum(row.tobytes() != row_known.tobytes() for row, row_known in zip(shown, known, strict=True))


def leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let views hold the truth."""

    def show_all(states: np.ndarray, rows: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
        out[:] = states[rows]

    monkeypatch.setattr(games, "redact_rows", show_all)


@many_games
@pytest.mark.parametrize("players", SETUPS)
def test_a_bidder_who_is_shown_hidden_cards_is_clear_of_par_and_the_honest_one_is_not(players, monkeypatch):
    table = [Plain(make("anchor")), *(make("anchor") for _ in range(players - 1))]
    honest = play_blocks(table, num_blocks=400, seed=6)
    assert not is_off_par(honest.mean_of(0), players)
    leak(monkeypatch)  # only views: players in kernels see what they did
    leaked = play_blocks(table, num_blocks=400, seed=6)
    assert bootstrap(leaked.mean_of(0)).low > 1 / players + 0.05
    for measure in ("win_share", "profit"):
        gained = paired_difference(leaked.mean_of(0, measure), honest.mean_of(0, measure))
        assert gained.difference.low > 0


@pytest.mark.parametrize("players", SETUPS)
def test_views_show_only_what_their_seats_may_know(players, monkeypatch):
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_blocks=BLOCKS, seed=6)
    assert [rows_not_redacted(spy.views) for spy in spies] == [0] * players
    assert all((view.states["hands"] == HIDDEN).any(axis=1).all() for spy in spies for view in spy.views)
    leak(monkeypatch)
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_blocks=BLOCKS, seed=6)
    assert min(rows_not_redacted(spy.views) for spy in spies) > 0


def start_at(monkeypatch: pytest.MonkeyPatch, seat_of_rotation: Callable[[np.ndarray], np.ndarray]) -> None:
    """Let the seat that depends so on the rotation start the games of the arena."""

    def dealt(players: int, blocks: range, seed: int) -> np.ndarray:
        states = deal_blocks(players, blocks, seed)
        states["start_seat"] = states["seat"] = seat_of_rotation(np.arange(len(states)) % players)
        return states

    monkeypatch.setattr(arena, "deal_blocks", dealt)


def is_off_par(values: np.ndarray, players: int) -> bool:
    estimate = bootstrap(values)
    return estimate.low > 1 / players + 1e-9 or estimate.high < 1 / players - 1e-9


@many_games
@pytest.mark.parametrize("players", SETUPS)
def test_a_player_who_always_starts_is_off_par_against_copies_of_itself(players, monkeypatch):
    copies = [make("ev") for _ in range(players)]
    assert not is_off_par(play_blocks(copies, num_blocks=MANY, seed=8).mean_of(0), players)
    start_at(monkeypatch, lambda rotation: rotation)  # where player 0 sits
    blocks = play_blocks(copies, num_blocks=MANY, seed=8)
    assert is_off_par(blocks.mean_of(0), players)
    assert (blocks.rounds["start_seat"][:, :, 0] == np.arange(players)).all()


@many_games
@pytest.mark.parametrize("players", SETUPS)
def test_a_seat_that_is_worth_more_is_seen_by_seat_and_cancels_over_the_rotations(players, monkeypatch):
    copies = [make("ev") for _ in range(players)]
    start_at(monkeypatch, lambda rotation: 0 * rotation)
    blocks = play_blocks(copies, num_blocks=MANY, seed=8)
    for player in range(players):
        assert is_off_par(blocks.by_seat(player)[:, 0], players)
        assert blocks.mean_of(player) == pytest.approx(np.full(MANY, 1 / players), abs=1e-12)
        # without rotation the seat would pass for strength
        assert is_off_par(blocks.measures["win_share"][:, 0, player], players) or player > 0


def test_deals_that_differ_between_rotations_would_be_found(monkeypatch):
    copies = [make("ev") for _ in range(4)]
    monkeypatch.setattr(arena, "deal_blocks", lambda n, blocks, seed: deal_blocks(n, range(n * len(blocks)), seed)[::n])
    assert np.ptp(play_blocks(copies, num_blocks=10, seed=1).mean_of(0)) > 0.1
