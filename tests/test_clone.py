"""A clone of a player: what its samples are, that it comes to play alike, and that its run goes on."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import agents
from felicity_env import NUM_ACTIONS, OBS_SIZE
from train import clone
from train.clone import Config, cli
from train.imitation import Samples
from train.opponents import OpponentPool

SMALL = "--code greedy --others ev tuned --parts 2 --part-size 200 --num-envs 12 --hidden-sizes 8 --epochs 2"


def small(tmp_path) -> list[str]:
    return [*SMALL.split(), "--threads", "1", "--batch-size", "100", "--run", str(tmp_path / "run")]


def first_samples(config: Config, part: int = 0) -> Samples:
    return next(clone.samples(config, agents.make(config.code), part))


class Watched:
    """A player that keeps what it saw and did."""

    def __init__(self, code: str) -> None:
        self.player, self.masks, self.actions = agents.make(code), [], []

    def act(self, view):
        self.masks.append(view.action_masks == 1)
        self.actions.append(self.player.act(view))
        return self.actions[-1]


def test_samples_are_what_the_player_did_where_it_had_a_choice(tmp_path):
    config = Config(run=tmp_path, code="tuned", others=("anchor",), num_envs=300)
    player = Watched("tuned")
    found = clone.samples(config, player, 0)
    for number, some in enumerate((next(found), next(found))):
        masks = player.masks[number]
        chosen = masks.sum(axis=1) > 1
        assert 0 < chosen.sum() < len(chosen)
        assert some["observations"].shape == (chosen.sum(), OBS_SIZE)
        assert np.array_equal(some["masks"], masks[chosen])
        assert np.array_equal(some["actions"], player.actions[number][chosen])


def test_the_player_meets_each_of_the_others_alone_among_them_and_around_one_of_them(tmp_path, monkeypatch):
    pools = []

    class Pool(OpponentPool):
        def __init__(self, mix, *, guests) -> None:
            pools.append((mix, guests))
            super().__init__(mix, guests=guests)

    monkeypatch.setattr(clone, "OpponentPool", Pool)
    first_samples(Config(run=tmp_path, code="greedy", others=("ev", "tuned"), num_envs=6))
    alone, around = clone.ALONE, 1 - clone.ALONE
    assert pools == [({"ev": alone, "tuned": alone}, {"ev": around, "tuned": around})]


def test_samples_come_from_the_seed_and_the_part_and_not_from_the_number_of_threads(tmp_path):
    config = Config(run=tmp_path, code="mc:8", others=("ev",), num_envs=8, seed=1)
    first = first_samples(config)
    for same in (config, replace(config, code="mc:8@2")):
        assert all(np.array_equal(first[name], found) for name, found in first_samples(same).items())
    for other in (first_samples(config, part=1), first_samples(replace(config, seed=2))):
        assert not np.array_equal(first["observations"], other["observations"])


def test_a_clone_comes_to_play_as_its_player(tmp_path):
    config = Config(run=tmp_path, code="tuned", others=("ev",), num_players=(4,), parts=1, part_size=4000)
    config = replace(config, hidden_sizes=(64,), batch_size=100, epochs=10, learning_rate=0.005, threads=1)
    (tmp_path / "samples").mkdir()
    found, unseen = clone.gathered(config), first_samples(config, part=1)
    observations, masks, actions = (torch.from_numpy(unseen[name]) for name in ("observations", "masks", "actions"))
    means = [
        network.log_probabilities(observations.float(), masks).gather(1, actions[:, None]).exp().mean()
        for network in (clone.fit(replace(config, epochs=1, learning_rate=1e-9), found), clone.fit(config, found))
    ]
    assert means[0] < 0.4
    assert means[1] > 0.6


def test_a_run_leaves_a_policy_and_what_is_there_is_not_made_again(tmp_path, capfd, monkeypatch):
    assert cli(small(tmp_path)) == 0
    run = tmp_path / "run"
    assert f"net:{run}" in capfd.readouterr().out.replace("\n", "")
    paths = sorted((run / "samples").iterdir())
    assert [path.name for path in paths] == ["000.npz", "001.npz"]
    parts = [np.load(path) for path in paths]
    assert [part["masks"].shape for part in parts] == [(200, NUM_ACTIONS)] * 2
    assert not np.array_equal(*(part["observations"] for part in parts))
    weights = (run / "policy.safetensors").read_bytes()
    (run / "policy.json").unlink()
    monkeypatch.setattr(clone, "samples", lambda *_: iter(()))  # they are there already
    assert cli(small(tmp_path)) == 0
    assert (run / "policy.safetensors").read_bytes() == weights
    monkeypatch.setattr(clone, "fit", lambda *_: pytest.fail("it is there already"))
    assert cli(small(tmp_path)) == 0


def test_samples_of_another_run_count_too(tmp_path):
    assert cli(small(tmp_path)) == 0
    (tmp_path / "next" / "samples").mkdir(parents=True)
    config = Config(run=tmp_path / "next", code="greedy", parts=1, part_size=100, num_envs=6, threads=1)
    assert len(clone.gathered(config)["actions"]) == 100
    assert len(clone.gathered(replace(config, also=(tmp_path / "run",)))["actions"]) == 500


def test_what_cannot_be_cloned_is_told_before_anything_is_made(tmp_path, capfd):
    for option, value, message in (
        ("--code", "mc", "'mc' needs an argument"),
        ("--others", "evv", "no player 'evv'"),
        ("--part-size", "0", "--part-size must be positive"),
        ("--also", str(tmp_path), "there are no samples"),
    ):
        with pytest.raises(SystemExit):
            cli(["--run", str(tmp_path / "run"), option, value])
        assert message in " ".join(capfd.readouterr().err.split()).replace("│ ", "")
        assert not (tmp_path / "run").exists()
