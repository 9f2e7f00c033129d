"""The self-play trainer: what it learns from, what it draws, and that a resumed run is the same run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import agents
from agents.network import NetworkPlayer, logits_of
from felicity_env import Batch
from train import checkpoint
from train.__main__ import cli
from train.config import DEFAULTS, SelfplayConfig, read_config
from train.policy import ILLEGAL, ActorCritic, masked_log_softmax
from train.progress import Progress
from train.run_folder import RunError
from train.sampling import sample
from train.selfplay import SelfplayTrainer
from train.tensors import tensors_of

ROOT = Path(__file__).resolve().parents[1]
SMALL = {
    "num_envs": 16,
    "num_steps": 32,
    "batch_size": 128,
    "hidden_sizes": (16,),
    "threads": 1,
    "curve_blocks": 2,
    "evaluation_blocks": 2,
    "total_timesteps": 2000,
    "curve_every": 700,
    "save_every": 2,
}


def config_of(**settings: object) -> SelfplayConfig:
    return replace(DEFAULTS["selfplay"], **(SMALL | settings))


def trainer_of(folder: Path, **settings: object) -> SelfplayTrainer:
    folder.mkdir(exist_ok=True)
    return SelfplayTrainer(config_of(**settings), folder)


def options() -> list[str]:
    words = ["--algorithm", "selfplay"]
    for name, value in SMALL.items():
        values = value if isinstance(value, tuple) else (value,)
        words += ["--" + name.replace("_", "-"), *map(str, values)]
    return words


def quiet() -> Progress:
    return Progress(Console(file=StringIO()), 1, 0)


def weights(trainer: SelfplayTrainer) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in trainer.policy.state_dict().values())


# --- what is learned from ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", [("self=1",), ("self=2", "ev=1")])
def test_what_is_learned_from_are_complete_choices_of_learners_in_a_new_order(tmp_path, mix):
    trainer = trainer_of(tmp_path, mix=mix, num_players=(3, 4, 5))
    trainer.collect()
    rollout = trainer.rollout
    rollout.log_probabilities[:] = np.arange(rollout.seats.size).reshape(rollout.seats.shape)  # to know them again
    data = trainer.estimate()
    assert (data["masks"].sum(dim=1) > 1).all()
    assert data["masks"].gather(1, data["actions"][:, None]).all()
    learned = data["log_probabilities"].long().tolist()
    assert 0.4 * rollout.seats.size < len(learned) == len(set(learned))
    assert learned != sorted(learned)
    choices = rollout.masks.sum(axis=2) > 1
    assert choices.flat[learned].all()
    last = np.flatnonzero(choices[-1] & ~rollout.ends[-1]) + rollout.ends[:-1].size
    assert len(last)
    assert not set(last.tolist()) & set(learned)  # what they led to is not known


def test_one_thread_means_one_thread_so_that_runs_side_by_side_do_not_wait_for_each_other(tmp_path):
    trainer = trainer_of(tmp_path, threads=1, num_players=(3, 4))
    trainer.update()
    assert torch.get_num_threads() == 1  # a parallel kernel of Numba would have set it to the number of cores


def test_rewards_reach_the_seats_that_earned_them(tmp_path):
    trainer = trainer_of(tmp_path, mix=("self=1",), reward="win", reward_scale=1.0, num_steps=200)
    trainer.collect()
    rollout = trainer.rollout
    assert rollout.ends.any()
    assert rollout.rewards[rollout.ends].sum(axis=1) == pytest.approx(1.0)
    assert not rollout.rewards[~rollout.ends].any()


def test_both_networks_see_what_the_seat_that_decides_sees_and_nothing_else(tmp_path):
    trainer, twin = (trainer_of(tmp_path / name, mix=("self=1",), open_mice=False) for name in ("one", "twin"))
    trainer.collect()
    rollout, batch = trainer.rollout, twin.batch
    for t in range(trainer.config.num_steps):
        assert np.array_equal(rollout.observations[t].float().numpy(), batch.observations)
        batch.step(rollout.actions[t])
    assert trainer.policy.critic[0].in_features == batch.observations.shape[1]


def test_sixteen_bits_hold_every_observation_exactly():
    batch = Batch(500, [3, 4, 5, 5, 4] * 100, open_mice=True)
    for _ in range(60):
        batch.play_random(7)
        shown = batch.observations
        assert (torch.from_numpy(shown).bfloat16().float().numpy() == shown).all()


def test_minibatches_hold_every_decision_once_an_epoch(tmp_path):
    trainer = trainer_of(tmp_path, update_epochs=2, batch_size=64)
    data = {"actions": torch.arange(695), "advantages": torch.arange(695) / 2}
    parts = [part["actions"] for part in trainer.minibatches(data)]
    half = len(parts) // 2
    assert torch.cat(parts[:half]).tolist() == torch.cat(parts[half:]).tolist() == list(range(695))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert half == 11


def test_learning_rate_and_entropy_bonus_fall_in_a_line(tmp_path):
    trainer = trainer_of(tmp_path, learning_rate=0.01, ent_coef=0.04, ent_coef_end=0.02, total_timesteps=10_000)
    trainer.timesteps = 2500
    given, improve = [], trainer.improve
    trainer.improve = lambda data, ent_coef: given.append(ent_coef) or improve(data, ent_coef)
    trainer.update()
    assert trainer.optimizer.param_groups[0]["lr"] == pytest.approx(0.0075)
    assert given == [pytest.approx(0.035)]


# --- the networks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raises", [False, True])
def test_the_policy_that_plays_is_the_policy_that_learns(tmp_path, raises):
    trainer = trainer_of(tmp_path, raises=raises, precision="float32", hidden_sizes=(16, 8))
    trainer.batch.play_random(40)
    observations = trainer.batch.observations
    with torch.inference_mode():
        expected = trainer.policy.logits(torch.from_numpy(observations)).numpy()
    assert logits_of(trainer.layers(), observations, "relu") == pytest.approx(expected, abs=1e-5)


def test_a_policy_with_logits_for_raises_is_written_and_plays(tmp_path):
    trainer = trainer_of(tmp_path, raises=True)
    trainer.update()
    trainer.run.finish(trainer.layers(), trainer.timesteps)
    again = agents.make(f"net:{tmp_path}")
    assert again.layers[-1][1].size > trainer.batch.action_masks.shape[1]
    view = trainer.batch.view()
    assert (again.act(view) == trainer.run.player(trainer.layers()).act(view)).all()


def test_probabilities_of_illegal_actions_are_next_to_nothing_and_legal_ones_add_up_to_one():
    rng = np.random.default_rng(0)
    masks = torch.from_numpy(rng.random((50, 74)) < 0.2)
    masks[:, 10] = True
    logs = masked_log_softmax(torch.from_numpy(rng.normal(0, 60, (50, 74)).astype(np.float32)), masks)
    assert (logs[~masks] == ILLEGAL).all()
    assert (logs.exp() * masks).sum(dim=1).numpy() == pytest.approx(1.0, abs=1e-5)


def test_the_same_seed_makes_the_same_networks_and_no_global_generator_is_touched():
    before = torch.get_rng_state()
    first, second, other = (ActorCritic((16,), raises=False, seed=seed) for seed in (1, 1, 2))
    assert (torch.get_rng_state() == before).all()
    assert (first.actor[0].weight == second.actor[0].weight).all()
    assert (first.actor[0].weight != other.actor[0].weight).any()


def test_actions_are_drawn_as_the_softmax_of_the_legal_logits_has_it():
    rng = np.random.default_rng(1)
    logits, mask = rng.normal(0, 2, 74).astype(np.float32), np.zeros(74, np.int8)
    mask[[3, 10, 11, 40, 73]] = 1
    count = 200_000
    words = rng.integers(0, 2**64, count, dtype=np.uint64)
    rows = np.tile(logits, (count, 1)), np.tile(mask, (count, 1))
    actions, logs = sample(*rows, words, threads=1)
    expected = masked_log_softmax(torch.from_numpy(logits), torch.from_numpy(mask == 1)).numpy()
    assert logs == pytest.approx(expected[actions], abs=1e-5)
    shares = np.bincount(actions, minlength=74) / count
    assert shares == pytest.approx(np.exp(expected) * mask, abs=0.005)


def test_draws_are_legal_at_the_ends_of_the_unit_interval_and_the_same_in_two_threads():
    rng = np.random.default_rng(2)
    batch = Batch(64, 4)
    batch.play_random(50)
    logits = rng.normal(0, 20, (64, 74)).astype(np.float32)
    for words in (np.zeros(64, np.uint64), np.full(64, 2**64 - 1, np.uint64)):
        actions, _ = sample(logits, batch.action_masks, words, threads=1)
        assert batch.action_masks[np.arange(64), actions].all()
    words = rng.integers(0, 2**64, 64, dtype=np.uint64)
    one, two = (sample(logits, batch.action_masks, words, threads=threads) for threads in (1, 2))
    assert (one[0] == two[0]).all()
    assert (one[1] == two[1]).all()


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
    with pytest.raises(ValueError, match="its layers do not fit --hidden-sizes"):
        trainer_of(tmp_path, init=str(finished), hidden_sizes=(17,))
    with pytest.raises(ValueError, match="open_mice True"):
        trainer_of(tmp_path, init=str(finished), open_mice=False)


def test_a_number_of_players_named_twice_gets_twice_the_tables_and_is_measured_once(tmp_path):
    trainer = trainer_of(tmp_path, num_players=(3, 4, 4), num_envs=12)
    assert np.bincount(trainer.batch.num_players).tolist() == [0, 0, 0, 4, 8]
    results = trainer.run.add_to_curve(trainer.layers(), 0)["results"]
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
    assert {"policy", "value", "entropy"} <= set((logs / "progress.csv").read_text().splitlines()[0].split(","))


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
        (["--algorithm", "selfplay", "--init", "nowhere"], ["no policy can be read from nowhere"]),
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
