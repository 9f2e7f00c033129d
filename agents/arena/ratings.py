"""Plackett-Luce ratings of players from the rankings of their games, with intervals by bootstrap over blocks.

Model (Luce 1959; Plackett 1975): every player has a positive strength. The ranking of a game is drawn in stages, from
the best player to the worst. Each stage draws one of the players not yet ranked, with probability proportional to their
strengths. Ties follow Efron's approximation (1977; the model is the Cox partial likelihood): if m players share a rank,
the l-th of their m factors (l from 0) counts each of them with weight 1 - l/m. A tie between two players thus counts as
one win each, and frequent ties draw strengths slightly together.

The log likelihood is a linear part, which counts how often each player was drawn, minus a sum of logarithms of weighted
sums of strengths. Many games have the same sums, so a game is stored as the indices of its sums. The time of a fit
therefore depends on the number of different sums and not on the number of games.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from agents.arena.estimates import INTERVAL, Estimate
from felicity_env.game_record import has_integers

POINTS = 400 / log(10)  # rating points per unit of log strength: 400 points are odds of ten to one (Elo 1978)
PRIOR_DEVIATION = 5.0  # standard deviation of the prior on a log strength: 870 points
RESAMPLES = 500
_TOLERANCE = 1e-8  # a fit ends with a step of at most this squared length, in standard errors
_MOST_STEPS = 200


def fit_ratings(
    names: Sequence[str],
    players: np.ndarray,
    *,
    ranks: np.ndarray,
    blocks: np.ndarray,
    anchor: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate each player's rating from the rankings of games by penalised maximum likelihood; return {name: rating}.

    A lead of 400 points means odds of 10 to 1 to finish ahead. The intervals are 95 %, by percentile bootstrap over
    blocks; `Estimate.blocks` is the number of blocks.

    players: int [G, n], the players of G games as indices of `names`. A player may occur several times in a game; -1
    fills the row of a game with fewer than n players. ranks: int [G, n], 1 is best, and equal ranks are a tie; entries
    where `players` is -1 are not read. blocks: int [G], index of each game's deal; games of one block are resampled
    together. anchor: name of the player whose rating is 0; by default the player "anchor" if there is one, else the
    mean of all ratings is 0.

    A Gaussian prior on each log strength, with mean 0 and standard deviation PRIOR_DEVIATION, keeps the rating of a
    player finite that always wins or always loses: one that won all of 300 games is about 1300 points above its
    opponent. The prior weighs as much as a sixth of a game between equals. The interval of a player that always won is
    too narrow, because it also wins every resample.

    Raises `ValueError` if the arrays do not fit together, if there are fewer than two blocks, or if games do not
    connect all players: ratings of groups that never met cannot be compared.
    """
    players, ranks, blocks = np.asarray(players), np.asarray(ranks), np.asarray(blocks)
    _check_arrays(names, players, ranks, blocks)
    _check_connected(names, players)
    zero = _zero_weights(names, anchor)
    block_of_game = np.unique(blocks, return_inverse=True)[1]
    pool = _Pool.compress(len(names), players.astype(np.int64), ranks.astype(np.int64))
    logs = pool.fit(np.ones(len(players)), np.zeros(len(names)))
    resampled = _fit_resamples(pool, logs, block_of_game, resamples=resamples, seed=seed)
    points = POINTS * (logs - zero @ logs)
    low, high = np.percentile(POINTS * (resampled - resampled @ zero[:, None]), INTERVAL, axis=0)
    num_blocks = int(block_of_game.max()) + 1
    return {name: Estimate(float(points[k]), float(low[k]), float(high[k]), num_blocks) for k, name in enumerate(names)}


def _check_arrays(names: Sequence[str], players: np.ndarray, ranks: np.ndarray, blocks: np.ndarray) -> None:
    """Raise `ValueError` unless names, players, ranks and blocks have matching shapes and valid entries."""
    if len(set(names)) < len(names):
        raise ValueError(f"names must differ: {', '.join(names)}")
    if players.ndim != 2 or ranks.shape != players.shape or blocks.shape != players.shape[:1]:
        raise ValueError(f"players, ranks [G, n] and blocks [G] have shapes {players.shape, ranks.shape, blocks.shape}")
    for name, array in (("players", players), ("ranks", ranks), ("blocks", blocks)):
        if not has_integers(array):
            raise ValueError(f"{name} must be integers, not {array.dtype}")
    present = players >= 0
    _check_games("a player must be -1 or an index of names", (players >= -1) & (players < len(names)))
    _check_games("a rank must be 1 or more", (ranks >= 1) | ~present)
    _check_games("a game must have two players or more", np.sum(present, axis=1, keepdims=True) >= 2)
    if (num_blocks := len(np.unique(blocks))) < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {num_blocks}")


def _check_games(rule: str, holds: np.ndarray) -> None:
    """Raise `ValueError` with the text `rule` and the number of the first game that breaks this rule, if one does.

    holds: bool [G, n], where the rule is kept.
    """
    if not holds.all():
        raise ValueError(f"{rule}; game {int(np.argwhere(~holds)[0, 0])} breaks this")


def _check_connected(names: Sequence[str], players: np.ndarray) -> None:
    """Raise `ValueError` if the players form groups that no games connect; the message names the groups."""
    from scipy.sparse.csgraph import connected_components  # imported late: no other command needs it

    met = np.zeros((len(names), len(names)), bool)
    for one in range(players.shape[1]):
        for other in range(one):
            both = (players[:, one] >= 0) & (players[:, other] >= 0)
            met[players[both, one], players[both, other]] = True
    num_groups, numbers = connected_components(met, directed=False)
    if num_groups > 1:
        groups = [[name for name, number in zip(names, numbers, strict=True) if number == k] for k in range(num_groups)]
        raise ValueError(f"no games connect these groups: {'; '.join(map(', '.join, groups))}")


def _zero_weights(names: Sequence[str], anchor: str | None) -> np.ndarray:
    """Return the weight of each player, [P], in the weighted mean of the ratings that is defined as 0.

    The anchor has all the weight; without an anchor, all players have the same weight.
    """
    if anchor is None and "anchor" not in names:
        return np.full(len(names), 1 / len(names))
    anchor = "anchor" if anchor is None else anchor
    if anchor not in names:
        raise ValueError(f"the anchor {anchor!r} is not one of {', '.join(names)}")
    return np.array([float(name == anchor) for name in names])


def _fit_resamples(
    pool: "_Pool", start: np.ndarray, block_of_game: np.ndarray, *, resamples: int, seed: int
) -> np.ndarray:
    """Return the log strengths fitted to each resample of blocks, [resamples, P]; each fit begins at `start` [P]."""
    rng = np.random.default_rng(seed)
    num_blocks = int(block_of_game.max()) + 1
    logs = np.empty((resamples, len(start)))
    for k in range(resamples):
        counts = np.bincount(rng.integers(num_blocks, size=num_blocks), minlength=num_blocks)
        logs[k] = pool.fit(counts[block_of_game].astype(float), start)
    return logs


@dataclass(frozen=True)
class _Pool:
    """Rankings of G games in compressed form: K different patterns, with D different sums in their likelihoods.

    A pattern is an order of the players with its ties. Its likelihood is a product over its stages: the strength of the
    player drawn there, divided by a weighted sum of strengths. Row d of `weights` times the strengths is sum d. Games
    with fewer than n players fill their rows with player P and sum D.
    """

    pattern_of_game: np.ndarray  # int [G], index of the pattern
    players: np.ndarray  # int [K, n], from best to worst
    sums: np.ndarray  # int [K, n], index of the sum of each stage
    weights: np.ndarray  # [D, P], weight of each player in each sum

    @classmethod
    def compress(cls, num_players: int, players: np.ndarray, ranks: np.ndarray) -> "_Pool":
        """Return the rankings of games in compressed form; `players` and `ranks` [G, n] are as for `fit_ratings`."""
        players, tied, pattern_of_game = _list_patterns(num_players, players, ranks)
        sums, weights = _list_sums(num_players, players, tied)
        return cls(pattern_of_game, players, sums, weights)

    def fit(self, game_weights: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the log strengths [P] of greatest posterior density, computed by Newton's method from `start` [P].

        game_weights: [G], how many times each game counts. A full step can overshoot. If the largest and the smallest
        entry of a step differ by `span`, the third derivative along it is at most `span` times the second. A step of
        length log(1 + span) / span therefore always improves, and becomes a full one at the end (Sun and Tran-Dinh
        2019, Generalized self-concordant functions).
        """
        drawn, summed = self._count(game_weights)
        logs = start
        for _ in range(_MOST_STEPS):
            gradient, information = _differentiate(logs, drawn, summed, self.weights)
            step = np.linalg.solve(information, gradient)
            if gradient @ step < _TOLERANCE:
                return logs + step
            span = np.ptp(step)
            logs = logs + step * (np.log1p(span) / span if span > 0 else 1.0)
        raise RuntimeError(f"the fit did not converge in {_MOST_STEPS} steps")

    def _count(self, game_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count how often each player is drawn, [P], and how often each sum is a divisor in the likelihood, [D].

        game_weights: [G], how many times each game counts.
        """
        patterns = np.bincount(self.pattern_of_game, game_weights, minlength=len(self.players))
        stages = np.repeat(patterns, self.players.shape[1])
        num_sums, num_players = self.weights.shape
        drawn = np.bincount(self.players.ravel(), stages, minlength=num_players + 1)
        summed = np.bincount(self.sums.ravel(), stages, minlength=num_sums + 1)
        return drawn[:num_players], summed[:num_sums]


def _differentiate(
    logs: np.ndarray, drawn: np.ndarray, summed: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return gradient [P] and negative Hessian [P, P] of the log posterior of the players' log strengths `logs` [P]."""
    strengths = np.exp(logs - logs.max())
    sums = weights @ strengths
    expected = strengths * (weights.T @ (summed / sums))
    pairs = weights.T @ (weights * (summed / sums**2)[:, None])
    information = np.diag(expected) - pairs * np.outer(strengths, strengths)
    precision = PRIOR_DEVIATION**-2
    return drawn - expected - precision * logs, information + precision * np.eye(len(logs))


def _list_patterns(
    num_players: int, players: np.ndarray, ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the K different patterns of games as two arrays, and the index of each game's pattern, [G].

    The first array is the players from best to worst, [K, n]; the second is True where a player ties with the one
    before, [K, n]. Tied players are in the order of their indices. Player P fills the rows of games with fewer players.
    """
    lacking = players < 0
    players = np.where(lacking, num_players, players)
    ranks = np.where(lacking, np.iinfo(np.int64).max, ranks)
    order = np.lexsort((players, ranks), axis=1)
    players, ranks = (np.take_along_axis(array, order, axis=1) for array in (players, ranks))
    tied = (ranks[:, 1:] == ranks[:, :-1]) & (players[:, 1:] < num_players)
    stages = players.shape[1]
    sizes = (num_players + 1,) * stages + (2,) * (stages - 1)
    codes, pattern_of_game = np.unique(_encode_rows(np.hstack([players, tied]), sizes), return_inverse=True)
    columns = np.stack(np.unravel_index(codes, sizes), axis=1)
    first = np.zeros((len(codes), 1), bool)
    return columns[:, :stages], np.hstack([first, columns[:, stages:] == 1]), pattern_of_game


def _encode_rows(columns: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return an integer for each row of `columns` [G, N], which is the same for equal rows and only for them.

    sizes: number of possible values in each of the N columns. Raises `ValueError` if an integer needs more than 64
    bits.
    """
    return np.asarray(np.ravel_multi_index(tuple(columns.T), sizes))


def _list_sums(num_players: int, players: np.ndarray, tied: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the sum that divides each stage, [K, n], and the weight of each player in each sum, [D, P].

    A sum is that of the strengths of all players not yet drawn at a stage. For the l-th of m tied players (l from 0),
    those m have the weight 1 - l/m in it.
    """
    stages = np.arange(players.shape[1])
    present = players < num_players
    start = np.maximum.accumulate(np.where(tied, 0, stages), axis=1)  # [K, n] the first stage of the tie
    turn = (stages - start)[present]  # [F] l of each factor; there is one for each player
    at_risk = ((stages >= start[:, :, None]) & present[:, None, :])[present]  # [F, n]
    tying = (start[:, :, None] == start[:, None, :])[present]  # [F, n]
    entrants = np.broadcast_to(players[:, None, :], (*players.shape, len(stages)))[present]  # [F, n]
    first, numbers = _find_distinct(num_players, np.where(at_risk, entrants, num_players), tying, turn)
    weights = at_risk[first] * (1 - tying[first] * (turn[first] / tying[first].sum(axis=1))[:, None])
    by_player = np.zeros((len(first), num_players + 1))
    np.add.at(by_player, (np.arange(len(first))[:, None], entrants[first]), weights)
    sums = np.full(players.shape, len(first))
    sums[present] = numbers
    return sums, by_player[:, :num_players]


def _find_distinct(
    num_players: int, entrants: np.ndarray, tying: np.ndarray, turn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the D different sums among the divisors of F factors of the likelihood, by indices.

    Returns the index of the first factor with each different sum, [D], and the index of each factor's sum, [F]. Two
    sums over the same players, `entrants` [F, n], are equal if the same players tie (`tying` [F, n]) and the factor has
    the same index `turn` [F] among those of the tie. At turn 0 ties make no difference.
    """
    terms = np.sort(2 * entrants + (tying & (turn > 0)[:, None]), axis=1)
    sizes = (2 * num_players + 1,) * entrants.shape[1] + (entrants.shape[1],)
    codes = _encode_rows(np.column_stack([terms, turn]), sizes)
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return first, numbers
