"""The README: its examples run, and its tables are what the code and the stored results say."""

import re
from pathlib import Path

import pytest

from experiments.pages import readme
from felicity_env import SETUPS, Setup

TEXT = readme.README.read_text()
EXAMPLES = [
    example for page in readme.PAGES for example in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
]


@pytest.mark.compiled("many games")
@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_runs_as_written(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert ("print" in example) == bool(capsys.readouterr().out)


def test_examples_of_the_four_ways_in_are_about_fifteen_lines() -> None:
    assert len(EXAMPLES) >= 4
    assert all(len(example.splitlines()) <= 18 for example in EXAMPLES)


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.parent.name)
def test_rendered_parts_are_up_to_date(page: Path) -> None:
    assert readme.render(page, page.read_text()) == page.read_text()


def test_one_more_setup_changes_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETUPS, "gentle", Setup(seats=4, mouse_cards=(1, 3, 6), bank=27))
    page = readme.REFERENCE / "README.md"
    assert readme.render(page, page.read_text()) == page.read_text()


def test_a_readme_without_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for 'speed'"):
        readme.render(readme.README, TEXT.replace("<!-- begin speed -->", ""))


def links() -> list[tuple[Path, str]]:
    pages = {page: page.read_text() for page in readme.PAGES}
    return sorted({(page, target) for page, text in pages.items() for target in re.findall(r"\]\(([^)#:]+)\)", text)})


@pytest.mark.parametrize(("page", "target"), links(), ids=str)
def test_link_leads_somewhere(page: Path, target: str) -> None:
    assert (page.parent / target).exists()


def test_the_check_fails_on_a_page_that_is_not_as_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- begin rewards -->\nby hand\n<!-- end rewards -->\n")
    monkeypatch.setattr(readme, "PAGES", {page: {"rewards": readme.render_rewards}})
    assert readme.main(readme.Config(check=True)) == 1
    assert "by hand" in page.read_text()
    assert readme.main(readme.Config()) == 0
    assert readme.main(readme.Config(check=True)) == 0
