"""Training with games on a GPU: the same rollouts as on a CPU, checkpoints that both take, and clear errors."""

import numpy as np
import pytest

from agents.tools.files import UserError
from tests.support.selfplay_runs import create_trainer, small_config
from train.selfplay import choose_games

torch = pytest.importorskip("torch")
pytest.importorskip("felicity_env.cuda")
pytestmark = pytest.mark.gpu("a GPU, or the simulator")

MIXES = {
    "itself and others": {"mix": ("self=0.4", "ev=0.3", "anchor=0.3")},
    "two that cooperate": {"mix": ("tuned=1",), "num_learners": 2, "num_players": (3, 5), "reward": "round"},
}
SMALL = {"num_envs": 8, "num_steps": 6, "batch_size": 32}


def as_array(data) -> np.ndarray:
    return data.cpu().numpy() if isinstance(data, torch.Tensor) else data


def assert_same_rollout(cpu, gpu) -> None:
    for name in ("actions", "log_probabilities", "seats", "rewards", "terminated"):
        assert (getattr(gpu.rollout, name).cpu().numpy() == getattr(cpu.rollout, name)).all(), name
    for name, array in cpu.games.clone().items():
        assert (as_array(gpu.games.clone()[name]) == array).all(), name


def sort_rows(data: dict, *names: str) -> np.ndarray:
    return np.sort(np.stack([data[name].cpu().numpy().astype(float) for name in names]), axis=1)


@pytest.mark.parametrize("mix", MIXES)
def test_rollouts_and_their_data_are_those_of_the_cpu(tmp_path, mix):
    cpu, gpu = (create_trainer(tmp_path / games, games=games, **SMALL, **MIXES[mix]) for games in ("cpu", "cuda"))
    for _ in range(3):
        for trainer in (cpu, gpu):
            assert trainer.collect_rollout()
        assert_same_rollout(cpu, gpu)
    one, two = cpu.prepare_data(), gpu.prepare_data()
    for name in ("actions", "log_probabilities"):
        assert (sort_rows(one, name) == sort_rows(two, name)).all()
    for name in ("advantages", "returns"):
        assert sort_rows(two, name) == pytest.approx(sort_rows(one, name), abs=1e-6)
    decoded = gpu.rollout.encode(two)
    assert sorted(map(bytes, decoded["masks"].cpu().numpy())) == sorted(map(bytes, one["masks"].numpy()))
    observations = np.ascontiguousarray(decoded["observations"].cpu().numpy())
    assert sorted(map(bytes, observations)) == sorted(map(bytes, one["observations"].float().numpy()))


def test_an_update_learns_and_a_checkpoint_continues_on_the_other_device(tmp_path):
    trainer = create_trainer(tmp_path / "run", games="cuda", **SMALL)
    before = trainer.layers()[0][0].copy()
    assert trainer.run_iteration()["time/total_timesteps"] == trainer.timesteps > 0
    assert (trainer.layers()[0][0] != before).any()
    trainer.save()
    games_then = trainer.games.clone()
    trainer.collect_rollout()
    for games in ("cuda", "cpu"):
        resumed = create_trainer(tmp_path / "run", games=games, **SMALL)
        resumed.restore(print)
        assert resumed.timesteps == trainer.timesteps
        assert all(
            (as_array(resumed.games.clone()[name]) == as_array(array)).all() for name, array in games_then.items()
        )
        resumed.collect_rollout()
        assert (as_array(resumed.rollout.actions) == trainer.rollout.actions.cpu().numpy()).all()


def test_opponents_that_are_not_compiled_and_workers_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"--games cuda plays against pass, random, .* others need --games cpu"):
        create_trainer(tmp_path / "run", games="cuda", mix=("self=1", "net=1"))
    with pytest.raises(ValueError, match="--games cuda plays without workers"):
        small_config(games="cuda", shards=2)


def test_games_follow_the_networks_if_they_can(monkeypatch):
    monkeypatch.setattr("train.selfplay.find_spec", lambda name: object())
    assert choose_games(small_config(), "cpu") == "cpu"
    assert choose_games(small_config(), "cuda") == "cuda"
    assert choose_games(small_config(mix=("net=1",)), "cuda") == "cpu"
    assert choose_games(small_config(shards=2), "cuda") == "cpu"
    assert choose_games(small_config(games="cpu"), "cuda") == "cpu"
    monkeypatch.setattr("train.selfplay.find_spec", lambda name: None)
    assert choose_games(small_config(), "cuda") == "cpu"
