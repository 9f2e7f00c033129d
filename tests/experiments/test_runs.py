"""Training runs of experiments: trained once, resumed, refused with other settings; results give way to their like."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from agents.arena.estimates import estimate_share
from agents.checkpoint_file import list_checkpoints
from agents.tools.files import UserError
from agents.tools.settings import OneSetup
from experiments import results
from experiments.processes import TrainingProcesses
from experiments.runs import RunTask, estimate_over_seeds, finish_run, pack, train_run, train_runs
from tests.support.paths import ROOT
from tests.support.selfplay_runs import small_config
from tests.support.waiting import wait_until
from train.selfplay import SelfplayConfig
from train.storage import CONFIG, EVALUATION, create_run_folder

TINY = small_config(hidden_sizes=(8,), total_timesteps=600)


def test_a_stored_result_gives_way_to_one_with_the_same_settings_alone(stored, capsys):
    settings = {"num_deals": 10, "codes": ("ev",), "workers": 2}
    other = results.write_result("found", settings, 1, started=0.0)
    assert other == stored / "found.json"  # a first result is moved to the stored ones by hand
    path = results.RESULTS / "found.json"
    path.parent.mkdir()
    shutil.move(other, path)
    assert results.write_result("found", {**settings, "workers": 1}, 2, started=0.0) == path
    capsys.readouterr()
    assert results.write_result("found", {**settings, "num_deals": 5}, 3, started=0.0) == other
    assert f"{path} was written with other settings (num_deals); it stays unchanged" in capsys.readouterr().out
    assert [json.loads(written.read_text())["results"] for written in (path, other)] == [2, 3]


def test_a_result_for_another_setup_has_its_name_and_fields(stored, tmp_path):
    file, config = tmp_path / "setup.json", partial(OneSetup, setup=str(tmp_path / "setup.json"))
    paths = []
    for bank in (27, 24):
        file.write_text(json.dumps({"seats": 4, "mouse_cards": [1, 3, 6], "bank": bank}))
        paths.append(results.write_result("found", config(), 1, started=0.0))
        (name,) = (setups := json.loads(paths[-1].read_text())["setups"])
        assert paths[-1] == stored / f"found_{name}.json"
        assert setups[name]["bank"] == bank
    assert paths[0] != paths[1]
    assert results.write_result("found", OneSetup(), 1, started=0.0) == stored / "found.json"


def test_a_stored_result_with_equal_settings_but_another_setup_stays(stored):
    path = results.write_result("found", OneSetup(), 1, started=0.0)
    content = json.loads(path.read_text())
    results.RESULTS.mkdir()
    shutil.move(path, results.RESULTS)
    assert results.store("found", content) == results.RESULTS / "found.json"
    content["setups"]["standard-4"]["bank"] = 1
    assert results.store("found", content) == path


def test_a_result_takes_the_place_of_one_that_was_stored_without_its_setups(stored):
    path = results.write_result("found", OneSetup(), 1, started=0.0)
    content = json.loads(path.read_text())
    del content["setups"]
    results.RESULTS.mkdir()
    (results.RESULTS / "found.json").write_text(json.dumps(content))
    assert results.write_result("found", OneSetup(), 2, started=0.0) == results.RESULTS / "found.json"


def test_a_run_is_trained_once_and_resumed_if_it_was_stopped(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    first = train_run(folder, TINY)
    monkeypatch.setattr(TrainingProcesses, "train", lambda *_: pytest.fail("the run is finished"))
    assert train_run(folder, TINY) == first
    monkeypatch.undo()
    (folder / "evaluation.json").unlink()
    assert train_run(folder, TINY)["curve"] == first["curve"]  # resumed
    advice = "other settings .total_timesteps, seed.; delete it, or choose another --out"
    with pytest.raises(UserError, match=advice):
        train_run(folder, replace(TINY, total_timesteps=700, seed=3))


def test_a_run_that_was_stopped_before_its_first_checkpoint_starts_again(tmp_path):
    folder = tmp_path / "run"
    create_run_folder(replace(TINY, out=folder))  # as a process that was killed at once leaves it
    (folder / "logs").mkdir()
    assert train_run(folder, TINY)["config"]["total_timesteps"] == 600


def test_a_folder_with_anything_else_is_not_touched(tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="is not empty and holds no run; choose another --out"):
        train_run(folder, TINY)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_runs_side_by_side_come_back_in_order_and_write_to_logs_of_their_own(tmp_path, capfd):
    wanted = [(tmp_path / f"seed{seed}", replace(TINY, seed=seed)) for seed in (3, 1)]
    finished = list(train_runs(wanted, workers=2))
    assert [run["config"]["seed"] for run in finished] == [3, 1]
    lines = [f"training {folder}: its progress is in {folder}.log" for folder, _ in wanted]
    output, errors = capfd.readouterr()
    assert (sorted(output.splitlines()), errors) == (sorted(lines), "")
    assert "evaluating" in (tmp_path / "seed3.log").read_text()
    assert finished[1]["curve"] == train_run(*wanted[1])["curve"]


def test_after_a_failure_no_more_runs_start_and_the_log_is_named(tmp_path):
    init = str(tmp_path / "nothing")  # a policy that does not exist
    wanted = [(tmp_path / str(k), replace(TINY, init=init)) for k in range(8)]
    with pytest.raises(UserError, match=r"failed with exit status 2; see .*0\.log"):
        list(train_runs(wanted, workers=2))
    assert not (tmp_path / "7.log").exists()  # one or two more may have started before the failure was noticed


def test_after_a_failure_the_runs_beside_it_stop(tmp_path):
    long = (tmp_path / "long", replace(TINY, total_timesteps=10_000_000))  # minutes
    failing = (tmp_path / "failing", replace(TINY, init=str(tmp_path / "nothing")))
    with pytest.raises(UserError, match=r"failed with exit status 2; see .*failing\.log"):
        list(train_runs([failing, long], workers=2))
    assert (long[0] / CONFIG).exists()
    assert not (long[0] / EVALUATION).exists()


def test_a_run_that_fails_on_a_cluster_says_what_its_log_says(tmp_path):
    run = RunTask(tmp_path / "run", replace(TINY, init=str(tmp_path / "nothing")), b"")
    create_run_folder(replace(run.config, out=run.folder))
    with pytest.raises(
        UserError, match=r"(?s)training failed; its output ends with\n.*/nothing: there is no such file"
    ):
        finish_run(run._replace(archive=pack(run.folder)))


@pytest.mark.linux("only POSIX systems send signals to one process")
@pytest.mark.compiled("training in several processes")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_to_the_experiment_alone_stops_and_saves_the_trainings_that_it_started(tmp_path, name):
    words = ["--target", "random", "--num-players", "3", "--seeds", "0", "1", "--workers", "2", "--out", str(tmp_path)]
    words += ["--num-envs", "64", "--num-steps", "16", "--hidden-sizes", "8", "--total-timesteps", "1000000000"]
    command = [sys.executable, "-m", "experiments", "exploit", *words]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: len([*tmp_path.rglob("learning_curve.json")]) == 2, seconds=120)
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()  # after a failure; its trainings then end too
    assert process.returncode == 130
    assert "stopped; the same command goes on from here" in errors.splitlines(), errors
    for log in tmp_path.rglob("*.log"):
        assert "stopped and saved after" in log.read_text()
        assert list_checkpoints(log.with_suffix(""))


CHILD = """
import os, pathlib, signal, sys
place = pathlib.Path(sys.argv[1])
def save(*_):
    (place / "saved").touch()
    os._exit(0)
signal.signal(signal.SIGTERM, save)
(place / "part").write_text(str(os.getpid()))
(place / "part").rename(place / "pid")
signal.pause()
"""
PARENT = """
import sys
from experiments.processes import TrainingProcesses
TrainingProcesses()._run([sys.executable, "-c", *sys.argv[1:]], None)
"""


@pytest.mark.linux("only Linux tells a process that its parent has ended")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGHUP"])
def test_a_training_saves_and_stops_when_the_experiment_that_started_it_is_killed(tmp_path, name):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD, str(tmp_path)], cwd=ROOT)
    wait_until((tmp_path / "pid").exists)
    parent.send_signal(getattr(signal, name))
    assert parent.wait() == -getattr(signal, name)
    try:
        wait_until((tmp_path / "saved").exists, seconds=20)
    except AssertionError:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        raise


def test_settings_travel_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(TrainingProcesses, "train", lambda *_: pytest.fail("not to be trained"))
    folder, config = tmp_path / "run", SelfplayConfig(mix=("self=1", "ev=2"), kl_coef=0.05)
    create_run_folder(replace(config, out=folder))
    (folder / "evaluation.json").write_text('{"minutes": 1.0, "results": []}')
    (folder / "learning_curve.json").write_text("[]")
    assert train_run(folder, config)["config"] == json.loads(json.dumps(config.to_json()))


def test_a_run_of_another_machine_keeps_its_precision(tmp_path, monkeypatch):
    monkeypatch.setattr(TrainingProcesses, "train", lambda *_: pytest.fail("not to be trained"))
    folder, config = tmp_path / "run", SelfplayConfig()
    create_run_folder(replace(config, out=folder, precision="bfloat16"))
    (folder / "evaluation.json").write_text('{"minutes": 1.0, "results": []}')
    (folder / "learning_curve.json").write_text("[]")
    assert train_run(folder, config)["config"]["precision"] == "bfloat16"
    with pytest.raises(UserError, match=r"other settings \(precision\)"):
        train_run(folder, replace(config, precision="float32"))


def test_the_mean_over_seeds_has_the_mean_of_each_seed():
    estimate = estimate_over_seeds([np.array([0.0, 1.0]), np.array([0.5, 1.0])])
    assert estimate["value"] == pytest.approx(0.625)
    assert estimate["seeds"] == pytest.approx([0.5, 0.75])


def test_the_interval_over_seeds_includes_the_spread_of_the_seeds():
    far = estimate_over_seeds([np.full(500, 0.2), np.full(500, 0.5)])
    assert far["low"] == pytest.approx(0.2)
    assert far["high"] == pytest.approx(0.5)
    blocks = np.random.default_rng(0).random(400)
    near, alone = estimate_over_seeds([blocks, blocks]), estimate_share(blocks)
    assert near["low"] == pytest.approx(alone.low, abs=0.003)
    assert near["high"] == pytest.approx(alone.high, abs=0.003)


def test_a_stored_result_says_the_command_that_made_it(stored, monkeypatch):
    monkeypatch.setattr("sys.argv", ["experiments/__main__.py", "reference-style", "--num-games", "5"])
    path = results.write_result("reference_style", {}, 1, started=0.0)
    content = json.loads(Path(path).read_text())
    assert content["command"] == "python -m experiments reference-style --num-games 5"
