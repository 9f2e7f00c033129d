"""Estimates of many columns at once: a column [blocks] holds a value for each block, and its mean is the answer."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from agents.estimates import BOOTSTRAPS, INTERVAL, Estimate


def per(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Columns whose mean over blocks is sum(totals) / sum(counts), for bootstrapping a ratio as a mean.

    The ratio is linearised at its value: a block counts by its deviation from it (delta method). nan if nothing counts.
    """
    with np.errstate(invalid="ignore"):
        ratio = totals.sum(axis=0) / counts.sum(axis=0)
        return ratio + (totals - ratio * counts) / counts.mean(axis=0)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A column [blocks] for the mean of `values` [blocks, ...] weighted by `weights`; a mask picks some of them."""
    axes = tuple(range(1, values.ndim))
    return per((values * weights).sum(axis=axes), weights.sum(axis=axes))


def resampled_means(columns: np.ndarray) -> np.ndarray:
    """Means [BOOTSTRAPS, K] of resamples of the rows of `columns` [N, K]; the same resamples for all columns."""
    rng, rows = np.random.default_rng(0), len(columns)
    means = np.empty((BOOTSTRAPS, columns.shape[1]))
    for k in range(BOOTSTRAPS):
        drawn = np.bincount(rng.integers(rows, size=rows), minlength=rows)
        means[k] = drawn @ columns / rows
    return means


def estimated(answers: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Every column as value, low, high, blocks: one for [N], a list for [N, K]; None where there is nothing to average.

    What `agents.estimates.bootstrap` gives for each column, with the resamples drawn once for all.
    """
    columns = np.column_stack(list(answers.values()))
    bounds = np.percentile(resampled_means(columns), INTERVAL, axis=0)
    rows = zip(columns.mean(axis=0), *bounds, strict=True)
    made = iter([estimate_of(*row, blocks=len(columns)) for row in rows])
    return {
        name: next(made) if answer.ndim == 1 else [next(made) for _ in range(answer.shape[1])]
        for name, answer in answers.items()
    }


def estimate_of(value: float, low: float, high: float, *, blocks: int) -> dict[str, Any] | None:
    """An estimate as it is stored, to five places; None unless all its numbers are finite."""
    if not np.isfinite([value, low, high]).all():
        return None
    value, low, high = (round(float(number), 5) for number in (value, low, high))
    return asdict(Estimate(value, low, high, blocks))
