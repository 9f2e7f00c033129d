"""`python -m experiments.evaluate`: both formats against each of the others, or a test that stops when it knows."""

import json

import pytest

from agents.adapters import from_policy
from experiments import evaluate
from tests.helpers import COMPILED

FAST = ["--num-players", "3", "--deals", "4", "--workers", "1"]


def test_both_formats_are_measured_and_written(tmp_path, capsys):
    out = tmp_path / "out"
    assert evaluate.cli(["ev", "--against", "random,anchor", *FAST, "--out", str(out)]) == 0
    content = json.loads((out / "result.json").read_text())
    pairs = [(pair["one"], pair["rest"]) for pair in content["results"]["pairs"]]
    assert pairs == [("ev", "random"), ("random", "ev"), ("ev", "anchor"), ("anchor", "ev")]
    assert content["config"]["player"] == "ev"
    assert "2 x random" in capsys.readouterr().out


def test_a_number_of_players_named_twice_is_measured_once(capsys):
    assert evaluate.cli(["ev", "--against", "random", "--num-players", "3", "3", "--deals", "2", "--workers", "1"]) == 0
    assert capsys.readouterr().out.count("2 x random") == 1


def test_a_damaged_part_is_named_and_once_deleted_played_again(tmp_path, capsys):
    words = ["ev", "--against", "random", *FAST, "--out", str(tmp_path / "out")]
    assert evaluate.cli(words) == 0
    first = (tmp_path / "out" / "result.json").read_text()
    part = next(tmp_path.rglob("*.npz"))
    for damage in (b"", part.read_bytes()[:-50]):
        part.write_bytes(damage)
        assert evaluate.cli(words) == 2
        assert f"{part} is damaged" in capsys.readouterr().err
    part.unlink()
    assert evaluate.cli(words) == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text())["results"] == json.loads(first)["results"]


def always_lays_its_first_card():
    """A player that does so in auctions too."""
    return from_policy(lambda observation, mask: 0)


def test_illegal_answers_are_told(capsys):
    code = f"{__name__}:always_lays_its_first_card"
    assert evaluate.cli([code, "--against", "random", *FAST]) == 0
    assert f"{code} lost 100.0% of its games against 2 x random by an illegal action" in capsys.readouterr().err


def test_without_a_folder_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert evaluate.cli(["random", "--against", "pass", *FAST]) == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not COMPILED, reason="hundreds of games")
def test_the_sequential_test_tells_the_stronger_and_stops_early(tmp_path):
    out = tmp_path / "out"
    words = ["--num-players", "3", "--deals", "400", "--sequential", "0.1", "--out", str(out)]
    assert evaluate.cli(["anchor", "--against", "random", "ev", *words]) == 0
    random, ev = json.loads((out / "sequential.json").read_text())["results"]["sequential"]
    assert (random["verdict"], ev["verdict"]) == ("stronger", "not stronger")
    assert random["blocks"] < 100


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["anchr"], "anchor"),
        (["ev", "--against", "ev"], "another player"),
        (["ev", "--num-players", "2"], "--num-players"),
        (["ev", "--deals", "0"], "--deals"),
        (["ev", "--sequential", "0"], "gain"),
        (["runs/nowhere"], "no player"),
        (["net@greedy"], "did you mean 'net:@greedy'?"),
        (["ev", "--against", "agents/net"], "did you mean 'net:agents/net'?"),
    ],
)
def test_wrong_arguments_are_named(words, told, capsys):
    assert evaluate.cli([*words, *([] if "--num-players" in words else ["--num-players", "3"])]) == 2
    assert told in capsys.readouterr().err
