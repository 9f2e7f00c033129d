"""Interrupted and resumed runs of `python -m train`: Ctrl-C, damaged runs, full disks."""

import errno
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import Logger

import agents
from agents.policy_file import Layers
from agents.tools.files import lock_folder
from felicity_env import Batch
from tests.support.training import (
    SMALL,
    Outcome,
    contents,
    flat,
    newest,
    policy_bytes,
    short_run,
    small_config,
    train,
)
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer
from train.storage import list_checkpoints, save_checkpoint
from train.trainer import Run


@pytest.fixture(scope="module")
def complete_run(tmp_path_factory) -> tuple[Path, Outcome]:
    return short_run(tmp_path_factory.mktemp("train") / "runs" / "first")


@pytest.fixture
def run_copy(complete_run, tmp_path) -> Path:
    """Copy a run, so that it can be damaged."""
    return Path(shutil.copytree(complete_run[0], tmp_path / "copied"))


def test_ctrl_c_saves_and_says_how_to_go_on_and_the_run_then_finishes(tmp_path, monkeypatch):
    run, measure = tmp_path / "run", Run.add_to_curve

    def interrupt(self: Run, layers: Layers, timesteps: int, logger: Logger) -> dict[str, Any]:
        if timesteps:
            signal.raise_signal(signal.SIGINT)
        return measure(self, layers, timesteps, logger)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "add_to_curve", interrupt)
        outcome = train("maskable-ppo", *SMALL, "--total-timesteps", 8192, "--curve-every", 4096, "--out", run)
    assert outcome.status == 130, outcome.errors
    assert f"python -m train --resume {run}" in outcome.output
    assert outcome.errors == ""
    stopped_at = newest(run).metadata["timesteps"]
    assert stopped_at == 4096
    assert not (run / "evaluation.json").exists()

    settings = (run / "config.json").read_bytes()
    outcome = train("--resume", run)
    assert outcome.status == 0, outcome.errors
    assert (run / "config.json").read_bytes() == settings
    assert newest(run).metadata["timesteps"] == 8192
    curve = [point["timesteps"] for point in json.loads((run / "learning_curve.json").read_text())]
    assert curve[0] == 0
    assert curve == sorted(set(curve))
    assert {path.name for path in (run / "logs").iterdir()} == {"from-000000000000", f"from-{stopped_at:012d}"}
    assert agents.make(f"net:{run}").act(Batch(4).view()).shape == (4,)


def test_ctrl_c_in_the_final_evaluation_is_no_traceback(run_copy, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "finish", interrupt)
    (run_copy / "evaluation.json").unlink()
    outcome = train("--resume", run_copy)
    assert outcome.status == 130
    assert "--resume" in outcome.errors


LOSSES = {
    "no evaluation": lambda run: (run / "evaluation.json").unlink(),
    "evaluation cut off": lambda run: (run / "evaluation.json").write_text("{"),
    "policy lost": lambda run: (run / "policy.safetensors").unlink(),
    "policy damaged": lambda run: (run / "policy.safetensors").write_bytes(b"damaged"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_finished_run_resumed_is_only_evaluated_again_and_gets_its_policy_back(run_copy, loss):
    before = policy_bytes(run_copy)
    LOSSES[loss](run_copy)
    outcome = train("--resume", run_copy)
    assert outcome.status == 0, outcome.errors
    assert policy_bytes(run_copy) == before
    assert (run_copy / "evaluation.json").exists()
    curve = json.loads((run_copy / "learning_curve.json").read_text())
    assert [point["timesteps"] for point in curve] == [0, 2048, 4096]


def test_a_finished_run_that_is_whole_says_so_and_stays_as_it_is(run_copy):
    before = contents(run_copy)
    outcome = train("--resume", run_copy)
    assert outcome.status == 0
    assert f"{run_copy} is finished: it has learned from all of its 4,096 decisions" in outcome.output
    assert "3 x anchor" in outcome.output
    assert contents(run_copy) == before


def test_a_restored_trainer_holds_what_was_saved(tmp_path):
    config = small_config(num_past=2)
    trainer = MaskablePPOTrainer(config, tmp_path)
    for k in range(3):
        trainer.pool.remember(trainer.run.create_player([(layer + k, bias + k) for layer, bias in trainer.layers()]), k)
    trainer.run.curve, trainer.updates, trainer.model.num_timesteps = [{"timesteps": 64}], 7, 2048
    trainer.save()
    restored = MaskablePPOTrainer(config, tmp_path)
    with torch.no_grad():
        for weight in restored.model.policy.parameters():
            weight += 1
    restored.restore(report=print)
    assert flat(restored.layers()) == flat(trainer.layers())
    assert [flat(layers) for layers in restored.pool.past_layers()] == [
        flat(layers) for layers in trainer.pool.past_layers()
    ]
    assert (restored.run.curve, restored.updates, restored.timesteps) == ([{"timesteps": 64}], 7, 2048)
    assert restored.env.games.batch.seed != trainer.env.games.batch.seed  # new games, not those of the start again


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit_config(run: Path, **changes: object) -> None:
    written = json.loads((run / "config.json").read_text())
    written["config"] |= changes
    (run / "config.json").write_text(json.dumps(written))


def keep_one_checkpoint(run: Path) -> Path:
    """Delete all checkpoints but the newest, and return its path."""
    *others, path = list_checkpoints(run)
    for other in others:
        other.unlink()
    return path


def write_other(run: Path, **metadata: object) -> None:
    """Replace the checkpoints by one with other contents."""
    keep_one_checkpoint(run).unlink()
    save_checkpoint(run, {"a": np.zeros(3)}, {"timesteps": 4096, **metadata})


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no checkpoint": (lambda run: keep_one_checkpoint(run).unlink(), "no undamaged checkpoint"),
    "checkpoint cut off": (lambda run: truncate(keep_one_checkpoint(run)), "no undamaged checkpoint"),
    "checkpoint empty": (lambda run: keep_one_checkpoint(run).write_bytes(b""), "no undamaged checkpoint"),
    "checkpoint is text": (lambda run: keep_one_checkpoint(run).write_text("no tensors"), "no undamaged checkpoint"),
    "checkpoint of another kind": (write_other, "does not fit"),
    "checkpoint of other layers": (lambda run: edit_config(run, hidden_sizes=[17]), "other settings (hidden_sizes)"),
    "checkpoint of other settings": (lambda run: edit_config(run, gamma=0.5), "written with other settings (gamma)"),
    "no config": (lambda run: (run / "config.json").unlink(), "error: there is no file"),
    "config cut off": (lambda run: truncate(run / "config.json"), "config.json"),
    "config is a list": (lambda run: (run / "config.json").write_text("[]"), "config.json"),
    "config is binary": (lambda run: (run / "config.json").write_bytes(b"\xff\xfe"), "config.json"),
    "config with an unknown key": (
        lambda run: edit_config(run, no_such_setting=1),
        "maskable-ppo has no setting no_such_setting",
    ),
    "config with nonsense": (lambda run: edit_config(run, num_envs=-1), "--num-envs must be positive"),
    "config with a word for a number": (lambda run: edit_config(run, num_envs="many"), "config.json"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused_with_its_fault_and_left_alone(run_copy, damage):
    spoil, message = DAMAGES[damage]
    spoil(run_copy)
    before = contents(run_copy)
    outcome = train("--resume", run_copy)
    assert outcome.status == 2
    assert message in outcome.errors
    assert contents(run_copy) == before


def test_a_missing_run_is_named_and_not_made(tmp_path):
    outcome = train("--resume", tmp_path / "nowhere")
    assert outcome.status == 2
    assert "there is no run folder" in outcome.errors
    assert not (tmp_path / "nowhere").exists()


def test_two_processes_are_never_at_work_in_one_folder(run_copy):
    before = contents(run_copy)
    with lock_folder(run_copy):
        outcome = train("--resume", run_copy)
    assert outcome.status == 2
    assert f"another process is at work in {run_copy}" in outcome.errors
    assert contents(run_copy) == before
    with lock_folder(run_copy):
        pass  # it is free again


@pytest.mark.parametrize(
    "options",
    [
        "--total-timesteps 9999 --gamma=0.9",
        f"--total-timesteps {MaskablePPOConfig().total_timesteps}",  # the default, not that of the run
        "--no-open-mice",
    ],
)
def test_resume_takes_no_other_options(run_copy, options):
    before = contents(run_copy)
    outcome = train("--resume", run_copy, *options.split())
    assert outcome.status == 2
    named = [word.split("=")[0] for word in options.split() if word.startswith("--")]
    assert f"leave out {' '.join(named)}" in outcome.errors
    assert contents(run_copy) == before


def test_resume_takes_no_algorithm(run_copy):
    outcome = train("maskable-ppo", "--resume", run_copy)
    assert outcome.status == 2
    assert "leave out maskable-ppo" in outcome.errors


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.linux("/dev/full is a device that is always full")
@pytest.mark.parametrize("name", ["learning_curve.json", "learning_curve.png", "evaluation.json"])
def test_a_run_on_a_full_disk_says_so_and_keeps_what_it_had(run_copy, name):
    truncate(run_copy / "learning_curve.json")  # will be written anew
    before = (run_copy / name).read_bytes()
    (run_copy / f"{name}.part").symlink_to("/dev/full")
    list_checkpoints(run_copy)[-1].unlink()  # there is something left to learn
    outcome = train("--resume", run_copy)
    assert outcome.status == 2
    assert f"cannot write {run_copy / name}" in outcome.errors
    assert (run_copy / name).read_bytes() == before
    assert not (run_copy / f"{name}.part").is_symlink()


@pytest.mark.parametrize("function", ["train.storage.write_atomically", "train.trainer.save_policy"])
def test_an_error_while_writing_is_a_message_and_the_checkpoints_stay(run_copy, monkeypatch, function):
    (run_copy / "evaluation.json").unlink()  # there is something left to do
    before = contents(run_copy / "checkpoints")
    monkeypatch.setattr(function, no_space)
    outcome = train("--resume", run_copy)
    assert outcome.status == 2
    assert "disk is full" in outcome.errors or "No space left on device" in outcome.errors
    if "storage" in function:
        assert contents(run_copy / "checkpoints") == before
