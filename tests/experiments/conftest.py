"""Fixtures for tests of experiments."""

from types import SimpleNamespace

import pytest

from experiments import runs
from tests.support import forked


@pytest.fixture(autouse=True)
def _forked_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the training runs of experiments from a server of processes; `monkeypatch.undo()` ends that."""
    monkeypatch.setattr(runs, "subprocess", SimpleNamespace(run=forked.run))
