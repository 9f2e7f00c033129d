"""The command that trains the reference player trains by the recipe and keeps its policies."""

import json

import pytest

import agents
from agents.network import NetworkPlayer
from agents.policy_search import load_critic
from experiments.builds import reference
from experiments.strength import exploit
from experiments.training import progress
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
    written = json.loads((stored / "reference_cpu.json").read_text())["results"]
    assert written["curve"] == json.loads((run / "learning_curve.json").read_text())
    assert len(list((run / "policies").iterdir())) == len(written["curve"])
    assert f"net:{run / 'net'}" in capsys.readouterr().out
    members = agents.make(f"net:{run / 'net'}").members
    kept = sorted((run / "policies").iterdir())
    last = [path for path in kept if int(path.name) > int(kept[-1].name) / 2]
    assert [member.digest() for member in members] == [NetworkPlayer.load(path).digest() for path in last]
    assert load_critic(run / "net")


@pytest.mark.compiled("trains several players")
def test_the_players_on_the_way_of_the_recipe_are_exploited_by_short_responses(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(reference, "RECIPE", reference.RECIPE | SMALL)
    monkeypatch.setattr(exploit, "TRAINER_SETTINGS", ("num_envs", "num_steps", "update_epochs", "learning_rate"))
    small = {"total_timesteps": 1200, "probe_timesteps": 300, "num_deals": 2, "num_players": 3}
    progress.main(progress.Config(seeds=(0, 1), points=2, workers=1, out=tmp_path / "runs", **small))
    written = json.loads((stored / "progress.json").read_text())["results"]
    assert [run["seed"] for run in written["runs"]] == [0, 1]
    for run in written["runs"]:
        folder = tmp_path / "runs" / f"seed{run['seed']}"
        first, last = (point["timesteps"] for point in run["curve"])
        assert 0 < first < last
        for point in run["curve"]:
            assert agents.make(f"net:{folder}/net-{point['timesteps']}").digest()
        assert all(point["gain"]["low"] <= point["gain"]["value"] <= point["gain"]["high"] for point in run["curve"])
    assert (stored / "progress.png").read_bytes().startswith(b"\x89PNG")
