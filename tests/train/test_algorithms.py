"""Algorithms by name: the list, the help of each, and a new one."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from agents.tools.command import python_command
from tests.support.selfplay_runs import options
from tests.support.training import ROOT, RUN_FILES, choose_cpu, list_names, train
from train import algorithms
from train.algorithms import ALGORITHMS, Algorithm, load_trainer
from train.config import read_config

COMMAND = python_command("train")


def test_help_without_an_algorithm_lists_them_without_importing_torch():
    script = "import sys; from train.__main__ import main; main(['--help']); assert 'torch' not in sys.modules"
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    for name, algorithm in ALGORITHMS.items():
        assert f"{name} " in result.stdout
        assert algorithm.help in result.stdout
    assert "ALGORITHM --help" in result.stdout


@pytest.mark.parametrize("name", ALGORITHMS)
def test_help_of_an_algorithm_shows_all_its_settings_with_defaults(name):
    config_class = load_trainer(name).config_class
    outcome = train(name, "--help", *choose_cpu(name))
    assert outcome.status == 0
    for field in fields(config_class):
        assert f"--{field.name.replace('_', '-')}" in outcome.output
    assert str(config_class().total_timesteps) in outcome.output
    assert "generalised advantage estimation (GAE). 1 is Monte Carlo" in outcome.output
    others = {field.name for other in ALGORITHMS for field in fields(load_trainer(other).config_class)}
    for other in others - {field.name for field in fields(config_class)}:
        assert f"--{other.replace('_', '-')} " not in outcome.output


@pytest.mark.parametrize("name", ALGORITHMS)
def test_settings_know_the_name_of_their_algorithm(name):
    assert load_trainer(name).config_class().algorithm == name


def test_an_algorithm_that_does_not_exist_is_refused():
    outcome = train("dqn")
    message = f"there is no algorithm 'dqn'; there are {', '.join(ALGORITHMS)}; to compare runs: {COMMAND} curves"
    assert outcome.status == 2
    assert message in outcome.errors


def test_an_option_of_another_algorithm_is_refused():
    outcome = train("maskable-ppo", "--kl-coef", "0.1")
    assert outcome.status == 2
    assert "--kl-coef" in outcome.output + outcome.errors


NEW_ALGORITHM = """
from dataclasses import dataclass

from train.selfplay import SelfplayConfig, SelfplayTrainer


@dataclass(frozen=True, kw_only=True)
class ReinforceConfig(SelfplayConfig):
    \"\"\"REINFORCE.\"\"\"

    gae_lambda: float = 1.0
    baseline: bool = True
    \"\"\"Subtract the critic's value.\"\"\"


class ReinforceTrainer(SelfplayTrainer):
    config_class = ReinforceConfig
"""


def test_a_new_algorithm_is_a_module_and_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "reinforce_for_tests.py").write_text(NEW_ALGORITHM)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(
        algorithms.ALGORITHMS, "reinforce", Algorithm("reinforce_for_tests", "ReinforceTrainer", "Monte Carlo")
    )
    assert "reinforce" in train("--help").output
    assert "--baseline" in train("reinforce", "--help").output
    run = tmp_path / "run"
    outcome = train("reinforce", *options()[1:], "--no-baseline", "--out", run)
    assert outcome.status == 0, outcome.errors
    assert list_names(run) == RUN_FILES
    assert read_config(run / "config.json").baseline is False
    assert "is finished" in train("--resume", run).output
