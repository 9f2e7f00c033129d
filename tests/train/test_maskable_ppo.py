"""The MaskablePPO trainer: its games differ from those of the evaluation, and its opponents are snapshots."""

import csv
import signal
from io import StringIO
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import agents
import agents.arena.blocks
from agents.arena.blocks import deal_blocks
from agents.arena.games import Games
from agents.network import forward
from agents.policy_file import save_policy
from agents.tools.seeds import SEEDS
from felicity_env import game_seed
from felicity_env.game import MAX_BID
from felicity_env.setups import standard_setup
from tests.support.players import small_net
from tests.support.training import flat, newest, small_config
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer
from train.progress import Progress
from train.trainer import CURVE_STREAM, FINAL_STREAM, evaluate_policy


def list_training_seeds(seed: int, tmp_path: Path) -> set[int]:
    """Collect the seeds of the games that training deals with this `--seed`."""
    batch = MaskablePPOTrainer(small_config(seed=seed, num_envs=64), tmp_path).env.games.batch
    seeds = set(batch.game_seeds.tolist())
    for _ in range(600):
        batch.play_random(10)
        seeds |= set(batch.game_seeds.tolist())
    return seeds


def list_evaluation_seeds(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Collect the seeds of deals and streams of the evaluation, for the curve and at the end."""
    seeds: set[int] = set()

    class WatchedGames(Games):
        def __init__(self, setup, states, streams, seating, **options):
            seeds.update(streams.tolist())
            super().__init__(setup, states, streams, seating, **options)

    def watch_deals(setup, blocks, seed):
        seeds.update(game_seed(seed, agents.arena.blocks._DEAL_STREAM, block) for block in blocks)
        return deal_blocks(setup, blocks, seed)

    monkeypatch.setattr(agents.arena.blocks, "Games", WatchedGames)
    monkeypatch.setattr(agents.arena.blocks, "deal_blocks", watch_deals)
    for stream in (CURVE_STREAM, FINAL_STREAM):
        evaluate_policy(agents.make("random"), standard_setup(4), num_deals=300, stream=stream, against=("random",))
    return seeds


@pytest.mark.compiled("thousands of games")
def test_training_and_evaluation_deal_from_different_seeds(tmp_path, monkeypatch):
    training = [list_training_seeds(seed, tmp_path) for seed in (0, 1)]
    evaluation = list_evaluation_seeds(monkeypatch)
    assert min(map(len, training)) > 2000
    assert len(evaluation) == 2 * 300 * 5  # deals, and streams of four rotations
    assert not evaluation & (training[0] | training[1])
    assert not training[0] & training[1]


def test_no_seed_of_training_is_that_of_evaluation():
    with pytest.raises(ValueError, match="--seed"):
        MaskablePPOConfig(seed=SEEDS["evaluation"])


def test_the_policy_that_plays_is_the_policy_that_learns(tmp_path):
    trainer = MaskablePPOTrainer(small_config(hidden_sizes=(16, 8)), tmp_path)
    observations = trainer.env.reset()
    policy = trainer.model.policy
    with torch.no_grad():
        logits = policy.get_distribution(torch.from_numpy(observations)).distribution.logits.numpy()
    own = forward(trainer.layers(), observations)
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


def test_decisions_of_a_rollout_that_ctrl_c_cut_short_do_not_count_as_learned(tmp_path):
    trainer = MaskablePPOTrainer(small_config(), tmp_path)
    step, calls = trainer.env.step_wait, count(1)

    def stop_in_the_second_rollout():
        if next(calls) == 40:
            signal.raise_signal(signal.SIGINT)
        return step()

    trainer.env.step_wait = stop_in_the_second_rollout
    with Progress(Console(file=StringIO()), 4096, 0) as progress:
        assert not trainer.learn(progress)
    facts = newest(tmp_path).metadata
    assert (trainer.timesteps, facts["timesteps"], facts["updates"]) == (32 * 32, 32 * 32, 1)


def test_past_policies_are_stored_and_the_entropy_bonus_falls_in_the_course_of_training(tmp_path):
    config = small_config(remember_every=1, num_past=2, ent_coef=0.1, ent_coef_end=0.0, curve_every=10**6)
    trainer = MaskablePPOTrainer(config, tmp_path)
    began = flat(trainer.layers())
    with Progress(Console(file=StringIO()), config.total_timesteps, 0) as progress:
        assert trainer.learn(progress)
    past = [flat(layers) for layers in trainer.pool.past_layers()]
    assert len({began, *past}) == 3
    assert flat(trainer.pool.newest.player.layers) in past  # as it was before the last of four updates
    assert trainer.model.ent_coef == pytest.approx(0.1 * 1 / 4)


def test_learning_rate_and_entropy_bonus_follow_the_schedule_of_the_settings(tmp_path):
    config = small_config(learning_rate=0.01, ent_coef=0.04, ent_coef_end=0.02, curve_every=10**6)
    assert config.compute_schedule(0) == {"learning_rate": 0.01, "ent_coef": 0.04}
    assert config.compute_schedule(1024) == pytest.approx({"learning_rate": 0.0075, "ent_coef": 0.035})
    assert config.compute_schedule(9999) == pytest.approx({"learning_rate": 0.0, "ent_coef": 0.02})
    trainer = MaskablePPOTrainer(config, tmp_path)
    with Progress(Console(file=StringIO()), config.total_timesteps, 0) as progress:
        assert trainer.learn(progress)
    last = {"learning_rate": trainer.model.policy.optimizer.param_groups[0]["lr"], "ent_coef": trainer.model.ent_coef}
    assert last == pytest.approx(config.compute_schedule(3 * 1024))  # before the last of four updates


def test_the_losses_of_an_update_are_logged_at_its_step_and_all_updates_are_logged(tmp_path):
    trainer = MaskablePPOTrainer(small_config(curve_every=10**6), tmp_path)
    with Progress(Console(file=StringIO()), 4096, 0) as progress:
        assert trainer.learn(progress)
    with next(tmp_path.rglob("progress.csv")).open() as file:
        rows = [row for row in csv.DictReader(file) if row["train/loss"]]
    assert [int(row["time/total_timesteps"]) for row in rows] == [1024, 2048, 3072, 4096]
    rates = [trainer.config.compute_schedule(timesteps)["learning_rate"] for timesteps in (0, 1024, 2048, 3072)]
    assert [float(row["train/learning_rate"]) for row in rows] == pytest.approx(rates)
    assert all(row["rollout/ep_rew_mean"] for row in rows)


def test_a_run_may_begin_with_the_policy_of_another_and_its_critic(tmp_path):
    before = MaskablePPOTrainer(small_config(seed=1), tmp_path / "before")
    (tmp_path / "before").mkdir()
    before.save()
    started = MaskablePPOTrainer(small_config(init=str(tmp_path / "before")), tmp_path / "run")
    fresh = MaskablePPOTrainer(small_config(), tmp_path / "run")
    assert flat(started.layers()) == flat(before.layers()) != flat(fresh.layers())
    states = [trainer.model.policy.state_dict() for trainer in (before, started)]
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())


@pytest.mark.parametrize(
    ("metadata", "settings", "message"),
    [
        ({"open_mice": True}, {}, "needs --open-mice$"),
        ({"open_mice": False}, {"hidden_sizes": (8,)}, "needs --hidden-sizes 16$"),
        ({"open_mice": False, "activation": "relu"}, {}, "has relu between its layers, this trainer's have tanh"),
    ],
)
def test_a_policy_of_another_kind_to_begin_with_is_refused(tmp_path, metadata, settings, message):
    save_policy(tmp_path, small_net(hidden=16).layers, **{"activation": "tanh", **metadata})
    with pytest.raises(ValueError, match=message):
        MaskablePPOTrainer(small_config(init=str(tmp_path), **settings), tmp_path / "run")


def test_a_policy_with_outputs_for_raises_to_begin_with_is_refused(tmp_path):
    first, (weight, bias) = small_net(hidden=16).layers
    wider = (np.pad(weight, ((0, 0), (0, MAX_BID))), np.pad(bias, (0, MAX_BID)))
    save_policy(tmp_path, [first, wider], open_mice=False, activation="tanh")
    with pytest.raises(ValueError, match="needs --raises, which maskable-ppo does not have"):
        MaskablePPOTrainer(small_config(init=str(tmp_path)), tmp_path / "run")
