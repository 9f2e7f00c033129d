"""Network players: numbers as in torch, sampling by the softmax, the reference player."""

import numpy as np
import pytest
import torch

import agents
from agents.mixture import REFERENCE
from agents.network import NetworkPlayer, forward
from agents.policy_player import sample_actions, take_best_actions, to_uniforms
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch
from felicity_env.game import MAX_BID, PASS, STATE
from felicity_env.random_stream import uniform
from felicity_env.setups import STANDARD_PLAYERS
from tests.support.helpers import auction, bid, draw_bits, make_view, play
from tests.support.players import play_batch, small_net
from train.networks import ActorCritic


def test_the_numpy_network_computes_what_torch_computes():
    torch.manual_seed(0)
    linear = [torch.nn.Linear(a, b) for a, b in ((OBS_SIZE, 20), (20, 30), (30, NUM_ACTIONS))]
    model = torch.nn.Sequential(linear[0], torch.nn.Tanh(), linear[1], torch.nn.Tanh(), linear[2])
    layers = [(m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in linear]
    observations = np.concatenate([view.observations() for view in play_batch(agents.make("random"), 20)])
    with torch.no_grad():
        expected = model(torch.from_numpy(observations)).numpy()
    assert forward(layers, observations) == pytest.approx(expected, abs=1e-5)


def test_the_logit_of_a_bid_contains_that_of_its_raise():
    state = np.array([play(auction(4), bid(3))], STATE)
    weight, bias = np.zeros((OBS_SIZE, NUM_ACTIONS + MAX_BID), np.float32), np.arange(NUM_ACTIONS + MAX_BID)
    logits = forward([(weight, bias.astype(np.float32))], make_view(state, draw_bits(1)).observations())[0]
    assert logits[: bid(3) + 1].tolist() == list(range(PASS + 4))
    assert logits[bid(4) :].tolist() == [
        action + NUM_ACTIONS + action - bid(4) for action in range(bid(4), NUM_ACTIONS)
    ]


def test_sampled_actions_are_as_frequent_as_the_softmax_over_legal_actions_says():
    player, draws = small_net(scale=0.1), 20_000
    state = np.array([play(auction(4), bid(3))], STATE)
    view = make_view(np.repeat(state, draws), draw_bits(draws))
    logits = forward(player.layers, view.observations()[:1])[0].astype(float)
    weights = np.where(view.action_masks[0] == 1, np.exp(logits - logits.max()), 0.0)
    expected = draws * weights / weights.sum()
    counts = np.bincount(player.act(view), minlength=NUM_ACTIONS)
    assert (counts[expected == 0] == 0).all()
    likely = expected > 5
    freedoms = int(likely.sum()) - 1
    distance = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    assert freedoms >= 4
    assert distance < freedoms + 4 * np.sqrt(2 * freedoms)


def test_the_greedy_network_takes_the_best_legal_action():
    player = small_net(greedy=True)
    view = play_batch(agents.make("random"), 30)[-1]
    logits = forward(player.layers, view.observations())
    legal = [np.flatnonzero(mask) for mask in view.action_masks]
    assert player.act(view).tolist() == [
        int(row[np.argmax(scores[row])]) for row, scores in zip(legal, logits, strict=True)
    ]


def test_the_probabilities_of_the_greedy_network_are_those_of_its_actions():
    player, view = small_net(greedy=True), play_batch(agents.make("random"), 30)[-1]
    probabilities = player.probabilities(view)
    assert probabilities.argmax(axis=1).tolist() == player.act(view).tolist()
    assert set(probabilities.ravel().tolist()) == {0.0, 1.0}
    assert (probabilities.sum(axis=1) == 1).all()


@pytest.mark.parametrize("uniform", [None, 0.0, 0.5, 1 - 2**-24])
def test_an_illegal_action_is_never_chosen_however_high_its_logit(uniform):
    rng = np.random.default_rng(0)
    masks = (rng.random((500, NUM_ACTIONS)) < 0.1).astype(np.int8)
    masks[:, 7] = 1
    logits = np.where(masks == 1, rng.normal(-50, 30, masks.shape), 1000.0).astype(np.float32)
    if uniform is None:
        actions = take_best_actions(logits, masks)
    else:
        actions = sample_actions(logits, masks, np.full(500, uniform))
    assert masks[np.arange(500), actions].all()


def test_uniform_numbers_are_those_of_the_kernel():
    seeds = draw_bits(50)
    assert to_uniforms(seeds).tolist() == [uniform(seed) for seed in seeds]


def test_a_network_that_needs_open_mice_sees_them():
    layers, view = small_net().layers, play_batch(agents.make("random"), 25)[-1]
    player = NetworkPlayer(layers, open_mice=True, activation="tanh", greedy=True)
    expected = take_best_actions(forward(layers, view.observations(open_mice=True)), view.action_masks)
    assert player.act(view).tolist() == expected.tolist()
    assert player.act(view).tolist() != small_net(greedy=True).act(view).tolist()


# --- the reference player ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["net", "net:greedy"])
@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_the_reference_player_plays_every_standard_setup(code, players):
    net, batch = agents.make(code), Batch(30, players, seed=3)
    finished = np.zeros(30, bool)
    while not finished.all():
        actions = net.act(batch.view())
        assert batch.action_masks[np.arange(30), actions].all()
        batch.step(actions)
        finished |= batch.terminated


def test_the_reference_player_is_small_and_names_its_commit():
    assert sum(file.stat().st_size for file in REFERENCE.rglob("*") if file.is_file()) <= 4e6
    assert all(member.metadata["commit"] for member in agents.make("net").members)


def test_the_reference_player_in_torch_is_the_same():
    net, batch = agents.make("net"), Batch(300, 4, seed=3, open_mice=True)
    batch.play_random(40)
    view, masks = batch.view(), torch.from_numpy(batch.action_masks == 1)
    for member in net.members:
        network = ActorCritic.from_player(member)
        probabilities = network.log_probabilities(torch.from_numpy(batch.observations), masks).exp()
        assert np.allclose(probabilities.detach().numpy(), member.probabilities(view), atol=1e-4)
