"""Networks that imitate a search: what they have seen, what they are fitted to, and that their run goes on."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import agents
from agents.amortised import AmortisedPlayer, Weights, search_logits
from agents.mixture import Mixture
from agents.network import choose, save_policy
from agents.search import shortlists
from felicity_env import NUM_ACTIONS, OBS_SIZE, SETUPS
from tests.helpers import random_game, random_words, view_of
from train import gathering, imitate
from train.imitate import Config, Imitation, cli
from train.opponents import OpponentPool
from train.policy import ActorCritic
from train.samples import Samples

SMALL = "--search mc:2 --like mc:3 --liked 50 --parts 2 --part-size 100 --networks 2 --num-envs 6 --hidden-sizes 8"


def small(run) -> list[str]:
    return [*SMALL.split(), "--threads", "1", "--num-players", "3", "4", "--run", str(run)]


def seen(config: Config, size: int) -> dict[str, torch.Tensor]:
    """At least so many decisions of the search."""
    found: list[Samples] = []
    decisions = imitate.decisions(config, config.search, 0)
    while sum(len(some["actions"]) for some in found) < size:
        found.append(next(decisions))
    return {name: torch.from_numpy(np.concatenate([some[name] for some in found])) for name in found[0]}


# --- what they have seen ----------------------------------------------------------------------------------------------


def test_what_is_seen_is_what_the_search_did_where_it_looked_at_several_actions(tmp_path):
    found = seen(Config(run=tmp_path, search="mc:60", others=("ev",)), 500)
    rows = np.arange(len(found["actions"]))
    assert found["tried"][rows, found["actions"]].all()
    assert found["tried"][rows, found["defaults"]].all()
    assert (found["tried"].sum(dim=1) > 1).all()
    assert found["observations"].shape == (len(rows), OBS_SIZE)
    assert 0 < (found["actions"] != found["defaults"]).sum() < len(rows)


def test_the_search_sits_alone_among_each_of_the_others_and_around_one_of_them(tmp_path, monkeypatch):
    pools = []

    class Pool(OpponentPool):
        def __init__(self, mix, *, guests) -> None:
            pools.append((mix, guests))
            super().__init__(mix, guests=guests)

    monkeypatch.setattr(gathering, "OpponentPool", Pool)
    next(imitate.decisions(Config(run=tmp_path, search="mc:2", others=("ev", "tuned"), num_envs=6), "mc:2", 0))
    alone, around = gathering.ALONE, 1 - gathering.ALONE
    assert pools == [({"ev": alone, "tuned": alone}, {"ev": around, "tuned": around})]


def test_each_part_and_each_seed_has_deals_of_its_own(tmp_path):
    config = Config(run=tmp_path, search="mc:2", num_players=(4,), num_envs=4)
    wanted = [(config, 0), (config, 0), (config, 1), (replace(config, seed=1), 0)]
    first, again, *others = (
        next(imitate.decisions(settings, "mc:2", part))["observations"] for settings, part in wanted
    )
    assert np.array_equal(first, again)
    assert not any(np.array_equal(first, other) for other in others)


# --- what they are fitted to ------------------------------------------------------------------------------------------


def test_the_weights_become_those_under_which_what_a_search_did_is_likeliest(tmp_path):
    once = seen(Config(run=tmp_path, search="mc:2", others=("ev",)), 3000)
    found = {name: torch.cat([values] * 10) for name, values in once.items()}  # drawn ten times: less of it is chance
    weights = Weights(np.array([0.2, 0.4]), np.array([1.0, -1.0]))
    imitation = Imitation(ActorCritic((8,), raises=True, seed=0))
    with torch.no_grad():
        imitation.network.actor[-1].weight *= 1000
        logits = imitation.network.logits(found["observations"].float()).numpy()
    is_default = np.arange(NUM_ACTIONS) == found["defaults"].numpy()[:, None]
    searched = search_logits(weights, logits, found["bids"].numpy(), is_default)
    uniforms = np.random.default_rng(0).random(len(searched))
    drawn = choose(searched, found["tried"].numpy().astype(np.int8), uniforms)
    imitate.fit_weights(imitation, found | {"actions": torch.from_numpy(drawn)})
    assert imitation.logits.detach().numpy() == pytest.approx(weights.logits, rel=0.15)
    assert imitation.habit.detach().numpy() == pytest.approx(weights.habit, rel=0.15)


def test_fitting_makes_what_the_search_does_likelier_also_where_it_was_not_seen(tmp_path):
    config = Config(run=tmp_path, search="mc:60", num_players=(4,), hidden_sizes=(32,), threads=1)
    found = seen(config, 4000)
    fitted_to, other = (
        {name: values[rows] for name, values in found.items()} for rows in (slice(3000), slice(3000, None))
    )
    network = ActorCritic((32,), raises=True, seed=0)
    begun = imitate.judged(Imitation(network), other)
    learned = imitate.judged(imitate.fit(config, network, fitted_to, 0), other)
    assert all(learned[kind] > begun[kind] + 0.02 for kind in ("cards", "bids"))


def test_what_is_held_out_is_the_end_of_a_run_s_own_samples(tmp_path):
    assert cli(small(tmp_path / "first")) == 0
    assert cli([*small(tmp_path / "second"), "--seed", "1", "--also", str(tmp_path / "first")]) == 0
    config = Config(run=tmp_path / "second", also=(tmp_path / "first",), parts=2, part_size=100)
    fitted_to, held_out = imitate.gathered(config)
    files = [np.load(tmp_path / run / "samples" / f"{part:03d}.npz") for run in ("first", "second") for part in (0, 1)]
    assert len(fitted_to["actions"]) == 380
    assert np.array_equal(held_out["actions"], files[-1]["actions"][-20:])
    assert np.array_equal(fitted_to["observations"][:100], files[0]["observations"])


# --- the run ----------------------------------------------------------------------------------------------------------


def test_a_run_leaves_a_mixture_that_does_what_a_search_looks_at(tmp_path, capfd, monkeypatch):
    run = tmp_path / "run"
    assert cli(small(run)) == 0
    assert f"amortised:{run}" in capfd.readouterr().out.replace("\n", "")
    player = agents.make(f"amortised:{run}")
    assert isinstance(player, Mixture)
    assert len({member.network.digest for member in player.members}) == 2
    view = view_of(states := random_game(SETUPS[4], 5).states[:-1:9], random_words(len(states)))
    assert shortlists(view)[1][np.arange(len(states)), player.act(view)].all()
    weights = (run / "1" / "policy.safetensors").read_bytes()
    (run / "1" / "policy.json").unlink()
    monkeypatch.setattr(imitate, "decisions", lambda *_: iter(()))  # they are there already
    assert cli(small(run)) == 0
    assert (run / "1" / "policy.safetensors").read_bytes() == weights


def test_the_sharper_the_greater_are_the_logits(tmp_path):
    weights = []
    for sharpness in ("1", "4"):
        assert cli([*small(tmp_path / sharpness), "--networks", "1", "--sharpness", sharpness]) == 0
        player = agents.make(f"amortised:{tmp_path / sharpness}")
        assert isinstance(player, AmortisedPlayer)
        weights.append(np.concatenate(player.weights))
    assert weights[1] == pytest.approx(4 * weights[0])


def test_networks_begin_with_the_members_of_a_mixture_in_turn(tmp_path):
    for seed in range(2):
        (tmp_path / "mixture" / str(seed)).mkdir(parents=True)
        layers = ActorCritic((8,), raises=True, seed=seed).layers()
        save_policy(tmp_path / "mixture" / str(seed), layers, open_mice=True, activation="relu")
    config = Config(run=tmp_path / "run", init=tmp_path / "mixture", networks=3)
    first, second, third = (network.layers() for network in config.beginnings)
    assert np.array_equal(first[0][0], third[0][0])
    assert not np.array_equal(first[0][0], second[0][0])
    assert np.allclose(first[1][0], imitate.UNSURE * ActorCritic((8,), raises=True, seed=0).layers()[1][0])
    with pytest.raises(ValueError, match="no policy can be read from"):
        Config(run=tmp_path / "run", init=tmp_path / "nothing")


def test_what_is_no_search_and_samples_of_another_command_are_refused(tmp_path, capfd):
    with pytest.raises(SystemExit):
        cli(["--run", str(tmp_path / "new"), "--like", "ev"])
    assert "--like must be mc:N or ismcts:N, not ev" in " ".join(capfd.readouterr().err.split()).replace("│ ", "")
    with pytest.raises(SystemExit):
        cli(["--run", str(tmp_path / "new"), "--sharpness", "0"])
    assert "--sharpness must be positive" in " ".join(capfd.readouterr().err.split()).replace("│ ", "")
    (tmp_path / "distilled" / "samples").mkdir(parents=True)
    np.savez(tmp_path / "distilled" / "samples" / "0-000.npz", leads=np.zeros(1))
    with pytest.raises(SystemExit):
        cli(["--run", str(tmp_path / "new"), "--also", str(tmp_path / "distilled")])
    assert "there are no samples of this command" in " ".join(capfd.readouterr().err.split()).replace("│ ", "")
    assert not (tmp_path / "new").exists()
