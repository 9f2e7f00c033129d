"""Statistical estimates from independent blocks of games: means, paired differences, and a sequential test.

A block is one fair comparison, such as one deal under all rotations of the seats. Results inside a block may depend on
each other; results of different blocks must not. The question `soundness` measures how often the intervals contain the
truth.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import Literal

import numpy as np
from scipy.special import stdtrit

BOOTSTRAPS = 2000
_NO_ERROR = 1e-12  # smaller standard errors come from rounding
_FEW_BLOCKS = 10  # equal blocks, of which fewer say little about how much blocks differ
_JOINT_DRAWS = 20_000
INTERVAL = (2.5, 97.5)  # percentiles that bound an interval: 95 %
MINIMUM_BLOCKS = 20  # a sequential test decides no earlier, because it estimates the variance
_SLICE = 1 << 15  # number of block indices drawn at once: 256 KB fit into the cache


@dataclass(frozen=True)
class Estimate:
    """Estimated value, its 95 % interval from `low` to `high`, and the number of independent blocks it is based on."""

    value: float
    low: float
    high: float
    blocks: int


def estimate_mean(blocks: np.ndarray) -> Estimate:
    """Estimate the mean of N independent values, with a 95 % interval by Student's t distribution.

    blocks: [N], one value for each block; for win shares, `estimate_share` is better. Raises `ValueError` if there are
    fewer than two blocks: one block does not show how blocks vary.
    """
    mean, error, reach = _measure_spread(blocks)
    return Estimate(mean, mean - reach * error, mean + reach * error, len(blocks))


def estimate_share(blocks: np.ndarray) -> Estimate:
    """Estimate the mean of N independent win shares in [0, 1], with a 95 % interval as Wilson's for a fraction.

    Wilson's interval (1927, https://doi.org/10.1080/01621459.1927.10502953) covers the truth also if wins are rare.
    It needs a number of trials: here the number of coin tosses that would have the same standard error. Fewer than ten
    equal blocks do not show that blocks never differ, so each counts as one toss. blocks: [N], the mean win share in
    each block. Raises `ValueError` if there are fewer than two blocks, or if a value is not in [0, 1].
    """
    mean, error, reach = _measure_spread(blocks)
    if np.min(blocks) < 0 or np.max(blocks) > 1:
        raise ValueError(f"win shares must be between 0 and 1, not {np.min(blocks)} to {np.max(blocks)}")
    is_unknown = error < _NO_ERROR and (len(blocks) < _FEW_BLOCKS or mean in (0, 1))
    noise = 1 / len(blocks) if is_unknown else error * error / (mean * (1 - mean))  # 1 / number of trials
    centre, scale = mean + reach * reach * noise / 2, 1 + reach * reach * noise
    half = reach * sqrt(mean * (1 - mean) * noise + (reach * noise / 2) ** 2)
    return Estimate(mean, (centre - half) / scale, (centre + half) / scale, len(blocks))


def _measure_spread(blocks: np.ndarray) -> tuple[float, float, float]:
    """Return mean, standard error, and the number of standard errors that a 95 % interval reaches to either side."""
    blocks = _check_blocks(blocks)
    if len(blocks) < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {len(blocks)}")
    reach = stdtrit(len(blocks) - 1, INTERVAL[1] / 100)  # quantile of Student's t; scipy.stats imports slowly
    return float(blocks.mean()), float(blocks.std(ddof=1)) / sqrt(len(blocks)), float(reach)


def estimate_differences(values: np.ndarray) -> list[Estimate]:
    """Estimate K means from the same N blocks, with intervals that hold all at once in 95 %.

    values: [K, N], differences in win share between -1 and 1. The reach of the intervals is the 95 % quantile of the
    largest of K correlated values of Student's t distribution, drawn 20,000 times. The variance is that of two blocks
    more (Agresti and Min 2005, https://doi.org/10.1002/sim.1781). Raises `ValueError` if there are fewer than two
    blocks.
    """
    num_means, count = values.shape
    if count < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {count}")
    padded = _add_blocks(values)
    reach = _find_joint_reach(np.corrcoef(padded).reshape(num_means, num_means), count - 1) if num_means else 0.0
    means, halves = values.mean(axis=1), reach * padded.std(axis=1, ddof=1) / sqrt(count + 2)
    return [Estimate(float(m), float(m - h), float(m + h), count) for m, h in zip(means, halves, strict=True)]


def _add_blocks(differences: np.ndarray) -> np.ndarray:
    """Add two differences in win share to those given, [..., N]: the variance is underestimated where they are rare.

    The two count as half a block of difference 1, half a block of -1, and one of 0 (Agresti and Min 2005,
    https://doi.org/10.1002/sim.1781).
    """
    added = np.broadcast_to([sqrt(0.5), -sqrt(0.5)], (*differences.shape[:-1], 2))
    return np.concatenate([differences, added], axis=-1)


def _find_joint_reach(correlations: np.ndarray, degrees: int) -> float:
    """Return how many standard errors contain all of K correlated values of Student's t distribution in 95 %."""
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(np.zeros(len(correlations)), correlations, _JOINT_DRAWS, method="eigh")
    largest = np.abs(drawn).max(axis=1) / np.sqrt(rng.chisquare(degrees, _JOINT_DRAWS) / degrees)
    return float(np.quantile(largest, 0.95))


def resample_means(blocks: np.ndarray) -> np.ndarray:
    """Draw N of the N blocks with replacement and average them, BOOTSTRAPS times; return the means.

    blocks: [N], or [N, K] for K values of each block, which share the draws. Returns [BOOTSTRAPS] or [BOOTSTRAPS, K].
    """
    rng = np.random.default_rng(0)
    at_once = max(1, _SLICE // blocks.size)  # drawing in slices only limits the memory
    means = np.empty((BOOTSTRAPS, *blocks.shape[1:]))
    for start in range(0, BOOTSTRAPS, at_once):
        part = means[start : start + at_once]
        part[:] = blocks[rng.integers(len(blocks), size=(len(part), len(blocks)))].mean(axis=1)
    return means


def _check_blocks(blocks: np.ndarray) -> np.ndarray:
    """Return `blocks` as floats [N]; raise `ValueError` unless they are one row of finite numbers."""
    blocks = np.asarray(blocks, float)
    if blocks.ndim != 1:
        raise ValueError(f"blocks must be one row of numbers [N], not an array of shape {blocks.shape}")
    if not np.isfinite(blocks).all():
        raise ValueError(f"block {int(np.flatnonzero(~np.isfinite(blocks))[0])} is not a finite number")
    return blocks


def linearise_ratio(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return a value for each block, such that their mean is the ratio sum(totals) / sum(counts).

    totals, counts: [N] or [N, K], for N blocks; each of K columns has its own ratio, which can then be estimated
    like a mean. It is linearised (delta method): the value of a block is the ratio plus the block's deviation from it.
    Values are nan if all counts are 0.
    """
    with np.errstate(invalid="ignore"):
        ratio = totals.sum(axis=0) / counts.sum(axis=0)
        return ratio + (totals - ratio * counts) / counts.mean(axis=0)


@dataclass(frozen=True)
class Paired:
    """Difference of two means measured on the same blocks, and the fraction of its variance that pairing removes."""

    difference: Estimate
    variance_reduction: float  # 1: pairing removes all variance; 0: it does not help; below 0: it does harm


def compare_paired(first: np.ndarray, second: np.ndarray) -> Paired:
    """Estimate the mean of `first` [N] minus the mean of `second` [N], results of two players on the same N blocks.

    The variance reduction compares with unpaired blocks: 1 - Var(first - second) / (Var(first) + Var(second)), or 0
    if both variances are 0. Raises `ValueError` if the lengths differ or there are fewer than two blocks.
    """
    first, second = _check_blocks(first), _check_blocks(second)
    if len(first) != len(second):
        raise ValueError(f"paired results need the same blocks, not {len(first)} of one and {len(second)} of the other")
    difference = estimate_mean(first - second)
    unpaired = first.var() + second.var()
    reduction = 1 - (first - second).var() / unpaired if unpaired > 0 else 0.0
    return Paired(difference, float(reduction))


@dataclass(frozen=True)
class Look:
    """Result of a sequential test after `blocks` blocks; `verdict` is None while the test is undecided."""

    verdict: Literal["stronger", "not stronger"] | None
    log_likelihood_ratio: float  # log of the likelihood of the mean `gain` over that of the mean 0
    lower: float  # at or below this ratio the verdict is "not stronger"
    upper: float  # at or above this ratio the verdict is "stronger"
    blocks: int


class SequentialTest:
    """Sequential probability ratio test of whether player A is stronger than player B by `gain`.

    The data are differences in win share, A minus B, from -1 to 1, one for each independent block. H0: their mean is 0.
    H1: it is `gain`. `alpha` bounds the probability of "stronger" under H0, and `beta` that of "not stronger" under H1,
    both approximately (Wald 1945, Sequential tests of statistical hypotheses). If the mean is between 0 and `gain`,
    either verdict is possible, and the test takes longest. "stronger" therefore does not show that the mean is `gain`.

    The variance is estimated from the differences. The log likelihood ratio is therefore the generalised one in its
    large-sample form, n gain (mean - gain / 2) / variance (Van den Bergh's notes for the framework fishtest). The
    variance estimate needs data, so nothing is decided before `minimum` blocks, and it is that of two blocks more
    (Agresti and Min 2005), as differences may be rare: players that never differ are "not stronger" after about
    2.5 / `gain` blocks.
    """

    def __init__(self, gain: float, *, alpha: float = 0.05, beta: float = 0.05, minimum: int = MINIMUM_BLOCKS) -> None:
        if not 0 < gain < np.inf:
            raise ValueError(f"gain must be a positive difference of means, not {gain}")
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not 0 < value < 0.5:
                raise ValueError(f"{name} must be an error rate between 0 and 0.5, not {value}")
        if minimum < 2:
            raise ValueError(f"minimum must be at least 2 blocks, for a variance, not {minimum}")
        self.gain, self.minimum = gain, minimum
        self.lower, self.upper = log(beta / (1 - alpha)), log((1 - beta) / alpha)
        self._differences = np.empty(0)
        self._decided = False

    def update(self, differences: np.ndarray) -> Look:
        """Continue a sequential test with the differences of two players on K more blocks, [K]; return its verdict.

        Until a test decides, the result depends on all differences so far and not on how they were split into updates.
        A verdict is final: raises `ValueError` if blocks are added after it.
        """
        if self._decided:
            raise ValueError(f"the test decided after {len(self._differences)} blocks and takes no more")
        self._differences = np.append(self._differences, _check_blocks(differences))
        look = self._look()
        self._decided = look.verdict is not None
        return look

    def _look(self) -> Look:
        ratio, blocks = self._log_likelihood_ratio(), len(self._differences)
        verdict = None
        if blocks >= self.minimum and ratio >= self.upper:
            verdict = "stronger"
        elif blocks >= self.minimum and ratio <= self.lower:
            verdict = "not stronger"
        return Look(verdict, ratio, self.lower, self.upper, blocks)

    def _log_likelihood_ratio(self) -> float:
        """Return the log likelihood ratio of all differences so far; 0 while there are none."""
        excess = (self._differences - self.gain / 2).sum()
        return float(self.gain * excess / _add_blocks(self._differences).var(ddof=1))
