"""Ratings of a pool of players from the rankings of their games, with intervals over blocks.

The model is Plackett-Luce (Luce 1959; Plackett 1975): every player has a worth, and each next place of a game goes to
one of those not yet placed with a chance proportional to his worth. Ties follow Efron's approximation (1977; the model
is the Cox partial likelihood): of m players who share a place, the l-th factor (l from 0) counts each with weight
1 - l/m. Of two players alone a tie so counts as one win each, and frequent ties draw the worths together a little.

The logarithm of the likelihood is then a linear part, how often each player was placed, less a sum of logarithms of
weighted sums of worths. Many games share the same sums, so a game is kept as the numbers of its sums, and a fit takes
as long as there are different sums, however many games there are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from agents.estimates import INTERVAL, Estimate

POINTS = 400 / log(10)  # of one unit of log worth: 400 points are odds of ten to one (Elo 1978)
PRIOR_DEVIATION = 5.0  # of log worth: 870 points
RESAMPLES = 500
_TOLERANCE = 1e-8  # of the last step of a fit: its squared length in standard errors
_MOST_STEPS = 200


def ratings(
    names: Sequence[str],
    players: np.ndarray,
    *,
    ranks: np.ndarray,
    blocks: np.ndarray,
    anchor: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Points of every name by maximum likelihood: 400 more are odds of ten to one to be placed before the other.

    `players` int [G, n] are the players in the places of G games, as indices of `names`, a player as often as he plays
    and -1 in places that a smaller table lacks. `ranks` int [G, n] count from 1, the best; equal numbers tie; they are
    not read where a place is lacking. `blocks` int [G] number the deals: games of one number are resampled together.

    `anchor` has 0 points: a name, or where none is given "anchor" if there is such a name, else the mean of the pool.
    Intervals are 95 % by percentile bootstrap over blocks, each Estimate counting all blocks.

    Who always wins or always loses has no finite maximum. A Gaussian prior on each log worth, of mean 0 and standard
    deviation PRIOR_DEVIATION, keeps him finite: some 1300 points above the one he beat in 300 games. It weighs as much
    as a sixth of a game between equals, so among hundreds of games it is negligible for the others. The interval of
    one who always won is too narrow, because he always wins in every resample as well.

    ValueError if the arrays do not fit together, if there are fewer than two blocks, or if games do not connect all
    players: the points of groups that never met cannot be compared.
    """
    players, ranks, blocks = np.asarray(players), np.asarray(ranks), np.asarray(blocks)
    _check(names, players, ranks, blocks)
    _check_connected(names, players)
    zero = _zero(names, anchor)
    block_of_game = np.unique(blocks, return_inverse=True)[1]
    pool = _Pool.of(len(names), players.astype(np.int64), ranks.astype(np.int64))
    fitted = pool.fit(np.ones(len(players)), np.zeros(len(names)))
    resampled = _bootstrap(pool, fitted, block_of_game, resamples=resamples, seed=seed)
    points = POINTS * (fitted - zero @ fitted)
    low, high = np.percentile(POINTS * (resampled - resampled @ zero[:, None]), INTERVAL, axis=0)
    num_blocks = int(block_of_game.max()) + 1
    return {name: Estimate(float(points[k]), float(low[k]), float(high[k]), num_blocks) for k, name in enumerate(names)}


def expected_win_share(points: Mapping[str, Estimate], table: Sequence[str]) -> np.ndarray:
    """The chance [n] of the first place that the model gives to each place of `table` [n], names of its players."""
    logs = np.array([points[name].value for name in table]) / POINTS
    worths = np.exp(logs - logs.max())
    return worths / worths.sum()


def _check(names: Sequence[str], players: np.ndarray, ranks: np.ndarray, blocks: np.ndarray) -> None:
    """ValueError if the arguments of `ratings` do not fit together."""
    if len(set(names)) < len(names):
        raise ValueError(f"names must differ: {', '.join(names)}")
    if players.ndim != 2 or ranks.shape != players.shape or blocks.shape != players.shape[:1]:
        raise ValueError(f"players, ranks [G, n] and blocks [G] have shapes {players.shape, ranks.shape, blocks.shape}")
    for name, array in (("players", players), ("ranks", ranks), ("blocks", blocks)):
        if not np.issubdtype(array.dtype, np.integer):
            raise ValueError(f"{name} are integers, not {array.dtype}")
    present = players >= 0
    _check_games("a player is -1 or an index of names", (players >= -1) & (players < len(names)))
    _check_games("a rank is 1 or more", (ranks >= 1) | ~present)
    _check_games("a game has two players or more", np.sum(present, axis=1, keepdims=True) >= 2)
    if (num_blocks := len(np.unique(blocks))) < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {num_blocks}")


def _check_games(rule: str, kept: np.ndarray) -> None:
    """ValueError naming the first game where `kept` [G, n] is not all true."""
    if not kept.all():
        raise ValueError(f"{rule}: not so in game {int(np.argwhere(~kept)[0, 0])}")


def _check_connected(names: Sequence[str], players: np.ndarray) -> None:
    """ValueError naming the groups of players that no game connects."""
    reach = np.eye(len(names), dtype=bool)
    for one in range(players.shape[1]):
        for other in range(one):
            both = (players[:, one] >= 0) & (players[:, other] >= 0)
            reach[players[both, one], players[both, other]] = True
    reach |= reach.T
    for _ in range(len(names).bit_length()):  # each round doubles the length of the paths
        reach = reach @ reach
    groups = {tuple(np.flatnonzero(row).tolist()) for row in reach}
    if len(groups) > 1:
        listed = "; ".join(", ".join(names[k] for k in group) for group in sorted(groups))
        raise ValueError(f"no games connect these groups: {listed}")


def _zero(names: Sequence[str], anchor: str | None) -> np.ndarray:
    """Weights [P] of the mean of points that is set to zero."""
    if anchor is None and "anchor" not in names:
        return np.full(len(names), 1 / len(names))
    anchor = "anchor" if anchor is None else anchor
    if anchor not in names:
        raise ValueError(f"the anchor {anchor!r} is none of {', '.join(names)}")
    return np.array([float(name == anchor) for name in names])


def _bootstrap(
    pool: "_Pool", fitted: np.ndarray, block_of_game: np.ndarray, *, resamples: int, seed: int
) -> np.ndarray:
    """Log worths [resamples, P] fitted to blocks drawn with replacement."""
    rng = np.random.default_rng(seed)
    num_blocks = int(block_of_game.max()) + 1
    logs = np.empty((resamples, len(fitted)))
    for k in range(resamples):
        drawn = np.bincount(rng.integers(num_blocks, size=num_blocks), minlength=num_blocks)
        logs[k] = pool.fit(drawn[block_of_game].astype(float), fitted)
    return logs


@dataclass(frozen=True)
class _Pool:
    """Games compressed: G games of K patterns (players in order, ties), whose factors are D different sums.

    The likelihood of a pattern is the product of its worths over the product of its sums, as many of each as it has
    places; row d of `weights` times the worths is sum d. Places that a smaller table lacks are player P and sum D.
    """

    pattern_of_game: np.ndarray  # int [G]
    players: np.ndarray  # int [K, n]
    sums: np.ndarray  # int [K, n]
    weights: np.ndarray  # [D, P]

    @classmethod
    def of(cls, num_players: int, players: np.ndarray, ranks: np.ndarray) -> "_Pool":
        """Compress the games `players` and `ranks` [G, n] (see `ratings`)."""
        players, tied, pattern_of_game = _patterns(num_players, players, ranks)
        sums, weights = _sums(num_players, players, tied)
        return cls(pattern_of_game, players, sums, weights)

    def fit(self, game_weights: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Log worths [P] of the greatest posterior density, by Newton's method from `start`.

        A full step can overshoot. Along a step whose entries span `span`, the third derivative is at most `span` times
        the second, so the step of length log(1 + span) / span always improves, and is a full one at the end (Sun and
        Tran-Dinh 2019, Generalized self-concordant functions).
        """
        placed, summed = self._counts(game_weights)
        logs = start
        for _ in range(_MOST_STEPS):
            gradient, information = _derivatives(logs, placed, summed, self.weights)
            step = np.linalg.solve(information, gradient)
            if gradient @ step < _TOLERANCE:
                return logs + step
            span = np.ptp(step)
            logs = logs + step * (np.log1p(span) / span if span > 0 else 1.0)
        raise RuntimeError(f"the fit has not ended after {_MOST_STEPS} steps")

    def _counts(self, game_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How often each player was placed [P] and each sum divided by [D], where games count `game_weights` [G]."""
        patterns = np.bincount(self.pattern_of_game, game_weights, minlength=len(self.players))
        places = np.repeat(patterns, self.players.shape[1])
        num_sums, num_players = self.weights.shape
        placed = np.bincount(self.players.ravel(), places, minlength=num_players + 1)
        summed = np.bincount(self.sums.ravel(), places, minlength=num_sums + 1)
        return placed[:num_players], summed[:num_sums]


def _derivatives(
    logs: np.ndarray, placed: np.ndarray, summed: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient [P] of the log posterior density at `logs` [P], and its second derivative's negative [P, P]."""
    worths = np.exp(logs - logs.max())
    sums = weights @ worths
    expected = worths * (weights.T @ (summed / sums))
    pairs = weights.T @ (weights * (summed / sums**2)[:, None])
    information = np.diag(expected) - pairs * np.outer(worths, worths)
    precision = PRIOR_DEVIATION**-2
    return placed - expected - precision * logs, information + precision * np.eye(len(logs))


def _patterns(num_players: int, players: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different games: players [K, n] from best to worst, whether each ties with the one before; which each is [G].

    Players that tie are in the order of their numbers; lacking places are last, and are player P.
    """
    lacking = players < 0
    players = np.where(lacking, num_players, players)
    ranks = np.where(lacking, np.iinfo(np.int64).max, ranks)
    order = np.lexsort((players, ranks), axis=1)
    players, ranks = (np.take_along_axis(array, order, axis=1) for array in (players, ranks))
    tied = (ranks[:, 1:] == ranks[:, :-1]) & (players[:, 1:] < num_players)
    places = players.shape[1]
    sizes = (num_players + 1,) * places + (2,) * (places - 1)
    codes, pattern_of_game = np.unique(_code(np.hstack([players, tied]), sizes), return_inverse=True)
    columns = np.stack(np.unravel_index(codes, sizes), axis=1)
    first = np.zeros((len(codes), 1), bool)
    return columns[:, :places], np.hstack([first, columns[:, places:] == 1]), pattern_of_game


def _code(columns: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """One number [G] for each row of `columns` [G, len(sizes)]; ValueError if there are too many for 64 bits."""
    return np.asarray(np.ravel_multi_index(tuple(columns.T), sizes))


def _sums(num_players: int, players: np.ndarray, tied: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum that each place divides by, as numbers [K, n], and the weights [D, P] of the players in each sum.

    The l-th of m who tie (l from 0) divides by the sum of all not placed before them, those m weighing 1 - l/m.
    """
    places = np.arange(players.shape[1])
    present = players < num_players
    start = np.maximum.accumulate(np.where(tied, 0, places), axis=1)  # [K, n] the first that a place ties with
    turn = (places - start)[present]  # [F] l of each factor: one for each place that is not lacking
    at_risk = ((places >= start[:, :, None]) & present[:, None, :])[present]  # [F, n]
    tying = (start[:, :, None] == start[:, None, :])[present]  # [F, n]
    entrants = np.broadcast_to(players[:, None, :], (*players.shape, len(places)))[present]  # [F, n]
    first, numbers = _distinct(num_players, np.where(at_risk, entrants, num_players), tying, turn)
    weights = at_risk[first] * (1 - tying[first] * (turn[first] / tying[first].sum(axis=1))[:, None])
    by_player = np.zeros((len(first), num_players + 1))
    np.add.at(by_player, (np.arange(len(first))[:, None], entrants[first]), weights)
    sums = np.full(players.shape, len(first))
    sums[present] = numbers
    return sums, by_player[:, :num_players]


def _distinct(
    num_players: int, entrants: np.ndarray, tying: np.ndarray, turn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The first factor [D] of each different sum, and the number of its sum for each factor [F].

    Sums of the same `entrants` [F, n] are the same if the same of them tie and it is the same turn [F] among these;
    at turn 0 it does not matter who ties.
    """
    terms = np.sort(2 * entrants + (tying & (turn > 0)[:, None]), axis=1)
    sizes = (2 * num_players + 1,) * entrants.shape[1] + (entrants.shape[1],)
    codes = _code(np.column_stack([terms, turn]), sizes)
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return first, numbers
