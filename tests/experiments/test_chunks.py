"""Checks in chunks: they resume where they stopped, refuse other settings and code, and fail if there are faults."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from agents.tools.files import UserError
from experiments import resuming
from experiments.checks import chunks
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check


@dataclass(frozen=True)
class Config:
    out: Path
    size: int = 10


def draw(k: int) -> Outcome:
    """Return the outcome of a chunk that depends on its number alone."""
    return Outcome({"drawn": int(np.random.default_rng(k).integers(1000))}, {"bad": 0})


def run(folder: Path, chunk=draw, number: int = 6, **settings) -> None:
    run_check("trial", Config(folder, **settings), chunk, number, source=chunks.__file__)


def read(stored: Path) -> dict:
    return json.loads((stored / "trial.json").read_text())["results"]


def test_a_check_that_was_stopped_and_resumed_equals_one_that_never_was(tmp_path, stored):
    run(tmp_path / "whole")
    whole, asked = read(stored), []

    def stop_at_three(k: int) -> Outcome:
        asked.append(k)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return draw(k)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", stop_at_three)
    run(tmp_path / "stopped", stop_at_three)
    assert asked == [0, 1, 2, 3, 3, 4, 5]
    assert read(stored) == whole
    assert whole["counts"]["drawn"] == sum(draw(k).counts["drawn"] for k in range(6))


def test_a_finished_check_does_nothing_again(tmp_path, stored):
    run(tmp_path)
    run(tmp_path, lambda k: pytest.fail("all chunks are done"))


def test_a_check_with_faults_is_stored_and_fails(tmp_path, stored, capsys):
    with pytest.raises(UserError, match=r"^bad: 2$"):
        run(tmp_path, lambda k: Outcome({"seen": 1}, {"bad": k % 2 if k < 4 else 0, "worse": 0}))
    assert read(stored)["faults"] == {"bad": 2, "worse": 0}
    assert read(stored)["faulty_chunks"] == [1, 3]
    assert "chunk 3: bad: 1" in capsys.readouterr().out


def test_faults_that_only_all_chunks_together_show_are_found(tmp_path, stored):
    with pytest.raises(UserError, match="too many: 1"):
        run_check(
            "trial",
            Config(tmp_path),
            lambda k: Outcome({"seen": 1}, {}),
            3,
            source=chunks.__file__,
            judge=lambda counts: {"too many": int(counts["seen"] > 2)},
        )


def test_other_settings_other_code_and_a_damaged_file_are_refused(tmp_path, stored, monkeypatch):
    run(tmp_path)
    with pytest.raises(UserError, match=r"written with other settings \(size\); delete .* to start again"):
        run(tmp_path, size=11)
    with monkeypatch.context() as patch:
        patch.setattr(resuming, "code_digest", lambda path: "0123456789abcdef")
        with pytest.raises(UserError, match=r"other settings \(code\)"):
            run(tmp_path)
    (tmp_path / chunks.STATE_FILE).write_text("{")
    with pytest.raises(UserError, match=r"chunks.json is damaged \(JSONDecodeError\); delete"):
        run(tmp_path)


def test_another_folder_changes_nothing(tmp_path, stored):
    run(tmp_path / "one")
    (tmp_path / "one").rename(tmp_path / "two")
    run(tmp_path / "two", lambda k: pytest.fail("all chunks are done"))


def test_chunks_make_up_the_total():
    for total, size in ((10, 3), (9, 3), (1, 5)):
        assert sum(chunk_size(total, size, k) for k in range(count_chunks(total, size))) == total
