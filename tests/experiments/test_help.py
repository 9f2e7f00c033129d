"""Help of every command: complete, at most 80 columns wide, the same form everywhere, and nothing of this machine."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agents.__main__ import VERBS
from agents.tools.options import format_value, read_settings
from experiments.questions import QUESTIONS
from tests.support.paths import ROOT
from train.algorithms import ALGORITHMS, load_trainer

MODULES = [verb.module for verb in (*VERBS.values(), *QUESTIONS.values())]
CONFIGS = {module: lambda module=module: import_module(module).Config for module in MODULES}
CONFIGS |= {name: lambda name=name: load_trainer(name).config_class for name in ALGORITHMS}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_help_of_every_command_is_in_the_same_form(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    config_class = CONFIGS[name]()
    with pytest.raises(SystemExit, match="0"):
        read_settings(config_class, "python -m program", ["--help"])
    text = capsys.readouterr().out
    assert config_class.__doc__ in text
    options = text.partition(config_class.__doc__)[2].splitlines()
    assert len(options) > 5
    assert all(len(line) <= 80 for line in options)
    for wrong in ("None", "Default:", "(default: )", str(ROOT), str(Path.home())):
        assert wrong not in "\n".join(options)


@pytest.mark.parametrize("module", ["train.selfplay", "train.maskable_ppo"])
def test_a_trainer_that_is_run_as_a_module_names_its_command(module):
    done = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr == f"this module is no command; run  python -m train {module[6:].replace('_', '-')}\n"


def test_values_are_shown_as_a_user_types_them():
    values = [None, (), (3, 4), ("a b", "c"), Path.cwd() / "runs" / "x", 0.5, False]
    assert [format_value(value) for value in values] == ["none", "none", "3 4", '"a b" c', "runs/x", "0.5", "False"]
