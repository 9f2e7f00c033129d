"""Rules for all tests: a skipped test counts as a failure, and tests that a machine cannot run are deselected."""

import os
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import Phase, settings

settings.register_profile("felicity", deadline=None)  # a slow machine is no failure
settings.register_profile(  # for `python -m experiments mutants`: short, and the same every time
    "mutants", deadline=None, derandomize=True, database=None, max_examples=20, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("felicity")

SUPPORT = ("helpers", "players", "arena_players", "aec_games", "training", "selfplay_runs")
pytest.register_assert_rewrite(*(f"tests.support.{module}" for module in SUPPORT))
DESELECTED = pytest.StashKey[Counter]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that this machine cannot run, and store the reasons.

    They have a mark that names what they need, such as `compiled` or `linux`.
    """
    from tests.support.helpers import COMPILED  # after the rewriting above

    places = {} if COMPILED else {"compiled": "in plain Python"}
    places |= {} if sys.platform == "linux" else {"linux": "outside Linux"}
    places |= {} if find_spec("cosmic_ray") else {"mutants": "without the extra `mutants`"}
    unwanted = dict.fromkeys(("long", "browser", "cluster"), "without FELICITY_FULL=1")
    places |= {} if os.environ.get("FELICITY_FULL") else unwanted
    places |= {} if os.environ.get("FELICITY_GPU") else {"gpu": "without FELICITY_GPU"}
    with_compiler = os.environ.get("FELICITY_GPU") == "translated"
    places |= {} if with_compiler else {"compiler": "without FELICITY_GPU=translated"}
    places |= {} if os.environ.get("FELICITY_GPU") == "device" else {"device": "without FELICITY_GPU=device"}
    marks = {item: mark for item in items for name in places if (mark := item.get_closest_marker(name))}
    reasons = Counter(f"{places[mark.name]}: {mark.args[0]}" for mark in marks.values())
    config.stash[DESELECTED] = reasons
    if hasattr(config, "workeroutput"):  # a process of pytest-xdist, which reports to the main process
        config.workeroutput["deselected"] = dict(reasons)
    if marks:
        config.hook.pytest_deselected(items=list(marks))
        items[:] = [item for item in items if item not in marks]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """Copy the reasons for deselected tests from a process of pytest-xdist to the main process.

    All processes deselect the same tests.
    """
    node.config.stash[DESELECTED] = Counter(getattr(node, "workeroutput", {}).get("deselected", {}))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print why tests were deselected, and make pytest fail if a test was skipped."""
    for reason, count in terminalreporter.config.stash.get(DESELECTED, Counter()).items():
        terminalreporter.write_line(f"{count} deselected {reason}")
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and terminalreporter._session is not None:
        terminalreporter.write_line(f"{len(skipped)} skipped: counted as failed", red=True)
        terminalreporter._session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make experiments store their results in a temporary folder, and return this folder.

    The folder with the results that the pages show is replaced by an empty one.
    """
    from experiments import results  # after the rewriting above

    folder = tmp_path / "results"
    monkeypatch.setattr(results, "RESULTS", tmp_path / "stored")
    monkeypatch.setattr(results, "TRIALS", folder)
    return folder
