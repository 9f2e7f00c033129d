"""Killed runs: they are compared with their twins, and processes that a kill leaves behind are found and ended."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from agents.tools.files import UserError
from experiments.checks import kills
from tests.support.waiting import wait_until

pytestmark = pytest.mark.linux("processes are listed from /proc")
SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
PARENT = f"import subprocess; subprocess.Popen({SLEEP!r}).wait()"
SMALL = {"total_timesteps": 3000, "tournament_deals": 2, "longest_wait": 0.3, "tournament_wait": 3.0}


@pytest.mark.compiled("training in several processes")
def test_killed_runs_are_compared_with_their_twins(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(kills, "KILLS_A_CHUNK", 1)
    kills.main(kills.Config(kills=1, **SMALL, out=tmp_path))
    written = json.loads((stored / "kills.json").read_text())["results"]
    assert written["counts"]["kills of training"] == 1
    assert written["counts"]["runs of training"] >= 1
    assert not any(written["faults"].values())


@pytest.mark.compiled("a tournament in several processes")
def test_a_tournament_that_is_started_with_the_command_of_the_check_finishes(tmp_path):
    (tournament,) = (subject for subject in kills.SUBJECTS if subject.name == "tournaments")
    subprocess.run(tournament.create(tmp_path, 3, kills.Config(tournament_deals=2)), check=True, capture_output=True)
    assert tournament.is_finished(tmp_path)
    results, parts = tournament.read_outcome(tmp_path)
    assert results["pairs"]
    assert list(tmp_path.glob(tournament.files.replace("*.part", "*.npz")))
    assert parts


def create_sleeper(folder, seed, config):
    return [sys.executable, "-c", PARENT]


def test_a_process_that_a_kill_leaves_behind_is_found_and_ended(tmp_path, monkeypatch):
    sessions, count_left = [], kills.count_left
    monkeypatch.setattr(kills, "PATIENCE", 0.2)
    monkeypatch.setattr(kills, "count_left", lambda session: sessions.append(session) or count_left(session))
    sleeper = kills.SUBJECTS[1]._replace(create=create_sleeper)
    happened = kills.run_until_killed(tmp_path, sleeper.create(tmp_path, 0, None), sleeper, 2.0, in_save=False)
    assert happened["kills of tournaments"] == 1
    assert happened[kills.LEFT_BEHIND] == 1
    wait_until(lambda: kills.list_session(*sessions) == [], seconds=20)


def test_a_run_without_other_processes_leaves_none(tmp_path):
    happened = kills.run_until_killed(tmp_path, SLEEP, kills.SUBJECTS[1], 0.3, in_save=False)
    assert happened == {"kills of tournaments": 1, "in a save of tournaments": 0, kills.LEFT_BEHIND: 0}


def test_ctrl_c_ends_the_processes_that_were_started():
    def stop(process):
        started.append(process.pid)
        time.sleep(0.5)
        raise KeyboardInterrupt

    started: list[int] = []
    with pytest.raises(KeyboardInterrupt), kills.start_session([sys.executable, "-c", PARENT]) as process:
        stop(process)
    time.sleep(0.1)
    assert kills.list_session(started[0]) == []


def run_at_once(folder, seed, config):
    """Return a command that writes its result, which differs from run to run."""
    code = f"import pathlib, time; p = pathlib.Path({str(folder)!r}); p.mkdir(exist_ok=True); time.sleep(0.5); "
    return [sys.executable, "-c", f"{code}(p / 'result.json').write_text(str(time.time()))"]


def test_an_outcome_with_other_bits_is_a_fault(monkeypatch):
    subject = kills.SUBJECTS[1]._replace(
        create=run_at_once, read_outcome=lambda folder: (folder / "result.json").read_text()
    )
    monkeypatch.setattr(kills, "SUBJECTS", (subject,))
    outcome = kills.check_chunk(0, kills.Config(kills=1, tournament_wait=0.4))
    assert outcome.faults[kills.OTHER_BITS] >= 1


def test_a_run_that_cannot_be_continued_is_an_error(tmp_path):
    subject = kills.SUBJECTS[1]._replace(create=lambda *_: [sys.executable, "-c", "raise SystemExit(2)"])
    with pytest.raises(UserError, match="cannot be continued after a kill"):
        kills.finish_with_kills(tmp_path, subject, 0, kills.Config(), np.random.default_rng(0), 3)


def test_the_twin_of_a_tournament_differs_if_a_part_does(tmp_path):
    command = kills.create_tournament(tmp_path, 3, replace(kills.Config(), tournament_deals=2))
    assert command[1:4] == ["-m", "agents", "tournament"]
    assert command[command.index("--workers") + 1] == "2"
    (tmp_path / "parts" / "match").mkdir(parents=True)
    (tmp_path / "result.json").write_text('{"results": {"pairs": []}}')
    (tmp_path / "parts" / "match" / "0-2.npz").write_bytes(b"one")
    first = kills.read_tournament(tmp_path)
    (tmp_path / "parts" / "match" / "0-2.npz").write_bytes(b"two")
    assert kills.read_tournament(tmp_path) != first
