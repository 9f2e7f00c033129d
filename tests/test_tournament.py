"""Tournaments: everybody meets everybody on the same deals, nothing is played twice, a player that fails is told."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents import make
from agents.arena import play_blocks
from agents.estimates import bootstrap
from agents.network import save_policy
from experiments import matches, tournament
from experiments.matches import Match
from felicity_env import NUM_ACTIONS, OBS_SIZE, View, game_seed
from felicity_env.game import PASS
from felicity_env.notation import loads
from tests.helpers import COMPILED

DEALS = 4 if COMPILED else 2


class Breaks:
    """Passes, until its third round begins."""

    def act(self, view: View) -> np.ndarray:
        if (view.states["round_number"] >= 2).any():
            raise RuntimeError("I have had enough")
        return view.action_masks.argmax(axis=1)


class Cheats:
    """Bids a thousand mice when it may bid."""

    def act(self, view: View) -> np.ndarray:
        return np.where(view.action_masks[:, PASS] == 1, PASS + 1000, view.action_masks.argmax(axis=1))


def command(folder: Path, *words: str, players: str = "random anchor", deals: int = DEALS) -> list[str]:
    fast = ["--num-players", "3", "--deals", str(deals), "--deals-a-part", "2", "--workers", "1", "--mixed-deals", "0"]
    return ["--players", *players.split(), *fast, "--out", str(folder), *words]


def results(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())["results"]


def parts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.npz"))}


def test_a_tournament_leaves_results_a_report_and_plots(tmp_path):
    assert tournament.cli(command(tmp_path, "--mixed-deals", "2", players="random,anchor ev")) == 0
    content = json.loads((tmp_path / "result.json").read_text())
    assert {"command", "config", "commit", "versions", "machine", "seconds", "results"} <= content.keys()
    assert len(content["results"]["pairs"]) == 6
    assert sorted(content["results"]["mixed"]["3"]) == ["anchor", "ev", "random"]
    assert content["results"]["ratings"]["3"]["anchor"]["value"] == 0
    report = (tmp_path / "report.md").read_text()
    for name in ("cross_table", "ratings", "prices", "places", "profits", "passing"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert f"{name}.png" in report
    for code in ("random", "anchor", "ev"):
        assert f"`{code}`" in report


def test_the_shares_are_those_of_the_arena_on_the_same_blocks(tmp_path):
    tournament.cli(command(tmp_path, "--seed", "5"))
    pair = next(pair for pair in results(tmp_path)["pairs"] if pair["one"] == "anchor")
    seating = [make("anchor"), make("random"), make("random")]
    blocks = play_blocks(seating, num_blocks=DEALS, seed=game_seed(5, 3, 0))
    for name in ("win_share", "margin", "profit"):
        assert pair["measures"][name]["value"] == pytest.approx(bootstrap(blocks.mean_of(0, name)).value)
    places = [place["value"] for place in pair["win_share_by_place"]]
    assert places == pytest.approx(blocks.by_place(0).mean(axis=0))


def test_what_is_there_is_not_played_again_and_gives_the_same_results(tmp_path, monkeypatch):
    tournament.cli(command(tmp_path))
    before, files = results(tmp_path), parts(tmp_path)
    next(tmp_path.rglob("*.npz")).unlink()
    played = []
    play_part = matches.play_part
    monkeypatch.setattr(matches, "play_part", lambda part: played.append(part) or play_part(part))
    assert tournament.cli(command(tmp_path)) == 0
    assert len(played) == 1
    assert results(tmp_path) == before
    assert parts(tmp_path).keys() == files.keys()


def test_an_interrupted_tournament_says_so_and_goes_on(tmp_path, monkeypatch, capsys):
    play_part, count = matches.play_part, iter(range(100))

    def interrupted(part):
        if next(count) == 2:
            raise KeyboardInterrupt
        return play_part(part)

    monkeypatch.setattr(matches, "play_part", interrupted)
    assert tournament.cli(command(tmp_path)) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert len(parts(tmp_path)) == 2
    monkeypatch.undo()
    assert tournament.cli(command(tmp_path)) == 0
    tournament.cli(command(tmp_path / "whole"))
    assert results(tmp_path) == results(tmp_path / "whole")


def test_another_player_changes_nobody_elses_games(tmp_path):
    tournament.cli(command(tmp_path / "two"))
    tournament.cli(command(tmp_path / "three", players="pass random anchor"))
    two, three = parts(tmp_path / "two"), parts(tmp_path / "three")
    assert two.items() <= three.items()
    assert len(three) == 3 * len(two)


@pytest.mark.skipif(not COMPILED, reason="processes would run plain Python too, for minutes")
def test_two_processes_play_what_one_plays(tmp_path):
    tournament.cli(command(tmp_path / "one"))
    tournament.cli(command(tmp_path / "two", "--workers", "2"))
    assert results(tmp_path / "one") == results(tmp_path / "two")


def test_a_player_that_raises_is_left_out_and_told_with_its_game(tmp_path, capsys):
    assert tournament.cli(command(tmp_path, players="random anchor tests.test_tournament:Breaks")) == 1
    told = capsys.readouterr().err
    assert "tests.test_tournament:Breaks failed" in told
    assert "I have had enough" in told
    failure = results(tmp_path)["failures"][0]
    assert failure["code"] == "tests.test_tournament:Breaks"
    game = failure["game"].split("\nseat")[0]
    assert [state.round_number for _, state in loads(game).states()][-1] == 2
    assert {(p["one"], p["rest"]) for p in results(tmp_path)["pairs"]} == {("random", "anchor"), ("anchor", "random")}
    assert "I have had enough" in (tmp_path / "report.md").read_text()


def test_an_illegal_answer_forfeits_the_game_and_is_counted(tmp_path):
    assert tournament.cli(command(tmp_path, players="anchor tests.test_tournament:Cheats")) == 0
    alone = next(p for p in results(tmp_path)["pairs"] if p["one"].endswith("Cheats"))
    assert alone["measures"]["forfeits"]["value"] == 1
    assert alone["measures"]["win_share"]["value"] == 0
    assert alone["measures_of_rest"]["win_share"]["value"] == 0.5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--players", "random", "anchr"], "anchor"),
        (["--players", "random"], "two different"),
        (["--players", "random", "random"], "two different"),
        (["--num-players", "6"], "--num-players"),
        (["--deals", "1"], "--deals"),
        (["--search-deals", "-3"], "--search-deals must be at least 2, not -3"),
        (["--workers", "0"], "--workers"),
        (["--seed", "-1"], "--seed"),
        (["--players", "random", "net:nowhere"], "nowhere"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(words, told, tmp_path, capsys):
    assert tournament.cli(command(tmp_path / "new", *words)) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_folder_of_another_seed_or_of_something_else_is_not_touched(tmp_path, capsys):
    tournament.cli(command(tmp_path / "one"))
    before = parts(tmp_path / "one")
    assert tournament.cli(command(tmp_path / "one", "--seed", "9")) == 2
    assert "another seed" in capsys.readouterr().err
    assert parts(tmp_path / "one") == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    assert tournament.cli(command(tmp_path / "other")) == 2
    assert "something else" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["thesis.txt"]


def save_net(folder, seed):
    folder.mkdir(parents=True, exist_ok=True)
    weight = np.random.default_rng(seed).normal(size=(OBS_SIZE, NUM_ACTIONS)).astype(np.float32)
    save_policy(folder, [(weight, np.zeros(NUM_ACTIONS, np.float32))], open_mice=False)


def test_tables_of_different_codes_or_weights_have_different_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_net(tmp_path / "a" / "b", 1)
    save_net(tmp_path / "a_b", 1)
    tables = [("net:a/b", "ev", "ev"), ("net:a_b", "ev", "ev"), ("ev", "net:a/b", "net:a/b"), ("ev", "ev", "net:a/b")]
    assert len({Match(codes).folder for codes in tables}) == len(tables)
    assert all("/" not in Match(codes).folder for codes in tables)
    before = Match.of("net:a_b@greedy", "ev", 3).folder
    save_net(tmp_path / "a_b", 2)
    assert Match.of("net:a_b@greedy", "ev", 3).folder != before
    save_net(tmp_path / "a_b", 1)
    assert Match.of("net:a_b@greedy", "ev", 3).folder == before
