"""The training command: what it leaves behind and what it refuses."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import agents
from felicity_env import Batch
from tests.training import SMALL, TINY, Outcome, contents, newest, short_run, small_config, tensors_of, train
from train import run_folder
from train.config import Config, MaskableConfig, read_config
from train.evaluation import LADDER, evaluate
from train.run import FINAL_STREAM


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, Outcome]:
    return short_run(tmp_path_factory.mktemp("train") / "runs" / "first")


# --- options ----------------------------------------------------------------------------------------------------------


POSITIVE = (
    "--total-timesteps",
    "--num-envs",
    "--num-steps",
    "--batch-size",
    "--update-epochs",
    "--threads",
    "--remember-every",
    "--curve-every",
    "--curve-blocks",
    "--evaluation-blocks",
    "--learning-rate",
    "--reward-scale",
    "--clip-coef",
)
NONSENSE = [
    *((option, value) for option in POSITIVE for value in ("0", "-1")),
    ("--curve-blocks", "1"),
    ("--evaluation-blocks", "1"),
    ("--learning-rate", "nan"),
    ("--reward-scale", "inf"),
    ("--clip-coef", "nan"),
    ("--num-players", "2"),
    ("--num-players", "6"),
    ("--num-players", "3 4 7"),
    ("--num-players", "four"),
    ("--seed", "-1"),
    ("--seed", "4294967296"),
    ("--seed", "one"),
    ("--gamma", "1.01"),
    ("--gamma", "nan"),
    ("--gae-lambda", "-0.1"),
    ("--ent-coef", "-0.01"),
    ("--ent-coef", "nan"),
    ("--ent-coef-end", "-0.01"),
    ("--num-past", "-1"),
    ("--num-past", "0"),  # with past selves in the mix
    ("--batch-size", "1025"),
    ("--hidden-sizes", "16 0"),
    ("--against", "anchor ev anchor"),
    ("--mix", "self"),
    ("--mix", "self=x"),
    ("--mix", "self=nan"),
    ("--mix", "self=inf"),
    ("--mix", "self=1 ev=-0.1"),
    ("--mix", "self=0 ev=0"),
    ("--mix", "self=1 evv=1"),
    ("--mix", "net:nowhere=1"),
    ("--reward", "best"),
    ("--total-timesteps", "1e6"),
    ("--no-such-option", "1"),
]


@pytest.mark.parametrize(("option", "value"), NONSENSE)
def test_a_nonsense_option_is_named_and_nothing_is_begun(tmp_path, option, value):
    outcome = train(*SMALL, option, *value.split(), "--run", tmp_path / "run")
    assert outcome.status == 2
    assert option in outcome.output + outcome.errors
    assert not list(tmp_path.iterdir())


def test_why_a_player_cannot_be_had_is_said(tmp_path):
    outcome = train(*SMALL, "--mix", f"net:{tmp_path / 'lost'}=1", "--run", tmp_path / "run")
    told = outcome.errors.replace(" ", "")  # a long path is broken anywhere
    assert f"nopolicycanbereadfrom{tmp_path / 'lost'}" in told
    assert "No such file" in outcome.errors


@pytest.mark.parametrize("option", ["--num-players", "--hidden-sizes", "--mix"])
def test_a_list_without_an_entry_is_named(tmp_path, option):
    outcome = train(*SMALL, option, "--run", tmp_path / "run")
    assert outcome.status == 2
    assert option in outcome.output + outcome.errors
    assert not list(tmp_path.iterdir())


def test_more_kinds_of_tables_than_games_are_refused():
    with pytest.raises(ValueError, match="--num-envs"):
        small_config(num_players=(3, 4, 5), num_envs=2, batch_size=64)


def test_help_mentions_every_option_and_what_it_is():
    outcome = train("--help")
    assert outcome.status == 0
    for item in fields(MaskableConfig):
        assert f"--{item.name.replace('_', '-')}" in outcome.output
    for words in ("Decisions learned from in all", "Weight of the entropy bonus", "Who sits in the other seats"):
        assert words in outcome.output


def test_settings_survive_json():
    config = small_config(num_players=(3, 5), mix=("self=1.0", "ev=.5"), reward="margin", open_mice=True)
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config


# --- a whole run ------------------------------------------------------------------------------------------------------


def test_a_run_ends_well_and_says_where_its_player_is(finished):
    run, outcome = finished
    assert outcome.status == 0
    assert outcome.errors == ""
    assert f"net:{run}" in outcome.output.replace(" ", "")
    for code in LADDER:
        assert f"3 x {code}" in outcome.output


def test_a_run_leaves_its_settings_and_where_it_was_made(finished):
    written = json.loads((finished[0] / "config.json").read_text())
    config = read_config(finished[0] / "config.json")
    assert (config.total_timesteps, config.hidden_sizes, config.num_envs) == (4096, (16,), 32)
    assert written["config"]["seed"] == 0
    assert {"python", "torch", "numpy", "numba", "felicity-env", "sb3-contrib"} <= set(written["versions"])
    assert written["commit"]


def test_a_run_leaves_logs_as_csv_and_for_tensorboard(finished):
    (logs,) = (finished[0] / "logs").iterdir()
    header, *rows = (logs / "progress.csv").read_text().splitlines()
    assert "train/entropy_loss" in header
    assert "rollout/ep_rew_mean" in header
    assert "win_share/4p_ev" in header
    assert rows
    (events,) = logs.glob("events.out.tfevents.*")
    tags = {value.tag for event in EventFileLoader(str(events)).Load() for value in event.summary.value}
    assert {"train/entropy_loss", "win_share/4p_random"} <= tags


def test_a_run_leaves_a_learning_curve_as_numbers_and_picture(finished):
    curve = json.loads((finished[0] / "learning_curve.json").read_text())
    assert [point["timesteps"] for point in curve] == [0, 2048, 4096]
    for point in curve:
        (result,) = point["results"]
        assert set(result["win_share"]) == set(LADDER)
        assert all(share["blocks"] == 2 for share in result["win_share"].values())
    assert (finished[0] / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_leaves_an_evaluation_with_intervals_and_par(finished):
    evaluation = json.loads((finished[0] / "evaluation.json").read_text())
    (result,) = evaluation["results"]
    assert result["num_players"] == 4
    assert result["par"] == 0.25
    for share in result["win_share"].values():
        assert 0 <= share["low"] <= share["value"] <= share["high"] <= 1
        assert share["blocks"] == 4
    assert evaluation["minutes"] >= 0
    assert evaluation["versions"]


def test_a_run_leaves_nothing_half_written(finished):
    names = {path.name for path in finished[0].iterdir()}
    data = {"config.json", "logs", "learning_curve.json", "learning_curve.png", "evaluation.json", "checkpoints"}
    assert names == data | {"policy.safetensors", "policy.json"}


@pytest.mark.parametrize("form", ["", "@greedy"])
def test_the_trained_policy_plays_through_its_code_and_gets_its_own_evaluation(finished, form):
    player = agents.make(f"net:{finished[0]}{form}")
    batch = Batch(30, [3, 4, 5] * 10)
    for _ in range(40):
        batch.step(player.act(batch.view()))
    if not form:
        (written,) = json.loads((finished[0] / "evaluation.json").read_text())["results"]
        again = evaluate(player, num_players=4, num_blocks=4, stream=FINAL_STREAM)
        assert json.loads(json.dumps(again)) == written


def test_the_written_policy_is_that_of_the_checkpoint(finished):
    player = agents.make(f"net:{finished[0]}")
    arrays = newest(finished[0]).arrays
    first, last = player.layers[0], player.layers[-1]
    assert (arrays["policy.mlp_extractor.policy_net.0.weight"] == first[0].T).all()
    assert (arrays["policy.action_net.bias"] == last[1]).all()


def test_the_same_seed_gives_the_same_policy_bit_for_bit(finished, tmp_path):
    assert train(*TINY, "--curve-every", "2048", "--run", tmp_path / "again").status == 0
    assert tensors_of(tmp_path / "again") == tensors_of(finished[0])


def test_mixed_tables_and_other_rewards_train_and_are_evaluated_at_every_size(finished, tmp_path):
    settings = ["--num-players", 3, 4, 5, "--reward", "win", "--open-mice", "--seed", 1, "--mix", "self=3", "ev=.5"]
    assert train(*SMALL, "--total-timesteps", 1024, *settings, "--run", tmp_path / "mixed").status == 0
    assert read_config(tmp_path / "mixed" / "config.json").weights == {"self": 3.0, "ev": 0.5}
    results = json.loads((tmp_path / "mixed" / "evaluation.json").read_text())["results"]
    assert [result["num_players"] for result in results] == [3, 4, 5]
    assert agents.make(f"net:{tmp_path / 'mixed'}").open_mice is True
    assert tensors_of(tmp_path / "mixed") != tensors_of(finished[0])


def test_without_a_name_a_run_gets_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = (run_folder.create(small_config()) for _ in range(2))
    assert first != second
    assert {first.parent.name, second.parent.name} == {"runs"}
    assert (tmp_path / first / "config.json").exists()


def test_an_existing_run_is_never_overwritten(finished):
    before = contents(finished[0])
    outcome = train(*TINY, "--seed", "5", "--run", finished[0])
    assert outcome.status == 2
    assert "exists already" in outcome.errors
    assert "--resume" in outcome.errors
    assert contents(finished[0]) == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    outcome = train(*TINY, "--run", tmp_path / "file" / "run")
    assert outcome.status == 2
    assert "cannot make the run folder" in outcome.errors
