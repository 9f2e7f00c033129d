"""The command that trains the reference player trains by the recipe and keeps its policies."""

import json

import pytest

import agents
from experiments.recipes import reference
from train.config import read_config

SMALL = {"num_envs": 16, "batch_size": 128, "hidden_sizes": (8,), "evaluation_deals": 2, "curve_deals": 2}


@pytest.mark.compiled("trains a player")
def test_one_command_trains_the_reference_player_for_all_numbers_of_players(tmp_path, stored, monkeypatch, capsys):
    monkeypatch.setattr(reference, "RECIPE", reference.RECIPE | SMALL)
    run = tmp_path / "run"
    reference.main(reference.Config(total_timesteps=600, out=run))
    config = read_config(run / "config.json")
    assert [setup.seats for setup in config.setups] == [3, 4, 5]
    assert config.weights == {"self": 1.0}
    written = json.loads((stored / "reference.json").read_text())["results"]
    assert written["curve"] == json.loads((run / "learning_curve.json").read_text())
    assert len(list((run / "policies").iterdir())) == len(written["curve"])
    assert f"net:{run}" in capsys.readouterr().out
    assert agents.make(f"net:{run}").digest()
