"""The self-play trainer stops and goes on: a resumed run is the same run, bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import Logger

import agents
from agents.network import NetworkPlayer, save_policy
from felicity_env import Batch
from tests.players import small_net
from tests.selfplay_runs import ROOT, options, trainer_of, weights
from train import checkpoint
from train.__main__ import cli, read_arguments
from train.config import DEFAULTS, SelfplayConfig, read_config
from train.policy import ActorCritic
from train.run_folder import RunError
from train.selfplay import SelfplayTrainer
from train.tensors import tensors_of

# --- the same run, however often it is stopped ------------------------------------------------------------------------


MIXED = {"mix": ("self=2", "ev=1"), "num_players": (3, 4, 5)}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("settings", [{}, MIXED, {"kl_coef": 0.1}, {"threads": 2}])
def test_a_resumed_run_has_the_weights_of_one_that_was_never_stopped(tmp_path, settings, precision):
    whole = trainer_of(tmp_path / "whole", precision=precision, **settings)
    stopped = trainer_of(tmp_path / "stopped", precision=precision, **settings)
    for _ in range(5):
        whole.update()
    for _ in range(3):
        stopped.update()
    stopped.save()
    resumed = trainer_of(tmp_path / "stopped", precision=precision, **settings)
    resumed.restore(say=print)
    assert weights(resumed) == weights(stopped)
    for _ in range(2):
        resumed.update()
    assert weights(resumed) == weights(whole)
    assert (resumed.timesteps, resumed.updates) == (whole.timesteps, whole.updates)


def results_of(run: Path) -> list[tuple[int, object]]:
    curve = json.loads((run / "learning_curve.json").read_text())
    return [(point["timesteps"], point["results"]) for point in curve]


def test_a_run_without_a_checkpoint_yet_begins_again(finished, tmp_path, capsys):
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(finished / "config.json", run)
    assert cli(["--resume", str(run)]) == 0
    assert "has no checkpoint yet: it begins again" in " ".join(capsys.readouterr().out.split())
    assert (run / "policy.safetensors").read_bytes() == (finished / "policy.safetensors").read_bytes()


def test_ctrl_c_saves_and_the_run_then_ends_as_one_that_was_not_stopped(finished, tmp_path, monkeypatch):
    run, update = tmp_path / "run", SelfplayTrainer.update

    def interrupted(trainer: SelfplayTrainer) -> dict[str, float]:
        if trainer.updates == 2:
            signal.raise_signal(signal.SIGINT)
        return update(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(SelfplayTrainer, "update", interrupted)
        assert cli([*options(), "--run", str(run)]) == 130
    assert checkpoint.load(run, say=print).facts["updates"] == 3
    assert cli(["--resume", str(run)]) == 0
    assert (run / "policy.safetensors").read_bytes() == (finished / "policy.safetensors").read_bytes()
    assert results_of(run) == results_of(finished)


def test_training_that_diverges_says_so(tmp_path):
    with pytest.raises(RunError, match=r"training diverged: .* lower --learning-rate"):
        trainer_of(tmp_path, learning_rate=1e30).update()


def test_steps_so_few_that_nothing_is_learned_are_refused_before_the_weights_are_harmed(tmp_path):
    trainer = trainer_of(tmp_path, num_envs=8, num_steps=1, batch_size=8, mix=("self=1",))
    before = weights(trainer)
    with pytest.raises(RunError, match="--num-steps is too small"):
        trainer.update()
    assert weights(trainer) == before


def test_a_run_killed_at_any_moment_ends_with_the_weights_and_curve_of_one_that_was_not(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert cli([*options(), "--run", str(whole)]) == 0
    rng = np.random.default_rng(0)
    kills = 0
    while not (killed / "evaluation.json").exists():
        begin = ["--resume", str(killed)] if killed.exists() else [*options(), "--run", str(killed)]
        command = [sys.executable, "-m", "train", *begin]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            process.stdout.readline()  # the run folder: from here on there is something to kill
            if kills < 3:
                time.sleep(rng.random() * 0.6)
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.stdout.read()
    assert (killed / "policy.safetensors").read_bytes() == (whole / "policy.safetensors").read_bytes()
    assert results_of(killed) == results_of(whole)
    assert kills == 3


def test_a_run_may_begin_with_the_policy_of_another_and_its_critic(finished, tmp_path):
    begun = trainer_of(tmp_path, init=str(finished))
    expected = agents.make(f"net:{finished}").layers
    assert all((a[0] == b[0]).all() and (a[1] == b[1]).all() for a, b in zip(begun.layers(), expected, strict=True))
    saved = tensors_of("policy.critic.", checkpoint.load(finished, say=print).arrays)
    critic = begun.policy.critic.state_dict()
    assert saved.keys() == critic.keys()
    assert all(torch.equal(critic[name], tensor) for name, tensor in saved.items())
    by_file = trainer_of(tmp_path, init=str(finished / "policy.json"))
    assert weights(by_file) == weights(begun)


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"hidden_sizes": (17,)}, "needs --hidden-sizes 16$"),
        ({"hidden_sizes": (16, 16), "raises": True}, "needs --hidden-sizes 16 --no-raises$"),
        ({"open_mice": False}, "needs --open-mice$"),
    ],
)
def test_a_policy_of_another_kind_to_begin_with_is_refused_with_the_options_it_needs(
    finished, tmp_path, settings, needed
):
    with pytest.raises(ValueError, match=needed):
        trainer_of(tmp_path, init=str(finished), **settings)


def test_a_policy_of_another_activation_to_begin_with_is_refused(tmp_path):
    save_policy(tmp_path, small_net(hidden=16).layers, open_mice=True)
    with pytest.raises(ValueError, match="tanh between its layers, this trainer's have relu"):
        trainer_of(tmp_path / "run", init=str(tmp_path))


def test_a_number_of_players_named_twice_gets_twice_the_tables_and_is_measured_once(tmp_path):
    trainer = trainer_of(tmp_path, num_players=(3, 4, 4), num_envs=12)
    assert np.bincount(trainer.batch.num_players).tolist() == [0, 0, 0, 4, 8]
    results = trainer.run.add_to_curve(trainer.layers(), 0, Logger(None, []))["results"]
    assert [result["num_players"] for result in results] == [3, 4]


def test_a_run_may_begin_with_a_policy_alone(finished, tmp_path):
    for name in ("policy.json", "policy.safetensors"):
        shutil.copy(finished / name, tmp_path)
    begun, fresh = trainer_of(tmp_path / "begun", init=str(tmp_path)), trainer_of(tmp_path / "fresh")
    assert torch.equal(begun.policy.critic[0].weight, fresh.policy.critic[0].weight)
    assert not torch.equal(begun.policy.actor[0].weight, fresh.policy.actor[0].weight)


def test_a_resumed_run_does_not_need_the_policy_that_it_began_with(finished, tmp_path):
    start = tmp_path / "start"
    shutil.copytree(finished, start)
    run = trainer_of(tmp_path / "run", init=str(start))
    run.update()
    run.save()
    shutil.rmtree(start)
    resumed = trainer_of(tmp_path / "run", init=str(start))
    resumed.restore(print)
    assert weights(resumed) == weights(run)


def test_a_policy_of_another_activation_is_no_network_of_the_trainer(tmp_path):
    player = NetworkPlayer.of(trainer_of(tmp_path).layers(), activation="tanh")
    with pytest.raises(ValueError, match="that player has tanh"):
        ActorCritic.of(player)


# --- from the command line --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    run = tmp_path_factory.mktemp("selfplay") / "run"
    assert cli([*options(), "--run", str(run)]) == 0
    return run


def test_a_run_leaves_what_any_other_trainer_leaves(finished):
    names = {path.name for path in finished.iterdir()}
    data = {"config.json", "logs", "learning_curve.json", "learning_curve.png", "evaluation.json", "checkpoints"}
    assert names == data | {"policy.safetensors", "policy.json"}
    config = read_config(finished / "config.json")
    assert isinstance(config, SelfplayConfig)
    assert config.algorithm == "selfplay"
    assert json.loads((finished / "policy.json").read_text())["activation"] == "relu"
    (logs,) = (finished / "logs").iterdir()
    columns = (logs / "progress.csv").read_text().splitlines()[0].split(",")
    losses = {f"train/{name}_loss" for name in ("policy_gradient", "value", "entropy")}
    learning = {f"train/{name}" for name in ("approx_kl", "clip_fraction", "explained_variance", "learning_rate")}
    assert {*losses, *learning, "time/fps", "time/total_timesteps", "win_share/4p_anchor"} <= set(columns)


def test_its_policy_plays_by_its_code(finished):
    player = agents.make(f"net:{finished}")
    batch = Batch(30, [3, 4, 5] * 10)
    for _ in range(40):
        actions = player.act(batch.view())
        assert batch.action_masks[np.arange(30), actions].all()
        batch.step(actions)


def test_help_shows_the_settings_and_defaults_of_the_algorithm_named(capsys):
    shown = {}
    for algorithm in DEFAULTS:
        with pytest.raises(SystemExit) as end:
            cli(["--algorithm", algorithm, "--help"])
        assert end.value.code == 0
        shown[algorithm] = capsys.readouterr().out
    assert "--kl-coef" in shown["selfplay"]
    assert "--kl-coef" not in shown["maskable-ppo"]
    assert str(DEFAULTS["selfplay"].total_timesteps) in shown["selfplay"]
    assert str(DEFAULTS["maskable-ppo"].total_timesteps) in shown["maskable-ppo"]


def test_where_there_is_a_gpu_a_run_of_no_named_size_is_larger_in_as_many_updates(monkeypatch):
    usual = read_arguments(["--algorithm", "selfplay"])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    large = read_arguments(["--algorithm", "selfplay", "--seed", "3"])
    assert large.batch_size == 16 * usual.batch_size
    assert large.total_timesteps / large.rollout_size == usual.total_timesteps / usual.rollout_size
    for named in (["--num-envs", "512"], ["--device", "cpu"]):
        assert read_arguments(["--algorithm", "selfplay", *named]).batch_size == usual.batch_size
    assert read_arguments([]).num_envs == DEFAULTS["maskable-ppo"].num_envs


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--algorithm", "dqn"], ["selfplay", "maskable-ppo"]),
        (["--algorithm", "maskable-ppo", "--kl-coef", "0.1"], ["--kl-coef"]),
        (["--algorithm", "selfplay", "--max-grad-norm", "0"], ["--max-grad-norm must be positive"]),
        (["--algorithm", "selfplay", "--kl-coef", "-1"], ["--kl-coef must not be negative"]),
        (["--algorithm", "selfplay", "--average-decay", "1.5"], ["--average-decay must be 0 to 1"]),
        (
            ["--algorithm", "selfplay", "--mix", "past=1"],
            ["--mix has unknown players ['past']", "self and player codes"],
        ),
        (
            ["--algorithm", "selfplay", "--guests", "self=1"],
            ["--guests has unknown players ['self']; it may name player codes"],
        ),
        (["--algorithm", "selfplay", "--guests", "ev", "tuned=1"], ["--guests needs NAME=WEIGHT", "not ev"]),
        (["--algorithm", "selfplay", "--batch-size", "513"], ["--batch-size must be at most"]),
        (["--algorithm", "selfplay", "--no-such-option", "1"], ["run python -m train --algorithm selfplay --help"]),
        (["--algorithm", "selfplay", "--init", "nowhere"], ["no policy can be read from nowhere"]),
        (["--algorithm", "selfplay", "--init", "agents/net"], ["it is a mixture", "such as agents/net/0"]),
        (["--algorithm", "selfplay", "--threads", "9999"], ["--threads must be 1 to", "not 9999"]),
        (["--algorithm", "selfplay", "--num-players", "4", "6"], ["--num-players must be from [3, 4, 5], not 6"]),
    ],
)
def test_nonsense_is_named_and_nothing_is_begun(tmp_path, capsys, arguments, words):
    try:
        status = cli([*options(), *arguments, "--run", str(tmp_path / "run")])
    except SystemExit as end:
        status = int(end.code or 0)
    said = capsys.readouterr()
    assert status == 2
    for word in words:
        assert word in " ".join((said.out + said.err).replace("│", " ").split())
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="--device cuda: torch finds no CUDA device"):
        trainer_of(tmp_path, device="cuda")
