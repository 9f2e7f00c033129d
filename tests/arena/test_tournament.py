"""Tournaments: everybody meets everybody on the same deals, nothing is played twice, and failures are reported."""

import errno
import io
import json
import os
import re
from dataclasses import asdict
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from agents import make
from agents.__main__ import VERBS
from agents.arena import matches
from agents.arena.blocks import play_blocks
from agents.arena.report import build_tournament_tables
from agents.tools.command import run_verb
from felicity_env import Setup, View, game_seed
from felicity_env.game import PASS
from felicity_env.notation import loads
from felicity_env.setups import find_setup, setup_name
from tests.support.helpers import COMPILED

DEALS = 4 if COMPILED else 2


class Breaks:
    """Player that passes until its third round begins."""

    def act(self, view: View) -> np.ndarray:
        if (view.states["round_number"] >= 2).any():
            raise RuntimeError("I have had enough")
        return view.action_masks.argmax(axis=1)


class Cheats:
    """Player that bids a thousand mice when it may bid."""

    def act(self, view: View) -> np.ndarray:
        return np.where(view.action_masks[:, PASS] == 1, PASS + 1000, view.action_masks.argmax(axis=1))


def tournament(folder: Path, *words: str, players: str = "random anchor", setup: str = "standard-3") -> int:
    size = ["--num-deals", str(DEALS), "--mixed-deals", "0", "--deals-per-part", "2", "--workers", "1"]
    options = ["--players", *players.split(), "--setup", setup, *size, "--out", str(folder), *words]
    return run_verb("agents", VERBS, ["tournament", *options])


def results(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())["results"]


def parts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.npz"))}


def test_a_tournament_leaves_results_a_report_and_plots(tmp_path):
    assert tournament(tmp_path, "--mixed-deals", "2", players="random anchor ev") == 0
    content = json.loads((tmp_path / "result.json").read_text())
    assert {"command", "config", "commit", "versions", "machine", "seconds", "results"} <= content.keys()
    assert len(content["results"]["pairs"]) == 6
    assert sorted(content["results"]["mixed"]["standard-3"]) == ["anchor", "ev", "random"]
    assert content["results"]["ratings"]["standard-3"]["anchor"]["value"] == 0
    report = (tmp_path / "report.md").read_text()
    for name in ("cross_table", "ratings", "prices", "positions", "profits", "passing"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert f"{name}.png" in report
    for code in ("random", "anchor", "ev"):
        assert f"`{code}`" in report


def test_the_report_says_with_how_many_deals_searches_are_measured(tmp_path):
    tournament(tmp_path, "--search-deals", "2", players="random mc:1")
    report = (tmp_path / "report.md").read_text()
    assert f"copies of another: {DEALS} deals for each pair (2 with a search or a" in report


def test_the_win_shares_are_those_of_the_arena_on_the_same_blocks(tmp_path):
    tournament(tmp_path, "--seed", "5")
    pair = next(pair for pair in results(tmp_path)["pairs"] if pair["one"] == "anchor")
    seating = [make("anchor"), make("random"), make("random")]
    blocks = play_blocks(seating, num_deals=DEALS, seed=game_seed(5, 3, 0))
    for name in ("win_share", "margin", "profit"):
        assert pair["measures"][name]["value"] == pytest.approx(blocks.block_means(0, name).mean())
    by_position = [estimate["value"] for estimate in pair["win_share_by_position"]]
    assert by_position == pytest.approx(blocks.block_means_by_position(0).mean(axis=0))


def test_what_is_there_is_not_played_again_and_gives_the_same_results(tmp_path, monkeypatch):
    tournament(tmp_path)
    before, files = results(tmp_path), parts(tmp_path)
    next(tmp_path.rglob("*.npz")).unlink()
    played = []
    play_part = matches.play_part
    monkeypatch.setattr(matches, "play_part", lambda part: played.append(part) or play_part(part))
    assert tournament(tmp_path) == 0
    assert len(played) == 1
    assert results(tmp_path) == before
    assert parts(tmp_path).keys() == files.keys()


def test_an_interrupted_tournament_says_so_and_goes_on(tmp_path, monkeypatch, capsys):
    play_part, count = matches.play_part, iter(range(100))

    def interrupt(part):
        if next(count) == 1:
            raise KeyboardInterrupt
        return play_part(part)

    monkeypatch.setattr(matches, "play_part", interrupt)
    assert tournament(tmp_path) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert len(parts(tmp_path)) == 1
    monkeypatch.undo()
    assert tournament(tmp_path) == 0
    tournament(tmp_path / "whole")
    assert results(tmp_path) == results(tmp_path / "whole")


def test_another_player_changes_nobody_elses_games(tmp_path):
    tournament(tmp_path / "two")
    tournament(tmp_path / "three", players="pass random anchor")
    two, three = parts(tmp_path / "two"), parts(tmp_path / "three")
    assert two.items() <= three.items()
    assert len(three) == 3 * len(two)


@pytest.mark.compiled("processes would run plain Python too, for minutes")
def test_two_processes_play_what_one_plays(tmp_path):
    tournament(tmp_path / "one")
    tournament(tmp_path / "two", "--workers", "2")
    assert results(tmp_path / "one") == results(tmp_path / "two")


def test_a_player_that_raises_is_left_out_and_reported_with_its_game(tmp_path, capsys):
    assert tournament(tmp_path, players="random anchor tests.arena.test_tournament:Breaks") == 1
    message = capsys.readouterr().err
    assert "(tests.arena.test_tournament:Breaks) failed" in message
    assert "I have had enough" in message
    failure = results(tmp_path)["failures"][0]
    assert failure["code"] == "tests.arena.test_tournament:Breaks"
    game = failure["game"]
    assert [state.round_number for _, state in loads(game).states()][-1] == 2
    assert {(p["one"], p["rest"]) for p in results(tmp_path)["pairs"]} == {("random", "anchor"), ("anchor", "random")}
    assert "I have had enough" in (tmp_path / "report.md").read_text()


def test_an_illegal_answer_forfeits_the_game_and_is_counted_and_said(tmp_path, capsys):
    assert tournament(tmp_path, players="anchor tests.arena.test_tournament:Cheats") == 0
    alone = next(p for p in results(tmp_path)["pairs"] if p["one"].endswith("Cheats"))
    assert alone["measures"]["forfeits"]["value"] == 1
    assert alone["measures"]["win_share"]["value"] == 0
    assert alone["measures_of_rest"]["win_share"]["value"] == 0.5
    games = 2 * 3 * DEALS  # alone and as two of three, and each in three seat rotations
    said = f" forfeited {games} of its {games} games by an illegal action; the first:"
    assert f"(tests.arena.test_tournament:Cheats){said}" in capsys.readouterr().err
    assert f"(tests.arena.test_tournament:Cheats)`{said}" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--players", "random", "anchr"], "anchor"),
        (["--players", "random"], "two different"),
        (["--players", "random", "random"], "two different"),
        (["--players", "random,anchor", "ev"], "separate codes by blanks: random anchor"),
        (["--setup", "standard-6"], "--setup: no setup 'standard-6'"),
        (["--num-deals", "1"], "--num-deals"),
        (["--search-deals", "-3"], "--search-deals must be at least 2, not -3"),
        (["--workers", "0"], "--workers"),
        (["--seed", "-1"], "--seed"),
        (["--seconds-a-decision", "0"], "--seconds-a-decision must be positive and at most 86400 (a day), not 0.0"),
        (["--players", "random", "net:nowhere"], "nowhere"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(words, message, tmp_path, capsys):
    assert tournament(tmp_path / "new", *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_folder_of_another_seed_or_of_something_else_is_not_touched(tmp_path, capsys):
    tournament(tmp_path / "one")
    before = parts(tmp_path / "one")
    assert tournament(tmp_path / "one", "--seed", "9") == 2
    assert "other settings (seed)" in capsys.readouterr().err
    assert parts(tmp_path / "one") == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    assert tournament(tmp_path / "other") == 2
    assert "is not empty and holds no tournament or evaluation" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("seats", [2, 4])
def test_a_tournament_is_played_on_a_setup_from_a_file(tmp_path, seats):
    setup = Setup(seats=seats, mouse_cards=(1, 5, 7)[: seats - 1], bank=30, rounds=5)
    path = tmp_path / "setup.json"
    path.write_text(json.dumps(asdict(setup)))
    players = "random anchor ev pass"
    assert tournament(tmp_path / "out", "--mixed-deals", "2", players=players, setup=str(path)) == 0
    content = results(tmp_path / "out")
    name = setup_name(setup)
    assert {(pair["setup"], pair["num_players"]) for pair in content["pairs"]} == {(name, seats)}
    assert list(content["ratings"]) == [name]
    assert len(content["pairs"]) == 12
    assert bool(content["mixed"][name]) == (seats > 2)
    assert name in (tmp_path / "out" / "report.md").read_text()
    assert sum(pair["measures"]["win_share"]["value"] for pair in content["pairs"]) > 0


def test_two_setups_with_the_same_number_of_players_are_kept_apart(tmp_path):
    path = tmp_path / "setup.json"
    path.write_text(json.dumps({"seats": 3, "mouse_cards": [1, 5], "bank": 21, "dummy": True}))
    assert tournament(tmp_path / "out", "--setup", "standard-3", str(path)) == 0
    ratings = results(tmp_path / "out")["ratings"]
    assert [name.split("-")[0] for name in ratings] == ["standard", "custom"]
    standard, custom = ratings.values()
    assert standard["random"] != custom["random"]
    report = (tmp_path / "out" / "report.md").read_text()
    assert re.findall(r"Setup: `(.*)`", report) == [json.dumps(asdict(find_setup(path)))]
    assert tournament(tmp_path / "one") == 0
    assert results(tmp_path / "one")["ratings"]["standard-3"] == standard


@pytest.mark.parametrize(
    ("code", "heading"),
    [("p{}", ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]), ("net:a-long-name-{}", list("12345678"))],
)
def test_a_cross_table_of_eight_players_fits_into_eighty_columns(code, heading):
    codes = [code.format(k) for k in range(8)]
    estimate = {"value": 0.25, "low": 0.0, "high": 1.0}
    where = {"setup": "standard-4", "num_players": 4, "par": 0.25}
    pairs = [{**where, "one": a, "rest": b, "measures": {"win_share": estimate}} for a, b in permutations(codes, 2)]
    out = io.StringIO()
    for part in build_tournament_tables({"ratings": {"standard-4": dict.fromkeys(codes, estimate)}, "pairs": pairs}):
        Console(file=out, width=80).print(part)
    table = [line.split() for line in out.getvalue().split("copies of another")[1].splitlines() if line.strip()]
    assert table[1] == heading
    assert [len([word for word in row if word == "0.250"]) for row in table[3:]] == [7] * 8


@pytest.mark.parametrize("name", ["report.md", "ratings.png"])
def test_a_file_that_cannot_be_written_is_named_and_the_one_before_is_unchanged(name, tmp_path, monkeypatch, capsys):
    assert tournament(tmp_path) == 0
    before, replace = (tmp_path / name).read_bytes(), os.replace

    def fill_the_disk(source: Path, target: Path) -> None:
        if target.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("agents.tools.files.os.replace", fill_the_disk)
    assert tournament(tmp_path) == 2
    message = f"cannot write {tmp_path / name}: the disk is full; the file that was there is unchanged"
    assert message in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == before


def test_each_player_is_compared_with_the_one_rated_next_below_it(tmp_path):
    tournament(tmp_path, players="anchor pass ev random", setup="standard-3")
    found = results(tmp_path)
    ratings = found["ratings"]["standard-3"]
    ranked = sorted(ratings, key=lambda code: ratings[code]["value"])
    neighbours = {(row["weaker"], row["stronger"]) for row in found["paired"]}
    assert neighbours == set(pairwise(ranked))
    assert {ranked[2], ranked[3]} == {"anchor", "ev"}


def test_where_too_many_players_fail_there_are_no_ratings(tmp_path):
    assert tournament(tmp_path, players=f"anchor {__name__}:Breaks") == 1
    assert results(tmp_path)["ratings"] == {}
    assert "I have had enough" in (tmp_path / "report.md").read_text()
