"""Fixtures for tests of experiments."""

from types import SimpleNamespace

import pytest

from experiments import processes
from tests.support import forked


@pytest.fixture(autouse=True)
def _forked_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make experiments fork their training runs from a server, which is faster than new processes.

    `monkeypatch.undo()` ends this.
    """
    monkeypatch.setattr(processes, "subprocess", SimpleNamespace(Popen=forked.Popen))
