"""The pages: their examples run, their commands exist, and their tables are what code and stored results say."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agents.__main__ import VERBS
from experiments.pages import render
from experiments.pages.strength_tables import compare_probe, read_exploits
from experiments.pages.training_tables import find_goal, fit_power_law
from experiments.questions import QUESTIONS
from felicity_env import SETUPS, Setup
from train import curves
from train.__main__ import CURVES
from train.algorithms import ALGORITHMS, DEFAULT, load_trainer

TEXT = render.README.read_text()
PAGES = sorted({*render.PAGES, *render.DOCS.rglob("*.md"), render.ROOT / "CHANGELOG.md"})
EXAMPLES = [
    pytest.param(example, id=f"{page.parent.name}-{page.stem}-{number}")
    for page in PAGES
    if page.name != "gpu.md"  # its examples run in tests/cuda
    for number, example in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.compiled("many games")
@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs_as_written(example, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that it writes
    exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert ("print" in example) == bool(capsys.readouterr().out)


def list_commands() -> list[tuple[str, str]]:
    """Return module and arguments of every command of the project that stands in a block of a page."""
    blocks = [block for page in PAGES for block in re.findall(r"```bash\n(.*?)```", page.read_text(), re.DOTALL)]
    lines = "".join(blocks).splitlines()
    found = [re.search(r"python -m (agents|train|experiments) ?([^#&]*)", line) for line in lines]
    return sorted({(command[1], command[2].strip()) for command in found if command})


@pytest.mark.parametrize(("module", "arguments"), list_commands(), ids=lambda text: text)
def test_command_and_its_options_exist(module: str, arguments: str) -> None:
    words = arguments.split()
    verb = words[0] if words and not words[0].startswith("-") else ""
    if (module, verb) == ("train", CURVES):
        config: type = curves.Config
    elif module == "train":
        assert not verb or verb in ALGORITHMS
        config = load_trainer(verb or DEFAULT).config_class
    else:
        config = import_module((VERBS if module == "agents" else QUESTIONS)[verb].module).Config
    options = {f"--{field.name.replace('_', '-')}" for field in fields(config)} | {"--help"}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_readme_fits_on_few_screens_and_shows_a_picture_at_once() -> None:
    lines = TEXT.splitlines()
    assert len(lines) <= 170
    assert any(line.startswith("![") and "position.svg" in line for line in lines[:40])


def test_the_picture_is_as_drawn_now() -> None:
    assert render.PICTURE.read_text() == render.render_picture()


@pytest.mark.parametrize("page", render.PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_rendered_parts_are_up_to_date(page: Path) -> None:
    assert render.render(page, page.read_text()) == page.read_text()


def test_one_more_setup_changes_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETUPS, "gentle", Setup(seats=4, mouse_cards=(1, 3, 6), bank=27))
    page = render.REFERENCE / "README.md"
    assert render.render(page, page.read_text()) == page.read_text()


def test_a_probe_is_compared_with_long_responses_to_the_same_weights_only() -> None:
    short = {"value": 0.1}
    long = next(stored["results"] for stored in read_exploits() if stored["config"]["target"] == "net-1")
    rows = [{"target": "net-1", "weights": weights, "probe": short} for weights in (long["weights"], "others")]
    compared = compare_probe({"config": {"total_timesteps": 1}, "results": {"setup": long["setup"], "rows": rows}})
    assert compared == [("net-1", short, long["gain"]), ("net-1", short, None)]


def test_a_readme_without_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for 'standings'"):
        render.render(render.README, TEXT.replace("<!-- begin standings -->", ""))


def links() -> list[tuple[Path, str]]:
    pages = {page: page.read_text() for page in PAGES}
    return sorted({(page, target) for page, text in pages.items() for target in re.findall(r"\]\(([^)#:]+)\)", text)})


@pytest.mark.parametrize(("page", "target"), links(), ids=str)
def test_link_leads_somewhere(page: Path, target: str) -> None:
    assert (page.parent / target).exists()


def test_the_check_fails_on_a_page_that_is_not_as_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    page.write_text("<!-- begin rewards -->\nby hand\n<!-- end rewards -->\n")
    monkeypatch.setattr(render, "PAGES", {page: {"rewards": render.render_rewards}})
    assert render.main(render.Config(check=True)) == 1
    assert "by hand" in page.read_text()
    assert render.main(render.Config()) == 0
    assert render.main(render.Config(check=True)) == 0


def make_curve(*win_shares: float) -> list[dict[str, Any]]:
    """Return a learning curve against `ev`, with a point every 100 decisions, which take 10 s."""
    return [
        {"timesteps": 100 * number, "seconds": 10 * number, "results": [{"win_share": {"ev": {"value": value}}}]}
        for number, value in enumerate(win_shares)
    ]


def test_a_run_reaches_its_goal_between_two_points_of_its_curve():
    assert find_goal(make_curve(0.1, 0.6, 0.8, 0.9, 0.5, 0.9)) == pytest.approx((150, 15))
    assert find_goal(make_curve(0.1, 0.6)) is None


def test_gains_that_halve_when_decisions_double_have_the_exponent_minus_one():
    points = [{"timesteps": timesteps, "gain": {"value": 60 / timesteps}} for timesteps in (10, 20, 40)]
    assert fit_power_law(points) == pytest.approx(-1)
