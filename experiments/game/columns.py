"""Estimates, with intervals, of the means of many columns: arrays [blocks] with one value for each block (deal)."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from agents.arena.estimates import INTERVAL, Estimate, linearise_ratio, resample_means


def average(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return a value for each block such that the mean of these values is the weighted mean of `values`.

    values: [blocks, ...]. weights: array of the same shape, or a mask that selects values. Returns [blocks].
    """
    axes = tuple(range(1, values.ndim))
    return linearise_ratio((values * weights).sum(axis=axes), weights.sum(axis=axes))


def estimate_columns(answers: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Estimate the mean of every named column, with its 95 % interval.

    A column [N] gives one estimate, columns [N, K] give a list of K; an estimate is None if nothing can be averaged.
    """
    columns = np.column_stack(list(answers.values()))
    bounds = np.percentile(resample_means(columns), INTERVAL, axis=0)
    rows = zip(columns.mean(axis=0), *bounds, strict=True)
    estimates = iter([round_estimate(*row, blocks=len(columns)) for row in rows])
    return {
        name: next(estimates) if answer.ndim == 1 else [next(estimates) for _ in range(answer.shape[1])]
        for name, answer in answers.items()
    }


def round_estimate(value: float, low: float, high: float, *, blocks: int) -> dict[str, Any] | None:
    """Convert an estimate to a dict with five decimals for storage, or to None if one of its numbers is not finite."""
    if not np.isfinite([value, low, high]).all():
        return None
    value, low, high = (round(float(number), 5) for number in (value, low, high))
    return asdict(Estimate(value, low, high, blocks))
