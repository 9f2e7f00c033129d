"""`python -m train`: the files it writes and the options it refuses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import agents
from agents.policy_file import load_policy, read_setups
from agents.tools.files import UserError
from agents.tools.settings import option_name
from felicity_env import Batch, Setup
from felicity_env.setups import setup_name, standard_setup
from tests.support.training import (
    RUN_FILES,
    SMALL,
    TINY,
    Outcome,
    choose_cpu,
    contents,
    list_names,
    newest,
    policy_bytes,
    short_run,
    train,
)
from train.algorithms import ALGORITHMS
from train.command import _explain_memory
from train.config import WITH_RESUME, read_config
from train.maskable_ppo import MaskablePPOConfig
from train.trainer import FINAL_STREAM, evaluate_policy

AGAINST = MaskablePPOConfig().against


def test_the_help_names_what_a_resumed_run_may_be_given():
    text = train("selfplay", "--help", *choose_cpu("selfplay")).output
    listed = text.partition("Only --total-timesteps")[2].partition("may be given")[0]
    assert {"--total-timesteps", "--resume", *re.findall("--[a-z-]+", listed)} == set(map(option_name, WITH_RESUME))


@pytest.mark.parametrize(
    ("error", "is_explained"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried"), True),
        (RuntimeError("Storage size calculation overflowed with sizes=[1, 2]"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
    ],
)
def test_only_a_lack_of_memory_is_explained_as_one(error, is_explained):
    with pytest.raises(UserError if is_explained else RuntimeError), _explain_memory():
        raise error


@pytest.fixture(scope="module")
def complete_run(tmp_path_factory) -> tuple[Path, Outcome]:
    return short_run(tmp_path_factory.mktemp("train") / "runs" / "first")


def test_a_run_ends_well_and_says_where_its_player_is(complete_run):
    run, outcome = complete_run
    assert outcome.status == 0
    assert outcome.errors == ""
    assert f"net:{run}" in outcome.output.replace(" ", "")
    for code in AGAINST:
        assert f"3 x {code}" in outcome.output


def test_a_run_leaves_its_settings_and_where_it_was_made(complete_run):
    written = json.loads((complete_run[0] / "config.json").read_text())
    config = read_config(complete_run[0] / "config.json")
    assert (config.total_timesteps, config.hidden_sizes, config.num_envs) == (4096, (16,), 32)
    assert written["config"]["seed"] == 0
    assert {"python", "torch", "numpy", "numba", "felicity-env", "sb3-contrib"} <= set(written["versions"])
    assert written["commit"]


def test_a_run_leaves_logs_as_csv_and_for_tensorboard(complete_run):
    (logs,) = (complete_run[0] / "logs").iterdir()
    header, *lines = (logs / "progress.csv").read_text().splitlines()
    assert "train/entropy_loss" in header
    assert "rollout/ep_rew_mean" in header
    assert "win_share/standard-4_ev" in header
    assert lines
    (events,) = logs.glob("events.out.tfevents.*")
    tags = {value.tag for event in EventFileLoader(str(events)).Load() for value in event.summary.value}
    assert {"train/entropy_loss", "win_share/standard-4_random"} <= tags


def test_a_run_leaves_a_learning_curve_as_numbers_and_picture(complete_run):
    curve = json.loads((complete_run[0] / "learning_curve.json").read_text())
    assert [point["timesteps"] for point in curve] == [0, 2048, 4096]
    for point in curve:
        (result,) = point["results"]
        assert set(result["win_share"]) == set(AGAINST)
        assert all(share["blocks"] == 2 for share in result["win_share"].values())
    assert (complete_run[0] / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_leaves_an_evaluation_with_intervals_and_par(complete_run):
    evaluation = json.loads((complete_run[0] / "evaluation.json").read_text())
    (result,) = evaluation["results"]
    assert (result["setup"], result["num_players"]) == ("standard-4", 4)
    assert result["par"] == 0.25
    for share in result["win_share"].values():
        assert 0 <= share["low"] <= share["value"] <= share["high"] <= 1
        assert share["blocks"] == 4
    assert evaluation["minutes"] >= 0
    assert evaluation["versions"]


def test_a_run_leaves_nothing_half_written(complete_run):
    assert list_names(complete_run[0]) == RUN_FILES


@pytest.mark.parametrize("form", ["", ",greedy"])
def test_the_trained_policy_plays_through_its_code_and_gets_its_own_evaluation(complete_run, form):
    player = agents.make(f"net:{complete_run[0]}{form}")
    assert player.greedy == bool(form)
    batch = Batch(30, [3, 4, 5] * 10)
    for _ in range(40):
        batch.step(player.act(batch.view()))
    if not form:
        (written,) = json.loads((complete_run[0] / "evaluation.json").read_text())["results"]
        again = evaluate_policy(player, standard_setup(4), num_deals=4, stream=FINAL_STREAM, against=AGAINST)
        assert json.loads(json.dumps(again)) == written


def test_the_written_policy_is_that_of_the_checkpoint(complete_run):
    player = agents.make(f"net:{complete_run[0]}")
    arrays = newest(complete_run[0]).arrays
    first, last = player.layers[0], player.layers[-1]
    assert (arrays["policy.mlp_extractor.policy_net.0.weight"] == first[0].T).all()
    assert (arrays["policy.action_net.bias"] == last[1]).all()


def test_the_same_seed_gives_the_same_policy_bit_for_bit(complete_run, tmp_path):
    assert train(*TINY, "--curve-every", "2048", "--out", tmp_path / "again").status == 0
    assert policy_bytes(tmp_path / "again") == policy_bytes(complete_run[0])


def test_mixed_numbers_of_players_and_other_rewards_train_and_are_evaluated_at_every_size(complete_run, tmp_path):
    settings = ["--num-players", 3, 4, 5, "--reward", "win", "--open-mice", "--seed", 1, "--mix", "self=3", "ev=.5"]
    assert train("maskable-ppo", *SMALL, "--total-timesteps", 1024, *settings, "--out", tmp_path / "mixed").status == 0
    assert read_config(tmp_path / "mixed" / "config.json").weights == {"self": 3.0, "ev": 0.5}
    results = json.loads((tmp_path / "mixed" / "evaluation.json").read_text())["results"]
    assert [result["num_players"] for result in results] == [3, 4, 5]
    assert agents.make(f"net:{tmp_path / 'mixed'}").open_mice is True
    assert policy_bytes(tmp_path / "mixed") != policy_bytes(complete_run[0])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_setup_of_a_file_is_trained_and_measured(tmp_path, algorithm):
    (tmp_path / "high.json").write_text(json.dumps({"seats": 4, "mouse_cards": [1, 3, 5], "bank": 27}))
    setups = ["--setup", tmp_path / "high.json", "standard-3"]
    run = tmp_path / "run"
    outcome = train(algorithm, *SMALL, *choose_cpu(algorithm), "--total-timesteps", 1024, *setups, "--out", run)
    assert outcome.status == 0, outcome.errors
    name = setup_name(high := Setup(seats=4, mouse_cards=(1, 3, 5), bank=27))
    results = json.loads((run / "evaluation.json").read_text())["results"]
    assert [(result["setup"], result["num_players"]) for result in results] == [(name, 4), ("standard-3", 3)]
    assert name in outcome.output
    assert read_setups(load_policy(run)[1]) == (high, standard_setup(3))
    (evaluation := run / "evaluation.json").unlink()
    assert train("--resume", run).status == 0
    assert json.loads(evaluation.read_text())["results"] == results


def test_an_existing_run_is_never_overwritten(complete_run):
    before = contents(complete_run[0])
    outcome = train(*TINY, "--seed", "5", "--out", complete_run[0])
    assert outcome.status == 2
    assert "exists already" in outcome.errors
    assert "--resume" in outcome.errors
    assert contents(complete_run[0]) == before


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    outcome = train(*TINY, "--out", tmp_path / "file" / "run")
    assert outcome.status == 2
    assert "cannot create the run folder" in outcome.errors


def test_a_run_goes_on_when_nobody_reads_its_output_any_more(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "train", *TINY, "--out", str(tmp_path / "run")]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr.count("nobody reads the output any more")) == (0, 1)
    assert list_names(tmp_path / "run") == RUN_FILES


RAISES = """
class Raises:
    def act(self, view):
        return {}["no key"]


def make():
    return Raises()
"""


def test_a_player_of_the_user_that_fails_is_named_with_its_line_and_allowed_in_the_command_that_continues(tmp_path):
    (tmp_path / "bot.py").write_text(RAISES)
    code, run = f"{tmp_path}/bot.py:make", tmp_path / "run"
    outcome = train(*TINY, "--mix", "self=1", f"{code}=1", "--against", "random", "--out", run)
    assert outcome.status == 2
    assert f"{code} failed: KeyError: 'no key' (bot.py, line 4)" in outcome.errors
    code = f"{tmp_path}/other.py:make"
    (tmp_path / "other.py").write_text("import agents\n\n\ndef make():\n    return agents.make('random')\n")
    outcome = train(*TINY, "--mix", "self=1", f"{code}=1", "--against", "random", "--out", run)
    assert outcome.status == 0, outcome.errors
    assert f"--resume {run} --allow {code} --total-timesteps 8192" in outcome.output


def test_a_run_is_not_extended_to_fewer_decisions_than_it_has_learned_from(tmp_path):
    words = [*TINY[:-1], "100", "--against", "random", "--out", tmp_path / "run"]
    outcome = train(*words)
    assert "--total-timesteps 2048" in outcome.output  # an update of 1,024 decisions
    before = contents(tmp_path / "run")
    outcome = train("--resume", tmp_path / "run", "--total-timesteps", "200")
    assert outcome.status == 2
    assert "has learned from 1,024 decisions; --total-timesteps must be more" in outcome.errors
    assert contents(tmp_path / "run") == before
