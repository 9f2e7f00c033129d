"""The training command: what it leaves behind, what it refuses, how it stops and goes on."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from rich.console import Console
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

import agents
import agents.arena
from agents.arena import deal_blocks
from agents.games import Games
from agents.network import NetworkPlayer, logits_of
from felicity_env import Batch, game_seed
from felicity_env.game import MAX_SEATS
from felicity_env.tables import LEARNER
from train import checkpoint, run_folder
from train.__main__ import cli
from train.config import Config, MaskableConfig, read_config
from train.evaluation import EVALUATION_SEED, LADDER, evaluate
from train.maskable_ppo import MaskablePPOTrainer
from train.opponents import OpponentPool
from train.progress import Progress
from train.run import CURVE_STREAM, FINAL_STREAM, Run
from train.run_folder import RunError, write_json

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = {
    "--num-envs": 32,
    "--num-steps": 32,
    "--batch-size": 512,
    "--evaluation-blocks": 4,
    "--curve-blocks": 2,
    "--hidden-sizes": 16,
    "--threads": 1,
}
SMALL = [str(word) for option in OPTIONS.items() for word in option]
TINY = [*SMALL, "--total-timesteps", "4096"]


class Outcome(NamedTuple):
    status: int
    output: str  # without line breaks and boxes, so that messages can be found
    errors: str


def train(*arguments: object) -> Outcome:
    """`python -m train` in this process."""
    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = cli([str(argument) for argument in arguments])
        except SystemExit as end:  # the parser's way
            status = int(end.code or 0)
    return Outcome(status, plain(output.getvalue()), plain(errors.getvalue()))


def plain(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def tensors_of(run: Path) -> bytes:
    return (run / "policy.safetensors").read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, Outcome]:
    run = tmp_path_factory.mktemp("train") / "runs" / "first"
    return run, train(*TINY, "--curve-every", "2048", "--run", run)


@pytest.fixture
def copied(finished, tmp_path) -> Path:
    """A run of its own to be damaged."""
    return Path(shutil.copytree(finished[0], tmp_path / "copied"))


def newest(run: Path) -> checkpoint.Checkpoint:
    return checkpoint.load(run, say=print)


def small_config(**settings: object) -> MaskableConfig:
    small = {"num_envs": 32, "num_steps": 32, "batch_size": 512, "hidden_sizes": (16,), "threads": 1}
    few = {"total_timesteps": 4096, "curve_blocks": 2, "evaluation_blocks": 2}
    return MaskableConfig(**(small | few | settings))


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
    assert f"no policy can be read from {tmp_path / 'lost'}" in outcome.errors
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


# --- stopping and going on --------------------------------------------------------------------------------------------


def start_and_interrupt(run: Path, *arguments: str) -> tuple[int, str]:
    """(exit status, output) of a training process that gets Ctrl-C once it has printed a line of progress."""
    command = [sys.executable, "-m", "train", *arguments, "--run", str(run)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
    }
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "vs random" in line:
                break
        process.send_signal(signal.SIGINT)
        lines += process.stdout.readlines()
    return process.returncode, "".join(lines)


def test_ctrl_c_saves_and_says_how_to_go_on_and_the_run_then_finishes(tmp_path):
    run = tmp_path / "run"
    status, output = start_and_interrupt(run, *SMALL, "--total-timesteps", "40960")
    assert status == 130, output
    assert f"python -m train --resume {run}" in output
    assert "Traceback" not in output
    stopped_at = newest(run).facts["timesteps"]
    assert 0 < stopped_at < 40960
    assert not (run / "evaluation.json").exists()

    settings = (run / "config.json").read_bytes()
    outcome = train("--resume", run)
    assert outcome.status == 0, outcome.errors
    assert (run / "config.json").read_bytes() == settings
    assert newest(run).facts["timesteps"] >= 40960
    curve = [point["timesteps"] for point in json.loads((run / "learning_curve.json").read_text())]
    assert curve[0] == 0
    assert curve == sorted(set(curve))
    assert {path.name for path in (run / "logs").iterdir()} == {"from-000000000000", f"from-{stopped_at:012d}"}
    assert agents.make(f"net:{run}").act(Batch(4).view()).shape == (4,)


def test_ctrl_c_in_the_final_evaluation_is_no_traceback(copied, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "finish", interrupt)
    outcome = train("--resume", copied)
    assert outcome.status == 130
    assert "--resume" in outcome.errors


def test_on_a_terminal_of_80_columns_a_bar_shows_share_speed_time_left_and_strength():
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    share = {code: {"value": 0.5} for code in LADDER}
    with Progress(console, 4096, 0) as progress:
        progress.show_strength({"seconds": 1, "results": [{"num_players": 4, "win_share": share}]})
        for timesteps in (1000, 2000, 2048):
            time.sleep(0.002)
            progress.advance_to(timesteps)
    shown = screen.getvalue()
    for text in (" 50%", "/s", "left", "anchor 0.50", "0/4,096  1 s  4p vs random 0.50 anchor 0.50 ev 0.50"):
        assert text in shown


def test_a_finished_run_resumed_is_only_evaluated_again(copied):
    before = tensors_of(copied)
    (copied / "evaluation.json").unlink()
    outcome = train("--resume", copied)
    assert outcome.status == 0, outcome.errors
    assert tensors_of(copied) == before
    assert (copied / "evaluation.json").exists()
    curve = json.loads((copied / "learning_curve.json").read_text())
    assert [point["timesteps"] for point in curve] == [0, 2048, 4096]


def test_a_restored_trainer_holds_what_was_saved(tmp_path):
    config = small_config(num_past=2)
    trainer = MaskablePPOTrainer(config, tmp_path)
    for k in range(3):
        trainer.pool.remember(trainer.run.player([(layer + k, bias + k) for layer, bias in trainer.layers()]), k)
    trainer.run.curve, trainer.updates, trainer.model.num_timesteps = [{"timesteps": 64}], 7, 2048
    trainer.save()
    restored = MaskablePPOTrainer(config, tmp_path)
    with torch.no_grad():
        for weight in restored.model.policy.parameters():
            weight += 1
    restored.restore(say=print)
    assert flat(restored.layers()) == flat(trainer.layers())
    assert [flat(layers) for layers in restored.pool.past_layers()] == [
        flat(layers) for layers in trainer.pool.past_layers()
    ]
    assert (restored.run.curve, restored.updates, restored.timesteps) == ([{"timesteps": 64}], 7, 2048)
    assert restored.env.lanes.batch.seed != trainer.env.lanes.batch.seed  # new games, not those of the start again


def flat(layers: list[tuple[np.ndarray, np.ndarray]]) -> bytes:
    return b"".join(array.tobytes() for layer in layers for array in layer)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit_config(run: Path, **changes: object) -> None:
    written = json.loads((run / "config.json").read_text())
    written["config"] |= changes
    (run / "config.json").write_text(json.dumps(written))


def checkpoint_of(run: Path) -> Path:
    """The only checkpoint left of `run`: the others are removed."""
    *others, path = checkpoint.checkpoints(run)
    for other in others:
        other.unlink()
    return path


def write_other(run: Path, **facts: object) -> None:
    """A whole checkpoint in place of the run's, of something else."""
    checkpoint_of(run).unlink()
    checkpoint.save(run, {"a": np.zeros(3)}, {"timesteps": 4096, **facts})


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no checkpoint": (lambda run: checkpoint_of(run).unlink(), "no checkpoint that is whole"),
    "checkpoint cut off": (lambda run: truncate(checkpoint_of(run)), "no checkpoint that is whole"),
    "checkpoint empty": (lambda run: checkpoint_of(run).write_bytes(b""), "no checkpoint that is whole"),
    "checkpoint is text": (lambda run: checkpoint_of(run).write_text("no tensors"), "no checkpoint that is whole"),
    "checkpoint of another kind": (write_other, "does not fit"),
    "checkpoint of other layers": (lambda run: edit_config(run, hidden_sizes=[17]), "does not fit"),
    "checkpoint of other settings": (lambda run: edit_config(run, gamma=0.5), "written with other settings"),
    "no config": (lambda run: (run / "config.json").unlink(), "config.json"),
    "config cut off": (lambda run: truncate(run / "config.json"), "config.json"),
    "config is a list": (lambda run: (run / "config.json").write_text("[]"), "config.json"),
    "config is binary": (lambda run: (run / "config.json").write_bytes(b"\xff\xfe"), "config.json"),
    "config with an unknown key": (lambda run: edit_config(run, no_such_setting=1), "no_such_setting"),
    "config with nonsense": (lambda run: edit_config(run, num_envs=-1), "--num-envs must be positive"),
    "config with a word for a number": (lambda run: edit_config(run, num_envs="many"), "config.json"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused_with_its_fault_and_left_alone(copied, damage):
    spoil, message = DAMAGES[damage]
    spoil(copied)
    before = contents(copied)
    outcome = train("--resume", copied)
    assert outcome.status == 2
    assert message in outcome.errors
    assert contents(copied) == before


def test_a_missing_run_is_named_and_not_made(tmp_path):
    outcome = train("--resume", tmp_path / "nowhere")
    assert outcome.status == 2
    assert "there is no run folder" in outcome.errors
    assert not (tmp_path / "nowhere").exists()


def test_two_processes_are_never_at_work_in_one_folder(copied):
    before = contents(copied)
    with run_folder.held(copied):
        outcome = train("--resume", copied)
    assert outcome.status == 2
    assert f"another process is at work in {copied}" in outcome.errors
    assert contents(copied) == before
    with run_folder.held(copied):
        pass  # it is free again


@pytest.mark.parametrize(
    "options",
    [
        "--total-timesteps 9999 --gamma=0.9",
        f"--total-timesteps {MaskableConfig().total_timesteps}",  # the default, not that of the run
        "--algorithm selfplay",
        "--no-open-mice",
    ],
)
def test_resume_takes_no_other_options(copied, options):
    before = contents(copied)
    outcome = train("--resume", copied, *options.split())
    assert outcome.status == 2
    named = [word.split("=")[0] for word in options.split() if word.startswith("--")]
    assert f"leave out {' '.join(named)}" in outcome.errors
    assert contents(copied) == before


# --- a full disk ------------------------------------------------------------------------------------------------------


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_old_file_whole(tmp_path, monkeypatch):
    write_json(tmp_path / "a.json", {"old": 1})
    before = contents(tmp_path)
    monkeypatch.setattr(os, "replace", no_space)
    with pytest.raises(RunError, match=r"a\.json: the disk is full; the file there before is whole"):
        write_json(tmp_path / "a.json", {"new": 2})
    assert contents(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", ["learning_curve.json", "learning_curve.png", "evaluation.json"])
def test_a_run_on_a_full_disk_says_so_and_keeps_what_it_had(copied, name):
    truncate(copied / "learning_curve.json")  # will be written anew
    before = (copied / name).read_bytes()
    (copied / f"{name}.part").symlink_to("/dev/full")
    checkpoint.checkpoints(copied)[-1].unlink()  # there is something left to learn
    outcome = train("--resume", copied)
    assert outcome.status == 2
    assert f"cannot write {copied / name}" in outcome.errors
    assert (copied / name).read_bytes() == before
    assert not (copied / f"{name}.part").is_symlink()


@pytest.mark.parametrize("function", ["train.checkpoint.write_atomically", "train.run.save_policy"])
def test_an_error_while_writing_is_a_message_and_the_checkpoints_stay(copied, monkeypatch, function):
    before = contents(copied / "checkpoints")
    monkeypatch.setattr(function, no_space)
    outcome = train("--resume", copied)
    assert outcome.status == 2
    assert "disk is full" in outcome.errors or "No space left on device" in outcome.errors
    if "checkpoint" in function:
        assert contents(copied / "checkpoints") == before


# --- what is learned from ---------------------------------------------------------------------------------------------


def seeds_of_training(seed: int, tmp_path: Path) -> set[int]:
    """Seeds of the games that training deals with this `--seed`."""
    batch = MaskablePPOTrainer(small_config(seed=seed, num_envs=64), tmp_path).env.lanes.batch
    seeds = set(batch.game_seeds.tolist())
    for _ in range(600):
        batch.play_random(10)
        seeds |= set(batch.game_seeds.tolist())
    return seeds


def seeds_of_evaluation(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Seeds of the deals and the streams of evaluation, at the curve and at the end."""
    seeds: set[int] = set()

    class WatchedGames(Games):
        def __init__(self, setup, states, streams, seating):
            seeds.update(streams.tolist())
            super().__init__(setup, states, streams, seating)

    def watched_deals(num_players, blocks, seed):
        seeds.update(game_seed(seed, agents.arena._DEAL_STREAM, block) for block in blocks)
        return deal_blocks(num_players, blocks, seed)

    monkeypatch.setattr(agents.arena, "Games", WatchedGames)
    monkeypatch.setattr(agents.arena, "deal_blocks", watched_deals)
    for stream in (CURVE_STREAM, FINAL_STREAM):
        evaluate(agents.make("random"), num_players=4, num_blocks=300, stream=stream)
    return seeds


def test_training_and_evaluation_deal_from_different_seeds(tmp_path, monkeypatch):
    training = [seeds_of_training(seed, tmp_path) for seed in (0, 1)]
    evaluation = seeds_of_evaluation(monkeypatch)
    assert min(map(len, training)) > 2000
    assert len(evaluation) == 2 * 300 * 5  # deals, and streams of four rotations
    assert not evaluation & (training[0] | training[1])
    assert not training[0] & training[1]


def test_no_seed_of_training_is_that_of_evaluation():
    with pytest.raises(ValueError, match="--seed"):
        MaskableConfig(seed=EVALUATION_SEED)


def test_the_policy_that_plays_is_the_policy_that_learns(tmp_path):
    trainer = MaskablePPOTrainer(small_config(hidden_sizes=(16, 8)), tmp_path)
    observations = trainer.env.reset()
    policy = trainer.model.policy
    with torch.no_grad():
        logits = policy.get_distribution(torch.from_numpy(observations)).distribution.logits.numpy()
    own = logits_of(trainer.layers(), observations)
    shifted = own - np.log(np.exp(own).sum(axis=1, keepdims=True))
    assert shifted == pytest.approx(logits, abs=1e-5)


def test_opponents_are_snapshots_that_learning_does_not_change(tmp_path):
    trainer = MaskablePPOTrainer(small_config(), tmp_path)
    trainer.pool.update(trainer.player())
    before = flat(trainer.pool.newest.player.layers)
    with torch.no_grad():
        for weight in trainer.model.policy.parameters():
            weight += 1
    assert flat(trainer.pool.newest.player.layers) == before
    trainer.pool.update(trainer.player())
    assert flat(trainer.pool.newest.player.layers) != before


def test_older_selves_are_kept_and_the_entropy_bonus_falls_in_the_course_of_training(tmp_path):
    config = small_config(remember_every=1, num_past=2, ent_coef=0.1, ent_coef_end=0.0, curve_every=10**6)
    trainer = MaskablePPOTrainer(config, tmp_path)
    began = flat(trainer.layers())
    with Progress(Console(file=StringIO()), config.total_timesteps, 0) as progress:
        assert trainer.learn(progress)
    past = [flat(layers) for layers in trainer.pool.past_layers()]
    assert len({began, *past}) == 3
    assert flat(trainer.pool.newest.player.layers) in past  # as it was before the last of four updates
    assert trainer.model.ent_coef == pytest.approx(0.1 * 1 / 4)


# --- opponents --------------------------------------------------------------------------------------------------------


def pool_of(mix: dict[str, float], *, num_past: int = 2) -> OpponentPool:
    return OpponentPool(mix, num_past=num_past)


def games(count: int) -> np.ndarray:
    """Seeds of games."""
    return np.array([game_seed(3, game, 0) for game in range(count)], np.uint64)


def numbered(number: int) -> NetworkPlayer:
    return NetworkPlayer.of([(np.full((2, 2), number, np.float32), np.zeros(2, np.float32))])


def number_of(snapshot: object) -> int:
    return int(snapshot.player.layers[0][0][0, 0])


def test_opponents_are_drawn_as_often_as_the_mix_says():
    pool = pool_of({"self": 2.0, "past": 1.0, "ev": 0.5, "random": 0.5, "anchor": 0.0})
    drawn = pool.opposite(games(20_000))[:, 1]
    shares = np.bincount(drawn, minlength=6) / 20_000
    assert shares == pytest.approx([0.5, 0.125, 0.125, 0.125, 0.125, 0.0], abs=0.012)
    assert shares[5] == 0


def test_one_opponent_sits_in_all_other_seats_of_a_game_of_one_learner():
    opposite = pool_of({"self": 1.0, "ev": 1.0}, num_past=0).opposite(games(500))
    assert opposite.shape == (500, MAX_SEATS)
    assert (opposite == opposite[:, :1]).all()
    assert set(opposite[:, 0]) == {0, 1}


def test_another_player_has_all_seats_but_one_and_a_guest_has_one():
    pool = OpponentPool({"self": 0.4, "ev": 0.3}, guests={"anchor": 0.2, "ev": 0.1})
    around = pool.around(games(4000), np.full(4000, 4))[:, :4]
    assert around.max() == 2
    for player, by_seats in ((1, [0.0, 0.1, 0.0, 0.3]), (2, [0.0, 0.2, 0.0, 0.0])):
        seats = (around == player).sum(axis=1)
        shares = np.bincount(seats, minlength=4) / 4000
        assert shares[1:] == pytest.approx(by_seats[1:], abs=0.03)
        taken = (around[seats > 0] == player).mean(axis=0)
        assert taken == pytest.approx([taken.mean()] * 4, abs=0.04)  # no seat is preferred
    assert (around == LEARNER).all(axis=1).mean() == pytest.approx(0.4, abs=0.03)


def test_who_sits_down_depends_on_the_game_alone():
    pool = pool_of({"self": 1.0, "ev": 1.0, "anchor": 1.0}, num_past=0)
    together = pool.around(games(50), np.full(50, 5))
    one_by_one = [pool.around(games(50)[k : k + 1], np.array([5]))[0] for k in range(50)]
    assert (together == one_by_one).all()


def test_the_newest_self_follows_and_older_ones_are_replaced_in_turn():
    pool = pool_of({"self": 1.0, "past": 1.0}, num_past=2)
    pool.update(numbered(0))
    assert [number_of(player) for player in pool.past] == [0, 0]  # stand-ins
    pool.update(numbered(1))
    assert number_of(pool.newest) == 1
    for turn, number in enumerate((2, 3, 4)):
        pool.remember(numbered(number), turn)
    assert [number_of(player) for player in pool.players] == [1, 4, 3]
    again = pool_of({"self": 1.0, "past": 1.0}, num_past=2)
    again.restore_past([NetworkPlayer.of(layers) for layers in pool.past_layers()])
    assert [number_of(player) for player in again.past] == [4, 3]
