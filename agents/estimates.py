"""Estimates over independent blocks: a mean, a paired difference, and a test that stops when it has seen enough.

A block is whatever was arranged to be one fair comparison, such as a deal under all rotations of the seating: results
inside a block may depend on each other, blocks may not.
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

BOOTSTRAPS = 2000
INTERVAL = (2.5, 97.5)  # percentiles of the resampled estimates: 95 %
MINIMUM_BLOCKS = 20  # before a sequential test decides: its variance is estimated
_SLICE = 1 << 22  # block indices drawn at once: 32 MB


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95 % interval and the number of independent blocks behind it."""

    value: float
    low: float
    high: float
    blocks: int


def bootstrap(blocks: np.ndarray, *, seed: int = 0) -> Estimate:
    """Mean of `blocks` [N] (independent) with the percentile bootstrap interval at 95 %.

    ValueError if fewer than two blocks: one block says nothing about how blocks vary.
    """
    blocks = _checked(blocks)
    if len(blocks) < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {len(blocks)}")
    low, high = np.percentile(_resampled_means(blocks, seed), INTERVAL)
    return Estimate(float(blocks.mean()), float(low), float(high), len(blocks))


def _resampled_means(blocks: np.ndarray, seed: int) -> np.ndarray:
    """Means [BOOTSTRAPS] of resamples, drawn in slices that bound the memory and do not change the draws."""
    rng = np.random.default_rng(seed)
    at_once = max(1, _SLICE // len(blocks))
    means = np.empty(BOOTSTRAPS)
    for start in range(0, BOOTSTRAPS, at_once):
        part = means[start : start + at_once]
        part[:] = blocks[rng.integers(len(blocks), size=(len(part), len(blocks)))].mean(axis=1)
    return means


def _checked(blocks: np.ndarray) -> np.ndarray:
    """`blocks` as finite floats [N]; ValueError if they are not."""
    blocks = np.asarray(blocks, float)
    if blocks.ndim != 1:
        raise ValueError(f"blocks are one row of numbers [N], not an array of shape {blocks.shape}")
    if not np.isfinite(blocks).all():
        raise ValueError(f"block {int(np.flatnonzero(~np.isfinite(blocks))[0])} is not a finite number")
    return blocks


@dataclass(frozen=True)
class Paired:
    """The difference of two means measured on the same blocks, and the part of its variance that pairing took away."""

    difference: Estimate
    variance_reduction: float  # 1: pairing removed all variance, 0: it was no help, below 0: it did harm


def paired_difference(first: np.ndarray, second: np.ndarray, *, seed: int = 0) -> Paired:
    """Mean of `first` [N] less mean of `second` [N], results of two players on the same N blocks.

    The reduction is measured against unpaired blocks: 1 - Var(first - second) / (Var(first) + Var(second)), and 0
    where neither varies. ValueError if the lengths differ or there are fewer than two blocks.
    """
    first, second = _checked(first), _checked(second)
    if len(first) != len(second):
        raise ValueError(f"paired results need the same blocks, not {len(first)} of one and {len(second)} of the other")
    difference = bootstrap(first - second, seed=seed)
    unpaired = first.var() + second.var()
    reduction = 1 - (first - second).var() / unpaired if unpaired > 0 else 0.0
    return Paired(difference, float(reduction))


@dataclass(frozen=True)
class Look:
    """What a sequential test says after `blocks` blocks; `verdict` is None while it is undecided."""

    verdict: Literal["stronger", "not stronger"] | None
    log_likelihood_ratio: float  # of a mean of `gain` against a mean of 0
    lower: float  # "not stronger" at or below
    upper: float  # "stronger" at or above
    blocks: int


class SequentialTest:
    """Is A stronger than B by `gain`? A sequential probability ratio test on differences of blocks.

    Differences are of A less B, one for each independent block. H0: their mean is 0; H1: it is `gain`, in the unit of
    the differences. `alpha` bounds the chance of "stronger" under H0 and `beta` that of "not stronger" under H1, both
    approximately (Wald 1945, Sequential tests of statistical hypotheses). A mean between 0 and `gain` may get either
    verdict, and takes longest.

    The variance is not known but estimated from the differences, so the ratio is the generalised one in its
    large-sample form, n gain (mean - gain / 2) / variance (Van den Bergh's notes for the engine-testing framework
    fishtest). It can be trusted once the variance can: nothing is decided before `minimum` blocks. Where differences
    are mostly 0, as between players that hardly differ, choose `minimum` so that some dozens of them are not.

    If all differences are equal, the variance is 0 and the ratio is its limit: infinite, with the sign of
    mean - gain / 2 (and 0 where that vanishes). Two players that never differ are thus "not stronger" at the minimum.
    """

    def __init__(self, gain: float, *, alpha: float = 0.05, beta: float = 0.05, minimum: int = MINIMUM_BLOCKS) -> None:
        if not 0 < gain < np.inf:
            raise ValueError(f"gain is a positive difference of means, not {gain}")
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not 0 < value < 0.5:
                raise ValueError(f"{name} is an error rate between 0 and 0.5, not {value}")
        if minimum < 2:
            raise ValueError(f"minimum is at least 2 blocks, for a variance, not {minimum}")
        self.gain, self.minimum = gain, minimum
        self.lower, self.upper = log(beta / (1 - alpha)), log((1 - beta) / alpha)
        self._differences = np.empty(0)
        self._decided = False

    def update(self, differences: np.ndarray) -> Look:
        """Add `differences` [K] and look: once an update, so one update of K blocks passes over K - 1 looks.

        The result depends on all differences so far, not on how they came, until a look decides. A verdict is final:
        ValueError if more blocks follow it.
        """
        if self._decided:
            raise ValueError(f"the test has decided after {len(self._differences)} blocks and takes no more")
        self._differences = np.append(self._differences, _checked(differences))
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
        """The ratio for all differences so far; 0 before there is a variance."""
        if len(self._differences) < 2:
            return 0.0
        excess = self._differences.mean() - self.gain / 2
        if np.ptp(self._differences) == 0:
            return float(np.sign(excess) * np.inf) if excess else 0.0
        return float(len(self._differences) * self.gain * excess / self._differences.var(ddof=1))
