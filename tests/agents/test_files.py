"""Locks of files: one process at a time, whatever the system does with files that are open."""

from pathlib import Path

import pytest

from agents.tools.files import UserError, lock_output


def test_one_command_at_a_time_writes_a_file_and_no_lock_is_left(tmp_path):
    out = tmp_path / "games.npz"
    with lock_output(out), pytest.raises(UserError, match="another process is writing"), lock_output(out):
        pass
    assert not list(tmp_path.iterdir())


def test_a_lock_that_the_system_cannot_delete_while_it_is_open_is_no_error(tmp_path, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "another process uses this file", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with lock_output(tmp_path / "games.npz"):
        pass
    with lock_output(tmp_path / "games.npz"):
        assert list(tmp_path.iterdir())  # it is free again
