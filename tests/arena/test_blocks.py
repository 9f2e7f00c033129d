"""The arena: games are those of a plain loop over the AEC face; blocks are fair and repeatable."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
import pytest

from agents import Player, make
from agents.arena.blocks import MEASURES, Blocks, deal_blocks, draw_seats, list_streams, play_blocks
from agents.arena.games import ROUND, Games
from agents.compiled import HEURISTICS
from felicity_env import View, felicity_v0
from felicity_env.game import DUMMY, MAX_ROUNDS, NO_CARD, NO_SEAT, NUM_ACTIONS, PLACE
from felicity_env.game_record import Game
from felicity_env.information import information_state
from felicity_env.notation import dumps
from felicity_env.setups import STANDARD_PLAYERS, standard_setup
from tests.support.arena_players import (
    BLOCKS,
    LINEUPS,
    MANY,
    SEED,
    AecGame,
    Eager,
    FirstLegal,
    Plain,
    Spy,
    assert_same,
    every_lineup,
    play_by_aec,
    stochastic,
)
from tests.support.helpers import COMPILED, ODD_SETUPS
from tests.support.paths import ROOT

# --- the same games by the AEC face -----------------------------------------------------------------------------------


def all_by_aec(players: Sequence[Player]) -> list[AecGame]:
    """Play all games of BLOCKS blocks, in the order of the arena."""
    n = len(players)
    env = felicity_v0.raw_env(num_players=n)
    return [play_by_aec(env, players, block, rotation) for block in range(BLOCKS) for rotation in range(n)]


@lru_cache
def aec_games(players: int, lineup: str) -> list[AecGame]:
    return all_by_aec(LINEUPS[lineup](players))


@lru_cache
def arena_blocks(players: int, lineup: str) -> Blocks:
    return play_blocks(LINEUPS[lineup](players), num_deals=BLOCKS, seed=SEED)


def by_player(values_by_seat: list[list[float]], n: int) -> np.ndarray:
    """Return values [blocks, rotations, players] from those by seat in each game."""
    by_seat = np.array(values_by_seat, float).reshape(BLOCKS, n, n)
    return np.take_along_axis(by_seat, draw_seats(n, range(BLOCKS), SEED), axis=2)


def sales(game: Game) -> list[tuple[int, int, int]]:
    """Return (winner, price, value) of every sack sold."""
    return [event[1:] for event in information_state(game, 0) if event[0] == "sold"]


def measure(played: AecGame) -> dict[str, list[float]]:
    """Return every measure by seat, from the rewards and infos of the AEC face and the public events."""
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


def build_book(game: Game) -> np.ndarray:
    """Return ROUND [MAX_ROUNDS] from what the seats see: each sees its own cards, all see the rest."""
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
    """Return a book as plain values, to be compared and read."""
    return [tuple(np.asarray(value).tolist() for value in entry) for entry in book.tolist()]


def draw_seating(players: int, blocks: int) -> np.ndarray:
    """Return the player in each seat, [blocks * rotations, seats]."""
    return np.argsort(draw_seats(players, range(blocks), SEED).reshape(-1, players), axis=1)


@every_lineup
def test_the_arena_plays_action_by_action_the_games_of_a_loop_over_the_aec_face(players, lineup):
    streams = list_streams(standard_setup(players), range(BLOCKS), SEED)
    dealt = deal_blocks(standard_setup(players), range(BLOCKS), SEED)
    played = Games(standard_setup(players), dealt, streams, draw_seating(players, BLOCKS))
    played.play(LINEUPS[lineup](players))
    assert [played.text(k) for k in range(BLOCKS * players)] == [
        dumps(game.game) for game in aec_games(players, lineup)
    ]
    assert played.rounds.tobytes() == arena_blocks(players, lineup).rounds.tobytes()


@every_lineup
def test_every_measure_is_what_the_aec_face_says(players, lineup):
    blocks = arena_blocks(players, lineup)
    expected = [measure(played) for played in aec_games(players, lineup)]
    assert list(blocks.measures) == list(MEASURES)
    for name, values in blocks.measures.items():
        assert values == pytest.approx(by_player([measures[name] for measures in expected], players)), name
        assert np.ptp(values) > 0 or name == "forfeits"


@every_lineup
def test_the_book_of_every_round_is_what_the_events_of_the_game_say(players, lineup):
    rounds = arena_blocks(players, lineup).rounds
    assert rounds.shape == (BLOCKS, players, MAX_ROUNDS)
    for book, played in zip(rounds.reshape(-1, MAX_ROUNDS), aec_games(players, lineup), strict=True):
        assert lines(book) == lines(build_book(played.game))
    assert set(np.unique(rounds["mice"]).tolist()) <= {0, sum(standard_setup(players).mouse_cards)}
    assert len(np.unique(rounds["start_seat"])) == players
    assert rounds["price"].max() > 1
    assert (rounds["mice"] == 0).any() or not COMPILED  # dry rounds came up


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_round_that_nobody_buys_and_the_dry_one_after_it_are_in_the_book(players):
    blocks = play_blocks([FirstLegal() for _ in range(players)], num_deals=1, seed=SEED)
    rounds = blocks.rounds
    assert (rounds["winner"] == NO_SEAT).all()
    assert (rounds["price"] == 0).all()
    assert (rounds["value"] == 0).all()
    assert (np.sort(rounds["passed"][..., :players]) == np.arange(1, players + 1)).all()
    paid = [0, *standard_setup(players).mouse_cards]
    assert (np.sort(rounds["taken"][:, :, 0, :players]) == paid).all()
    assert not rounds["taken"][:, :, 1:].any()
    assert not blocks.measures["sacks"].any()


# --- blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_victory_is_shared_by_the_players_of_rank_one(players):
    blocks = play_blocks([make("random") for _ in range(players)], num_deals=MANY, seed=3)
    shares, ranks = blocks.measures["win_share"], blocks.measures["rank"]
    first = ranks == 1
    assert shares == pytest.approx(first / first.sum(axis=2, keepdims=True))
    assert blocks.measures["margin"].sum(axis=2) == pytest.approx(np.zeros((MANY, players)), abs=1e-9)
    assert (first.sum(axis=2) > 1).any() or not COMPILED  # a victory shared did come up


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_deterministic_player_against_copies_of_itself_has_exactly_par(players):
    for copies in ([make("ev") for _ in range(players)], [Eager() for _ in range(players)]):
        means = play_blocks(copies, num_deals=max(2, BLOCKS), seed=1).block_means(0)
        assert means.tolist() == pytest.approx([1 / players] * max(2, BLOCKS), abs=1e-12)


@every_lineup
def test_parts_put_together_are_the_whole(players, lineup):
    for cuts in ((0, 3, 4, 8), (0, 1, 8)) if COMPILED else ((0, 1, 2),):
        whole = play_blocks(LINEUPS[lineup](players), num_deals=cuts[-1], seed=7)
        parts = [
            play_blocks(LINEUPS[lineup](players), num_deals=range(first, last), seed=7)
            for first, last in pairwise(cuts)
        ]
        assert_same(Blocks.concatenate(parts), whole)
        assert (whole.measures["score"][0] != whole.measures["score"][-1]).any()


def test_another_seed_gives_other_games_and_the_same_seed_the_same():
    first, again, other = (play_blocks(stochastic(4), num_deals=BLOCKS, seed=seed) for seed in (1, 1, 2))
    assert_same(first, again)
    assert (first.measures["score"] != other.measures["score"]).any()


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_compiled_players_play_the_same_games_behind_a_view(players):
    names = [*HEURISTICS, *HEURISTICS]
    for first in range(0, len(HEURISTICS), players):
        coded = [make(name) for name in names[first : first + players]]
        by_kernel = play_blocks(coded, num_deals=BLOCKS, seed=2)
        assert_same(play_blocks([Plain(player) for player in coded], num_deals=BLOCKS, seed=2), by_kernel)
        assert_same(play_blocks([Plain(coded[0]), *coded[1:]], num_deals=BLOCKS, seed=2), by_kernel)


def digest_of_blocks() -> str:
    digest = hashlib.sha256()
    for players in STANDARD_PLAYERS:
        blocks = play_blocks(stochastic(players), num_deals=1, seed=4)
        digest.update(blocks.seats.tobytes() + blocks.rounds.tobytes())
        digest.update(b"".join(blocks.measures[name].tobytes() for name in MEASURES))
    return digest.hexdigest()


@pytest.mark.compiled("there is nothing compiled to compare with")
def test_blocks_are_the_same_compiled_and_in_plain_python():
    code = "from tests.arena.test_blocks import *; print(digest_of_blocks())"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == digest_of_blocks(), done.stderr


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_every_player_sits_once_in_every_seat_of_a_block(players):
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_deals=1, seed=0)
    for spy in spies:
        placed = np.concatenate([view.seats[view.states["phase"] == PLACE] for view in spy.views])
        assert np.bincount(placed).tolist() == [9] * players


def make_blocks(players: int) -> Blocks:
    """Return blocks of random values, circular orders and start players, which differ in later rounds."""
    chance = np.random.default_rng(0)
    values = chance.random((8, players, players))
    places = chance.permuted(np.tile(np.arange(players), (8, 1)), axis=1)
    seats = (places[:, None, :] + np.arange(players)[:, None]) % players
    rounds = np.zeros((8, players, MAX_ROUNDS), ROUND)
    rounds["start_seat"] = chance.integers(players, size=rounds.shape)
    rounds["start_seat"][:, :, 0] = np.arange(8)[:, None] % players
    return Blocks({"rank": values}, seats, rounds)


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_measure_by_seat_is_that_of_the_rotation_in_which_the_player_sat_there(players):
    blocks = make_blocks(players)
    values, seats = blocks.measures["rank"], blocks.seats
    for block, rotation, player in np.ndindex(values.shape):
        by_seat = blocks.block_means_by_seat(player, "rank")
        assert by_seat[block, seats[block, rotation, player]] == values[block, rotation, player]


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_measure_by_position_is_that_of_the_seat_so_far_after_the_first_start_player(players):
    blocks = make_blocks(players)
    starts = blocks.rounds["start_seat"][:, 0, 0]
    assert len(np.unique(starts)) > 1
    for block, player, place in product(range(len(starts)), range(players), range(players)):
        by_seat, by_position = (
            blocks.block_means_by_seat(player, "rank"),
            blocks.block_means_by_position(player, "rank"),
        )
        assert by_position[block, place] == by_seat[block, (starts[block] + place) % players]


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_what_a_player_does_in_one_seat_alone_is_found_in_that_seat(players):
    class FailsInSeatOne:
        def act(self, view: View) -> np.ndarray:
            return np.where(view.seats == 1, NUM_ACTIONS, FirstLegal().act(view))

    for place in range(players):
        lineup: list[Player] = [FirstLegal() for _ in range(players)]
        lineup[place] = FailsInSeatOne()
        by_seat = play_blocks(lineup, num_deals=2, seed=0).block_means_by_seat(place, "forfeits")
        assert by_seat.tolist() == [[float(seat == 1) for seat in range(players)]] * 2


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
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
        lineup: list[Player] = [FirstLegal() for _ in range(players)]
        lineup[player] = FailsInPlace(place)
        by_position = play_blocks(lineup, num_deals=3, seed=0).block_means_by_position(player, "forfeits")
        assert by_position.tolist() == [[float(k == place) for k in range(players)]] * 3


def test_the_mean_of_a_measure_is_over_the_rotations_of_each_block():
    values = np.zeros((2, 3, 3))
    values[0, :, 1], values[1, 0, 1] = 1, 0.5
    blocks = Blocks({"win_share": values, "score": 2 * values}, np.zeros((2, 3, 3), int), np.zeros((2, 3, 9), ROUND))
    assert blocks.block_means(1).tolist() == [1, pytest.approx(0.5 / 3)]
    assert blocks.block_means(1, "score").tolist() == [2, pytest.approx(1 / 3)]
    assert blocks.block_means(0).tolist() == [0, 0]


@pytest.mark.parametrize("players", [0, 1, 2, 6])
def test_numbers_of_players_without_a_standard_setup_are_refused(players):
    with pytest.raises(ValueError, match=rf"num_players must be one of \[3, 4, 5\], not {players}"):
        play_blocks([FirstLegal() for _ in range(players)], num_deals=1, seed=0)


def test_one_player_for_each_seat_of_the_setup_is_needed():
    with pytest.raises(ValueError, match="the setup has 3 seats, not 4"):
        play_blocks([FirstLegal() for _ in range(4)], num_deals=1, seed=0, setup=standard_setup(3))


@pytest.mark.parametrize("setup", ODD_SETUPS)
def test_blocks_are_played_in_any_setup(setup):
    players = [make("random"), *(FirstLegal() for _ in range(setup.seats - 1))]
    blocks = play_blocks(players, num_deals=BLOCKS, seed=SEED, setup=setup)
    assert blocks.measures["win_share"].sum(axis=2) == pytest.approx(np.ones((BLOCKS, setup.seats)))
    assert (blocks.rounds["mice"] > 0).any()
    assert (blocks.rounds["winner"][:, :, setup.rounds :] == NO_SEAT).all()
    assert blocks.measures["mice"].sum(axis=2).max() <= setup.total_mice


def test_a_code_is_no_player():
    with pytest.raises(TypeError, match=r"a player needs a method act.*; got 'random'"):
        play_blocks(["random"] * 4, num_deals=1, seed=1)  # type: ignore[list-item]
