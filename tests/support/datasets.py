"""Helpers for tests of datasets of games."""

import numpy as np

from felicity_env.dataset import ARRAYS, Dataset


def assert_equal(one: Dataset, two: Dataset) -> None:
    """Assert that two datasets have the same games and players."""
    assert (one.setup, one.players, one.digests) == (two.setup, two.players, two.digests)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
