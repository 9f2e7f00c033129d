"""Logs that go to a function of the user's: `--log-to FILE.py:FUNCTION`."""

import json
from pathlib import Path

import pytest

from tests.support.training import SMALL, choose_cpu, train
from train.algorithms import ALGORITHMS

FUNCTION = """
import json
def log(values, timesteps):
    with open({path!r}, "a") as file:
        file.write(json.dumps([timesteps, sorted(values)]) + "\\n")
def fail(values, timesteps):
    raise OSError("the network is down")
number = 3
"""


@pytest.fixture
def script(tmp_path) -> Path:
    path = tmp_path / "my_log.py"
    path.write_text(FUNCTION.format(path=str(tmp_path / "log.jsonl")))
    return path


def run_short(algorithm: str, *options: object):
    return train(algorithm, *SMALL, *choose_cpu(algorithm), "--total-timesteps", "4096", *options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_function_gets_what_is_logged_also_after_a_resume(algorithm, script, tmp_path):
    assert run_short(algorithm, "--out", tmp_path / "run", "--log-to", f"{script}:log").status == 0
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines[-1][0] >= 4096
    names = {name for _, values in lines for name in values}
    assert {"time/total_timesteps", "win_share/standard-4_anchor"} <= names
    assert "log_to" not in (tmp_path / "run" / "config.json").read_text()
    again = train("--resume", tmp_path / "run", "--total-timesteps", 8192, "--log-to", f"{script}:log")
    assert again.status == 0
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) > len(lines)


def test_a_run_goes_on_if_the_function_fails(script, tmp_path):
    outcome = run_short("selfplay", "--out", tmp_path / "run", "--log-to", f"{script}:fail")
    assert outcome.status == 0
    message = "my_log.py:fail raised OSError: the network is down; it is not called again"
    assert outcome.errors.count(message) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [("none", "it has no function none"), ("number", "it has no function number"), ("", "it has no function")],
)
def test_a_function_that_does_not_exist_is_refused(script, tmp_path, name, message):
    outcome = run_short("selfplay", "--out", tmp_path / "run", "--log-to", f"{script}:{name}")
    assert outcome.status == 2
    assert message in outcome.errors
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("code", ["my_log.py", "missing.py:log", "no.module:log"])
def test_a_module_that_cannot_be_imported_is_refused(tmp_path, code):
    outcome = run_short("selfplay", "--out", tmp_path / "run", "--log-to", code)
    assert outcome.status == 2
    assert f"--log-to {code}:" in outcome.errors
