"""The arena: games are those of a plain loop over the AEC face; blocks are fair, repeatable and independent.

What could bias a result is planted (a leaked card, a seat advantage, a shared random stream), and the test that finds
it must pass on the arena as it is.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import combinations, pairwise, permutations, product
from math import factorial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from agents import Player, arena, games, make
from agents.arena import (
    MEASURES,
    Blocks,
    PlayerError,
    bootstrap,
    deal_blocks,
    paired_difference,
    play_blocks,
    seat_streams,
    seats_of,
)
from agents.compiled import COMPILED as COMPILED_PLAYERS
from agents.games import ROUND, Games
from felicity_env import View, felicity_v0, game_seed
from felicity_env.game import (
    DUMMY,
    HIDDEN,
    MAX_ROUNDS,
    NO_CARD,
    NO_SEAT,
    NUM_ACTIONS,
    PASS,
    PLACE,
    SETUPS,
    STATE,
    State,
    pass_pays,
)
from felicity_env.information import information_state, redact
from felicity_env.notation import dumps
from felicity_env.random_stream import decision_seed, mix
from felicity_env.transcript import Game, dealt_states, draw_deal, legal_text
from tests.helpers import COMPILED, varied_action

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = 6 if COMPILED else 1
MANY = 1500 if COMPILED else 20
SEED = 11
UNCLEAR = 5.0  # standard deviations from independence that chance may bring about in some hundred statistics


# --- players ----------------------------------------------------------------------------------------------------------


class FirstLegal:
    """The lowest legal action: places its lowest card and always passes."""

    def act(self, view: View) -> np.ndarray:
        hands = view.states["hands"][np.arange(len(view)), view.seats].astype(np.int64)
        lowest = np.log2(np.maximum(1, hands & -hands)).astype(np.int64)
        return np.where(view.states["phase"] == PLACE, lowest, PASS)


class Eager:
    """Raises by one to 5, places its highest card."""

    def act(self, view: View) -> np.ndarray:
        masks = view.action_masks.copy()
        masks[:, PASS + 6 :] = 0
        lowest_bid = masks[:, PASS + 1 :].argmax(axis=1) + PASS + 1
        bids = np.where(masks[:, PASS + 1 :].any(axis=1), lowest_bid, PASS)
        return np.where(masks[:, PASS] == 1, bids, PASS - 1 - masks[:, PASS - 1 :: -1].argmax(axis=1))


class Varied:
    """In plain Python, by the words it is given."""

    def act(self, view: View) -> np.ndarray:
        pairs = zip(view.states, view.seeds, strict=True)
        return np.array([int(varied_action(state, np.uint64(word))) for state, word in pairs])


class Plain:
    """Another player behind a view, which the arena must ask instead of playing it by a kernel."""

    def __init__(self, player: Player) -> None:
        self.player = player

    def act(self, view: View) -> np.ndarray:
        return self.player.act(view)


class Spy(Plain):
    """Keeps all that it is shown."""

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self.views: list[View] = []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return super().act(view)


class Trap(Plain):
    """Plays as another, but where it sees `position` it answers `reaction(what the other plays, in which row)`."""

    def __init__(self, player: Player, position: bytes, reaction: Callable[[np.ndarray, int], Any]) -> None:
        super().__init__(player)
        self.position, self.reaction = position, reaction

    def act(self, view: View) -> Any:
        actions = np.asarray(super().act(view))
        rows = [row for row in range(len(view)) if view.states[row].tobytes() == self.position]
        return self.reaction(actions, rows[0]) if rows else actions


def deterministic(players: int) -> list[Player]:
    return [make("ev"), FirstLegal(), Eager(), make("ev"), Eager()][:players]


def stochastic(players: int) -> list[Player]:
    return [make("random"), Varied(), make("ev"), make("anchor"), Varied()][:players]


TABLES = {"deterministic": deterministic, "stochastic": stochastic}
every_table = pytest.mark.parametrize(("players", "table"), list(product(SETUPS, TABLES)))
many_games = pytest.mark.skipif(not COMPILED, reason="many games; the same kernels run in the other tests")


def assert_same(first: Blocks, second: Blocks) -> None:
    """Bit for bit."""
    assert (first.seats == second.seats).all()
    for name in MEASURES:
        assert first.measures[name].tobytes() == second.measures[name].tobytes(), name
    assert first.rounds.tobytes() == second.rounds.tobytes()


# --- the same games by the AEC face -----------------------------------------------------------------------------------


class AecGame(NamedTuple):
    game: Game
    wins: list[float]  # rewards, by seat
    infos: list[dict]  # at the end, by seat


def play_by_aec(env: felicity_v0.raw_env, players: Sequence[Player], block: int, rotation: int) -> AecGame:
    """One game of the arena, decision by decision; each player's words from its stream by the documented formula."""
    n = len(players)
    dealt = draw_deal(SETUPS[n], game_seed(SEED, arena._DEAL_STREAM, block))
    stream = game_seed(game_seed(SEED, arena._PLAY_STREAM, block), rotation, 0)
    sitting = np.argsort(seats_of(n, range(block, block + 1), SEED)[0, rotation])  # who is in each seat
    env.reset(seed=0, options={"deal": asdict(dealt)})
    decisions, wins, infos = [0] * n, [0.0] * n, [{} for _ in range(n)]
    for agent in env.agent_iter():
        seat = env.possible_agents.index(agent)
        _, reward, done, _, info = env.last()
        wins[seat] += reward
        if done:
            infos[seat] = info
            env.step(None)
            continue
        word = decision_seed(np.uint64(stream), seat, decisions[seat])
        decisions[seat] += 1
        known = redact(np.array([env._states[0]], STATE), seat)
        player = players[sitting[seat]]
        env.step(int(player.act(View(known, np.array([seat]), np.array([word], np.uint64)))[0]))
    return AecGame(env.game, wins, infos)


def all_by_aec(players: Sequence[Player]) -> list[AecGame]:
    """All games of BLOCKS blocks, in the order of the arena."""
    n = len(players)
    env = felicity_v0.raw_env(num_players=n)
    return [play_by_aec(env, players, block, rotation) for block in range(BLOCKS) for rotation in range(n)]


@lru_cache
def aec_games(players: int, table: str) -> list[AecGame]:
    return all_by_aec(TABLES[table](players))


@lru_cache
def arena_blocks(players: int, table: str) -> Blocks:
    return play_blocks(TABLES[table](players), num_blocks=BLOCKS, seed=SEED)


def by_player(values_by_seat: list[list[float]], n: int) -> np.ndarray:
    """[blocks, rotations, players] of values by seat in each game."""
    by_seat = np.array(values_by_seat, float).reshape(BLOCKS, n, n)
    return np.take_along_axis(by_seat, seats_of(n, range(BLOCKS), SEED), axis=2)


def sales(game: Game) -> list[tuple[int, int, int]]:
    """(winner, price, value) of every sack sold."""
    return [event[1:] for event in information_state(game, 0) if event[0] == "sold"]


def measured(played: AecGame) -> dict[str, list[float]]:
    """Every measure by seat, from the rewards and infos of the AEC face and the public events."""
    scores = [info["score"] for info in played.infos]
    n, sold = len(scores), sales(played.game)
    return {
        "win_share": played.wins,
        "margin": [score - (sum(scores) - score) / (n - 1) for score in scores],
        "rank": [info["rank"] for info in played.infos],
        "score": scores,
        "mice": [info["mice"] for info in played.infos],
        "sacks": [sum(winner == seat for winner, _, _ in sold) for seat in range(n)],
        "profit": [sum(value - price for winner, price, value in sold if winner == seat) for seat in range(n)],
        "forfeits": [0] * n,
    }


def book_of(game: Game) -> np.ndarray:
    """ROUND [MAX_ROUNDS] from what the seats see: each tells its own cards, everybody the rest."""
    book = np.zeros(MAX_ROUNDS, ROUND)
    book["cards"], book["winner"] = NO_CARD, NO_SEAT
    number = 0
    for views in zip(*(information_state(game, seat) for seat in range(game.setup.seats)), strict=True):
        kind, *about = views[0]
        entry = book[number] if number < MAX_ROUNDS else None
        if kind == "pots":
            entry["mice"] = about[0]
        elif kind == "place":
            seat = about[0]
            if (entry["cards"][: game.setup.seats] == NO_CARD).all():
                entry["start_seat"] = seat
            entry["cards"][seat] = views[seat][2]
        elif kind == "turn" and game.setup.dummy and about[0] == 0:
            entry["cards"][DUMMY] = about[1]
        elif kind == "pass":
            seat, taken = about
            entry["passed"][seat] = entry["passed"].max() + 1
            entry["taken"][seat] = taken
        elif kind == "sold":
            entry["winner"], entry["price"], entry["value"] = about
        number += kind in ("sold", "scrapped")
    return book


def lines(book: np.ndarray) -> list[tuple]:
    """A book to be compared and read."""
    return [tuple(np.asarray(value).tolist() for value in entry) for entry in book.tolist()]


def seating_of(players: int, blocks: int) -> np.ndarray:
    """Which player sits in each seat, [blocks * rotations, seats]."""
    return np.argsort(seats_of(players, range(blocks), SEED).reshape(-1, players), axis=1)


@every_table
def test_the_arena_plays_action_by_action_the_games_of_a_loop_over_the_aec_face(players, table):
    streams = seat_streams(players, range(BLOCKS), SEED)
    dealt = deal_blocks(players, range(BLOCKS), SEED)
    played = Games(SETUPS[players], dealt, streams, seating_of(players, BLOCKS))
    played.play(TABLES[table](players))
    assert [played.text(k) for k in range(BLOCKS * players)] == [dumps(game.game) for game in aec_games(players, table)]
    assert played.rounds.tobytes() == arena_blocks(players, table).rounds.tobytes()


@every_table
def test_every_measure_is_what_the_aec_face_says(players, table):
    blocks = arena_blocks(players, table)
    expected = [measured(played) for played in aec_games(players, table)]
    assert list(blocks.measures) == list(MEASURES)
    for name, values in blocks.measures.items():
        assert values == pytest.approx(by_player([measures[name] for measures in expected], players)), name
        assert np.ptp(values) > 0 or name == "forfeits"


@every_table
def test_the_book_of_every_round_is_what_the_events_of_the_game_say(players, table):
    rounds = arena_blocks(players, table).rounds
    assert rounds.shape == (BLOCKS, players, MAX_ROUNDS)
    for book, played in zip(rounds.reshape(-1, MAX_ROUNDS), aec_games(players, table), strict=True):
        assert lines(book) == lines(book_of(played.game))
    assert {0, sum(SETUPS[players].mouse_cards)} == set(np.unique(rounds["mice"]).tolist())
    assert len(np.unique(rounds["start_seat"])) == players
    assert rounds["price"].max() > 1


@pytest.mark.parametrize("players", SETUPS)
def test_a_round_that_nobody_buys_and_the_dry_one_after_it_are_in_the_book(players):
    blocks = play_blocks([FirstLegal() for _ in range(players)], num_blocks=1, seed=SEED)
    rounds = blocks.rounds
    assert (rounds["winner"] == NO_SEAT).all()
    assert (rounds["price"] == 0).all()
    assert (rounds["value"] == 0).all()
    assert (np.sort(rounds["passed"][..., :players]) == np.arange(1, players + 1)).all()
    paid = [0, *SETUPS[players].mouse_cards]
    assert (np.sort(rounds["taken"][:, :, 0, :players]) == paid).all()
    assert not rounds["taken"][:, :, 1:].any()
    assert not blocks.measures["sacks"].any()


# --- blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", SETUPS)
def test_a_victory_is_shared_by_the_players_of_rank_one(players):
    blocks = play_blocks([make("random") for _ in range(players)], num_blocks=MANY, seed=3)
    shares, ranks = blocks.measures["win_share"], blocks.measures["rank"]
    first = ranks == 1
    assert shares == pytest.approx(first / first.sum(axis=2, keepdims=True))
    assert blocks.measures["margin"].sum(axis=2) == pytest.approx(np.zeros((MANY, players)), abs=1e-9)
    assert (first.sum(axis=2) > 1).any() or not COMPILED  # a victory shared did come up


@pytest.mark.parametrize("players", SETUPS)
def test_a_deterministic_player_against_copies_of_itself_has_exactly_par(players):
    for copies in ([make("ev") for _ in range(players)], [Eager() for _ in range(players)]):
        estimate = bootstrap(play_blocks(copies, num_blocks=max(2, BLOCKS), seed=1).mean_of(0))
        assert estimate.value == pytest.approx(1 / players, abs=1e-12)
        assert estimate.high - estimate.low == pytest.approx(0, abs=1e-12)
        assert estimate.blocks == max(2, BLOCKS)


@every_table
def test_parts_put_together_are_the_whole(players, table):
    for cuts in ((0, 3, 4, 8), (0, 1, 8)) if COMPILED else ((0, 1, 2),):
        whole = play_blocks(TABLES[table](players), num_blocks=cuts[-1], seed=7)
        parts = [
            play_blocks(TABLES[table](players), num_blocks=range(first, last), seed=7) for first, last in pairwise(cuts)
        ]
        assert_same(Blocks.joined(parts), whole)
        assert (whole.measures["score"][0] != whole.measures["score"][-1]).any()


def test_another_seed_gives_other_games_and_the_same_seed_the_same():
    first, again, other = (play_blocks(stochastic(4), num_blocks=BLOCKS, seed=seed) for seed in (1, 1, 2))
    assert_same(first, again)
    assert (first.measures["score"] != other.measures["score"]).any()


@pytest.mark.parametrize("players", SETUPS)
def test_compiled_players_play_the_same_games_behind_a_view(players):
    names = [*COMPILED_PLAYERS, *COMPILED_PLAYERS]
    for first in range(0, len(COMPILED_PLAYERS), players):
        coded = [make(name) for name in names[first : first + players]]
        by_kernel = play_blocks(coded, num_blocks=BLOCKS, seed=2)
        assert_same(play_blocks([Plain(player) for player in coded], num_blocks=BLOCKS, seed=2), by_kernel)
        assert_same(play_blocks([Plain(coded[0]), *coded[1:]], num_blocks=BLOCKS, seed=2), by_kernel)


def digest_of_blocks() -> str:
    digest = hashlib.sha256()
    for players in SETUPS:
        blocks = play_blocks(stochastic(players), num_blocks=1, seed=4)
        digest.update(blocks.seats.tobytes() + blocks.rounds.tobytes())
        digest.update(b"".join(blocks.measures[name].tobytes() for name in MEASURES))
    return digest.hexdigest()


@pytest.mark.skipif(not COMPILED, reason="there is nothing compiled to compare with")
def test_blocks_are_the_same_compiled_and_in_plain_python():
    code = "from tests.test_arena import *; print(digest_of_blocks())"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == digest_of_blocks(), done.stderr


@pytest.mark.parametrize("players", SETUPS)
def test_every_player_sits_once_in_every_seat_of_a_block(players):
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_blocks=1, seed=0)
    for spy in spies:
        placed = np.concatenate([view.seats[view.states["phase"] == PLACE] for view in spy.views])
        assert np.bincount(placed).tolist() == [9] * players


def made_up_blocks(players: int) -> Blocks:
    """Any values, circular orders and start players (others in later rounds)."""
    chance = np.random.default_rng(0)
    values = chance.random((8, players, players))
    places = chance.permuted(np.tile(np.arange(players), (8, 1)), axis=1)
    seats = (places[:, None, :] + np.arange(players)[:, None]) % players
    rounds = np.zeros((8, players, MAX_ROUNDS), ROUND)
    rounds["start_seat"] = chance.integers(players, size=rounds.shape)
    rounds["start_seat"][:, :, 0] = np.arange(8)[:, None] % players
    return Blocks({"rank": values}, seats, rounds)


@pytest.mark.parametrize("players", SETUPS)
def test_a_measure_by_seat_is_that_of_the_rotation_in_which_the_player_sat_there(players):
    blocks = made_up_blocks(players)
    values, seats = blocks.measures["rank"], blocks.seats
    for block, rotation, player in np.ndindex(values.shape):
        by_seat = blocks.by_seat(player, "rank")
        assert by_seat[block, seats[block, rotation, player]] == values[block, rotation, player]


@pytest.mark.parametrize("players", SETUPS)
def test_a_measure_by_place_is_that_of_the_seat_so_far_after_the_first_start_player(players):
    blocks = made_up_blocks(players)
    starts = blocks.rounds["start_seat"][:, 0, 0]
    assert len(np.unique(starts)) > 1
    for block, player, place in product(range(len(starts)), range(players), range(players)):
        by_seat, by_place = blocks.by_seat(player, "rank"), blocks.by_place(player, "rank")
        assert by_place[block, place] == by_seat[block, (starts[block] + place) % players]


@pytest.mark.parametrize("players", SETUPS)
def test_what_a_player_does_in_one_seat_alone_is_found_in_that_seat(players):
    class FailsInSeatOne:
        def act(self, view: View) -> np.ndarray:
            return np.where(view.seats == 1, NUM_ACTIONS, FirstLegal().act(view))

    for place in range(players):
        table: list[Player] = [FirstLegal() for _ in range(players)]
        table[place] = FailsInSeatOne()
        by_seat = play_blocks(table, num_blocks=2, seed=0).by_seat(place, "forfeits")
        assert by_seat.tolist() == [[float(seat == 1) for seat in range(players)]] * 2


@pytest.mark.parametrize("players", SETUPS)
def test_what_a_player_does_in_one_place_after_the_start_player_alone_is_found_in_that_place(players):
    class FailsInPlace(FirstLegal):
        def __init__(self, place: int) -> None:
            self.place = place

        def act(self, view: View) -> np.ndarray:
            states = view.states
            here = (view.seats - states["start_seat"]) % players == self.place
            fails = here & (states["round_number"] == 0)
            return np.where(fails, NUM_ACTIONS, super().act(view))

    for player, place in product(range(players), repeat=2):
        table: list[Player] = [FirstLegal() for _ in range(players)]
        table[player] = FailsInPlace(place)
        by_place = play_blocks(table, num_blocks=3, seed=0).by_place(player, "forfeits")
        assert by_place.tolist() == [[float(k == place) for k in range(players)]] * 3


def test_the_mean_of_a_measure_is_over_the_rotations_of_each_block():
    values = np.zeros((2, 3, 3))
    values[0, :, 1], values[1, 0, 1] = 1, 0.5
    blocks = Blocks({"win_share": values, "score": 2 * values}, np.zeros((2, 3, 3), int), np.zeros((2, 3, 9), ROUND))
    assert blocks.mean_of(1).tolist() == [1, pytest.approx(0.5 / 3)]
    assert blocks.mean_of(1, "score").tolist() == [2, pytest.approx(1 / 3)]
    assert blocks.mean_of(0).tolist() == [0, 0]


@pytest.mark.parametrize("players", [0, 1, 2, 6])
def test_tables_that_are_no_game_are_refused(players):
    with pytest.raises(ValueError, match=rf"a table has one of \[3, 4, 5\] players, not {players}"):
        play_blocks([FirstLegal() for _ in range(players)], num_blocks=1, seed=0)


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


# --- players that fail ------------------------------------------------------------------------------------------------


def deciding(players: int) -> list[Player]:
    """A table in which games are long and differ."""
    return [Varied(), make("anchor"), Varied(), Eager(), make("random")][:players]


class Found(NamedTuple):
    """A position that came up once in BLOCKS blocks of `deciding`, before the one at `place`."""

    place: int
    state: State  # as its seat knows it
    block: int
    rotation: int
    seats: np.ndarray  # of each player in this game
    text: str  # the game to there


@lru_cache
def position(players: int, phase: int) -> Found:
    """From the middle of a game: a bid of at least 1 stands, or a card is about to be laid, and a mouse is held."""
    place = 2 if phase == PLACE else 0
    table = deciding(players)
    table[place] = spy = Spy(table[place])
    play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    rows = [state for view in spy.views for state in view.states]
    seen = [state.tobytes() for state in rows]
    state = next(
        state
        for state in rows
        if state.phase == phase
        and state.round_number == 5
        and (phase == PLACE or state.high_bid > 0)
        and state.passes < players - 1
        and seen.count(state.tobytes()) == 1
    )
    table[place] = Trap(spy.player, state.tobytes(), raise_lost)
    env = felicity_v0.raw_env(num_players=players)
    for block, rotation in product(range(BLOCKS), range(players)):
        try:
            play_by_aec(env, table, block, rotation)
        except LookupError:
            seats = seats_of(players, range(block, block + 1), SEED)[0, rotation]
            return Found(place, state, block, rotation, seats, dumps(env.game))
    raise AssertionError("the position did not come up in the loop over the AEC face")


def raise_lost(actions: np.ndarray, row: int) -> Any:
    raise LookupError("lost in thought")


@pytest.mark.parametrize("players", SETUPS)
@pytest.mark.parametrize("phase", [0, 1])
def test_a_player_that_raises_is_named_with_its_place_its_error_and_the_game_in_notation(players, phase):
    found = position(players, phase)
    table = deciding(players)
    table[found.place] = Trap(table[found.place], found.state.tobytes(), raise_lost)
    with pytest.raises(PlayerError) as caught:
        play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    error = caught.value
    assert error.place == found.place
    assert error.reason == "LookupError: lost in thought"
    assert isinstance(error.__cause__, LookupError)
    assert error.text == f"{found.text}seat {found.seats[found.place]} to act: {legal_text(found.state)}\n"
    assert str(error) == f"{error.reason}\nin the game\n{error.text}"


@pytest.mark.parametrize(
    ("reaction", "reason"),  # B: the number of decisions
    [
        (lambda actions, row: None, "TypeError: act(view) must answer with B integers, not object []"),
        (lambda actions, row: 3, "TypeError: act(view) must answer with B integers, not int64 []"),
        (lambda actions, row: actions.astype(float), "not float64 [B]"),
        (lambda actions, row: np.full(len(actions), np.nan), "not float64 [B]"),
        (lambda actions, row: actions > PASS, "not bool [B]"),
        (lambda actions, row: [None] * len(actions), "not object [B]"),
        (lambda actions, row: [10**30] * len(actions), "not object [B]"),
        (lambda actions, row: ["pass"] * len(actions), "not <U4 [B]"),
        (lambda actions, row: actions[:, None], "not int64 [B, 1]"),
        (lambda actions, row: actions[:0], "not int64 [0]"),
        (lambda actions, row: np.tile(actions, (2, 1)), "not int64 [2, B]"),
        (lambda actions, row: [[1, 2], [3]], "ValueError: "),
    ],
)
def test_an_answer_that_is_no_row_of_integers_is_an_error_of_the_player(reaction, reason):
    found, asked = position(4, 1), []

    def answer(actions: np.ndarray, row: int) -> Any:
        asked.append(len(actions))
        return reaction(actions, row)

    table = deciding(4)
    table[found.place] = Trap(table[found.place], found.state.tobytes(), answer)
    with pytest.raises(PlayerError) as caught:
        play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    assert caught.value.place == found.place
    assert caught.value.text.startswith(found.text)
    assert reason.replace("B", str(asked[0])) in caught.value.reason


def test_a_player_that_fails_only_at_several_games_at_once_is_named_with_the_first():
    class FailsInCompany(FirstLegal):
        def act(self, view: View) -> np.ndarray:
            if len(view) > 1:
                raise MemoryError("too many")
            return super().act(view)

    with pytest.raises(PlayerError, match="MemoryError: too many\nin the game\nfelicity rules") as caught:
        play_blocks([make("pass"), FailsInCompany(), make("pass")], num_blocks=4, seed=0)
    assert caught.value.place == 1


def test_an_interrupt_is_no_error_of_the_player():
    class Interrupted:
        def act(self, view: View) -> np.ndarray:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_blocks([make("pass"), Interrupted(), make("pass")], num_blocks=1, seed=0)


@pytest.mark.parametrize("kind", [list, tuple, np.int8, np.uint8, np.uint64, object])
def test_any_row_of_integers_is_an_answer(kind):
    class Answers(Varied):
        def act(self, view: View) -> Any:
            actions = super().act(view)
            if kind is object:
                return [int(action) for action in actions]
            return kind(actions.tolist()) if kind in (list, tuple) else actions.astype(kind)

    table = [make("random"), Answers(), make("ev")]
    expected = play_blocks([make("random"), Varied(), make("ev")], num_blocks=2, seed=9)
    assert_same(play_blocks(table, num_blocks=2, seed=9), expected)


def test_a_player_that_writes_into_its_view_changes_nothing():
    class Vandal(Varied):
        def act(self, view: View) -> np.ndarray:
            actions = super().act(view)
            view.states["mice"], view.states["round_number"] = 99, 8
            view.seats[:], view.seeds[:] = 0, 0
            return actions

    table = [make("random"), Vandal(), make("ev")]
    expected = play_blocks([make("random"), Varied(), make("ev")], num_blocks=2, seed=9)
    assert_same(play_blocks(table, num_blocks=2, seed=9), expected)


ILLEGAL = {  # in the phase of the position: what is answered
    "-1": (1, lambda state: -1),
    "no action": (1, lambda state: NUM_ACTIONS),
    "a thousand million": (1, lambda state: 10**9),
    "the least integer": (0, lambda state: -(2**63)),
    "2**32 more than a pass": (1, lambda state: 2**32 + PASS),
    "-1 while placing": (0, lambda state: -1),
    "the standing bid": (1, lambda state: PASS + state.high_bid),
    "more than its mice": (1, lambda state: PASS + state.mice[state.seat] + 1),
    "a card of its hand in the auction": (1, lambda state: int(state.hands[state.seat]).bit_length() - 1),
    "a card not in hand": (0, lambda state: (~int(state.hands[state.seat]) & 1023).bit_length() - 1),
    "a pass while placing": (0, lambda state: PASS),
    "a bid while placing": (0, lambda state: PASS + 1),
}


@pytest.mark.parametrize("players", SETUPS)
@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_action_forfeits_its_game_and_no_other(players, name):
    phase, answer = ILLEGAL[name]
    found = position(players, phase)
    illegal = int(answer(found.state))

    def reaction(actions: np.ndarray, row: int) -> np.ndarray:
        actions = actions.astype(np.int64)
        actions[row] = illegal
        return actions

    table = deciding(players)
    table[found.place] = Trap(table[found.place], found.state.tobytes(), reaction)
    blocks = play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    as_before = play_blocks(deciding(players), num_blocks=BLOCKS, seed=SEED)
    check_forfeit(blocks, as_before, found, players)


def check_forfeit(blocks: Blocks, as_before: Blocks, found: Found, n: int) -> None:
    game, offends = (found.block, found.rotation), np.arange(n) == found.place
    others = np.ones((BLOCKS, n), bool)
    others[game] = False
    for measure in MEASURES:
        assert (blocks.measures[measure][others] == as_before.measures[measure][others]).all()
    assert blocks.rounds[others].tobytes() == as_before.rounds[others].tobytes()
    ended = {measure: values[game] for measure, values in blocks.measures.items()}
    assert ended["forfeits"].tolist() == offends.astype(float).tolist()
    assert ended["win_share"].tolist() == [0 if offender else 1 / (n - 1) for offender in offends]
    assert ended["rank"].tolist() == [n if offender else 1 for offender in offends]
    seats = found.seats
    assert ended["mice"].tolist() == found.state.mice[seats].tolist()
    scores = found.state.mice[seats] + found.state.cat_points[seats]
    assert ended["score"].tolist() == scores.tolist()
    assert ended["margin"] == pytest.approx([score - (scores.sum() - score) / (n - 1) for score in scores])
    now = int(found.state.round_number)
    rounds, played_out = blocks.rounds[game], as_before.rounds[game]
    assert rounds[:now].tobytes() == played_out[:now].tobytes()
    assert ended["sacks"].tolist() == [(rounds["winner"][:now] == seat).sum() for seat in seats]
    assert (rounds["winner"][now:] == NO_SEAT).all()
    assert (rounds["cards"][now + 1 :] == NO_CARD).all()


def test_every_player_may_forfeit_games_of_its_own():
    class PassesAtOnce:
        def act(self, view: View) -> np.ndarray:
            return np.full(len(view), PASS)

    table: list[Player] = [PassesAtOnce(), make("random"), PassesAtOnce(), make("ev")]
    blocks = play_blocks(table, num_blocks=5, seed=1)
    forfeits, shares = blocks.measures["forfeits"], blocks.measures["win_share"]
    assert (forfeits.sum(axis=2) == 1).all()
    assert not forfeits[:, :, [1, 3]].any()
    assert (shares == np.where(forfeits, 0, 1 / 3)).all()
    assert forfeits[:, :, 0].any()
    assert forfeits[:, :, 2].any()


def test_a_pass_pays_in_the_book_what_the_rules_say():
    """`taken` of a spied decision is `pass_pays` of the state before it."""
    spy = Spy(FirstLegal())
    blocks = play_blocks([make("ev"), spy, make("random")], num_blocks=1, seed=2)
    sat = blocks.seats[0, :, 1].tolist()
    for view in spy.views:
        for state, seat in zip(view.states, view.seats, strict=True):
            if state.phase != PLACE:
                entry = blocks.rounds[0, sat.index(seat), state.round_number]
                assert entry["taken"][seat] == pass_pays(state)
                assert entry["passed"][seat] == state.passes + 1
