"""Training whose games workers play: the same weights, bit for bit, whoever plays and however often it stops."""

from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console

from agents.tools.files import UserError
from felicity_env import Batch
from tests.support.selfplay_runs import create_trainer, options, small_config, weights
from tests.support.training import train as run_command
from train.networks import copy_layers
from train.progress import Progress
from train.shards import Shard, ShardTask, play_shard

pytestmark = pytest.mark.compiled("trains networks")
MIX = ("self=0.4", "tuned=0.3", "net=0.3")  # the learner, a compiled player, and one that is not


def train(folder: Path, updates: int = 4, **settings: object) -> bytes:
    trainer = create_trainer(folder, **{"mix": MIX, "shards": 4, **settings})
    for _ in range(updates):
        trainer.run_iteration()
    trainer.games.close()
    return weights(trainer)


@pytest.mark.parametrize("lag", [0, 1])
def test_the_weights_do_not_depend_on_the_workers(tmp_path, lag):
    assert train(tmp_path / "one", lag=lag) == train(tmp_path / "two", lag=lag, workers=2)


def test_the_weights_depend_on_shards_and_lag_and_seed(tmp_path):
    settings = ({}, {"shards": 2}, {"lag": 1}, {"seed": 1})
    assert len({train(tmp_path / str(k), **each) for k, each in enumerate(settings)}) == len(settings)


@pytest.mark.parametrize("lag", [0, 1])
def test_a_run_that_is_saved_and_restored_goes_on_bit_for_bit(tmp_path, lag):
    whole = train(tmp_path / "whole", lag=lag)
    first = create_trainer(tmp_path / "part", mix=MIX, shards=4, lag=lag)
    for _ in range(2):
        first.run_iteration()
    first.save()
    second = create_trainer(tmp_path / "part", mix=MIX, shards=4, lag=lag)
    second.restore(print)
    for _ in range(2):
        second.run_iteration()
    assert weights(second) == whole


def test_a_run_that_is_stopped_during_a_rollout_goes_on_bit_for_bit(tmp_path):
    whole = train(tmp_path / "whole", updates=2)
    first = create_trainer(tmp_path / "part", mix=MIX, shards=4)
    first.run_iteration()
    first._is_stopped = lambda: True
    assert first.run_iteration() == {}
    first.save()
    second = create_trainer(tmp_path / "part", mix=MIX, shards=4)
    second.restore(print)
    second.run_iteration()
    assert weights(second) == whole


def test_a_shard_is_played_again_with_the_same_result_and_the_replay_ends_where_it_ended(tmp_path):
    config = small_config(mix=MIX, shards=4)
    trainer = create_trainer(tmp_path / "run", mix=MIX, shards=4)
    shard = trainer.games.shards[2]
    task = ShardTask(trainer.config, 2, shard.batch.clone())
    layers = copy_layers(trainer.policy.actor)
    played, again = play_shard(task, layers), play_shard(task, layers)
    assert played.digest == again.digest
    for one, two in zip(played[:3], again[:3], strict=True):
        np.testing.assert_array_equal(one, two)
    assert len(played.others)  # `net` has acted
    shard.replay_players(played.others)
    for actions in played.actions:
        shard.games.step(actions.astype(np.int64))
    assert shard.digest() == played.digest
    assert played.actions.shape == (config.num_steps, config.num_envs // 4)


def test_an_error_or_a_second_ctrl_c_ends_the_workers_at_once(tmp_path, monkeypatch):
    trainer, closed = create_trainer(tmp_path / "run", mix=MIX, shards=4), []
    monkeypatch.setattr(trainer.games, "close", lambda: closed.append(True))
    monkeypatch.setattr(trainer, "run_iteration", Mock(side_effect=KeyboardInterrupt))
    with Progress(Console(file=StringIO()), 2000, 0) as progress, pytest.raises(KeyboardInterrupt):
        trainer.learn(progress)
    assert closed == [True]


def test_a_replay_that_ends_elsewhere_is_refused(tmp_path):
    trainer = create_trainer(tmp_path / "run", mix=MIX, shards=4)
    games = trainer.games
    layers = copy_layers(trainer.policy.actor)
    played = play_shard(ShardTask(games.config, 0, games.shards[0].batch.clone()), layers)
    with pytest.raises(UserError, match="a machine that computes otherwise has played for this run"):
        games._replay(games.shards[0], played._replace(digest="0" * 16), trainer.rollout, slice(0, 4))


def test_a_resumed_run_may_have_other_workers_if_it_has_shards(tmp_path):
    for shards in (4, 0):
        folder = tmp_path / str(shards)
        assert run_command(*options(), "--shards", shards, "--out", folder).status == 0
        outcome = run_command("--resume", folder, "--workers", 2, "--total-timesteps", 3000)
        assert outcome.status == (0 if shards else 2)
    assert "--lag, --workers and --ray need --shards" in outcome.errors


def test_shards_have_games_of_their_own():
    config = small_config(mix=MIX, shards=4)
    batches: list[Batch] = [Shard(config, number).batch for number in range(4)]
    assert len({batch.game_seeds.tobytes() for batch in batches}) == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shards": 3}, "--shards must divide --num-envs"),
        ({"shards": 16}, "--shards must divide --num-envs into parts of two games or more"),
        ({"lag": 1}, "need --shards"),
        ({"ray": "local"}, "need --shards"),
        ({"workers": 2}, "need --shards"),
        ({"shards": -1}, "--shards must be at least 0"),
        ({"shards": 4, "workers": 0}, "--workers must be at least 1"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        small_config(**settings)
