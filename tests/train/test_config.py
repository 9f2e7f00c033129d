"""Settings: refusals, defaults and storage."""

import json
from dataclasses import replace

import pytest
import torch

from agents.tools.files import UserError
from agents.tools.settings import OneSetup
from felicity_env import Setup
from felicity_env.setups import find_setup, standard_setup
from tests.support.selfplay_runs import create_trainer, options
from tests.support.training import SMALL, small_config, train
from train import trainer
from train.command import read_arguments
from train.config import NOT_STORED, Config, read_config
from train.maskable_ppo import MaskablePPOConfig
from train.selfplay import SelfplayConfig
from train.storage import create_run_folder

POSITIVE = (
    "--total-timesteps",
    "--num-envs",
    "--num-steps",
    "--batch-size",
    "--update-epochs",
    "--threads",
    "--remember-every",
    "--curve-every",
    "--curve-deals",
    "--evaluation-deals",
    "--learning-rate",
    "--reward-scale",
    "--clip-coef",
)


NONSENSE = [
    *((option, value) for option in POSITIVE for value in ("0", "-1")),
    ("--curve-deals", "1"),
    ("--evaluation-deals", "1"),
    ("--learning-rate", "nan"),
    ("--reward-scale", "inf"),
    ("--clip-coef", "nan"),
    ("--num-players", "2"),
    ("--num-players", "6"),
    ("--num-players", "3 4 7"),
    ("--num-players", "four"),
    ("--setup", "standard-6"),
    ("--setup", "nowhere.json"),
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
    ("--num-past", "0"),  # with past policies in the mix
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
    ("--total-timesteps", "1.5"),
    ("--no-such-option", "1"),
]


@pytest.mark.parametrize(("option", "value"), NONSENSE)
def test_a_nonsense_option_is_named_and_nothing_is_started(tmp_path, option, value):
    outcome = train("maskable-ppo", *SMALL, option, *value.split(), "--out", tmp_path / "run")
    assert outcome.status == 2
    assert option in outcome.output + outcome.errors
    assert not list(tmp_path.iterdir())


def test_an_error_says_why_a_player_cannot_be_made(tmp_path):
    outcome = train("maskable-ppo", *SMALL, "--mix", f"net:{tmp_path / 'lost'}=1", "--out", tmp_path / "run")
    message = outcome.errors.replace(" ", "")  # a long path is broken anywhere
    assert f"cannotreadapolicyfrom{tmp_path / 'lost'}" in message
    assert outcome.errors.count("there is no such file") == 1


@pytest.mark.parametrize("option", ["--num-players", "--hidden-sizes", "--mix"])
def test_a_list_without_an_entry_is_named(tmp_path, option):
    outcome = train("maskable-ppo", *SMALL, option, "--out", tmp_path / "run")
    assert outcome.status == 2
    assert option in outcome.output + outcome.errors
    assert not list(tmp_path.iterdir())


def test_more_setups_than_games_are_refused():
    with pytest.raises(ValueError, match="--num-envs"):
        small_config(num_players=(3, 4, 5), num_envs=2, batch_size=64)


def test_entries_of_the_mix_that_are_separated_by_commas_are_refused_with_the_right_form():
    with pytest.raises(ValueError, match=r"--mix .* separated by blanks"):
        small_config(mix=("self=1,ev=2",))


@pytest.mark.parametrize("kind", [MaskablePPOConfig, SelfplayConfig])
def test_by_default_a_run_uses_one_thread_and_more_than_the_machine_has_are_refused(kind, monkeypatch):
    assert kind().threads is None  # so a run does not depend on the machine that it was started on
    monkeypatch.setattr(trainer, "MAX_THREADS", 1)
    assert trainer.prepare_process(kind().threads) == 1
    with pytest.raises(ValueError, match="--threads must be 1 to 1 on this machine, not 2"):
        trainer.prepare_process(2)


def test_threads_and_the_time_between_checkpoints_are_no_part_of_what_a_run_is():
    usual, other = small_config(threads=1), small_config(threads=2, save_minutes=60.0, allow=("a.b:make",))
    assert usual.to_json() == other.to_json()
    assert not {"threads", "save_minutes", "allow"} & usual.to_json().keys()


def create_edited_run(folder, **settings):
    """Create a run folder whose stored settings have been changed by hand, and return its path."""
    run = create_run_folder(small_config(out=folder))
    values = json.loads((run / "config.json").read_text())
    values["config"] |= settings
    (run / "config.json").write_text(json.dumps(values))
    return run


FOREIGN = "their.module:make", "chat:http://127.0.0.1:9/v1,M"


@pytest.mark.parametrize("code", FOREIGN)
@pytest.mark.parametrize("setting", ["against", "mix"])
def test_a_folder_from_a_stranger_imports_no_module_and_asks_no_server(tmp_path, setting, code):
    run = create_edited_run(tmp_path / "run", **{setting: [code] if setting == "against" else ["self=1", f"{code}=1"]})
    outcome = train("--resume", run)
    assert outcome.status == 2
    assert "names players that run code of their own or ask a server" in outcome.errors
    assert f"if you trust them: --allow {code}" in outcome.errors


def test_a_foreign_player_that_is_allowed_is_used(tmp_path):
    own, chat = (create_edited_run(tmp_path / str(k), against=[code]) for k, code in enumerate(FOREIGN))
    with pytest.raises(UserError, match=r"cannot make a player by their\.module:make"):
        read_config(own / "config.json", allow=FOREIGN)
    assert read_config(chat / "config.json", allow=FOREIGN).against == (FOREIGN[1],)


@pytest.mark.parametrize("setting", ["log_to", "against", "mix"])
def test_a_file_from_a_stranger_runs_no_code(tmp_path, setting):
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'harm')!r}, 'w')\nmake = print\n")
    run = create_edited_run(tmp_path / "run", **{setting: f"{tmp_path}/evil.py:make"})
    outcome = train("--resume", run)
    assert outcome.status == 2
    assert ("stores no setting log_to" if setting == "log_to" else f"{setting} must be a list") in outcome.errors
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("setting", NOT_STORED)
def test_a_setting_that_is_not_stored_is_refused_in_a_folder(tmp_path, setting):
    run = create_edited_run(tmp_path / "run", **{setting: None})
    with pytest.raises(UserError, match=f"maskable-ppo stores no setting {setting}$"):
        read_config(run / "config.json")


def test_settings_survive_json():
    config = small_config(num_players=(3, 5), mix=("self=1.0", "ev=.5"), reward="margin", open_mice=True)
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == replace(config, threads=None)


def test_settings_are_stored_without_places_of_folders(tmp_path):
    config = small_config(out=tmp_path)
    assert config.to_json() == small_config().to_json()
    assert config.to_json()["algorithm"] == "maskable-ppo"


def write_setup(path, **changes):
    path.write_text(json.dumps({"seats": 4, "mouse_cards": [1, 3, 5], "bank": 27} | changes))
    return str(path)


def test_setups_are_named_or_read_from_files_and_replace_the_numbers_of_players(tmp_path):
    file = write_setup(tmp_path / "high.json")
    config = small_config(setup=("standard-3", file, file), num_envs=6, batch_size=64)
    high = Setup(seats=4, mouse_cards=(1, 3, 5), bank=27)
    assert config.setups == (standard_setup(3), high)
    assert config.setups_by_game == [standard_setup(3), high, high] * 2
    assert small_config(num_players=(5, 4, 5)).setups == (standard_setup(5), standard_setup(4))


def test_numbers_of_players_beside_setups_are_refused_unless_they_are_their_seats():
    text = "--num-players is 3, but the seats of --setup are 2: give only one of these options"
    with pytest.raises(ValueError, match=text):
        small_config(setup=("small-2",), num_players=(3,))
    with pytest.raises(ValueError, match=text):
        OneSetup(setup="small-2", num_players=3)
    assert small_config(setup=("small-3",), num_players=(3,)).setups == (find_setup("small-3"),)


def test_stored_settings_of_a_setup_file_that_has_changed_are_refused(tmp_path):
    config = small_config(setup=(write_setup(tmp_path / "high.json"),))
    run = create_run_folder(replace(config, out=tmp_path / "run"))
    assert read_config(run / "config.json") == config
    write_setup(tmp_path / "high.json", bank=30)
    with pytest.raises(UserError, match=r"other settings \(setups\); restore the files that --setup names"):
        read_config(run / "config.json")


def test_on_a_gpu_a_run_of_no_named_size_is_larger_in_as_many_updates(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    usual, _ = read_arguments(["selfplay"])
    assert usual == SelfplayConfig()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    large, named = read_arguments(["selfplay", "--seed", "3"])
    assert named == ["--seed"]
    assert large.batch_size == 16 * usual.batch_size
    assert large.total_timesteps / large.rollout_size == usual.total_timesteps / usual.rollout_size
    twice = ["--device", "cuda", "--device", "cpu"]  # the last one counts
    for named in (["--num-envs", "512"], ["--num_steps=64"], ["--device", "cpu"], ["--device=cpu"], twice):
        assert read_arguments(["selfplay", *named])[0].batch_size == usual.batch_size
    assert read_arguments(["maskable-ppo"]) == (MaskablePPOConfig(), [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--max-grad-norm 0", ["--max-grad-norm must be positive"]),
        ("--kl-coef -1", ["--kl-coef must not be negative"]),
        ("--average-decay 1.5", ["--average-decay must be 0 to 1"]),
        ("--mix past=1", ["--mix may name self and player codes", "exists in maskable-ppo only"]),
        ("--batch-size 513", ["--batch-size must be at most"]),
        ("--no-such-option 1", ["python -m train selfplay --help"]),
        ("--init nowhere", ["cannot read a policy from nowhere"]),
        ("--init agents/net", ["it is a mixture", "such as agents/net/0"]),
        ("--threads 9999", ["--threads must be 1 to", "not 9999"]),
        ("--num-players 4 6", ["--num-players", "[3, 4, 5], not 6"]),
        ("--num-steps 100000000000", ["--num-steps must be 1 to 2147483647"]),
        ("--num-steps 2000000000", ["--num-envs times --num-steps is", "GB of memory"]),
        ("--num-envs 2000000000 --num-steps 1 --batch-size 1", ["need 1,504 GB of memory, this machine has"]),
        ("--hidden-sizes 2000000000 2000000000", ["there is not enough memory for a run of this size"]),
    ],
)
def test_nonsense_for_selfplay_is_named_and_nothing_is_started(tmp_path, arguments, words):
    outcome = train(*options(), *arguments.split(), "--out", tmp_path / "run")
    assert outcome.status == 2
    for word in words:
        assert word in outcome.output + outcome.errors
    assert not list(tmp_path.iterdir())


def test_a_missing_device_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="--device cuda: torch finds no CUDA device"):
        create_trainer(tmp_path, device="cuda")


def test_weights_change_by_equal_steps_or_by_equal_factors():
    settings = {"total_timesteps": 100, "bidding_coef": 0.08, "bidding_coef_end": 0.02, "learning_rate": 0.1}
    linear, geometric = (SelfplayConfig(decay=decay, **settings) for decay in ("linear", "geometric"))
    assert [linear.compute_schedule(t)["bidding_coef"] for t in (0, 50, 100)] == pytest.approx([0.08, 0.05, 0.02])
    assert [geometric.compute_schedule(t)["bidding_coef"] for t in (0, 50, 100)] == pytest.approx([0.08, 0.04, 0.02])
    assert geometric.compute_schedule(50)["learning_rate"] == pytest.approx(0.05)


def test_a_weight_of_zero_cannot_be_reached_by_equal_factors():
    with pytest.raises(ValueError, match="--decay geometric needs --bidding-coef and --placing-coef above 0"):
        SelfplayConfig(decay="geometric", placing_coef_end=0.0)
