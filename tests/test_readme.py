"""The README: its examples run, and its tables are what the code and the stored results say."""

import re
from pathlib import Path

import pytest

from experiments import readme

TEXT = readme.README.read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs_as_written(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert ("print" in example) == bool(capsys.readouterr().out)


def test_examples_of_the_four_ways_in_are_about_fifteen_lines() -> None:
    assert len(EXAMPLES) >= 4
    assert all(len(example.splitlines()) <= 18 for example in EXAMPLES)


def test_rendered_parts_are_up_to_date() -> None:
    assert readme.rendered(TEXT) == TEXT


def test_a_readme_without_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for 'speed'"):
        readme.rendered(TEXT.replace("<!-- begin speed -->", ""))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_link_leads_somewhere(target: str) -> None:
    assert (Path(readme.README).parent / target).exists()
