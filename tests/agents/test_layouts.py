"""Layouts of the observation: policies of the one before play and learn on from inputs in their own layout."""

import numpy as np
import pytest
import torch

import agents
from agents.layouts import count_inputs, encode_layout, list_sections
from agents.network import NetworkPlayer
from agents.policy_file import save_policy
from felicity_env import NUM_ACTIONS, OBS_SIZE, OBSERVATION_VERSION, SECTIONS, Batch
from train.networks import ActorCritic, match_network


def play_some() -> Batch:
    batch = Batch(90, num_players=[3, 4, 5] * 30, seed=4, open_mice=True)
    batch.play_random(70)
    return batch


def make_old_player() -> NetworkPlayer:
    rng = np.random.default_rng(0)
    sizes = ((count_inputs(1), 8), (8, NUM_ACTIONS))
    layers = [(rng.normal(size=size).astype(np.float32), np.zeros(size[1], np.float32)) for size in sizes]
    return NetworkPlayer(layers, open_mice=True, activation="relu", observation_version=1)


def test_layout_1_is_the_present_one_with_two_thermometers():
    batch = play_some()
    encoded, at, rest = encode_layout(batch.observations, 1), 0, []
    states = batch.states[np.arange(90)]
    amounts = {"mice_steps": states["mice"][np.arange(90), batch.seats], "high_bid_steps": states["high_bid"]}
    for name, size in list_sections(1):
        entries = encoded[:, at : at + size]
        if name in amounts:
            assert (entries == (np.arange(size) < amounts[name][:, None])).all()
        else:
            rest.append(entries)
        at += size
    assert encoded.shape == (90, 252)
    assert (np.concatenate(rest, axis=1) == batch.observations).all()
    names = [name for name, _ in list_sections(1)]
    assert names[names.index("mice") + 1] == "mice_steps"
    assert names[names.index("high_bid") + 1] == "high_bid_steps"


def test_the_present_layout_is_that_of_the_environment():
    observations = play_some().observations
    assert encode_layout(observations, OBSERVATION_VERSION) is observations
    assert list_sections() == [[section.name, section.size] for section in SECTIONS]
    assert count_inputs(OBSERVATION_VERSION) == OBS_SIZE


def test_a_policy_of_layout_1_plays_after_it_was_stored(tmp_path):
    player, view = make_old_player(), play_some().view()
    save_policy(tmp_path, player.layers, open_mice=True, activation="relu", observation_version=1)
    assert (agents.make(f"net:{tmp_path}").act(view) == player.act(view)).all()


def test_weights_of_another_layout_than_the_policy_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match=rf"layer 0 has a weight \[252, \d+\] .*it reads {OBS_SIZE} inputs"):
        save_policy(tmp_path, make_old_player().layers, open_mice=True, activation="relu")


def test_networks_in_torch_read_layout_1_too():
    player, batch = make_old_player(), play_some()
    network = ActorCritic.from_player(player)
    masks = torch.from_numpy(batch.action_masks == 1)
    probabilities = network.log_probabilities(torch.from_numpy(batch.observations), masks).exp()
    assert np.allclose(probabilities.detach().numpy(), player.probabilities(batch.view()), atol=1e-4)
    assert network.values(torch.from_numpy(batch.observations)).shape == (90,)
    assert match_network(player)["observation_version"] == 1
