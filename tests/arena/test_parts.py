"""Parts of matches: a file is used only for exactly what it holds; one process at a time; workers end with theirs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.arena.blocks import play_blocks
from agents.arena.parts import Match, Part, arena_digest, list_parts, load_part, open_folder, save_part
from agents.identity import identify_player
from agents.registry import make
from agents.tools.command import run_module
from agents.tools.files import UserError, lock_folder
from felicity_env.random_stream import game_seed
from felicity_env.setups import standard_setup
from tests.support.waiting import wait_until

BOT = """
from agents.compiled import CompiledPlayer
import habit

def make():
    return CompiledPlayer(habit.CODE)
"""


def make_part(folder: Path, *codes: str, deals: int = 2, seed: int = 0) -> Part:
    """Play a match of one part and write its file."""
    match = Match(codes, standard_setup(3))
    identities = {code: identify_player(code) for code in codes}
    (part,) = list_parts({match: deals}, identities, seed=seed, folder=folder, deals_per_part=deals)
    players = [make(code) for code in codes]
    blocks = play_blocks(players, num_deals=deals, seed=game_seed(seed, 3, 0), setup=match.setup)
    save_part(part, blocks)
    return part


def run_tournament(folder: Path, *options: str, players: tuple[str, ...] = ("random", "pass")) -> int:
    sizes = ("--num-players", "3", "--num-deals", "4", "--mixed-deals", "0", "--workers", "1")
    words = ["--players", *players, *sizes, "--out", str(folder), *options]
    return run_module("agents.arena.tournament", "python -m agents tournament", words)


def test_a_part_comes_back_as_it_was_played(tmp_path):
    part = make_part(tmp_path, "ev", "anchor", "anchor")
    again = play_blocks([make("ev"), make("anchor"), make("anchor")], num_deals=2, seed=game_seed(0, 3, 0))
    loaded = load_part(part)
    assert all(np.array_equal(loaded.measures[name], values) for name, values in again.measures.items())
    assert loaded.rounds.tobytes() == again.rounds.tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"match": Match(("anchor", "ev", "ev"), standard_setup(3))}, "players"),
        ({"match": Match(("ev", "anchor", "anchor"), standard_setup(4))}, "setup"),
        ({"first": 2, "last": 4}, "deals"),
        ({"seed": 1}, "seed"),
        ({"digests": ("00000000", "11111111", "11111111")}, "players"),
        ({"code": "0" * 16}, "code of the rules"),
    ],
)
def test_a_file_under_the_name_of_another_part_is_refused(change, message, tmp_path):
    part = make_part(tmp_path, "ev", "anchor", "anchor")
    with pytest.raises(UserError, match=f"other settings .*{message}.*delete it") as error:
        load_part(part._replace(**change))
    assert str(part.path) in str(error.value)


def test_damaged_files_are_refused_with_their_name_and_a_cure(tmp_path):
    part = make_part(tmp_path, "ev", "anchor", "anchor")
    whole, rng = part.path.read_bytes(), np.random.default_rng(0)
    for trial in range(60):
        content = bytearray(whole)
        if trial % 3 == 0:
            content = content[: rng.integers(len(content))]
        else:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        part.path.write_bytes(bytes(content))
        with pytest.raises(UserError, match="delete it, and the same command plays it again") as error:
            load_part(part)
        assert str(part.path) in str(error.value)
        assert "\n" not in str(error.value)
    part.path.write_bytes(whole)
    load_part(part)


def test_arrays_of_another_shape_are_refused(tmp_path):
    part = make_part(tmp_path, "ev", "anchor", "anchor")
    blocks = load_part(part)
    blocks.measures["win_share"] = blocks.measures["win_share"][:, :2]
    save_part(part, blocks)
    with pytest.raises(UserError, match="its arrays have wrong shapes"):
        load_part(part)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "\x00\xff", "{}", '{"seed": 0}', "[" * 5000])
def test_a_damaged_origin_is_refused_with_its_name(text, tmp_path, capsys):
    (tmp_path / "origin.json").write_text(text)
    assert run_tournament(tmp_path) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert (tmp_path / "origin.json").read_text() == text


def test_fresh_plays_everything_again(tmp_path):
    assert run_tournament(tmp_path) == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert run_tournament(tmp_path) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == before
    assert run_tournament(tmp_path, "--fresh") == 0
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert after.keys() == before.keys()
    assert all(after[path] != time_before for path, time_before in before.items())


def test_fresh_begins_a_folder_of_another_seed_anew_but_touches_nothing_else(tmp_path, capsys):
    assert run_tournament(tmp_path / "one") == 0
    assert run_tournament(tmp_path / "one", "--seed", "5") == 2
    assert "or use --fresh to play everything again" in capsys.readouterr().err
    assert run_tournament(tmp_path / "one", "--seed", "5", "--fresh") == 0
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "thesis.txt").write_text("mine")
    assert run_tournament(tmp_path / "two", "--fresh") == 2
    assert [path.name for path in (tmp_path / "two").iterdir() if path.name != ".lock"] == ["thesis.txt"]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path, capsys):
    file = tmp_path / "notes.md"
    file.write_text("mine")
    assert run_tournament(file) == 2
    assert f"--out must be a folder, but {file} is a file" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_second_tournament_in_the_folder_is_refused_in_a_line(tmp_path, capsys):
    folder = tmp_path / "pool"
    folder.mkdir()
    with lock_folder(folder):
        assert run_tournament(folder) == 2
    assert "another process is at work in" in capsys.readouterr().err
    assert run_tournament(folder) == 0


# --- players of a user ------------------------------------------------------------------------------------------------


def write_bot(folder: Path, habit: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "bot.py").write_text(BOT)
    (folder / "habit.py").write_text(f'CODE = "{habit}"')
    return f"{folder}/bot.py:make"


def identify(folder: Path, code: str) -> tuple[str, str]:
    """Return digest and unseen of a player, as a new process finds them."""
    script = "import sys; from agents.identity import identify_player as find; print(*find(sys.argv[1])[:2], sep='\\n')"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script, code], env=environment, capture_output=True, text=True, check=True
    )
    digest, unseen = done.stdout.split("\n", 1)
    return digest, unseen


def test_a_file_is_a_player_and_an_edited_helper_in_its_folder_makes_it_another(tmp_path):
    code = write_bot(tmp_path / "bots", "ev")
    before, unseen = identify(tmp_path, code)
    assert "files that it reads are not compared" in unseen
    assert identify(tmp_path, code)[0] == before
    write_bot(tmp_path / "bots", "anchor")
    assert identify(tmp_path, code)[0] != before


def test_a_digest_of_its_own_tells_what_cannot_be_seen(tmp_path):
    code = write_bot(tmp_path / "bots", "ev")
    with (tmp_path / "bots" / "bot.py").open("a") as file:
        file.write("    # none\nCompiledPlayer.digest = lambda self: open(__file__ + '.txt').read()\n")
    (tmp_path / "bots" / "bot.py.txt").write_text("one")
    before, unseen = identify(tmp_path, code)
    assert not unseen.strip()
    (tmp_path / "bots" / "bot.py.txt").write_text("two")
    assert identify(tmp_path, code)[0] != before


def test_a_changed_player_is_named_and_only_its_games_are_played_again(tmp_path, capsys, monkeypatch):
    digests = {"random": "aaaaaaaa", "pass": "bbbbbbbb"}
    monkeypatch.setattr(
        "agents.arena.parts.identify_player", lambda code: identify_player(code)._replace(digest=digests[code])
    )
    assert run_tournament(tmp_path) == 0
    first = set(tmp_path.rglob("*.npz"))
    digests["pass"] = "cccccccc"
    assert run_tournament(tmp_path) == 0
    assert "pass has changed since it played here: its games are played again" in capsys.readouterr().err
    assert len(set(tmp_path.rglob("*.npz")) - first) == len(first)


def test_the_folder_knows_who_played_in_it(tmp_path):
    assert run_tournament(tmp_path) == 0
    origin = json.loads((tmp_path / "origin.json").read_text())
    assert origin["players"] == {code: identify_player(code).digest for code in ("random", "pass")}
    assert origin["code of the rules, the arena or a heuristic"] == arena_digest()
    with open_folder(tmp_path, 0, ["ev"], fresh=False, report=print) as identities:
        assert identities == {"ev": identify_player("ev")}


# --- processes --------------------------------------------------------------------------------------------------------


def list_children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


@pytest.mark.linux("processes are listed by ps")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    command = [sys.executable, "-m", "agents", "tournament", "--players", "mc:2000", "ismcts:2000"]
    options = ["--num-players", "3", "--workers", "2", "--out", str(tmp_path / "pool")]
    parent = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(list_children(parent.pid)) == 3)  # two workers and the resource tracker
        children = list_children(parent.pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
