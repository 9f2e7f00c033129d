"""A skipped test is a failed run: nothing is left out in silence."""

import pytest

pytest.register_assert_rewrite(
    "tests.helpers", "tests.players", "tests.arena_players", "tests.aec_games", "tests.training", "tests.selfplay_runs"
)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and terminalreporter._session is not None:
        terminalreporter.write_line(f"{len(skipped)} skipped: counted as failed", red=True)
        terminalreporter._session.exitstatus = pytest.ExitCode.TESTS_FAILED
