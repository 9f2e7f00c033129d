"""Workers that end: a player that ends its process is found, named and left out, and all others are played."""

import json
from itertools import permutations
from typing import Any

import pytest

from agents.__main__ import VERBS
from agents.arena import matches as module
from agents.arena.matches import Match, Part, play_matches
from agents.tasks import run
from agents.tasks.pool import Lost
from agents.tasks.processes import ThisProcess
from agents.tasks.run import Outcome
from agents.tools.command import run_verb
from agents.tools.files import UserError
from felicity_env.setups import standard_setup

DEADLY = """
import os

def make():
    return Deadly()

class Deadly:
    def act(self, view):
        os._exit(3)
"""
BOT = "import agents\n\ndef make():\n    return agents.make('pass')\n"
SETUP = standard_setup(3)
ENDED = "its process ended, 3 times"


@pytest.fixture
def bots(tmp_path, monkeypatch) -> tuple[str, ...]:
    """Write four bots into the current folder, and return their codes."""
    monkeypatch.chdir(tmp_path)
    for name in "abcd":
        (tmp_path / f"{name}.py").write_text(BOT)
    return tuple(f"{name}.py:make" for name in "abcd")


def play_all(*players: str, deals: int = 4) -> module.MatchResults:
    """Play each player against copies of each other player, in parts of one deal."""
    matches = {Match.one_against(*pair, SETUP): deals for pair in permutations(players, 2)}
    return play_matches(
        matches, seed=1, folder=module.Path("parts"), workers=1, deals_per_part=1, report=lambda *_: None
    )


def end_processes(monkeypatch: pytest.MonkeyPatch, *deadly: str) -> list[Part]:
    """Let the tasks of some players be given up; return the list to which all parts that are tried will be added."""
    tried: list[Part] = []

    def run_tasks(function: Any, parts: Any, **_: Any) -> Any:
        for part in parts:
            tried.append(part)
            ends = not {*deadly}.isdisjoint(part.match.codes)
            yield Outcome(part, None if ends else function(part), 0.0, 1, ENDED if ends else "")

    monkeypatch.setattr(module, "run_tasks", run_tasks)
    return tried


def test_a_bot_that_ends_its_process_is_left_out_and_the_others_have_a_table(tmp_path, capsys):
    bots = tmp_path / "class"
    bots.mkdir()
    for name, text in {"alice": BOT, "deadly": DEADLY}.items():
        (bots / f"{name}.py").write_text(text)
    size = ["--num-players", "3", "--num-deals", "2", "--mixed-deals", "0", "--workers", "2"]
    out = ["--out", str(tmp_path / "out")]
    assert run_verb("agents", VERBS, ["tournament", "--players", "random", "--bots", str(bots), *size, *out]) == 1
    assert f"deadly ({bots}/deadly.py:make) failed and is left out: {ENDED}\n" in capsys.readouterr().err
    results = json.loads((tmp_path / "out" / "result.json").read_text())["results"]
    assert results["failures"] == [{"code": f"{bots}/deadly.py:make", "reason": ENDED, "game": ""}]
    assert {pair["one"] for pair in results["pairs"]} == {"random", f"{bots}/alice.py:make"}
    said = f"`deadly ({bots}/deadly.py:make)` failed and is left out: {ENDED}"
    assert said in (tmp_path / "out" / "report.md").read_text()


def test_an_evaluation_of_a_bot_that_ends_its_process_says_that_nothing_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadly.py").write_text(DEADLY)
    size = ["--num-players", "3", "--num-deals", "2", "--workers", "2"]
    assert run_verb("agents", VERBS, ["evaluate", "deadly.py:make", "--against", "random", *size]) == 1
    *_, failed, nothing = capsys.readouterr().err.splitlines()
    assert failed.endswith(f"failed and is left out: {ENDED}")
    assert nothing.startswith("nothing is measured")


def test_the_only_bot_of_a_part_is_to_blame_and_its_other_parts_are_not_tried(bots, monkeypatch):
    tried = end_processes(monkeypatch, bots[1])
    results = play_all("random", *bots[:2])
    assert [failure.code for failure in results.failures] == [bots[1]]
    assert {code for match in results.blocks for code in match.codes} == {"random", bots[0]}
    assert sum(bots[1] in part.match.codes for part in tried) == 1


@pytest.mark.parametrize("deadly", ["a", "b", "bc"])
def test_of_several_bots_the_one_with_more_such_parts_than_the_others_is_to_blame(bots, deadly, monkeypatch):
    names = {f"{name}.py:make" for name in deadly}
    tried = end_processes(monkeypatch, *names)
    results = play_all(*bots)
    assert {failure.code for failure in results.failures} == names
    assert len(results.blocks) == (4 - len(names)) * (3 - len(names))
    assert sum(not names.isdisjoint(part.match.codes) for part in tried) < 20  # of 24 or 40


def test_where_no_bot_stands_out_the_parts_and_the_suspects_are_named(bots, monkeypatch):
    end_processes(monkeypatch, bots[0])
    with pytest.raises(UserError) as error:
        play_all(*bots[:2], deals=1)
    first, *rest = str(error.value).splitlines()
    assert first == "some parts were given up; the same command tries them again:"
    assert [line.split(" in standard")[0] for line in rest[:-1]] == [
        "deals 0 to 0 of a.py:make b.py:make b.py:make",
        "deals 0 to 0 of b.py:make a.py:make a.py:make",
    ]
    assert rest[0].endswith(ENDED)
    assert rest[-1] == "one of a (a.py:make) and b (b.py:make) ends its process; leave it out"


def test_a_part_without_bots_blames_nobody(bots, monkeypatch):
    end_processes(monkeypatch, "ev")
    with pytest.raises(UserError) as error:
        play_all("random", "ev", deals=1)
    assert "leave it out" not in str(error.value)


class LosesNodes(ThisProcess):
    """Pool whose nodes die four times before a task ends."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: dict[int, int] = {}

    def wait(self) -> Any:
        number = self._waiting[0][0]
        self.lost[number] = self.lost.get(number, 0) + 1
        if self.lost[number] > 4:
            return super().wait()
        self._waiting.popleft()
        return [(number, Lost("its node died", at_fault=False))]


def test_no_bot_is_to_blame_for_nodes_that_die(bots, monkeypatch):
    monkeypatch.setattr(run, "open_pool", lambda *_, **__: LosesNodes())
    results = play_all("random", bots[0], deals=1)
    assert not results.failures
    assert len(results.blocks) == 2


def test_the_time_left_is_unknown_while_a_cluster_has_no_workers(tmp_path, monkeypatch):
    def run_while_nodes_leave(function, parts, **_):
        for workers, part in zip((2, 0), parts, strict=True):
            yield Outcome(part, function(part), 1.0, workers)

    monkeypatch.setattr(module, "run_tasks", run_while_nodes_leave)
    left = []
    where = {"seed": 1, "folder": tmp_path / "parts", "workers": 2, "deals_per_part": 2}
    match = Match.one_against("ev", "random", SETUP)
    play_matches({match: 4}, **where, report=lambda done, total, seconds: left.append((done, total, seconds)))
    assert left == [(0, 2, None), (1, 2, 0.5), (2, 2, None)]
