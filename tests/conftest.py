"""A skipped test is a failed run: nothing is left out in silence. And where results go in tests."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("felicity", deadline=None)  # a slow machine is no failure
settings.load_profile("felicity")

pytest.register_assert_rewrite(
    "tests.helpers", "tests.players", "tests.arena_players", "tests.aec_games", "tests.training", "tests.selfplay_runs"
)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and terminalreporter._session is not None:
        terminalreporter.write_line(f"{len(skipped)} skipped: counted as failed", red=True)
        terminalreporter._session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results go; nothing is stored yet in what stands for the project's folder."""
    from experiments import results  # after the rewriting above

    folder = tmp_path / "results"
    monkeypatch.setattr(results, "RESULTS", tmp_path / "stored")
    monkeypatch.setattr(results, "OTHERS", folder)
    return folder
