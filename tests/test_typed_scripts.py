"""Scripts that strict type checkers accept do what they say; continuous integration runs the checkers."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent / "typed").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_typed_script_runs(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_the_scripts_ask_for_strict_checks():
    assert len(SCRIPTS) == 3
    assert all(script.read_text().startswith("# pyright: strict") for script in SCRIPTS)
