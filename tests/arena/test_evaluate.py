"""`python -m agents evaluate`: one player and each of the others alone against the other, or a sequential test."""

import io
import json
import re
from itertools import permutations

import numpy as np
import pytest
from rich.console import Console

from agents.__main__ import VERBS
from agents.adapters import from_policy
from agents.arena import matches
from agents.arena.blocks import play_blocks as play
from agents.arena.evaluate import Config
from agents.arena.report import build_pair_tables
from agents.policy_file import save_policy
from agents.tools.command import run_verb
from felicity_env.game import NUM_ACTIONS, Setup
from felicity_env.observation import OBS_SIZE
from felicity_env.setups import STANDARD_PLAYERS, find_setup, standard_setup

FAST = ["--num-players", "3", "--num-deals", "4", "--workers", "1"]


def evaluate(*words: str) -> int:
    return run_verb("agents", VERBS, ["evaluate", *words])


def test_both_formats_are_measured_and_written(tmp_path, capsys):
    out = tmp_path / "out"
    assert evaluate("ev", "--against", "random", "anchor", *FAST, "--out", str(out)) == 0
    content = json.loads((out / "result.json").read_text())
    pairs = [(pair["setup"], pair["one"], pair["rest"]) for pair in content["results"]["pairs"]]
    names = [("ev", "random"), ("random", "ev"), ("ev", "anchor"), ("anchor", "ev")]
    assert pairs == [("standard-3", *pair) for pair in names]
    assert content["config"]["player"] == "ev"
    assert "2 x random" in capsys.readouterr().out


def test_a_table_for_each_setup_says_how_many_deals_were_played_in_it(capsys):
    words = ["ev", "--against", "random", "--num-deals", "4", "--workers", "1", "--num-players"]
    assert evaluate(*words, "3", "4") == 0
    printed = capsys.readouterr().out
    for setup, num_others in (("standard-3", 2), ("standard-4", 3)):
        assert printed.count(f"95 % interval, 4 deals, {setup}") == 1
        assert printed.count(f"{num_others} x random") == printed.count(f"{num_others} x ev") == 1


def test_the_longest_names_and_numbers_fit_into_eighty_columns():
    codes = ("net:runs/a-name-of-many-letters", "net+search:20,milliseconds=50")
    share = {"value": 0.333, "low": 0.3, "high": 0.36, "blocks": 500}
    where = {"setup": "standard-5", "num_players": 5, "par": 0.2}
    measures = {"win_share": share, "margin": {"value": -122.3}}
    pairs = [{**where, "one": one, "rest": rest, "measures": measures} for one, rest in permutations(codes)]
    out = io.StringIO()
    Console(file=out, width=80).print(build_pair_tables(pairs))
    rows = [line.strip() for line in out.getvalue().splitlines() if "x net" in line]
    assert [row.split()[:4] for row in rows] == [
        ["net:a-na…letters", "4", "x", "net+sear…onds=50"],
        ["net+sear…onds=50", "4", "x", "net:a-na…letters"],
    ]


def test_a_number_of_players_named_twice_is_measured_once(capsys):
    assert evaluate("ev", "--against", "random", "--num-players", "3", "3", "--num-deals", "2", "--workers", "1") == 0
    assert capsys.readouterr().out.count("2 x random") == 1


def test_an_opponent_named_twice_is_measured_once(capsys):
    words = ["--against", "random", "random", "ev", "--num-players", "3", "--num-deals", "2", "--workers", "1"]
    assert evaluate("ev", *words) == 0
    assert capsys.readouterr().out.count("2 x random") == 1


def test_a_damaged_part_is_named_and_once_deleted_played_again(tmp_path, capsys):
    words = ["ev", "--against", "random", *FAST, "--out", str(tmp_path / "out")]
    assert evaluate(*words) == 0
    first = (tmp_path / "out" / "result.json").read_text()
    part = next(tmp_path.rglob("*.npz"))
    for damage in (b"", part.read_bytes()[:-50]):
        part.write_bytes(damage)
        assert evaluate(*words) == 2
        assert f"{part} is damaged" in capsys.readouterr().err
    part.unlink()
    assert evaluate(*words) == 0
    assert json.loads((tmp_path / "out" / "result.json").read_text())["results"] == json.loads(first)["results"]


def test_the_result_of_another_command_stays_and_other_settings_are_named(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    assert evaluate("ev", "--against", "random", *FAST, *out) == 0
    before = (tmp_path / "out" / "result.json").read_bytes()
    assert run_verb("agents", VERBS, ["tournament", "--players", "ev", "random", *FAST, *out]) == 2
    assert "result.json is the result of `python -m agents evaluate" in capsys.readouterr().err
    assert (tmp_path / "out" / "result.json").read_bytes() == before
    assert evaluate("ev", "--against", "random", *FAST, *out) == 0
    assert not capsys.readouterr().err
    assert evaluate("ev", "--against", "anchor", *FAST, *out) == 0
    assert "result.json will be replaced: it had other settings (against)" in capsys.readouterr().err


def make_cheat():
    """Make a player that places a card also in auctions."""
    return from_policy(lambda observation, mask: 0)


def test_illegal_actions_are_reported(capsys):
    code = f"{__name__}:make_cheat"
    assert evaluate(code, "--against", "random", *FAST) == 0
    assert f"({code}) forfeited 24 of its 24 games by an illegal action; the first:\n" in capsys.readouterr().err


def test_without_a_folder_nothing_is_left_and_that_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert evaluate("random", "--against", "pass", *FAST) == 0
    assert not list(tmp_path.iterdir())
    assert "nothing is stored; --out FOLDER writes result.json" in capsys.readouterr().out


def test_a_policy_is_measured_where_it_was_trained_unless_options_say_otherwise(tmp_path):
    layers = [(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.zeros(NUM_ACTIONS, np.float32))]
    trained = (find_setup("standard-5"), Setup(seats=3, mouse_cards=(1, 3), bank=9, rounds=4), find_setup("small-2"))
    save_policy(tmp_path, layers, open_mice=False, activation="tanh", setups=trained)
    weights = tmp_path / "policy.safetensors"
    for player in (str(tmp_path), f"net:{tmp_path}", str(weights), f"net:{weights}"):
        assert Config(player=player).setups == trained
        assert Config(player=player, num_players=(3,)).setups == (standard_setup(3),)
        assert Config(player=player, setup=("tiny-2",)).setups == (find_setup("tiny-2"),)
    save_policy(tmp_path, layers, open_mice=False, activation="tanh")
    standard = tuple(map(standard_setup, STANDARD_PLAYERS))
    assert Config(player="ev").setups == Config(player=str(tmp_path)).setups == standard


def test_a_policy_on_a_setup_on_which_it_was_not_trained_is_named(tmp_path, capsys):
    layers = [(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.zeros(NUM_ACTIONS, np.float32))]
    save_policy(tmp_path / "run", layers, open_mice=False, activation="tanh", setups=["standard-4"])
    code, warning = f"net:{tmp_path / 'run'}", r"net:run \(net:.*run\) was not trained on standard-3 and may play badly"
    assert evaluate("random", "--against", code, *FAST[2:], "--num-players", "3", "4") == 0
    assert re.search(warning, capsys.readouterr().err)
    words = ["--players", "random", code, "--num-deals", "2", "--mixed-deals", "0", "--out", str(tmp_path / "out")]
    assert run_verb("agents", VERBS, ["tournament", *words, "--num-players", "3"]) == 0
    assert re.search(warning, capsys.readouterr().err)


@pytest.mark.compiled("hundreds of games")
def test_the_sequential_test_finds_the_stronger_and_stops_early(tmp_path):
    out = tmp_path / "out"
    words = ["--num-players", "3", "--num-deals", "400", "--sequential", "0.1", "--out", str(out)]
    assert evaluate("anchor", "--against", "random", "ev", *words) == 0
    random, ev = json.loads((out / "sequential.json").read_text())["results"]["sequential"]
    assert (random["verdict"], ev["verdict"]) == ("stronger", "not stronger")
    assert random["setup"] == "standard-3"
    assert random["blocks"] < 100


SEQUENTIAL = ["--setup", "tiny-2", "--num-deals", "20", "--sequential", "0.02"]


def test_the_sequential_test_shows_how_far_it_is_and_reports_forfeits(tmp_path, capsys):
    code, out = f"{__name__}:make_cheat", tmp_path / "out"
    assert evaluate(code, "--against", "random", *SEQUENTIAL, "--out", str(out)) == 0
    printed = capsys.readouterr()
    assert "20/20 deals against random, tiny-2" in printed.out
    assert f"({code}) forfeited 80 of its 80 games by an illegal action; the first:\n" in printed.err
    assert json.loads((out / "sequential.json").read_text())["results"]["forfeits"][0]["games"] == 80


def test_the_sequential_test_limits_the_time_of_a_decision(monkeypatch):
    asked = []
    monkeypatch.setattr(matches, "play_blocks", lambda *args, seconds, **kw: asked.append(seconds) or play(*args, **kw))
    assert evaluate("pass", "--against", "random", *SEQUENTIAL, "--seconds-a-decision", "7") == 0
    assert set(asked) == {7.0}


def make_broken():
    """Make a player that raises an error."""
    return from_policy(lambda observation, mask: 1 // 0)


def test_a_player_that_fails_in_a_sequential_test_is_named_once_and_left_out(capsys):
    code = f"{__name__}:make_broken"
    assert evaluate("pass", "--against", code, "random", *SEQUENTIAL, "--setup", "tiny-2", "standard-3") == 1
    printed = capsys.readouterr()
    assert printed.err.count(f"({code}) failed and is left out: ZeroDivisionError") == 1
    assert printed.out.count("pass is not") == 2


@pytest.mark.parametrize("words", [["--ray", "local"], ["--fresh"], ["--workers", "77"]])
def test_options_without_effect_on_a_sequential_test_are_refused(words, capsys):
    assert evaluate("ev", "--against", "random", *SEQUENTIAL, *words) == 2
    assert f"--sequential plays everything anew in one process: leave out {words[0]}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["anchr"], "anchor"),
        (["ev", "--against", "ev"], "another player"),
        (["ev", "--against", "random,anchor"], "separate codes by blanks: random anchor"),
        (["ev", "--num-players", "2"], "--num-players"),
        (["ev", "--setup", "standard-6"], "--setup: no setup 'standard-6'"),
        (["ev", "--num-deals", "0"], "--num-deals"),
        (["ev", "--sequential", "0"], "--sequential must be positive, not 0"),
        (["ev", "--sequential", "-0.1"], "--sequential must be positive, not -0.1"),
        (["ev", "--sequential", "5"], "--sequential must be a gain in win share, less than 1, not 5.0"),
        (["ev", "--seconds-a-decision", "1e20"], "--seconds-a-decision must be positive and at most 86400 (a day)"),
        (["runs/nowhere"], "no player"),
        (["ev", "--against", "agents/net"], "--against: no player 'agents/net' (did you mean 'net:agents/net'?"),
    ],
)
def test_wrong_arguments_are_named(words, message, capsys):
    assert evaluate(*words, *([] if "--num-players" in words else ["--num-players", "3"])) == 2
    assert message in capsys.readouterr().err
