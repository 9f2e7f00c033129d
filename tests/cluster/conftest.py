"""Fixtures for tests on a Ray cluster of several nodes on this machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from agents.tools.startup import PORTABLE


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Yield a cluster with a head that does not work; tests add the nodes that do."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    made.shutdown()


@pytest.fixture(autouse=True)
def portable(monkeypatch) -> None:
    """Let the worker processes of this machine compute as the nodes do."""
    for name, value in PORTABLE.items():
        monkeypatch.setenv(name, value)
