"""The command that trains the reference player trains by the recipe and mixes the policies of its second run."""

import json

import pytest

import agents
from agents.network import NetworkPlayer
from agents.policy_file import save_policy
from agents.policy_search import load_critic
from experiments.builds import reference
from experiments.strength import exploit
from experiments.training import progress
from tests.support.players import small_net
from train.config import read_config

SMALL = {"num_envs": 16, "batch_size": 128, "hidden_sizes": (8,), "evaluation_deals": 2, "curve_deals": 2}


@pytest.fixture(autouse=True)
def small_recipe(monkeypatch):
    """Make the runs of the recipe small."""
    for name in ("ANNEALING", "AVERAGING"):
        monkeypatch.setattr(reference, name, getattr(reference, name) | SMALL)


@pytest.mark.compiled("trains two runs")
def test_one_command_trains_the_reference_player_for_all_numbers_of_players(tmp_path, stored, capsys):
    reference.main(reference.Config(total_timesteps=600, averaging_timesteps=600, out=tmp_path))
    first, second = tmp_path / "annealing", tmp_path / "averaging"
    for run, name in ((first, "reference_cpu"), (second, "reference_averaging_cpu")):
        config = read_config(run / "config.json")
        assert [setup.seats for setup in config.setups] == [3, 4, 5]
        assert config.weights == {"self": 1.0}
        written = json.loads((stored / f"{name}.json").read_text())["results"]
        assert written["curve"] == json.loads((run / "learning_curve.json").read_text())
        assert len(list((run / "policies").iterdir())) == len(written["curve"])
    digests = [NetworkPlayer.load(path).digest() for path in sorted((second / "policies").iterdir())]
    assert digests[0] == NetworkPlayer.load(first).digest()
    assert [member.digest() for member in agents.make(f"net:{tmp_path / 'net'}").members] == digests[1:][-10:]
    assert load_critic(tmp_path / "net")
    assert f"net:{tmp_path / 'net'}" in capsys.readouterr().out


@pytest.mark.compiled("trains two runs")
def test_the_second_run_of_the_recipe_can_begin_with_a_given_policy(tmp_path, stored):
    small = {"total_timesteps": 300, "averaging_timesteps": 300, "num_players": (4,)}
    reference.main(reference.Config(out=tmp_path / "all", **small))
    start = tmp_path / "all" / "annealing"
    reference.main(reference.Config(out=tmp_path / "second", start=start, **small))
    assert not (tmp_path / "second" / "annealing").exists()
    mixtures = [agents.make(f"net:{tmp_path / name / 'net'}").digest() for name in ("all", "second")]
    assert mixtures[0] == mixtures[1]


@pytest.mark.compiled("trains a player")
def test_the_second_run_of_the_recipe_can_be_left_out(tmp_path, stored, capsys):
    out = tmp_path / "run"
    reference.main(reference.Config(total_timesteps=300, averaging_timesteps=0, num_players=(4,), out=out))
    assert not (out / "averaging").exists()
    assert f"the player is net:{out / 'annealing'}" in capsys.readouterr().out


def test_a_policy_to_begin_a_second_run_that_is_left_out_is_refused():
    with pytest.raises(ValueError, match="--start begins the second run, which --averaging-timesteps 0 leaves out"):
        reference.Config(start="agents/net/9", averaging_timesteps=0)


def test_a_second_run_needs_a_policy_to_begin_with(tmp_path):
    with pytest.raises(ValueError, match="--start"):
        reference.Config(start=tmp_path / "absent")


def test_the_policies_of_a_part_of_a_run_make_its_mixture(tmp_path):
    for timesteps in range(0, 3001, 100):
        (tmp_path / "policies" / f"{timesteps:012}").mkdir(parents=True)

    def list_chosen(**options):
        return [int(path.name) for path in reference.choose_members(tmp_path, **options)]

    assert list_chosen() == list(range(2100, 3001, 100))
    assert list_chosen(until=500) == [100, 200, 300, 400, 500]
    assert list_chosen(since=0.5, until=1000) == [600, 700, 800, 900, 1000]


@pytest.mark.compiled("trains several players")
def test_the_players_on_the_way_of_the_recipe_are_exploited_by_short_responses(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(exploit, "TRAINER_SETTINGS", ("num_envs", "num_steps", "update_epochs", "learning_rate"))
    small = {"total_timesteps": 1200, "probe_timesteps": 300, "num_deals": 2, "num_players": 3}
    progress.main(progress.Config(seeds=(0, 1), points=2, workers=1, out=tmp_path / "runs", **small))
    written = json.loads((stored / "progress.json").read_text())["results"]
    assert list(written["curves"]) == ["training seed 0", "training seed 1"]
    for seed, curve in enumerate(written["curves"].values()):
        folder = tmp_path / "runs" / f"seed{seed}"
        first, last = (point["timesteps"] for point in curve)
        assert 0 < first < last
        for point in curve:
            assert agents.make(f"net:{folder}/net-{point['timesteps']}").digest()
        assert all(-0.34 < point["gain"]["low"] <= point["gain"]["value"] < 0.67 for point in curve)
    assert (stored / "progress.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.compiled("trains several players")
def test_the_players_on_the_way_of_the_reference_player_are_exploited_in_both_runs(tmp_path, stored):
    runs = tmp_path / "reference"
    reference.main(reference.Config(total_timesteps=600, averaging_timesteps=600, num_players=(3,), out=runs))
    small = {"points": 2, "probe_timesteps": 300, "num_deals": 2, "num_players": 3, "workers": 1}
    progress.main(progress.Config(reference=runs, out=tmp_path / "runs", **small))
    (curve,) = json.loads((stored / "progress_reference.json").read_text())["results"]["curves"].values()
    learned = [point["timesteps"] for point in curve]
    assert len(set(learned)) == 4
    assert learned == sorted(learned)


def test_a_folder_without_the_policies_of_both_runs_is_not_one_of_the_reference_player(tmp_path):
    (tmp_path / "annealing" / "policies").mkdir(parents=True)
    with pytest.raises(ValueError, match=f"--reference: {tmp_path}/averaging holds no policies"):
        progress.Config(reference=tmp_path)


def test_players_of_the_second_run_are_mixtures_of_all_its_policies_so_far(tmp_path):
    for name, kept in (("annealing", (300, 400, 600)), ("averaging", (0, 100, 200))):
        for timesteps in kept:
            save_policy(
                tmp_path / name / "policies" / f"{timesteps:012}",
                small_net().layers,
                open_mice=False,
                activation="tanh",
            )
    players = dict(progress.write_reference_players(tmp_path, 4))
    assert {timesteps: len(list(player.iterdir())) for timesteps, player in players.items()} == {
        300: 1,
        400: 2,
        600: 2,
        700: 1,
        800: 2,
    }
