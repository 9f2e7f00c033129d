"""Measuring players: one deal under all rotations of the seating is a block; intervals are over blocks.

Rotating cancels what the seats and the cards are worth, so a block is one fair comparison; blocks are independent. It
does not cancel who sits beside whom, and that matters: so every block seats the players in a circular order of its own.

    blocks = play_blocks([make("tuned"), *(make("ev") for _ in range(3))], num_blocks=1000, seed=7)
    bootstrap(blocks.mean_of(0))                                     # win share of `tuned` against three `ev`

Block k of a seed has the same deal, and its seats the same random streams, whoever plays, however many blocks are
played and in however many parts: results of parts put together (`Blocks.joined`) are those of the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from agents.estimates import Estimate, Paired, bootstrap, paired_difference
from agents.games import Games, PlayerError
from agents.playout import MARGIN, WIN
from agents.table import make
from felicity_env import Player
from felicity_env.game import MAX_SEATS, SETUPS, STATE, deal, rank
from felicity_env.kernel import kernel
from felicity_env.random_stream import check_seed, next_game_seed
from felicity_env.rewards import step_rewards

__all__ = ["MEASURES", "Blocks", "Estimate", "Paired", "PlayerError", "bootstrap", "paired_difference", "play_blocks"]

_DEAL_STREAM, _PLAY_STREAM, _ORDER_STREAM = 1, 2, 3
MEASURES = {  # of a player in a game
    "win_share": "1/k to each of k winners (R7.2)",
    "margin": "own score less the mean of the others'",
    "rank": "1 is best; ties after cat points share",
    "score": "cat points and mice",
    "mice": "kept at the end",
    "sacks": "bought",
    "profit": "worth of the sacks bought less their prices",
    "forfeits": "games lost by an illegal action",
}


@kernel
def _deal_blocks(blank, seed, blocks, rotations, states):
    for k in range(len(states)):
        states[k] = blank[0]
        deal(states[k], next_game_seed(seed, _DEAL_STREAM, blocks[k // rotations]))


@kernel
def _seat_streams(seed, blocks, rotations, streams):
    for k in range(len(streams)):
        block_seed = next_game_seed(seed, _PLAY_STREAM, blocks[k // rotations])
        streams[k] = next_game_seed(block_seed, k % rotations, 0)


def deal_blocks(num_players: int, blocks: range, seed: int) -> np.ndarray:
    """The games of `blocks` as dealt, STATE [blocks * rotations]: the same deal for all rotations of a block."""
    states = np.empty(len(blocks) * num_players, STATE)
    blank = SETUPS[num_players].blank_state()
    _deal_blocks(blank, np.uint64(seed), np.array(blocks, np.int64), num_players, states)
    return states


def seat_streams(num_players: int, blocks: range, seed: int) -> np.ndarray:
    """The stream of each game that `decision_seed` splits among its seats, uint64 [blocks * rotations]."""
    streams = np.empty(len(blocks) * num_players, np.uint64)
    _seat_streams(np.uint64(seed), np.array(blocks, np.int64), num_players, streams)
    return streams


def seats_of(num_players: int, blocks: range, seed: int) -> np.ndarray:
    """The seat of every player in each game, int64 [blocks, rotations, players].

    Player 0 sits in seat r in rotation r; the others follow in one of all circular orders, drawn for each block.
    """
    orders = list(permutations(range(1, num_players)))
    drawn = [orders[next_game_seed(seed, _ORDER_STREAM, block) % len(orders)] for block in blocks]
    places = np.array([(0, *order) for order in drawn])
    return (places[:, None, :] + np.arange(num_players)[:, None]) % num_players


@kernel
def _count_up(states, shares, margins, ranks):
    for k in range(len(states)):
        step_rewards(states[k], WIN, shares[k])
        step_rewards(states[k], MARGIN, margins[k])
        for seat in range(states[k].num_seats):
            ranks[k, seat] = rank(states[k], seat)


@dataclass(frozen=True)
class Blocks:
    """Results of a table: arrays [blocks, rotations, players], players in the order they were named."""

    measures: dict[str, np.ndarray]  # see `MEASURES`
    seats: np.ndarray  # of each player, see `seats_of`
    rounds: np.ndarray  # ROUND [blocks, rotations, rounds]: by seat

    def mean_of(self, player: int, measure: str = "win_share") -> np.ndarray:
        """Mean of a measure of a player over the rotations of each block, [blocks]."""
        return self.measures[measure][:, :, player].mean(axis=1)

    def by_seat(self, player: int, measure: str = "win_share") -> np.ndarray:
        """A measure of a player in each seat, [blocks, seats]."""
        by_rotation = np.argsort(self.seats[:, :, player], axis=1)
        return np.take_along_axis(self.measures[measure][:, :, player], by_rotation, axis=1)

    def by_place(self, player: int, measure: str = "win_share") -> np.ndarray:
        """A measure of a player in each place counted from the first start player, [blocks, places]."""
        by_seat, n = self.by_seat(player, measure), self.rounds.shape[1]
        starts = self.rounds["start_seat"][:, 0, :1]
        return np.take_along_axis(by_seat, (starts + np.arange(n)) % n, axis=1)

    @classmethod
    def joined(cls, parts: Sequence["Blocks"]) -> "Blocks":
        """The blocks of several parts as one."""
        measures = {name: np.concatenate([part.measures[name] for part in parts]) for name in MEASURES}
        return cls(measures, *(np.concatenate([getattr(part, name) for part in parts]) for name in ("seats", "rounds")))


def play_blocks(players: Sequence[Player], *, num_blocks: int | range, seed: int) -> Blocks:
    """Every deal under all rotations. n players, 3 to 5, one object for each place; a number of blocks or which ones.

    An illegal answer forfeits its game: it ends there, its player ranks last and has no share, the others share the
    victory. Raises `PlayerError` (with the number of the place) if a player raises.
    """
    n = len(players)
    if n not in SETUPS:
        raise ValueError(f"a table has one of {list(SETUPS)} players, not {n}")
    blocks = num_blocks if isinstance(num_blocks, range) else range(num_blocks)
    if not len(blocks) or blocks.start < 0:
        raise ValueError(f"num_blocks must be at least 1, or a range of blocks from 0 on, not {num_blocks!r}")
    check_seed(seed)
    seats = seats_of(n, blocks, seed)
    seating = np.argsort(seats.reshape(-1, n), axis=1)
    games = Games(SETUPS[n], deal_blocks(n, blocks, seed), seat_streams(n, blocks, seed), seating)
    games.play(players)
    by_seat = {name: values.reshape(seats.shape) for name, values in _measures_by_seat(games, n).items()}
    measures = {name: np.take_along_axis(values, seats, axis=2) for name, values in by_seat.items()}
    return Blocks(measures, seats, games.rounds.reshape(len(blocks), n, -1))


def shares_alone(one: Player, rest: str, num_players: int, *, num_blocks: int | range, seed: int) -> np.ndarray:
    """Win share in each block, [blocks], of `one` against copies of the player with the code `rest`."""
    others = (make(rest) for _ in range(num_players - 1))
    return play_blocks([one, *others], num_blocks=num_blocks, seed=seed).mean_of(0)


def _measures_by_seat(games: Games, n: int) -> dict[str, np.ndarray]:
    """Every measure, float64 [games, n]."""
    states, rounds = games.states, games.rounds
    shares, margins, ranks = np.zeros((3, len(states), MAX_SEATS))
    _count_up(states, shares, margins, ranks)
    bought = rounds["winner"][:, :, None] == np.arange(n)
    mice, cats = states["mice"][:, :n], states["cat_points"][:, :n]
    measures: dict[str, Any] = {
        "win_share": shares[:, :n],
        "margin": margins[:, :n],
        "rank": ranks[:, :n],
        "score": mice + cats,
        "mice": mice,
        "sacks": bought.sum(axis=1),
        "profit": ((rounds["value"] - rounds["price"])[:, :, None] * bought).sum(axis=1),
        "forfeits": games.forfeited[:, None] == np.arange(n),
    }
    _count_forfeits(measures, n)
    return {name: measures[name].astype(float) for name in MEASURES}


def _count_forfeits(measures: dict[str, np.ndarray], n: int) -> None:
    """In forfeited games, which were not played out: the offender is last, the others share the victory."""
    games = measures["forfeits"].any(axis=1)
    offends = measures["forfeits"][games]
    measures["win_share"][games] = np.where(offends, 0, 1 / (n - 1))
    measures["rank"][games] = np.where(offends, n, 1)
    scores = measures["score"][games]
    measures["margin"][games] = scores - (scores.sum(axis=1, keepdims=True) - scores) / (n - 1)
