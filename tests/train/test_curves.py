"""`python -m train curves`: the learning curves of runs in one picture, and a table of their last points."""

import json
from pathlib import Path

import pytest

from tests.support.training import train
from train.curves import find_panels, name_runs, read_curve


def make_point(timesteps: int, **values: float) -> dict:
    win_share = {code: {"value": v, "low": v - 0.1, "high": v + 0.1, "blocks": 9} for code, v in values.items()}
    result = {"setup": "standard-4", "num_players": 4, "par": 0.25, "win_share": win_share}
    return {"timesteps": timesteps, "seconds": timesteps / 1000, "results": [result]}


@pytest.fixture
def runs(tmp_path) -> list[Path]:
    folders = [tmp_path / "one", tmp_path / "two"]
    curves = [make_point(0, ev=0.1, anchor=0.2), make_point(60_000, ev=0.5, anchor=0.3)], [make_point(0, ev=0.2)]
    for folder, curve in zip(folders, curves, strict=True):
        folder.mkdir()
        (folder / "learning_curve.json").write_text(json.dumps(curve))
    return folders


@pytest.mark.parametrize("name", ["picture.png", "new/picture.svg"])
def test_runs_are_compared_where_all_of_them_were_measured(runs, name, tmp_path):
    outcome = train("curves", *runs, "--out", tmp_path / name)
    assert outcome.status == 0, outcome.errors
    for row in (
        "one 60,000 ev 0.500 (0.400 to 0.600)",
        "two 0 ev 0.200 (0.100 to 0.300)",
    ):
        assert row in outcome.output
    assert "anchor" not in outcome.output
    assert (tmp_path / name).stat().st_size > 1000


def test_opponents_can_be_chosen(runs):
    curve = read_curve(runs[0])
    assert find_panels({"one": curve}) == [("standard-4", "ev"), ("standard-4", "anchor")]
    assert find_panels({"one": curve}, ["anchor"]) == [("standard-4", "anchor")]


def test_runs_with_the_same_name_have_their_whole_paths():
    paths = [Path("a/run"), Path("b/run"), Path("b/other")]
    assert list(name_runs(paths)) == ["a/run", "b/run", "other"]


def test_folders_without_a_curve_are_named_and_left_out(runs, monkeypatch):
    monkeypatch.chdir(runs[0].parent)
    Path("tournament").mkdir()
    outcome = train("curves", "*", "--out", "picture.png")
    assert outcome.status == 0, outcome.errors
    assert "without a learning curve: tournament" in outcome.output
    assert Path("picture.png").exists()
    alone = train("curves", "tournament")
    assert alone.status == 2
    assert "tournament has no learning curve" in alone.errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["one", "two", "--against", "anchor"],
            "standard-4 against anchor two: standard-4 against ev",
        ),
        (["one", "nowhere"], "nowhere has no learning curve: there is no file"),
        (["none*"], "no file or folder matches 'none*'"),
        (["damaged"], "learning_curve.json is damaged"),
        (["one", "one"], "name each run once"),
        ([], "name at least one run folder"),
        (["one", "--out", "film.gif"], "--out must end in .png, .svg or .pdf, not film.gif"),
    ],
)
def test_what_cannot_be_compared_is_named(runs, words, message, monkeypatch):
    monkeypatch.chdir(runs[0].parent)
    Path("damaged").mkdir()
    Path("damaged/learning_curve.json").write_text("[]")
    outcome = train("curves", *words)
    assert outcome.status == 2
    assert message in outcome.errors
    assert not list(Path().rglob("*.png"))
