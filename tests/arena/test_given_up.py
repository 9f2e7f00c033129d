"""Workers that end: parts of players that end their process are given up by name, and all others are played."""

import re

import pytest

from agents.arena import matches as module
from agents.arena.matches import Match, play_matches
from agents.tasks.run import Outcome
from agents.tools.files import UserError
from felicity_env.setups import standard_setup

DEADLY = """
import os

def make():
    return Deadly()

class Deadly:
    def act(self, view):
        os._exit(1)
"""


def test_the_parts_of_a_player_that_ends_its_process_are_named_and_the_others_are_played(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadly.py").write_text(DEADLY)
    setup = standard_setup(3)
    matches = {Match.one_against(one, "random", setup): 2 for one in ("deadly.py:make", "ev")}
    folder = tmp_path / "parts"
    where = {"seed": 1, "folder": folder, "deals_per_part": 2, "report": lambda *_: None}
    with pytest.raises(UserError) as error:
        play_matches(matches, workers=2, **where)
    first, *rest = str(error.value).splitlines()
    assert first == "some parts were given up; the same command tries them again:"
    assert [re.sub(r"seed \d+", "seed", line) for line in rest] == [
        "deals 0 to 1 of deadly.py:make random random in standard-3 with seed: its process ended, 3 times"
    ]
    assert len(list(folder.rglob("*.npz"))) == 1
    del matches[Match.one_against("deadly.py:make", "random", setup)]
    assert len(play_matches(matches, workers=1, **where).blocks) == 1


def test_the_time_left_is_unknown_while_a_cluster_has_no_workers(tmp_path, monkeypatch):
    def run_while_nodes_leave(function, parts, **_):
        for workers, part in zip((2, 0), parts, strict=True):
            yield Outcome(part, function(part), 1.0, workers)

    monkeypatch.setattr(module, "run_tasks", run_while_nodes_leave)
    left = []
    where = {"seed": 1, "folder": tmp_path / "parts", "workers": 2, "deals_per_part": 2}
    match = Match.one_against("ev", "random", standard_setup(3))
    play_matches({match: 4}, **where, report=lambda done, total, seconds: left.append((done, total, seconds)))
    assert left == [(0, 2, None), (1, 2, 0.5), (2, 2, None)]
