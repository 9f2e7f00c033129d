"""The self-play trainer: its data, its loss and its networks."""

import numpy as np
import pytest
import torch

import agents
from agents.network import forward
from felicity_env import describe
from felicity_env.game import PASS
from tests.support.selfplay_runs import create_trainer, small_config
from tests.support.training import flat
from train.networks import copy_layers
from train.selfplay import SelfplayTrainer, compute_explained_variance


@pytest.mark.parametrize("mix", [("self=1",), ("self=2", "ev=1")])
def test_what_is_learned_from_are_complete_choices_of_learners_in_a_new_order(tmp_path, mix):
    trainer = create_trainer(tmp_path, mix=mix, num_players=(3, 4, 5))
    trainer.collect_rollout()
    rollout = trainer.rollout
    rollout.log_probabilities[:] = np.arange(rollout.seats.size).reshape(rollout.seats.shape)  # marks to recognise them
    data = trainer.prepare_data()
    assert (data["masks"].sum(dim=1) > 1).all()
    assert data["masks"].gather(1, data["actions"][:, None]).all()
    learned = data["log_probabilities"].long().tolist()
    assert 0.4 * rollout.seats.size < len(learned) == len(set(learned))
    assert learned != sorted(learned)
    choices = rollout.masks.sum(axis=2) > 1
    assert choices.flat[learned].all()
    last = np.flatnonzero(choices[-1] & ~rollout.terminated[-1]) + rollout.terminated[:-1].size
    assert len(last)
    assert not set(last.tolist()) & set(learned)  # their outcome is not known


def test_one_thread_means_one_thread_so_that_runs_side_by_side_do_not_wait_for_each_other(tmp_path):
    trainer = create_trainer(tmp_path, threads=1, num_players=(3, 4))
    trainer.run_iteration()
    assert torch.get_num_threads() == 1  # a parallel kernel of Numba would have set it to the number of cores


def test_rewards_reach_the_seats_that_earned_them_scaled(tmp_path):
    trainer = create_trainer(tmp_path, mix=("self=1",), reward="win", reward_scale=3.0, num_steps=200)
    trainer.collect_rollout()
    rollout = trainer.rollout
    assert rollout.terminated.any()
    assert rollout.rewards[rollout.terminated].sum(axis=1) == pytest.approx(3.0)
    assert not rollout.rewards[~rollout.terminated].any()


def test_both_networks_see_what_the_seat_that_decides_sees_and_nothing_else(tmp_path):
    trainer, twin = (create_trainer(tmp_path / name, mix=("self=1",), open_mice=False) for name in ("one", "twin"))
    trainer.collect_rollout()
    rollout, batch = trainer.rollout, twin.games.batch
    for t in range(trainer.config.num_steps):
        assert np.array_equal(rollout.observations[t].float().numpy(), batch.observations)
        batch.step(rollout.actions[t])
    assert trainer.policy.critic[0].in_features == batch.observations.shape[1]


def test_minibatches_hold_every_decision_once_an_epoch(tmp_path):
    trainer = create_trainer(tmp_path, update_epochs=2, batch_size=64)
    data = {"actions": torch.arange(695), "advantages": torch.arange(695) / 2}
    parts = [part["actions"] for part in trainer.split_minibatches(data)]
    half = len(parts) // 2
    assert torch.cat(parts[:half]).tolist() == torch.cat(parts[half:]).tolist() == list(range(695))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert half == 11


def test_learning_rate_and_weights_of_the_prior_change_in_a_line(tmp_path):
    weights = {"bidding_coef": 0.04, "bidding_coef_end": 0.02, "placing_coef": 0.1, "placing_coef_end": 0.3}
    trainer = create_trainer(tmp_path, learning_rate=0.01, **weights, total_timesteps=10_000)
    trainer.timesteps = 2500
    given, update_policy = [], trainer.update_policy
    trainer.update_policy = lambda data, schedule: given.append(schedule) or update_policy(data, schedule)
    trainer.run_iteration()
    assert trainer.optimizer.param_groups[0]["lr"] == pytest.approx(0.0075)
    assert given == [pytest.approx({"learning_rate": 0.0075, "bidding_coef": 0.035, "placing_coef": 0.15})]


def disturb(network: torch.nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)


def compute_prior(observation: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Return the probability of each legal action in which every mouse above the lowest raise is e^2 times as rare."""
    lowest = describe(observation)["high_bid"] + 1
    weights = np.exp([-2.0 * max(0, action - PASS - lowest) for action in legal])
    return weights / weights.sum()


def compute_by_hand(
    trainer: SelfplayTrainer, data: dict[str, np.ndarray], advantage: np.ndarray, index: int
) -> list[float]:
    """Return the loss terms of one decision, the change of the policy, and whether the ratio was out of bounds."""
    observation, legal = torch.from_numpy(data["observations"][index : index + 1]), np.flatnonzero(data["masks"][index])
    with torch.no_grad():
        logits, slow = (net.logits(observation)[0].double().numpy()[legal] for net in (trainer.policy, trainer.average))
        value = trainer.policy.values(observation).item()
    now, before = (np.exp(each) / np.exp(each).sum() for each in (logits, slow))
    ratio = now[legal == data["actions"][index]].item() / np.exp(data["log_probabilities"][index])
    bounded = min(max(ratio, 0.9), 1.1)
    prior = compute_prior(data["observations"][index], legal)
    weight = 0.05 if PASS in legal else 0.2
    return [
        -min(ratio * advantage[index], bounded * advantage[index]),
        (value - data["returns"][index]) ** 2,
        weight * (now * np.log(now / prior)).sum(),
        (now * np.log(now / before)).sum(),
        ratio - 1 - np.log(ratio),
        abs(ratio - 1) > 0.1,
    ]


@pytest.mark.parametrize(
    ("capability", "has_bfloat16", "wanted"),
    [("AVX512", True, "bfloat16"), ("AVX512", False, "float32"), ("AVX2", True, "float32")],
)
def test_a_run_keeps_the_precision_that_auto_means_where_it_begins(capability, has_bfloat16, wanted, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has_bfloat16)
    assert small_config().resolve().to_json()["precision"] == wanted
    for precision in ("float32", "bfloat16"):
        assert small_config(precision=precision).resolve().precision == precision


@pytest.mark.parametrize("normalize", [True, False])
def test_the_loss_is_that_of_ppo_with_divergences_from_prior_and_average_computed_by_hand(normalize, tmp_path):
    trainer = create_trainer(
        tmp_path,
        precision="float32",
        clip_coef=0.1,
        kl_coef=0.3,
        prior="e2",
        normalize_advantage=normalize,
    )
    disturb(trainer.policy, 1)
    trainer.collect_rollout()
    data = trainer.prepare_data()
    disturb(trainer.policy, 2)
    disturb(trainer.average, 3)
    loss, parts = trainer.compute_loss(data, {"bidding_coef": 0.05, "placing_coef": 0.2})
    arrays = {name: tensor.numpy() for name, tensor in data.items()}
    advantage = arrays["advantages"] - arrays["advantages"].mean()
    advantage = advantage / advantage.std() if normalize else advantage
    expected = np.mean([compute_by_hand(trainer, arrays, advantage, index) for index in range(len(advantage))], axis=0)
    losses = ("policy_gradient_loss", "value_loss", "prior_loss", "kl_loss")
    found = [parts[name].item() for name in (*losses, "approx_kl", "clip_fraction")]
    assert 0 < expected[-1] < 1
    assert found == pytest.approx(expected, rel=1e-4)
    assert loss.item() == pytest.approx(expected[:4] @ [1, 1, 1, 0.3], rel=1e-4)


def test_the_explained_variance_is_one_for_a_critic_that_foresees_all_and_none_for_one_that_knows_nothing():
    returns = torch.tensor([0.0, 1.0, 0.0, 3.0])
    assert compute_explained_variance({"returns": returns, "advantages": torch.zeros(4)}) == 1.0
    assert compute_explained_variance({"returns": returns, "advantages": returns - 0.7}) == pytest.approx(0.0, abs=1e-6)
    assert compute_explained_variance({"returns": torch.ones(4), "advantages": torch.ones(4)}) == 0.0


@pytest.mark.parametrize("decay", [1.0, 0.75])
def test_the_average_policy_follows_slowly_or_stays(tmp_path, decay):
    trainer = create_trainer(tmp_path, kl_coef=0.1, average_decay=decay)
    before = [parameter.clone() for parameter in trainer.average.parameters()]
    trainer.run_iteration()
    for old, slow, now in zip(before, trainer.average.parameters(), trainer.policy.parameters(), strict=True):
        assert torch.allclose(slow, decay * old + (1 - decay) * now, atol=1e-6)
    assert any((now != old).any() for old, now in zip(before, trainer.policy.parameters(), strict=True))


def test_with_mean_weights_the_policy_is_the_mean_over_about_the_last_tenth_of_training(tmp_path):
    trainer = create_trainer(tmp_path, mean_weights=True)
    weights = []
    for _ in range(2):
        trainer.run_iteration()
        weights.append(copy_layers(trainer.policy.actor)[0][0])
    assert trainer.layers()[0][0] == pytest.approx(weights[0] / 11 + weights[1] * 10 / 11, abs=1e-6)
    trainer.updates = 991
    before = trainer.layers()[0][0]
    trainer.run_iteration()
    now = copy_layers(trainer.policy.actor)[0][0]
    assert trainer.layers()[0][0] == pytest.approx(before + (now - before) * 10 / 1001, abs=1e-6)


def test_without_mean_weights_the_policy_is_the_last(tmp_path):
    trainer = create_trainer(tmp_path)
    trainer.run_iteration()
    assert flat(trainer.layers()) == flat(copy_layers(trainer.policy.actor))


def test_a_policy_with_logits_for_raises_begins_as_the_prior(tmp_path):
    trainer = create_trainer(tmp_path, raises=True, prior="e2", precision="float32")
    trainer.games.batch.play_random(60)
    masks, observations = torch.from_numpy(trainer.games.batch.action_masks == 1), trainer.games.batch.observations
    with torch.inference_mode():
        found = trainer.policy.log_probabilities(torch.from_numpy(observations), masks).exp().numpy()
    for row, mask, observation in zip(found, trainer.games.batch.action_masks, observations, strict=True):
        legal = np.flatnonzero(mask)
        assert row[legal] == pytest.approx(compute_prior(observation, legal), abs=0.05)


@pytest.mark.parametrize("raises", [False, True])
def test_the_policy_that_plays_is_the_policy_that_learns(tmp_path, raises):
    trainer = create_trainer(tmp_path, raises=raises, precision="float32", hidden_sizes=(16, 8))
    trainer.games.batch.play_random(40)
    observations = trainer.games.batch.observations
    with torch.inference_mode():
        expected = trainer.policy.logits(torch.from_numpy(observations)).numpy()
    assert forward(trainer.layers(), observations, "relu") == pytest.approx(expected, abs=1e-5)


def test_a_policy_with_logits_for_raises_is_written_and_plays(tmp_path):
    trainer = create_trainer(tmp_path, raises=True)
    trainer.run_iteration()
    trainer.run.finish(trainer.layers(), trainer.critic_layers(), trainer.timesteps)
    again = agents.make(f"net:{tmp_path}")
    assert again.layers[-1][1].size > trainer.games.batch.action_masks.shape[1]
    view = trainer.games.batch.view()
    assert (again.act(view) == trainer.run.create_player(trainer.layers()).act(view)).all()
