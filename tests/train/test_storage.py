"""Run folders and checkpoints: complete or absent, the last three kept, damage detected, full disks."""

import errno
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from safetensors import safe_open
from stable_baselines3.common.logger import CSVOutputFormat

from agents.checkpoint_file import Checkpoint, list_checkpoints, load_checkpoint, save_checkpoint
from agents.tools.files import UserError, write_json
from tests.support.training import ROOT, contents, small_config
from train.storage import create_run_folder
from train.trainer import Run

ARRAYS = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "seeds": np.array([2**64 - 1], np.uint64),
    "flags": np.array([True, False]),
    "one": np.array(3, np.int64),
}


def save(folder: Path, timesteps: int, **arrays: np.ndarray) -> Path:
    return save_checkpoint(folder, ARRAYS | arrays, {"timesteps": timesteps, "curve": [{"win_share": 0.25}]})


def load(folder: Path) -> tuple[Checkpoint, list[str]]:
    said: list[str] = []
    return load_checkpoint(folder, report=said.append), said


def test_what_is_loaded_is_what_was_saved_to_the_bit(tmp_path):
    save(tmp_path, 7)
    (arrays, metadata), said = load(tmp_path)
    assert said == []
    assert metadata == {"timesteps": 7, "curve": [{"win_share": 0.25}]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tobytes() == array.tobytes()


def test_the_last_three_are_kept_and_nothing_half_written(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "000000000001-dead.safetensors.part").write_bytes(b"killed while writing")
    for timesteps in (9, 10, 11, 100, 1000):
        save(tmp_path, timesteps)
    assert [int(path.name[:12]) for path in list_checkpoints(tmp_path)] == [11, 100, 1000]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 3
    assert load(tmp_path)[0].metadata["timesteps"] == 1000


def test_the_same_state_saved_again_takes_no_place_of_an_older_one(tmp_path):
    for timesteps in (1, 2, 3, 3, 3):
        newest = save(tmp_path, timesteps)
    assert [int(path.name[:12]) for path in list_checkpoints(tmp_path)] == [1, 2, 3]
    assert list_checkpoints(tmp_path)[-1] == newest


def test_a_checkpoint_is_a_safetensors_file_without_any_pickle(tmp_path):
    path = save(tmp_path, 1)
    assert safetensors.numpy.load_file(path)["weights"].tolist() == ARRAYS["weights"].tolist()
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(path.read_bytes())


def flip_a_bit(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES = {
    "a bit is wrong": flip_a_bit,
    "cut off": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "text": lambda content: b"no tensors here",
    "zeros": lambda content: bytes(len(content)),
    "more at its end": lambda content: content + b"\0",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_serves(tmp_path, damage):
    save(tmp_path, 1)
    newest = save(tmp_path, 2)
    newest.write_bytes(DAMAGES[damage](newest.read_bytes()))
    spoilt = newest.read_bytes()
    checkpoint, said = load(tmp_path)
    assert checkpoint.metadata["timesteps"] == 1
    assert len(said) == 1
    assert str(newest) in said[0]
    assert "damaged" in said[0]
    assert newest.read_bytes() == spoilt


def test_after_a_damaged_one_the_run_goes_on_saving(tmp_path):
    save(tmp_path, 1)
    newest = save(tmp_path, 5)
    newest.write_bytes(b"")
    for timesteps in (2, 3, 4):
        save(tmp_path, timesteps)
        assert load(tmp_path)[0].metadata["timesteps"] == timesteps


@pytest.mark.parametrize("checkpoints", [0, 1])
def test_without_an_undamaged_checkpoint_there_is_an_error_that_says_so(tmp_path, checkpoints):
    if checkpoints:
        save(tmp_path, 1).write_bytes(b"")
    with pytest.raises(UserError, match="no undamaged checkpoint"):
        load(tmp_path)


def no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("function", ["os.replace", "os.fsync"])
def test_a_full_disk_leaves_the_checkpoints_before_as_they_were(tmp_path, monkeypatch, function):
    save(tmp_path, 1)
    before = {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()}
    monkeypatch.setattr(function, no_space)
    with pytest.raises(UserError, match="the disk is full"):
        save(tmp_path, 2)
    assert {path.name: path.read_bytes() for path in (tmp_path / "checkpoints").iterdir()} == before


def test_file_and_folder_are_on_the_disk_before_an_older_one_goes(tmp_path, monkeypatch):
    for timesteps in (1, 2, 3):
        save(tmp_path, timesteps)
    calls: list[str] = []
    real = {name: getattr(os, name) for name in ("fsync", "replace", "unlink")}

    def watch(name: str):
        def call(*arguments: object, **options: object) -> object:
            calls.append(name)
            return real[name](*arguments, **options)

        return call

    for name in real:
        monkeypatch.setattr(os, name, watch(name))
    save(tmp_path, 4)
    assert calls == ["fsync", "replace", "fsync", "unlink"]


WRITER = """
import sys
from pathlib import Path
import numpy as np
from agents.checkpoint_file import save_checkpoint
for timesteps in range(1, 10**6):
    arrays = {"a": np.full(200_000, timesteps)}
    save_checkpoint(Path(sys.argv[1]), arrays, {"timesteps": timesteps})
    print(timesteps, flush=True)
"""


def test_killed_at_any_moment_of_saving_a_whole_checkpoint_is_left(tmp_path):
    rng = np.random.default_rng(0)
    for k in range(4):
        folder = tmp_path / str(k)
        folder.mkdir()
        command = [sys.executable, "-c", WRITER, str(folder)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            process.stdout.readline()
            time.sleep(rng.random() * 0.1)
            process.kill()
            seen = [1, *map(int, process.stdout.read().split())]
        (arrays, metadata), said = load(folder)
        assert said == []
        assert metadata["timesteps"] in (seen[-1], seen[-1] + 1)
        assert (arrays["a"] == metadata["timesteps"]).all()


def test_the_metadata_is_json(tmp_path):
    with safe_open(save(tmp_path, 3), framework="numpy") as file:
        (text,) = file.metadata().values()
    assert json.loads(text)["timesteps"] == 3


def test_without_a_name_a_run_gets_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = (create_run_folder(small_config()) for _ in range(2))
    assert first != second
    assert {first.parent.name, second.parent.name} == {"runs"}
    assert first.name.startswith("standard-4-seed0-")
    assert (tmp_path / first / "config.json").exists()


def test_a_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    write_json(tmp_path / "a.json", {"old": 1})
    before = contents(tmp_path)
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(UserError, match=r"a\.json: the disk is full; the file that was there is unchanged"):
        write_json(tmp_path / "a.json", {"new": 2})
    assert contents(tmp_path) == before


def test_a_full_disk_does_not_speak_of_a_file_that_was_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(UserError, match=r"a\.json: the disk is full$"):
        write_json(tmp_path / "a.json", {"new": 2})
    assert not contents(tmp_path)


def test_an_empty_folder_is_used_for_a_run(tmp_path):
    (tmp_path / "run").mkdir()
    assert create_run_folder(small_config(out=tmp_path / "run")) == tmp_path / "run"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["config.json"]


def test_a_file_and_a_folder_with_other_things_are_refused_without_advice_to_resume(tmp_path):
    (tmp_path / "README.md").write_text("text")
    before = contents(tmp_path)
    for path, message in ((tmp_path / "README.md", "is a file; choose another --out$"), (tmp_path, "holds no run; ")):
        with pytest.raises(UserError, match=message) as refusal:
            create_run_folder(small_config(out=path))
        assert "--resume" not in str(refusal.value)
    assert contents(tmp_path) == before


def test_a_full_disk_while_logging_names_the_folder_of_the_logs(tmp_path, monkeypatch):
    logger = Run(small_config(), tmp_path, activation="tanh").create_logger(0)
    logger.record("a", 1)
    monkeypatch.setattr(CSVOutputFormat, "write", no_space)
    with pytest.raises(UserError, match=r"cannot write the logs in .*from-000000000000: the disk is full$"):
        logger.dump(0)
    logger.close()
