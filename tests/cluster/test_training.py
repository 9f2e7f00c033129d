"""Training, experiments and evaluations on a Ray cluster: the same bytes as on one machine."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.__main__ import VERBS
from agents.checkpoint_file import list_checkpoints
from agents.tools.command import run_verb
from experiments.checks.faults import add_node, kill_node
from experiments.runs import train_runs
from tests.support.paths import ROOT
from tests.support.selfplay_runs import create_trainer, options, small_config, weights
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster("a Ray cluster on this machine")
MIX = ("self=0.4", "tuned=0.3", "net=0.3")  # the learner, a compiled player, and one that is not


def train(folder: Path, *, during: Any = lambda update: None, **settings: object) -> bytes:
    """Train for four updates, call `during` before each, and return the weights."""
    trainer = create_trainer(folder, mix=MIX, shards=4, **settings)
    for update in range(4):
        during(update)
        trainer.run_iteration()
    trainer.games.close()
    return weights(trainer)


@pytest.mark.parametrize("lag", [0, 1])
def test_training_gives_the_same_weights_whoever_plays(cluster, tmp_path, lag):
    here = train(tmp_path / "here", lag=lag, workers=2)
    for number, nodes in enumerate([1, 1, 2]):  # one worker, two, four
        for _ in range(nodes):
            add_node(cluster)
        assert train(tmp_path / str(number), lag=lag, ray=cluster.address) == here


@pytest.mark.parametrize("lag", [0, 1])
def test_a_node_that_dies_and_one_that_joins_do_not_change_the_weights(cluster, tmp_path, lag):
    here = train(tmp_path / "here", lag=lag, workers=2)  # processes, which compute as the nodes do
    for _ in range(2):
        add_node(cluster)

    def change(update: int) -> None:
        if update == 2:
            kill_node(cluster)
        if update == 3:
            add_node(cluster)

    assert train(tmp_path / "there", lag=lag, ray=cluster.address, during=change) == here


@pytest.mark.parametrize("lag", [0, 1])
def test_a_killed_training_run_resumes_to_the_same_policy(cluster, tmp_path, lag):
    for _ in range(2):
        add_node(cluster)
    shards = ["--mix", *MIX, "--shards", "4", "--lag", str(lag), "--total-timesteps", "6000"]
    begin = [sys.executable, "-m", "train", *options(), *shards]
    environment = {"cwd": ROOT, "env": {**os.environ, "FELICITY_PORTABLE": "1"}, "check": True}
    subprocess.run([*begin, "--workers", "2", "--out", str(tmp_path / "here")], **environment)
    there = tmp_path / "there"
    process = subprocess.Popen([*begin, "--ray", cluster.address, "--out", str(there)], cwd=ROOT)
    wait_until(lambda: there.exists() and bool(list_checkpoints(there)), seconds=120)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (there / "evaluation.json").exists()
    resume = [sys.executable, "-m", "train", "--resume", str(there), "--ray", cluster.address]
    subprocess.run(resume, **environment)
    assert (there / "policy.safetensors").read_bytes() == (tmp_path / "here" / "policy.safetensors").read_bytes()


def without_time(run: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a training run without what a clock says."""
    curve = [{name: value for name, value in point.items() if name != "seconds"} for point in run["curve"]]
    return {"config": run["config"], "results": run["results"], "curve": curve}


def test_the_runs_of_an_experiment_have_the_results_of_this_machine(cluster, tmp_path):
    for _ in range(2):
        add_node(cluster)
    configs = [small_config(prior=prior, seed=seed) for prior in ("uniform", "e2") for seed in (1, 2)]
    configs += [small_config(init="agents/net/0", raises=True, hidden_sizes=(128, 128))]  # a node gets it, too
    here, there = ([(tmp_path / place / str(k), config) for k, config in enumerate(configs)] for place in "ab")
    local = [without_time(run) for run in train_runs(here, workers=2)]
    assert [without_time(run) for run in train_runs(there, workers=1, ray=cluster.address)] == local
    for (one, _), (two, _) in zip(here, there, strict=True):
        assert (one / "policy.safetensors").read_bytes() == (two / "policy.safetensors").read_bytes()


def test_an_evaluation_has_the_result_of_this_machine(cluster, tmp_path):
    add_node(cluster, num_cpus=2)

    def evaluate(name: str, *where: str) -> list[dict[str, Any]]:
        words = ["net", "--against", "ev", "tuned", "--num-deals", "8", "--num-players", "3", "4"]
        assert run_verb("agents", VERBS, ["evaluate", *words, *where, "--out", str(tmp_path / name)]) == 0
        return json.loads((tmp_path / name / "result.json").read_text())["results"]

    assert evaluate("there", "--ray", cluster.address) == evaluate("here", "--workers", "2")
