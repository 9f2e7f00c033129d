"""Blocks: deals played under all rotations of the seats, and the measures of each player in them.

A block is one deal, played once in every rotation of the players around the table. Rotation cancels the advantage of
seats and cards, so each block is a fair comparison, and different blocks are independent. Rotation does not change the
neighbours of a player, which also influence the result; every block therefore draws a new circular order of the
players. An example::

    blocks = play_blocks([make("tuned"), *(make("ev") for _ in range(3))], num_deals=1000, seed=7)
    estimate_share(blocks.block_means(0))                                # win share of `tuned` against three `ev`

For a given seed, block k always has the same deal and the same random streams for its seats. They do not depend on
the players, on the number of blocks, or on how the blocks are split into parts: concatenated parts
(`Blocks.concatenate`) equal the whole.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import permutations
from typing import Any

import numpy as np

from agents.arena.estimates import estimate_mean, estimate_share
from agents.arena.games import Forfeit, Games
from felicity_env.game import MAX_SEATS, STATE, Setup, deal, rank
from felicity_env.kernel import kernel
from felicity_env.player import Player
from felicity_env.random_stream import check_seed, next_game_seed
from felicity_env.rewards import reward_code, step_rewards
from felicity_env.setups import standard_setup

_DEAL_STREAM, _PLAY_STREAM, _ORDER_STREAM = 1, 2, 3
_WIN, _MARGIN = reward_code("win"), reward_code("margin")
MEASURES = {  # measures of one player in one game
    "win_share": "1/k to each of k winners (R7.2)",
    "margin": "own score minus the mean score of the others",
    "rank": "1 is best; players with equal score and cat points share a rank",
    "score": "cat points and mice",
    "mice": "mice at the end of the game",
    "sacks": "number of sacks bought",
    "profit": "values of the sacks bought minus their prices",
    "forfeits": "games lost by an illegal action, or by taking too long",
}


@kernel
def _deal_blocks(blank, seed, blocks, rotations, states):
    for k in range(len(states)):
        states[k] = blank[0]
        deal(states[k], next_game_seed(seed, _DEAL_STREAM, blocks[k // rotations]))


@kernel
def _list_streams(seed, blocks, rotations, streams):
    for k in range(len(streams)):
        block_seed = next_game_seed(seed, _PLAY_STREAM, blocks[k // rotations])
        streams[k] = next_game_seed(block_seed, k % rotations, 0)


def deal_blocks(setup: Setup, blocks: range, seed: int) -> np.ndarray:
    """Deal the blocks with the numbers `blocks`, and return the starting states of their games, block by block.

    The result is STATE [number of blocks * rotations].
    """
    states = np.empty(len(blocks) * setup.seats, STATE)
    _deal_blocks(setup.blank_state(), np.uint64(seed), np.array(blocks, np.int64), setup.seats, states)
    return states


def list_streams(setup: Setup, blocks: range, seed: int) -> np.ndarray:
    """Return for each game the seed of its players' random bits, uint64 [blocks * rotations].

    See `random_stream.decision_seed`.
    """
    streams = np.empty(len(blocks) * setup.seats, np.uint64)
    _list_streams(np.uint64(seed), np.array(blocks, np.int64), setup.seats, streams)
    return streams


def draw_seats(num_players: int, blocks: range, seed: int) -> np.ndarray:
    """Draw the seat of every player in each game; return int64 [blocks, rotations, players].

    Player 0 has seat r in rotation r. The other players follow in a circular order that is drawn for each block.
    """
    orders = list(permutations(range(1, num_players)))
    block_orders = [orders[next_game_seed(seed, _ORDER_STREAM, block) % len(orders)] for block in blocks]
    positions = np.array([(0, *order) for order in block_orders])
    return (positions[:, None, :] + np.arange(num_players)[:, None]) % num_players


@dataclass(frozen=True)
class Blocks:
    """Results of the games of several blocks, as arrays [blocks, rotations, players].

    The players are in the order in which `play_blocks` received them.
    """

    measures: dict[str, np.ndarray]  # one array for each of `MEASURES`
    seats: np.ndarray  # seat of each player, see `draw_seats`
    rounds: np.ndarray  # ROUND [blocks, rotations, rounds]; its arrays are indexed by seat
    forfeits: tuple[Forfeit, ...] = ()  # one for each forfeited game

    def block_means(self, player: int, measure: str = "win_share") -> np.ndarray:
        """Return the mean of one measure of a player over the games of each block, [blocks]."""
        return self.measures[measure][:, :, player].mean(axis=1)

    def block_means_by_seat(self, player: int, measure: str = "win_share") -> np.ndarray:
        """Return one measure of a player in each block, by the seat it had, [blocks, seats]."""
        by_rotation = np.argsort(self.seats[:, :, player], axis=1)
        return np.take_along_axis(self.measures[measure][:, :, player], by_rotation, axis=1)

    def block_means_by_position(self, player: int, measure: str = "win_share") -> np.ndarray:
        """Return one measure of a player in each block by its position after the start player, [blocks, positions]."""
        by_seat, num_players = self.block_means_by_seat(player, measure), self.rounds.shape[1]
        starts = self.rounds["start_seat"][:, 0, :1]
        return np.take_along_axis(by_seat, (starts + np.arange(num_players)) % num_players, axis=1)

    @classmethod
    def concatenate(cls, parts: Sequence["Blocks"]) -> "Blocks":
        """Return one `Blocks` that holds the blocks of all `parts`, in this order."""
        measures = {name: np.concatenate([part.measures[name] for part in parts]) for name in MEASURES}
        seats, rounds = (np.concatenate([getattr(part, name) for part in parts]) for name in ("seats", "rounds"))
        return cls(measures, seats, rounds, tuple(entry for part in parts for entry in part.forfeits))


def play_blocks(
    players: Sequence[Player],
    *,
    num_deals: int | range,
    seed: int,
    setup: Setup | None = None,
    seconds: float | None = None,
) -> Blocks:
    """Play each deal once in every rotation of the seats, and return the results.

    players: one object for each player at the table. num_deals: number of deals, or a range of block indices. setup: by
    default the standard setup for this number of players. seconds: most seconds for a decision of a player that is not
    compiled, or None for no limit.

    An illegal action, or one that takes too long, forfeits its game: the game stops, the offender ranks last with a win
    share of 0, and the other players share the victory. Raises `PlayerError`, with the index of the player, if a player
    raises an exception, and `TypeError` if an object has no method `act`.
    """
    for player in players:
        if not callable(getattr(player, "act", None)):
            raise TypeError(f"a player needs a method act(view), as those of agents.make(code); got {player!r}")
    setup = standard_setup(len(players)) if setup is None else setup
    games, seats = seat_games(players, num_deals=num_deals, seed=seed, setup=setup, seconds=seconds)
    games.play(players)
    by_seat = {name: values.reshape(seats.shape) for name, values in measure_seats(games, setup.seats).items()}
    measures = {name: np.take_along_axis(values, seats, axis=2) for name, values in by_seat.items()}
    return Blocks(measures, seats, games.rounds.reshape(*seats.shape[:2], -1), tuple(games.forfeits))


def seat_games(
    players: Sequence[Player], *, num_deals: int | range, seed: int, setup: Setup, seconds: float | None = None
) -> tuple[Games, np.ndarray]:
    """Return the games that `play_blocks` plays with the same arguments, before their first decision, and the seats.

    The seats are those of `draw_seats`, int64 [blocks, rotations, players].
    """
    if len(players) != setup.seats:
        raise ValueError(f"the setup has {setup.seats} seats, not {len(players)}: name one player for each")
    blocks = num_deals if isinstance(num_deals, range) else range(num_deals)
    if not len(blocks) or blocks.start < 0:
        raise ValueError(f"num_deals must be at least 1, or a range of blocks from 0 on, not {num_deals!r}")
    check_seed(seed)
    seats = draw_seats(setup.seats, blocks, seed)
    seating = np.argsort(seats.reshape(-1, setup.seats), axis=1)
    states, streams = deal_blocks(setup, blocks, seed), list_streams(setup, blocks, seed)
    return Games(setup, states, streams, seating, seconds=seconds), seats


def estimate_measures(*players: tuple[Blocks, int]) -> dict[str, Any]:
    """Estimate the mean of each measure over players, each given by blocks and its index there.

    The blocks must be of the same deals. Returns {measure: estimate}, where an estimate is a dictionary of the fields
    of `Estimate`: value, interval, and number of blocks.
    """
    means = {name: np.mean([blocks.block_means(k, name) for blocks, k in players], axis=0) for name in MEASURES}
    return {
        name: asdict(estimate_share(values) if name == "win_share" else estimate_mean(values))
        for name, values in means.items()
    }


@kernel
def _measure_ends(states, win_shares, margins, ranks):
    for k in range(len(states)):
        step_rewards(states[k], _WIN, win_shares[k])
        step_rewards(states[k], _MARGIN, margins[k])
        for seat in range(states[k].num_seats):
            ranks[k, seat] = rank(states[k], seat)


def measure_seats(games: Games, num_seats: int) -> dict[str, np.ndarray]:
    """Return every measure (win share, margin, rank, ...) of each seat in finished games, float64 [games, seats]."""
    states, rounds = games.states, games.rounds
    win_shares, margins, ranks = np.zeros((3, len(states), MAX_SEATS))
    _measure_ends(states, win_shares, margins, ranks)
    bought = rounds["winner"][:, :, None] == np.arange(num_seats)
    mice, cats = states["mice"][:, :num_seats], states["cat_points"][:, :num_seats]
    measures: dict[str, Any] = {
        "win_share": win_shares[:, :num_seats],
        "margin": margins[:, :num_seats],
        "rank": ranks[:, :num_seats],
        "score": mice + cats,
        "mice": mice,
        "sacks": bought.sum(axis=1),
        "profit": ((rounds["value"] - rounds["price"])[:, :, None] * bought).sum(axis=1),
        "forfeits": games.forfeited[:, None] == np.arange(num_seats),
    }
    _score_forfeits(measures, num_seats)
    return {name: measures[name].astype(float) for name in MEASURES}


def _score_forfeits(measures: dict[str, np.ndarray], num_seats: int) -> None:
    """Set the measures of forfeited games, in place: the offender is last, and the others share the victory."""
    games = measures["forfeits"].any(axis=1)
    offends = measures["forfeits"][games]
    measures["win_share"][games] = np.where(offends, 0, 1 / (num_seats - 1))
    measures["rank"][games] = np.where(offends, num_seats, 1)
    scores = measures["score"][games]
    measures["margin"][games] = scores - (scores.sum(axis=1, keepdims=True) - scores) / (num_seats - 1)
