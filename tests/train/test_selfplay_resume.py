"""Resumed runs of the self-play trainer: they are the same as uninterrupted runs, bit for bit."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import Logger

import agents
from agents.checkpoint_file import load_checkpoint
from agents.policy_file import load_policy, save_policy
from agents.tools.files import UserError
from felicity_env import Batch
from felicity_env.kernel import MAX_THREADS
from tests.support.forked import kill_training
from tests.support.players import small_net
from tests.support.selfplay_runs import create_trainer, options, weights
from tests.support.training import RUN_FILES, list_names
from train.__main__ import main
from train.config import read_config
from train.selfplay import SelfplayConfig, SelfplayTrainer
from train.storage import arrays_to_tensors

MIXED = {"mix": ("self=2", "ev=1"), "num_players": (3, 4, 5)}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("settings", [{}, MIXED, {"kl_coef": 0.1}, {"threads": min(2, MAX_THREADS)}])
def test_a_resumed_run_has_the_weights_of_one_that_was_never_stopped(tmp_path, settings, precision):
    whole = create_trainer(tmp_path / "whole", precision=precision, **settings)
    stopped = create_trainer(tmp_path / "stopped", precision=precision, **settings)
    for _ in range(4):
        whole.run_iteration()
    for _ in range(2):
        stopped.run_iteration()
    stopped.save()
    resumed = create_trainer(tmp_path / "stopped", precision=precision, **settings)
    resumed.restore(report=print)
    assert weights(resumed) == weights(stopped)
    for _ in range(2):
        resumed.run_iteration()
    assert weights(resumed) == weights(whole)
    assert (resumed.timesteps, resumed.updates) == (whole.timesteps, whole.updates)


def read_results(run: Path) -> list[tuple[int, object]]:
    curve = json.loads((run / "learning_curve.json").read_text())
    return [(point["timesteps"], point["results"]) for point in curve]


def test_a_run_without_a_checkpoint_yet_starts_from_the_beginning(complete_run, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(complete_run / "config.json", run)
    assert main(["--resume", str(run)]) == 0
    assert "has no checkpoint yet: it starts from the beginning" in " ".join(capsys.readouterr().out.split())
    assert (run / "policy.safetensors").read_bytes() == (complete_run / "policy.safetensors").read_bytes()


def test_ctrl_c_saves_and_the_run_then_ends_as_one_that_was_not_stopped(complete_run, tmp_path, monkeypatch):
    run, update = tmp_path / "run", SelfplayTrainer.run_iteration

    def interrupt(trainer: SelfplayTrainer) -> dict[str, float]:
        if trainer.updates == 2:
            signal.raise_signal(signal.SIGINT)
        return update(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(SelfplayTrainer, "run_iteration", interrupt)
        assert main([*options(), "--out", str(run)]) == 130
    assert load_checkpoint(run, report=print).metadata["updates"] == 2  # a stop during a rollout takes effect at once
    assert main(["--resume", str(run)]) == 0
    assert (run / "policy.safetensors").read_bytes() == (complete_run / "policy.safetensors").read_bytes()
    assert read_results(run) == read_results(complete_run)


def test_a_stop_does_not_wait_for_a_measurement_which_the_resumed_run_then_makes(complete_run, tmp_path, monkeypatch):
    run, learn = tmp_path / "run", SelfplayTrainer.update_policy

    def interrupt(trainer: SelfplayTrainer, *arguments: Any) -> dict[str, float]:
        if trainer.updates == 1:
            signal.raise_signal(signal.SIGINT)
        return learn(trainer, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SelfplayTrainer, "update_policy", interrupt)
        assert main([*options(), "--out", str(run)]) == 130
    (first, second, *_), stopped_at = read_results(complete_run), load_checkpoint(run, report=print).metadata
    assert (read_results(run), stopped_at["timesteps"]) == ([first], second[0])
    assert main(["--resume", str(run)]) == 0
    assert read_results(run) == read_results(complete_run)
    assert (run / "policy.safetensors").read_bytes() == (complete_run / "policy.safetensors").read_bytes()


def test_training_that_diverges_says_so(tmp_path):
    with pytest.raises(UserError, match=r"training diverged: .* lower --learning-rate"):
        create_trainer(tmp_path, learning_rate=1e30).run_iteration()


def test_steps_so_few_that_nothing_is_learned_are_refused_before_the_weights_are_harmed(tmp_path):
    trainer = create_trainer(tmp_path, num_envs=8, num_steps=1, batch_size=8, mix=("self=1",))
    before = weights(trainer)
    with pytest.raises(UserError, match="--num-steps is too small"):
        trainer.run_iteration()
    assert weights(trainer) == before


MOMENTS = [  # function before which the run is killed, and at which of its calls
    (("agents.tools.files", "os", "fsync"), 9),  # the learning curve is written, but not yet in its place
    (("agents.tools.files", "os", "replace"), 3),  # a checkpoint, the same
    (("agents.tools.files", "os", "fsync"), 6),  # a checkpoint has its place
    (("train.selfplay", "SelfplayTrainer", "run_iteration"), 2),
]


def test_a_run_killed_at_any_moment_ends_with_the_weights_and_curve_of_one_that_was_not(complete_run, tmp_path):
    killed, often = tmp_path / "killed", ("--save-minutes", "1e-6")  # after every update
    for function, turn in MOMENTS:
        begin = ["--resume", str(killed), *often] if killed.exists() else [*options(), "--out", str(killed)]
        kill_training(function, turn, begin)
    assert load_checkpoint(killed, report=print).metadata["updates"] == 3
    assert main(["--resume", str(killed)]) == 0
    assert (killed / "policy.safetensors").read_bytes() == (complete_run / "policy.safetensors").read_bytes()
    assert read_results(killed) == read_results(complete_run)


def test_a_run_may_begin_with_the_policy_of_another_and_its_critic(complete_run, tmp_path):
    started = create_trainer(tmp_path, init=str(complete_run))
    expected = agents.make(f"net:{complete_run}").layers
    assert all((a[0] == b[0]).all() and (a[1] == b[1]).all() for a, b in zip(started.layers(), expected, strict=True))
    saved = arrays_to_tensors("policy.critic.", load_checkpoint(complete_run, report=print).arrays)
    critic = started.policy.critic.state_dict()
    assert saved.keys() == critic.keys()
    assert all(torch.equal(critic[name], tensor) for name, tensor in saved.items())
    by_file = create_trainer(tmp_path, init=str(complete_run / "policy.json"))
    assert weights(by_file) == weights(started)
    (copied := tmp_path / "copied").mkdir()
    for name in ("policy.json", "policy.safetensors"):
        shutil.copy(complete_run / name, copied)
    assert weights(create_trainer(tmp_path, init=str(copied))) == weights(started)


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"hidden_sizes": (17,)}, "needs --hidden-sizes 16$"),
        ({"hidden_sizes": (16, 16), "raises": True}, "needs --hidden-sizes 16 --no-raises$"),
        ({"open_mice": False}, "needs --open-mice$"),
    ],
)
def test_a_policy_of_another_kind_to_begin_with_is_refused_with_the_options_it_needs(
    complete_run, tmp_path, settings, needed
):
    with pytest.raises(ValueError, match=needed):
        create_trainer(tmp_path, init=str(complete_run), **settings)


def test_a_policy_of_another_activation_to_begin_with_is_refused(tmp_path):
    save_policy(tmp_path, small_net(hidden=16).layers, open_mice=True, activation="tanh")
    with pytest.raises(ValueError, match="tanh between its layers, this trainer's have relu"):
        create_trainer(tmp_path / "run", init=str(tmp_path))


def test_a_number_of_players_named_twice_gets_twice_the_games_and_is_measured_once(tmp_path):
    trainer = create_trainer(tmp_path, num_players=(3, 4, 4), num_envs=12)
    assert np.bincount(trainer.games.batch.num_players).tolist() == [0, 0, 0, 4, 8]
    results = trainer.run.add_to_curve(trainer.layers(), trainer.critic_layers(), 0, Logger(None, []))["results"]
    assert [result["num_players"] for result in results] == [3, 4]


def test_a_run_may_begin_with_a_policy_without_a_critic(complete_run, tmp_path):
    save_policy(tmp_path, load_policy(complete_run)[0], open_mice=True, activation="relu")
    started, fresh = create_trainer(tmp_path / "started", init=f"net:{tmp_path}"), create_trainer(tmp_path / "fresh")
    assert torch.equal(started.policy.critic[0].weight, fresh.policy.critic[0].weight)
    assert not torch.equal(started.policy.actor[0].weight, fresh.policy.actor[0].weight)


def test_a_resumed_run_does_not_need_the_policy_that_it_began_with(complete_run, tmp_path):
    start = tmp_path / "start"
    shutil.copytree(complete_run, start)
    run = create_trainer(tmp_path / "run", init=str(start))
    run.run_iteration()
    run.save()
    shutil.rmtree(start)
    resumed = create_trainer(tmp_path / "run", init=str(start))
    resumed.restore(print)
    assert weights(resumed) == weights(run)


@pytest.fixture(scope="module")
def complete_run(tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("selfplay") / "run"
    assert main([*options(), "--out", str(run)]) == 0
    return run


def test_a_run_leaves_what_any_other_trainer_leaves(complete_run):
    assert list_names(complete_run) == RUN_FILES
    config = read_config(complete_run / "config.json")
    assert isinstance(config, SelfplayConfig)
    assert config.algorithm == "selfplay"
    assert json.loads((complete_run / "policy.json").read_text())["activation"] == "relu"
    (logs,) = (complete_run / "logs").iterdir()
    columns = (logs / "progress.csv").read_text().splitlines()[0].split(",")
    losses = {f"train/{name}_loss" for name in ("policy_gradient", "value", "prior")}
    learning = {f"train/{name}" for name in ("approx_kl", "clip_fraction", "explained_variance", "learning_rate")}
    assert {*losses, *learning, "time/fps", "time/total_timesteps", "win_share/standard-4_anchor"} <= set(columns)


def test_a_run_may_keep_the_policy_of_every_point_of_its_curve(tmp_path):
    run = tmp_path / "run"
    assert main([*options(), "--keep-policies", "--out", str(run)]) == 0
    curve = json.loads((run / "learning_curve.json").read_text())
    kept = sorted((run / "policies").iterdir())
    assert [int(path.name) for path in kept] == [point["timesteps"] for point in curve]
    assert (kept[-1] / "policy.safetensors").read_bytes() == (run / "policy.safetensors").read_bytes()
    assert agents.make(f"net:{kept[0]}").digest() != agents.make(f"net:{kept[-1]}").digest()


def test_its_policy_plays_by_its_code(complete_run):
    player = agents.make(f"net:{complete_run}")
    batch = Batch(30, [3, 4, 5] * 10)
    for _ in range(40):
        actions = player.act(batch.view())
        assert batch.action_masks[np.arange(30), actions].all()
        batch.step(actions)
