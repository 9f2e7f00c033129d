"""Folder of bots: each file and package with a function `make` plays, the others are named and left out."""

import json
from pathlib import Path

import pytest

from agents.__main__ import VERBS
from agents.arena.bots import read_bots
from agents.arena.parts import report_changes
from agents.identity import Identity
from agents.player_names import shorten_codes
from agents.tools.command import run_verb
from tests.support.experiments import save_random_policy

BOT = "import agents\n\ndef make():\n    return agents.make('ev')\n"
FILES = {
    "alice.py": BOT,
    "team-2.py": BOT,
    "carol/__init__.py": "from .inner import make\n",
    "carol/inner.py": BOT,
    "_helpers.py": "1 / 0",
    ".hidden.py": "1 / 0",
    "__init__.py": "1 / 0",
    "notes.txt": "text",
}
BROKEN = {
    "fails.py": ("make = 1 / 0", "ZeroDivisionError: division by zero"),
    "exits.py": ("import sys\nsys.exit()\nfrom sys import path as make", "SystemExit: "),
    "script.py": ("import agents\nmake_one = agents.make\nraise SystemExit", "it has no function make"),
    "wrong.py": ("make = 1", "AttributeError: it has no function make"),
    "typo.py": ("def make(:", "SyntaxError: invalid syntax (typo.py, line 1)"),
    "folder/bot.py": (BOT, "the folder has no __init__.py with a function make, and is not that of a training run"),
    "package/__init__.py": ("from bot import make", "write: from .bot import ...)"),
    "package/bot.py": (BOT, ""),
    "relative.py": ("from ._helpers import make", "without the dot: from helpers import ...)"),
    "object.py": ("def make():\n    return 5", "object.py:make() gave 5, which has no method act(view)"),
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_files_and_packages_are_bots_and_hidden_ones_are_none(tmp_path):
    codes, failures = read_bots(write(tmp_path, FILES))
    assert not failures
    assert codes == tuple(f"{tmp_path}/{name}:make" for name in ("alice.py", "carol/__init__.py", "team-2.py"))
    assert list(shorten_codes(codes).values()) == ["alice", "carol", "team-2"]


def test_bots_that_cannot_be_made_are_failures_with_the_reason_in_one_line(tmp_path):
    codes, failures = read_bots(write(tmp_path, {"a.py": BOT} | {name: text for name, (text, _) in BROKEN.items()}))
    assert codes == (f"{tmp_path}/a.py:make",)
    reasons = {Path(failure.code.removesuffix(":make")).relative_to(tmp_path): failure.reason for failure in failures}
    expected = {Path(name): reason for name, (_, reason) in BROKEN.items() if reason}
    expected[Path("folder/__init__.py")] = expected.pop(Path("folder/bot.py"))
    assert reasons.keys() == expected.keys()
    for path, reason in expected.items():
        assert reasons[path].endswith(reason.strip()) or reason in reasons[path]
        assert "\n" not in reasons[path]


def test_the_folder_of_a_training_run_is_a_bot(tmp_path):
    save_random_policy(tmp_path / "student")
    assert read_bots(tmp_path).codes == (f"net:{tmp_path}/student",)


def test_a_bot_is_never_shown_by_the_name_of_a_built_in_player(tmp_path):
    (code,) = read_bots(write(tmp_path, {"ev.py": BOT})).codes
    assert shorten_codes([code]) == {code: code}


def test_a_file_and_a_package_of_one_name_are_told_apart_by_their_codes(tmp_path):
    codes, _ = read_bots(write(tmp_path, {"alice.py": BOT, "alice/__init__.py": BOT}))
    assert list(shorten_codes(codes).values()) == list(codes)


@pytest.mark.parametrize(
    ("name", "message"),
    [("empty", "there is no bot in"), ("broken", "fails.py:make: ZeroDivision"), ("nowhere", "there is no folder")],
)
def test_a_folder_without_bots_that_can_play_is_refused(tmp_path, name, message, capsys):
    write(tmp_path, {"empty/notes.txt": "text", "broken/fails.py": "make = 1 / 0"})
    assert run_verb("agents", VERBS, ["tournament", "--bots", str(tmp_path / name), "--out", str(tmp_path / "o")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_a_tournament_of_bots_and_players_names_the_bots_that_are_left_out(tmp_path, capsys):
    bots = write(tmp_path / "bots", {"alice.py": BOT, "fails.py": "make = 1 / 0"})
    size = ["--setup", "standard-3", "--num-deals", "2", "--mixed-deals", "0", "--workers", "1"]
    out = ["--out", str(tmp_path / "out")]
    assert run_verb("agents", VERBS, ["tournament", "--players", "random", "--bots", str(bots), *size, *out]) == 1
    written = capsys.readouterr()
    assert f"fails ({bots}/fails.py:make) failed and is left out: ZeroDivisionError: division by zero\n" in written.err
    assert any(line.split()[:1] == ["alice"] for line in written.out.splitlines())
    results = json.loads((tmp_path / "out" / "result.json").read_text())["results"]
    assert {pair["one"] for pair in results["pairs"]} == {"random", f"{bots}/alice.py:make"}
    assert [failure["code"] for failure in results["failures"]] == [f"{bots}/fails.py:make"]
    report = (tmp_path / "out" / "report.md").read_text()
    assert "| `alice` |" in report
    assert "alice.py" not in report


def test_a_bot_that_forfeits_has_its_name_and_its_code_in_messages_and_report(tmp_path, capsys):
    text = "from agents.adapters import from_policy\n\ndef make():\n    return from_policy(lambda *_: 0)\n"
    bots = write(tmp_path / "bots", {"illegal.py": text})
    size = ["--setup", "standard-3", "--num-deals", "2", "--mixed-deals", "0", "--workers", "1"]
    words = ["--players", "random", "--bots", str(bots), *size, "--out", str(tmp_path / "out")]
    assert run_verb("agents", VERBS, ["tournament", *words]) == 0
    name = f"illegal ({bots}/illegal.py:make)"
    written = capsys.readouterr()
    assert f"{name} forfeited 12 of its 12 games" in written.err
    assert "the mean of all players is 0" in " ".join(written.out.split())
    report = (tmp_path / "out" / "report.md").read_text()
    assert f"`{name}` forfeited 12 of its 12 games" in report
    assert "Ratings: the mean of all players is 0, because anchor is not among them." in report


def test_bots_that_are_as_before_are_named_in_one_line_after_each_that_has_changed():
    seen, unseen = Identity("1", "", ""), Identity("1", "its code is as before", "")
    names = ("carol", "alice", "bob", "dora")
    players = {"anchor": seen, **{f"class/{name}.py:make": unseen for name in names}}
    known = dict.fromkeys(players, "1") | {"class/bob.py:make": "0"}
    del known["class/dora.py:make"]
    lines: list[str] = []
    report_changes(players, known, lines.append)
    assert lines == [
        "bob (class/bob.py:make) has changed since it played here: its games are played again",
        "alice, carol, each: its code is as before; --fresh plays everything again",
    ]
