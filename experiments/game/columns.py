"""Estimates of the means of many columns, arrays [blocks] with one value for each block."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from agents.arena.estimates import BOOTSTRAPS, INTERVAL, Estimate


def linearise_ratio(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return columns whose mean over blocks is sum(totals) / sum(counts), to bootstrap a ratio as a mean.

    The ratio is linearised at its value: each block contributes its deviation from it (delta method). The columns are
    nan if all counts are 0.
    """
    with np.errstate(invalid="ignore"):
        ratio = totals.sum(axis=0) / counts.sum(axis=0)
        return ratio + (totals - ratio * counts) / counts.mean(axis=0)


def average(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return a column [blocks] for the mean of `values` [blocks, ...] under `weights`, which may be a mask."""
    axes = tuple(range(1, values.ndim))
    return linearise_ratio((values * weights).sum(axis=axes), weights.sum(axis=axes))


def resample_means(columns: np.ndarray) -> np.ndarray:
    """Return the means [BOOTSTRAPS, K] of resamples of the rows of `columns` [N, K]; all columns share the resamples.

    The resamples are those of `agents.arena.estimates.bootstrap`.
    """
    rng, rows = np.random.default_rng(0), len(columns)
    means = np.empty((BOOTSTRAPS, columns.shape[1]))
    for k in range(BOOTSTRAPS):
        counts = np.bincount(rng.integers(rows, size=rows), minlength=rows)
        means[k] = counts @ columns / rows
    return means


def estimate_columns(answers: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Estimate every answer: one estimate for a column [N], a list for [N, K], None where nothing can be averaged."""
    columns = np.column_stack(list(answers.values()))
    bounds = np.percentile(resample_means(columns), INTERVAL, axis=0)
    rows = zip(columns.mean(axis=0), *bounds, strict=True)
    estimates = iter([round_estimate(*row, blocks=len(columns)) for row in rows])
    return {
        name: next(estimates) if answer.ndim == 1 else [next(estimates) for _ in range(answer.shape[1])]
        for name, answer in answers.items()
    }


def round_estimate(value: float, low: float, high: float, *, blocks: int) -> dict[str, Any] | None:
    """Return an estimate as it is stored, with five decimals; None unless all its numbers are finite."""
    if not np.isfinite([value, low, high]).all():
        return None
    value, low, high = (round(float(number), 5) for number in (value, low, high))
    return asdict(Estimate(value, low, high, blocks))
