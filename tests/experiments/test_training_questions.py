"""Questions about training and its safety: the default run, killed runs, the time outside the networks."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import agents
from experiments import results
from experiments.__main__ import main
from experiments.exact import question
from experiments.speed import training as training_speed
from experiments.strength.ladder import read_win_shares
from experiments.training import encoding, first_player, progress
from tests.support.selfplay_runs import SMALL, small_config
from train.selfplay import SelfplayConfig, SelfplayTrainer


def test_the_default_run_is_reported_for_every_seed(tmp_path, stored, monkeypatch):
    results.RESULTS.mkdir()
    shutil.copy(Path(results.__file__).parent / "results" / "ladder.json", results.RESULTS)
    monkeypatch.setattr(SelfplayConfig, "choose_defaults", lambda device: small_config(total_timesteps=600))
    first_player.main(first_player.Config(seeds=(2, 0), out=tmp_path / "runs"))
    written = json.loads((stored / "first_player_selfplay.json").read_text())["results"]
    assert [run["config"]["seed"] for run in written["runs"]] == [2, 0]
    values = [run["results"][0]["win_share"]["anchor"]["value"] for run in written["runs"]]
    assert written["summary"]["anchor"] == {"mean": np.mean(values), "lowest": min(values), "highest": max(values)}
    assert (stored / "first_player_selfplay.png").read_bytes().startswith(b"\x89PNG")


def test_the_share_of_ev_in_place_of_the_trained_player_is_that_of_the_stored_ladder():
    by_other = read_win_shares("ev", "standard-4")
    assert "ev" not in by_other
    assert 0.25 < by_other["anchor"]["low"] < by_other["anchor"]["value"] < by_other["anchor"]["high"]


def test_equal_seeds_and_unknown_algorithms_are_refused():
    with pytest.raises(ValueError, match="--seeds"):
        first_player.Config(seeds=(0, 0))
    with pytest.raises(ValueError, match="--algorithm must be one of maskable-ppo, selfplay, not dqn"):
        first_player.Config(algorithm="dqn")


def test_both_layouts_of_the_observation_are_trained_and_measured_on_the_same_deals(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "SelfplayConfig", small_config)
    encoding.main(encoding.Config(seeds=(0,), total_timesteps=600, num_deals=2, out=tmp_path))
    results = json.loads((stored / "encoding.json").read_text())["results"]
    assert list(results) == ["numbers and thermometers", "numbers alone"]
    assert all(result["win_share"]["ev"]["blocks"] == 2 for result in results.values())
    assert [agents.make(f"net:{tmp_path}/layout-{k}-seed0").observation_version for k in (1, 2)] == [1, 2]


def test_progress_has_no_more_points_than_a_run_keeps_policies():
    with pytest.raises(ValueError, match="--points must be 1 to 20, not 21"):
        progress.Config(points=21)


@pytest.mark.parametrize(("iterations", "smallest"), [((0, 10), 0), ((10, -1), -1)])
def test_a_number_of_iterations_that_solves_nothing_is_refused(iterations, smallest):
    with pytest.raises(ValueError, match=f"--iterations must be at least 1, not {smallest}"):
        question.Config(iterations=iterations)


@pytest.mark.parametrize(("option", "setup", "expected"), [("two_seats", "small-3", 2), ("three_seats", "tiny-2", 3)])
def test_a_setup_with_other_seats_than_its_option_says_is_refused(option, setup, expected):
    with pytest.raises(ValueError, match=f"must be a setup with {expected} seats, not {setup}, which has {setup[-1]}"):
        question.Config(**{option: setup})


def test_an_impossible_size_or_device_of_training_is_refused_at_once(capsys):
    with pytest.raises(ValueError, match="--num-envs must be at least 1, not -4"):
        training_speed.Config(num_envs=-4)
    with pytest.raises(SystemExit):
        main(["training-speed", "--device", "gpu"])
    assert "--device" in capsys.readouterr().err


def test_an_iteration_is_compared_with_passes_on_the_minibatches_that_it_learned_from(tmp_path, monkeypatch):
    trainer = SelfplayTrainer(SelfplayConfig(num_envs=16, num_steps=16, batch_size=64, hidden_sizes=(16,)), tmp_path)
    sizes, step = [], trainer.optimize_minibatch
    monkeypatch.setattr(
        trainer, "optimize_minibatch", lambda *batch: sizes.append(len(batch[0]["actions"])) or step(*batch)
    )
    learned = []
    for _ in range(4):
        sizes.clear()
        learned.append(training_speed.measure_iteration(trainer)[0])
        half = len(sizes) // 2  # the steps of the iteration, then those of the passes with the optimizer
        assert sizes[:half] == sizes[half:]
        assert sum(sizes[:half]) == learned[-1] * trainer.config.update_epochs
    assert len(set(learned)) > 1  # iterations differ


def test_the_speed_of_training_is_reported_with_the_time_of_the_bare_passes(stored, monkeypatch):
    network = {name: SMALL[name] for name in ("hidden_sizes", "threads")} | {"num_steps": 16}
    monkeypatch.setattr(training_speed, "NETWORKS", {"1 x 16": network})
    training_speed.main(training_speed.Config(repetitions=2, num_envs=16, batch_size=64))
    (result,) = json.loads((stored / "training_speed.json").read_text())["results"].values()
    assert (result["num_envs"], result["batch_size"], result["rate_to_bare_passes"]["repetitions"]) == (16, 64, 2)
    assert result["rate_to_passes_and_optimiser"]["repetitions"] == 2
    assert result["rate_to_bare_passes"]["value"] > 0
    assert result["decisions_per_second"]["value"] < result["played_per_second"]["value"]
