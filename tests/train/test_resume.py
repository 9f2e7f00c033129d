"""Interrupted and resumed runs of `python -m train`: Ctrl-C, damaged runs, full disks."""

import csv
import errno
import json
import os
import pkgutil
import shutil
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

import agents
from agents.checkpoint_file import list_checkpoints, save_checkpoint
from agents.policy_file import Layers
from agents.tools.command import python_command
from agents.tools.files import lock_folder
from felicity_env import Batch
from felicity_env.kernel import MAX_THREADS
from tests.support.training import (
    SMALL,
    TINY,
    Outcome,
    choose_cpu,
    contents,
    flat,
    newest,
    policy_bytes,
    short_run,
    small_config,
    train,
)
from train.algorithms import ALGORITHMS
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer
from train.selfplay import SelfplayConfig
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

    def interrupt(self: Run, layers: Layers, critic: Layers, timesteps: int, logger: Logger) -> dict[str, Any]:
        if timesteps:
            signal.raise_signal(signal.SIGINT)
        return measure(self, layers, critic, timesteps, logger)

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
    assert f"stopped; continue: {python_command('train')} --resume {run_copy}" in outcome.errors


@pytest.mark.parametrize(
    ("words", "function", "when"),
    [
        ("maskable-ppo", "train.trainer.Run.add_to_curve", "after this point of the learning curve"),
        ("maskable-ppo", "train.maskable_ppo.MaskablePPO.train", "after this update"),
        ("maskable-ppo", "train.maskable_ppo.SingleLearnerVecEnv.step_async", "at once"),
        ("selfplay", "train.trainer.Run.add_to_curve", "after this point of the learning curve"),
        ("selfplay", "train.selfplay.SelfplayTrainer.optimize_minibatch", "after this update"),
        ("selfplay", "train.own_games.OwnGames._choose", "at once"),
        ("selfplay --shards 2", "train.shards.play_shard", "at the end of the next shard"),
    ],
)
def test_ctrl_c_says_when_the_run_stops(words, function, when, tmp_path, monkeypatch):
    module, _, name = function.rpartition(".")
    work, calls = getattr(pkgutil.resolve_name(module), name), count()

    def interrupt(*arguments: Any) -> Any:
        if next(calls) == 1:  # something has been shown before
            signal.raise_signal(signal.SIGINT)
        return work(*arguments)

    monkeypatch.setattr(function, interrupt)
    sizes = (*SMALL, "--total-timesteps", 1100, "--curve-every", 1000)
    algorithm = words.split()[0]
    outcome = train(*words.split(), *sizes, *choose_cpu(algorithm), "--against", "random", "--out", tmp_path / "run")
    assert outcome.status == 130, outcome.errors
    assert f"stopping {when}, and saving (Ctrl-C again stops at once" in outcome.output


def test_a_point_of_the_curve_that_a_stop_left_out_is_measured_when_the_run_is_resumed(
    complete_run, tmp_path, monkeypatch
):
    run, learn, updates = tmp_path / "run", MaskablePPO.train, count(1)

    def interrupt(model: MaskablePPO) -> None:
        if next(updates) == 2:  # a point is due after it
            signal.raise_signal(signal.SIGINT)
        learn(model)

    with monkeypatch.context() as patch:
        patch.setattr(MaskablePPO, "train", interrupt)
        assert train(*TINY, "--curve-every", 2048, "--out", run).status == 130
    expected, left_out = (
        [(point["timesteps"], point["results"]) for point in json.loads((folder / "learning_curve.json").read_text())]
        for folder in (complete_run[0], run)
    )
    assert (left_out, newest(run).metadata["timesteps"]) == (expected[:1], 2048)
    assert train("--resume", run).status == 0
    curve = json.loads((run / "learning_curve.json").read_text())
    assert [(point["timesteps"], point["results"]) for point in curve[:2]] == expected[:2]


OWN = "import agents\ndef make():\n    return agents.make('random')\ndef log(values, timesteps):\n    pass\n"


def test_ctrl_c_proposes_a_command_with_all_that_the_run_folder_does_not_keep(tmp_path, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MaskablePPOTrainer, "learn", interrupt)  # as a second Ctrl-C does
    (tmp_path / "own.py").write_text(OWN)
    player, log, run = f"{tmp_path}/own.py:make", f"{tmp_path}/own.py:log", tmp_path / "run"
    unstored = f"--log-to {log} --save-minutes 0.5"
    outcome = train(*TINY, "--against", player, *unstored.split(), "--out", run)
    proposed = f"{python_command('train')} --resume {run} --allow {player} {unstored}"
    assert (outcome.status, outcome.errors) == (130, f"stopped; continue: {proposed}")
    again = train(*proposed.removeprefix(python_command("train")).split())
    assert (again.status, again.errors) == (130, f"stopped; continue: {proposed}")


def test_ctrl_c_before_the_run_begins_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("train.command.load_trainer", interrupt)
    monkeypatch.setattr("train.command.read_arguments", lambda words: (SelfplayConfig(out=tmp_path / "run"), []))
    outcome = train()
    assert (outcome.status, outcome.errors) == (130, "stopped; nothing was stored")
    assert not (tmp_path / "run").exists()


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
    trainer.run.curve, trainer.updates, trainer.timesteps = [{"timesteps": 64}], 7, 2048
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
    "no config": (lambda run: (run / "config.json").unlink(), "is no run folder: it has no config.json"),
    "config cut off": (lambda run: truncate(run / "config.json"), "config.json"),
    "config is a list": (lambda run: (run / "config.json").write_text("[]"), "config.json"),
    "config is binary": (lambda run: (run / "config.json").write_bytes(b"\xff\xfe"), "config.json"),
    "config with an unknown key": (
        lambda run: edit_config(run, no_such_setting=1),
        "maskable-ppo stores no setting no_such_setting",
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
        "--learning-rate 0.1 --gamma=0.9",
        f"--num-envs {MaskablePPOConfig().num_envs}",  # the default, not that of the run
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


@pytest.mark.parametrize("options", ["--workers 2", "--ray auto", "--games cuda"])
def test_an_option_that_the_algorithm_of_the_run_does_not_have_is_refused(run_copy, options):
    before = contents(run_copy)
    outcome = train("--resume", run_copy, "--total-timesteps", 8192, *options.split())
    assert outcome.status == 2
    assert contents(run_copy) == before
    assert f"maskable-ppo, with which this run learns, has no {options.split()[0]}" in outcome.errors


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


@pytest.mark.parametrize("function", ["agents.checkpoint_file.write_atomically", "train.trainer.save_policy"])
def test_an_error_while_writing_is_a_message_and_the_checkpoints_stay(run_copy, monkeypatch, function):
    (run_copy / "evaluation.json").unlink()  # there is something left to do
    before = contents(run_copy / "checkpoints")
    monkeypatch.setattr(function, no_space)
    outcome = train("--resume", run_copy)
    assert outcome.status == 2
    assert "disk is full" in outcome.errors or "No space left on device" in outcome.errors
    stay = contents(run_copy / "checkpoints")
    if function == "agents.checkpoint_file.write_atomically":
        assert stay == before
    assert {Path(name).name[:12] for name in stay} == {Path(name).name[:12] for name in before}
    assert newest(run_copy).metadata["timesteps"] == 4096


# --- stopped by a scheduler, played before the end, extended after it -------------------------------------------------


@pytest.mark.linux("only POSIX systems send SIGTERM to a process that can save")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_scheduler_that_ends_the_job_leaves_a_run_that_plays(algorithm, name, tmp_path, monkeypatch):
    run, measure = tmp_path / "run", Run.add_to_curve

    def end_job(self: Run, layers: Layers, critic: Layers, timesteps: int, logger: Logger) -> dict[str, Any]:
        if timesteps:
            for _ in range(2):  # both the scheduler and a process that waits for this one may send it
                signal.raise_signal(getattr(signal, name))
        return measure(self, layers, critic, timesteps, logger)

    monkeypatch.setattr(Run, "add_to_curve", end_job)
    size = ("--total-timesteps", 8192, "--curve-every", 2048)
    outcome = train(algorithm, *SMALL, *choose_cpu(algorithm), *size, "--out", run)
    assert outcome.status == 130, outcome.errors
    assert not (run / "policy.json").exists()
    player = agents.make(f"net:{run}")
    assert player.act(Batch(4).view()).shape == (4,)
    assert agents.make(f"net:{list_checkpoints(run)[-1]}").digest() == player.digest()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_finished_run_is_extended_to_a_new_total(algorithm, tmp_path):
    run = tmp_path / "run"
    words = (algorithm, *SMALL, *choose_cpu(algorithm), "--curve-every", 2048)
    assert train(*words, "--total-timesteps", 2048, "--out", run).status == 0
    learned = newest(run).metadata["timesteps"]
    outcome = train("--resume", run, "--total-timesteps", 6144)
    assert outcome.status == 0, outcome.errors
    assert "extended from 2,048 to 6,144 decisions; it goes on with learning_rate 0.000" in outcome.output
    assert "_coef 0.0" in outcome.output
    assert newest(run).metadata["timesteps"] >= 6144
    stored = json.loads((run / "config.json").read_text())
    assert stored["config"]["total_timesteps"] == 6144
    assert stored["extended"] == [{"from": 2048, "to": 6144, "at": learned}]
    assert json.loads((run / "policy.json").read_text())["timesteps"] == newest(run).metadata["timesteps"]
    curve = [point["timesteps"] for point in json.loads((run / "learning_curve.json").read_text())]
    assert curve == sorted(set(curve))
    assert train("--resume", run).status == 0


def test_a_total_that_is_not_larger_extends_nothing(run_copy):
    before = contents(run_copy)
    outcome = train("--resume", run_copy, "--total-timesteps", 100)
    assert outcome.status == 2
    assert "--total-timesteps is the new total: it must be more than the run's 4,096, not 100" in outcome.errors
    assert contents(run_copy) == before


def test_a_run_is_resumed_with_another_number_of_threads_which_is_said(run_copy, monkeypatch):
    (run_copy / "evaluation.json").unlink()
    monkeypatch.setattr("train.trainer.prepare_process", lambda threads: 7)
    outcome = train("--resume", run_copy)
    assert outcome.status == 0, outcome.errors
    assert "threads: 7 instead of 1; the results may differ in the last bits" in outcome.output


@pytest.mark.parametrize(("stored", "used"), [(1, 1), (10_000, MAX_THREADS), (None, None)])
def test_a_run_is_resumed_with_the_threads_that_it_was_started_with(run_copy, stored, used, monkeypatch):
    path = run_copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"threads": stored}))
    given = []
    monkeypatch.setattr("train.trainer.prepare_process", lambda threads: given.append(threads) or 1)
    assert train("--resume", run_copy).status == 0
    assert given == [used]


def test_threads_that_are_no_number_are_refused(run_copy):
    path = run_copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"threads": "many"}))
    outcome = train("--resume", run_copy)
    assert outcome.status == 2
    assert "cannot read settings of `python -m train`" in outcome.errors


def test_a_checkpoint_is_written_when_the_last_one_is_older_than_wanted(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(Run, "save", lambda self, *_, timesteps, updates: written.append(timesteps))
    words = ("maskable-ppo", *SMALL, "--total-timesteps", 4096, "--curve-every", 100_000)
    train(*words, "--save-minutes", 1e-9, "--out", tmp_path / "often")
    often = len(written)
    train(*words, "--out", tmp_path / "seldom")
    assert often > len(written) - often


def test_a_resumed_run_may_get_another_time_between_checkpoints(run_copy, monkeypatch):
    used = []
    monkeypatch.setattr("train.command._learn", lambda trainer, console: used.append(trainer.run.config.save_minutes))
    for words in (["--save-minutes", 0.5], []):
        train("--resume", run_copy, *words)
    assert used == [0.5, 5.0]


def test_every_point_of_the_curve_is_logged_at_its_own_step(complete_run):
    rows = []
    for path in (complete_run[0] / "logs").rglob("progress.csv"):
        with path.open() as file:
            rows += list(csv.DictReader(file))
    name = next(name for name in rows[0] if name.startswith("win_share/"))
    curve = json.loads((complete_run[0] / "learning_curve.json").read_text())
    shares = [point["results"][0]["win_share"][name.split("_")[-1]]["value"] for point in curve]
    logged = [float(row[name]) for row in rows if row.get(name)]
    assert logged == pytest.approx(shares)
