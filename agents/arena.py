"""Measuring players: one deal under all rotations of the seating is a block; intervals are over blocks.

Rotating cancels what the seats and the cards are worth, so a block is one fair comparison. Win shares within a block
are averaged and the interval is a bootstrap over blocks, which are independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from felicity_env import Batch, Player, game_seed
from felicity_env.game import SETUPS
from felicity_env.lanes import ask
from felicity_env.transcript import DEAL_KEYS, draw_deal

BOOTSTRAPS = 2000
_DEAL_STREAM, _PLAY_STREAM = 1, 2


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval and the number of independent blocks behind it."""

    value: float
    low: float
    high: float
    blocks: int


def bootstrap(blocks: np.ndarray, *, seed: int = 0) -> Estimate:
    """Mean of `blocks` [N] (independent) with the percentile bootstrap interval at 95 %."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(blocks), size=(BOOTSTRAPS, len(blocks)))
    low, high = np.percentile(blocks[picks].mean(axis=1), [2.5, 97.5])
    return Estimate(float(blocks.mean()), float(low), float(high), len(blocks))


@dataclass(frozen=True)
class Blocks:
    """Results of a seating: arrays [blocks, rotations, players], players in the order they were named."""

    win_share: np.ndarray  # 1/k to each of k winners
    score: np.ndarray

    def wins_of(self, player: int) -> np.ndarray:
        """Mean win share of a player in each block, [blocks]."""
        return self.win_share[:, :, player].mean(axis=1)


def play_blocks(players: Sequence[Player], *, num_blocks: int, seed: int) -> Blocks:
    """Every deal under all rotations: in rotation r player p sits in seat (p + r) mod n. n players, 3 to 5."""
    n = len(players)
    setup = SETUPS[n]
    deals = []
    for block in range(num_blocks):
        dealt = draw_deal(setup, game_seed(seed, _DEAL_STREAM, block))
        deals += [{key: getattr(dealt, key) for key in DEAL_KEYS}] * n
    batch = Batch(num_blocks * n, n, seed=game_seed(seed, _PLAY_STREAM, 0))
    batch.reset(seed=batch.seed, deals=deals)
    rotation = np.arange(batch.num_games) % n
    _play_out(batch, players, rotation)
    seats = (np.arange(n) + rotation[:, None]) % n
    wins, scores = (np.take_along_axis(a[:, :n], seats, axis=1) for a in (batch.rewards, batch.scores))
    return Blocks(wins.reshape(num_blocks, n, n), scores.reshape(num_blocks, n, n).astype(float))


def _play_out(batch: Batch, players: Sequence[Player], rotation: np.ndarray) -> None:
    """Play every game of the batch to its end, once."""
    open_games = np.arange(batch.num_games)
    while len(open_games):
        who = (batch.seats[open_games] - rotation[open_games]) % len(players)
        batch.step(ask(players, who, batch, open_games), open_games)
        open_games = open_games[~batch.terminated[open_games]]
