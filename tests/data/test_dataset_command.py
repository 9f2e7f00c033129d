"""Commands that play games as data and export them."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import agents.data.dataset as command
from agents.__main__ import VERBS
from agents.data.export import list_rows
from agents.data.minari_export import create_env, list_episodes
from agents.data.play import play_games
from agents.tools.command import run_verb
from felicity_env import notation
from felicity_env.dataset import Dataset
from felicity_env.game import PASS
from felicity_env.gymnasium_env import SeatEnv
from felicity_env.mask_wrapper import MaskInObservation
from felicity_env.setups import find_setup
from tests.support.datasets import assert_equal
from tests.support.paths import ROOT

pytestmark = pytest.mark.compiled("many games; the functions that are called run in tests/env/test_dataset.py")


def run(*words: object) -> int:
    return run_verb("agents", VERBS, list(map(str, words)))


@pytest.fixture
def stored(tmp_path):
    games = play_games(["ev", "anchor"], find_setup("standard-3"), range(30), seed=7)
    games.save(tmp_path / "games.npz")
    return tmp_path / "games.npz"


# --- dataset ----------------------------------------------------------------------------------------------------------


def test_the_command_writes_the_games_of_its_settings(tmp_path, capsys):
    out = tmp_path / "games.npz"
    words = ("--players", "ev", "anchor", "--num-players", 3, "--num-games", 50, "--seed", 7, "--out", out)
    assert run("dataset", *words) == 0
    assert "50 games with" in capsys.readouterr().out
    assert_equal(Dataset.load(out), play_games(["ev", "anchor"], find_setup("standard-3"), range(50), seed=7))
    assert [path.name for path in tmp_path.glob("*.npz")] == ["games.npz"]
    assert run("dataset", *words) == 2
    assert "games.npz exists; choose another file" in capsys.readouterr().err


def test_an_interrupted_command_goes_on(tmp_path, monkeypatch, capsys):
    words = ("--num-games", 40, "--out", tmp_path / "games.npz")
    monkeypatch.setattr(command, "GAMES_A_PART", 15)
    play, calls = command.play_games, []

    def stop_at_the_second(*args, **options):
        calls.append(args[2])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return play(*args, **options)

    monkeypatch.setattr(command, "play_games", stop_at_the_second)
    assert run("dataset", *words) == 130
    assert len(Dataset.load(tmp_path / "games.unfinished.npz")) == 15
    assert run("dataset", *words, "--seed", 1) == 2
    assert "has games of another command (seed)" in capsys.readouterr().err
    assert run("dataset", *words, "--players", "anchor") == 2
    assert "has games of another command (players)" in capsys.readouterr().err
    assert run("dataset", *words) == 0
    assert calls[2:] == [range(15, 30), range(30, 40)]
    assert_equal(Dataset.load(tmp_path / "games.npz"), play(["ev"], find_setup("standard-4"), range(40), seed=0))
    assert not (tmp_path / "games.unfinished.npz").exists()


def test_what_a_search_has_played_is_kept_after_a_few_games(tmp_path, monkeypatch):
    whole = play_games(["mc:2", "net"], find_setup("standard-3"), range(9), seed=0)
    monkeypatch.setattr(command, "GAMES_A_SLOW_PART", 4)
    play, sizes = command.play_games, []
    monkeypatch.setattr(
        command, "play_games", lambda *args, **options: sizes.append(len(args[2])) or play(*args, **options)
    )
    words = ("--players", "mc:2", "net", "--num-players", 3, "--num-games", 9, "--out", tmp_path / "games.npz")
    assert run("dataset", *words) == 0
    assert sizes == [4, 4, 1]
    assert_equal(Dataset.load(tmp_path / "games.npz"), whole)


def test_a_resumed_command_says_which_players_may_have_changed_unseen(tmp_path, capsys):
    code = "tests.support.arena_players:FirstLegal"
    play_games([code], find_setup("standard-4"), range(3), seed=0).save(tmp_path / "games.unfinished.npz")
    assert run("dataset", "--players", code, "--num-games", 5, "--out", tmp_path / "games.npz") == 0
    said = (
        f"{code}: its code is as before; files that it reads are not compared, unless it has a method digest(); delete"
    )
    assert said in capsys.readouterr().err


def test_games_without_probabilities_are_not_joined_to_games_with_them(tmp_path, capsys):
    games = play_games(["net"], find_setup("standard-4"), range(3), seed=0)
    games.save(tmp_path / "games.unfinished.npz")
    words = ("--players", "net", "--num-games", 5, "--out", tmp_path / "games.npz")
    assert run("dataset", *words, "--no-probabilities") == 2
    assert "has games of another command (probabilities)" in capsys.readouterr().err
    assert run("dataset", *words) == 0


def test_a_signal_to_end_saves_the_games_so_far(tmp_path):
    words = ["dataset", "--players", "mc:30", "--num-games", "100000", "--out", str(tmp_path / "games.npz")]
    slow = "import agents.data.dataset as d; d.GAMES_A_SLOW_PART = 1; d.SAVE_EVERY = 0"
    # a shell lets processes in the background ignore Ctrl-C
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{hear}; {slow}; import sys; from agents.__main__ import VERBS; from agents.tools.command import run_verb"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{code}; sys.exit(run_verb('agents', VERBS, {words}))"], cwd=ROOT
    )
    for _ in range(1200):
        if (tmp_path / "games.unfinished.npz").exists():
            break
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    assert len(Dataset.load(tmp_path / "games.unfinished.npz")) >= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--players", "evv"], "--players: no player 'evv'"),
        (["--out", "games.zip"], "--out must end in .npz"),
        (["--num-games", "0"], "--num-games must be at least 1"),
        (["--seed", str(2**63)], "--seed must be at most"),
    ],
)
def test_wrong_settings_are_refused(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run("dataset", *words) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")
    assert not list(tmp_path.iterdir())


# --- export -----------------------------------------------------------------------------------------------------------


def test_json_lines_have_a_game_in_each_line(stored, tmp_path):
    assert run("export", stored, "--out", tmp_path / "games.jsonl", "--notation") == 0
    games = Dataset.load(stored)
    rows = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text().splitlines()]
    assert len(rows) == 30
    for index, row in enumerate(rows):
        game = games.game(index)
        assert notation.loads(row["notation"]) == game
        assert row["actions"] == list(game.actions)
        assert (row["setup"], row["rules_version"], row["seed"]) == ("standard-3", 1, int(games.seeds[index]))
        assert row["players"] == [games.players[k] for k in games.seating[index]]
        assert row["scores"] == games.scores[index].tolist()
        assert "probabilities" not in row


def test_parquet_has_the_same_columns(stored, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("export", stored, "--out", tmp_path / "games.parquet", "--part", "train") == 0
    expected = list(list_rows(Dataset.load(stored).split("train"), notation=False))
    rows = parquet.read_table(tmp_path / "games.parquet").to_pylist()
    assert rows == json.loads(json.dumps(expected))


def test_probabilities_are_numbers_or_null():
    games = play_games(["net", "ev"], find_setup("standard-3"), range(3), seed=1)
    for row in list_rows(games, notation=False):
        known = [value is not None for value in row["probabilities"]]
        assert len(known) == len(row["actions"])
        assert any(known) == ("net" in row["players"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "games.csv"], "must end in .jsonl or .parquet"),
        (["--out", "games.jsonl", "--part", "dev"], "--part must be train, validation, test"),
        (["--out", "minari:felicity/x-v0", "--seat", "3"], "seat must be None or 0 to 2"),
        (["--out", "minari:!"], "Minari refuses '!'"),
    ],
)
def test_wrong_exports_are_refused(words, message, stored, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    assert run("export", stored, *words) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("out", ["games.jsonl", "games.parquet", "minari:felicity/none-v0"])
def test_an_export_of_no_games_is_refused(out, stored, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    games = Dataset.load(stored)
    monkeypatch.setattr(Dataset, "load", lambda _: games.take(slice(0)))
    assert run("export", stored, "--out", out) == 2
    assert "there are no games in" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["games.npz"]


def test_a_file_that_is_there_is_not_replaced(stored, tmp_path, capsys):
    (tmp_path / "games.jsonl").write_text("mine")
    assert run("export", stored, "--out", tmp_path / "games.jsonl") == 2
    assert "exists; choose another file" in capsys.readouterr().err
    assert (tmp_path / "games.jsonl").read_text() == "mine"


# --- Minari -----------------------------------------------------------------------------------------------------------


def test_episodes_are_those_of_the_gymnasium_environment():
    """The other seats repeat what they did, so the environment must show seat 1 what the episode has."""
    games = play_games(["miser"], find_setup("standard-4"), range(5), seed=2)
    for episode in list_episodes(games, 1):
        env = MaskInObservation(SeatEnv(4, seat=1, opponents="miser"))
        seen, _ = env.reset(options={"deal": vars(games.game(episode["id"]).deal)})
        observations = [seen["observation"]]
        observations += [env.step(int(action))[0]["observation"] for action in episode["actions"]]
        np.testing.assert_array_equal(observations, episode["observations"]["observation"])


def test_only_the_last_step_of_an_episode_ends_it_and_pays():
    games = play_games(["ev"], find_setup("standard-4"), range(5), seed=2)
    for episode in list_episodes(games, 1):
        assert episode["terminations"].sum() == episode["terminations"][-1] == 1
        assert episode["rewards"].sum() == episode["rewards"][-1]
        assert np.flatnonzero(episode["observations"]["action_mask"][-1]).tolist() == [PASS]


def test_a_minari_dataset_of_one_player_gives_its_environment_again(tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    play_games(["ev"], find_setup("standard-4"), range(5), seed=2).save(tmp_path / "games.npz")
    assert run("export", tmp_path / "games.npz", "--out", "minari:felicity/ev-v0", "--seat", 3) == 0
    env = minari.load_dataset("felicity/ev-v0").recover_environment()
    _, info = env.reset(seed=1)
    assert info["seat"] == 3


def test_the_environment_of_a_dataset_starts_no_program_that_the_dataset_names(tmp_path):
    bot = tmp_path / "bot.py"
    bot.write_text("raise SystemExit('it was started')")
    games = replace(play_games(["ev"], find_setup("standard-4"), range(2), seed=2), players=(f"{bot}:make",))
    assert create_env(games, 1).spec is None


def test_a_minari_dataset_has_every_game(stored, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    assert run("export", stored, "--out", "minari:felicity/test-v0", "--seat", "2") == 0
    dataset, games = minari.load_dataset("felicity/test-v0"), Dataset.load(stored)
    assert dataset.total_episodes == 30
    (decisions,) = games.iter_decisions(seat=2)
    assert dataset.total_steps == len(decisions.actions)
    for episode in dataset.iterate_episodes([0, 29]):
        mine = decisions.games == episode.id
        np.testing.assert_array_equal(episode.actions, decisions.actions[mine])
        np.testing.assert_array_equal(episode.observations["observation"][:-1], decisions.observations[mine])
        np.testing.assert_array_equal(episode.rewards[-1], decisions.win_shares[mine][-1])
