"""The training command stops and goes on: Ctrl-C, damaged runs, full disks."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import agents
import agents.arena
from felicity_env import Batch
from tests.training import ROOT, SMALL, Outcome, contents, flat, newest, short_run, small_config, tensors_of, train
from train import checkpoint, run_folder
from train.config import MaskableConfig
from train.evaluation import LADDER
from train.maskable_ppo import MaskablePPOTrainer
from train.progress import Progress
from train.run import Run
from train.run_folder import RunError, write_json


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, Outcome]:
    return short_run(tmp_path_factory.mktemp("train") / "runs" / "first")


@pytest.fixture
def copied(finished, tmp_path) -> Path:
    """A run of its own to be damaged."""
    return Path(shutil.copytree(finished[0], tmp_path / "copied"))


# --- stopping and going on --------------------------------------------------------------------------------------------


def start_and_interrupt(run: Path, *arguments: str) -> tuple[int, str]:
    """(exit status, output) of a training process that gets Ctrl-C once it has learned something and said so."""
    command = [sys.executable, "-m", "train", *arguments, "--run", str(run)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "vs random" in line and not line.lstrip().startswith("0/"):
                break
        process.send_signal(signal.SIGINT)
        lines += process.stdout.readlines()
    return process.returncode, "".join(lines)


def test_ctrl_c_saves_and_says_how_to_go_on_and_the_run_then_finishes(tmp_path):
    run = tmp_path / "run"
    status, output = start_and_interrupt(run, *SMALL, "--total-timesteps", "40960", "--curve-every", "4096")
    assert status == 130, output
    assert f"python -m train --resume {run}" in output
    assert "Traceback" not in output
    stopped_at = newest(run).facts["timesteps"]
    assert 0 < stopped_at < 40960
    assert not (run / "evaluation.json").exists()

    settings = (run / "config.json").read_bytes()
    outcome = train("--resume", run)
    assert outcome.status == 0, outcome.errors
    assert (run / "config.json").read_bytes() == settings
    assert newest(run).facts["timesteps"] >= 40960
    curve = [point["timesteps"] for point in json.loads((run / "learning_curve.json").read_text())]
    assert curve[0] == 0
    assert curve == sorted(set(curve))
    assert {path.name for path in (run / "logs").iterdir()} == {"from-000000000000", f"from-{stopped_at:012d}"}
    assert agents.make(f"net:{run}").act(Batch(4).view()).shape == (4,)


def test_ctrl_c_in_the_final_evaluation_is_no_traceback(copied, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "finish", interrupt)
    (copied / "evaluation.json").unlink()
    outcome = train("--resume", copied)
    assert outcome.status == 130
    assert "--resume" in outcome.errors


def test_on_a_terminal_of_80_columns_a_bar_shows_share_speed_time_left_and_strength():
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    share = {code: {"value": 0.5} for code in LADDER}
    with Progress(console, 4096, 0) as progress:
        progress.show_strength({"seconds": 1, "results": [{"num_players": 4, "win_share": share}]})
        for timesteps in (1000, 2000, 2048):
            time.sleep(0.002)
            progress.advance_to(timesteps)
    shown = screen.getvalue()
    for text in (" 50%", "/s", "left", "anchor 0.50", "0/4,096  1 s  4p vs random 0.50 anchor 0.50 ev 0.50"):
        assert text in shown


LOSSES = {
    "no evaluation": lambda run: (run / "evaluation.json").unlink(),
    "evaluation cut off": lambda run: (run / "evaluation.json").write_text("{"),
    "policy lost": lambda run: (run / "policy.safetensors").unlink(),
    "policy damaged": lambda run: (run / "policy.safetensors").write_bytes(b"damaged"),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_finished_run_resumed_is_only_evaluated_again_and_gets_its_policy_back(copied, loss):
    before = tensors_of(copied)
    LOSSES[loss](copied)
    outcome = train("--resume", copied)
    assert outcome.status == 0, outcome.errors
    assert tensors_of(copied) == before
    assert (copied / "evaluation.json").exists()
    curve = json.loads((copied / "learning_curve.json").read_text())
    assert [point["timesteps"] for point in curve] == [0, 2048, 4096]


def test_a_finished_run_that_is_whole_says_so_and_stays_as_it_is(copied):
    before = contents(copied)
    outcome = train("--resume", copied)
    assert outcome.status == 0
    assert f"{copied} is finished: all of its 4,096 decisions are learned" in outcome.output
    assert "3 x anchor" in outcome.output
    assert contents(copied) == before


def test_a_restored_trainer_holds_what_was_saved(tmp_path):
    config = small_config(num_past=2)
    trainer = MaskablePPOTrainer(config, tmp_path)
    for k in range(3):
        trainer.pool.remember(trainer.run.player([(layer + k, bias + k) for layer, bias in trainer.layers()]), k)
    trainer.run.curve, trainer.updates, trainer.model.num_timesteps = [{"timesteps": 64}], 7, 2048
    trainer.save()
    restored = MaskablePPOTrainer(config, tmp_path)
    with torch.no_grad():
        for weight in restored.model.policy.parameters():
            weight += 1
    restored.restore(say=print)
    assert flat(restored.layers()) == flat(trainer.layers())
    assert [flat(layers) for layers in restored.pool.past_layers()] == [
        flat(layers) for layers in trainer.pool.past_layers()
    ]
    assert (restored.run.curve, restored.updates, restored.timesteps) == ([{"timesteps": 64}], 7, 2048)
    assert restored.env.lanes.batch.seed != trainer.env.lanes.batch.seed  # new games, not those of the start again


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit_config(run: Path, **changes: object) -> None:
    written = json.loads((run / "config.json").read_text())
    written["config"] |= changes
    (run / "config.json").write_text(json.dumps(written))


def checkpoint_of(run: Path) -> Path:
    """The only checkpoint left of `run`: the others are removed."""
    *others, path = checkpoint.checkpoints(run)
    for other in others:
        other.unlink()
    return path


def write_other(run: Path, **facts: object) -> None:
    """A whole checkpoint in place of the run's, of something else."""
    checkpoint_of(run).unlink()
    checkpoint.save(run, {"a": np.zeros(3)}, {"timesteps": 4096, **facts})


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no checkpoint": (lambda run: checkpoint_of(run).unlink(), "no checkpoint that is whole"),
    "checkpoint cut off": (lambda run: truncate(checkpoint_of(run)), "no checkpoint that is whole"),
    "checkpoint empty": (lambda run: checkpoint_of(run).write_bytes(b""), "no checkpoint that is whole"),
    "checkpoint is text": (lambda run: checkpoint_of(run).write_text("no tensors"), "no checkpoint that is whole"),
    "checkpoint of another kind": (write_other, "does not fit"),
    "checkpoint of other layers": (lambda run: edit_config(run, hidden_sizes=[17]), "does not fit"),
    "checkpoint of other settings": (lambda run: edit_config(run, gamma=0.5), "written with other settings: gamma"),
    "no config": (lambda run: (run / "config.json").unlink(), "config.json"),
    "config cut off": (lambda run: truncate(run / "config.json"), "config.json"),
    "config is a list": (lambda run: (run / "config.json").write_text("[]"), "config.json"),
    "config is binary": (lambda run: (run / "config.json").write_bytes(b"\xff\xfe"), "config.json"),
    "config with an unknown key": (
        lambda run: edit_config(run, no_such_setting=1),
        "no_such_setting is no setting of it",
    ),
    "config with nonsense": (lambda run: edit_config(run, num_envs=-1), "--num-envs must be positive"),
    "config with a word for a number": (lambda run: edit_config(run, num_envs="many"), "config.json"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused_with_its_fault_and_left_alone(copied, damage):
    spoil, message = DAMAGES[damage]
    spoil(copied)
    before = contents(copied)
    outcome = train("--resume", copied)
    assert outcome.status == 2
    assert message in outcome.errors
    assert contents(copied) == before


def test_a_missing_run_is_named_and_not_made(tmp_path):
    outcome = train("--resume", tmp_path / "nowhere")
    assert outcome.status == 2
    assert "there is no run folder" in outcome.errors
    assert not (tmp_path / "nowhere").exists()


def test_two_processes_are_never_at_work_in_one_folder(copied):
    before = contents(copied)
    with run_folder.held(copied):
        outcome = train("--resume", copied)
    assert outcome.status == 2
    assert f"another process is at work in {copied}" in outcome.errors
    assert contents(copied) == before
    with run_folder.held(copied):
        pass  # it is free again


@pytest.mark.parametrize(
    "options",
    [
        "--total-timesteps 9999 --gamma=0.9",
        f"--total-timesteps {MaskableConfig().total_timesteps}",  # the default, not that of the run
        "--algorithm selfplay",
        "--no-open-mice",
    ],
)
def test_resume_takes_no_other_options(copied, options):
    before = contents(copied)
    outcome = train("--resume", copied, *options.split())
    assert outcome.status == 2
    named = [word.split("=")[0] for word in options.split() if word.startswith("--")]
    assert f"leave out {' '.join(named)}" in outcome.errors
    assert contents(copied) == before


# --- a full disk ------------------------------------------------------------------------------------------------------


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    write_json(tmp_path / "a.json", {"old": 1})
    before = contents(tmp_path)
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(RunError, match=r"a\.json: the disk is full; the file there before is whole"):
        write_json(tmp_path / "a.json", {"new": 2})
    assert contents(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", ["learning_curve.json", "learning_curve.png", "evaluation.json"])
def test_a_run_on_a_full_disk_says_so_and_keeps_what_it_had(copied, name):
    truncate(copied / "learning_curve.json")  # will be written anew
    before = (copied / name).read_bytes()
    (copied / f"{name}.part").symlink_to("/dev/full")
    checkpoint.checkpoints(copied)[-1].unlink()  # there is something left to learn
    outcome = train("--resume", copied)
    assert outcome.status == 2
    assert f"cannot write {copied / name}" in outcome.errors
    assert (copied / name).read_bytes() == before
    assert not (copied / f"{name}.part").is_symlink()


@pytest.mark.parametrize("function", ["train.checkpoint.write_atomically", "train.run.save_policy"])
def test_an_error_while_writing_is_a_message_and_the_checkpoints_stay(copied, monkeypatch, function):
    (copied / "evaluation.json").unlink()  # there is something left to do
    before = contents(copied / "checkpoints")
    monkeypatch.setattr(function, no_space)
    outcome = train("--resume", copied)
    assert outcome.status == 2
    assert "disk is full" in outcome.errors or "No space left on device" in outcome.errors
    if "checkpoint" in function:
        assert contents(copied / "checkpoints") == before
