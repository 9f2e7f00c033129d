"""The self-play trainer: what it learns from, what it makes less, what it draws."""

import numpy as np
import pytest
import torch

import agents
from agents.network import logits_of
from felicity_env import Batch
from tests.selfplay_runs import trainer_of
from train.policy import ILLEGAL, ActorCritic, masked_log_softmax
from train.sampling import sample
from train.selfplay import SelfplayTrainer, explained_variance

# --- what is learned from ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", [("self=1",), ("self=2", "ev=1")])
def test_what_is_learned_from_are_complete_choices_of_learners_in_a_new_order(tmp_path, mix):
    trainer = trainer_of(tmp_path, mix=mix, num_players=(3, 4, 5))
    trainer.collect()
    rollout = trainer.rollout
    rollout.log_probabilities[:] = np.arange(rollout.seats.size).reshape(rollout.seats.shape)  # to know them again
    data = trainer.estimate()
    assert (data["masks"].sum(dim=1) > 1).all()
    assert data["masks"].gather(1, data["actions"][:, None]).all()
    learned = data["log_probabilities"].long().tolist()
    assert 0.4 * rollout.seats.size < len(learned) == len(set(learned))
    assert learned != sorted(learned)
    choices = rollout.masks.sum(axis=2) > 1
    assert choices.flat[learned].all()
    last = np.flatnonzero(choices[-1] & ~rollout.ends[-1]) + rollout.ends[:-1].size
    assert len(last)
    assert not set(last.tolist()) & set(learned)  # what they led to is not known


def test_one_thread_means_one_thread_so_that_runs_side_by_side_do_not_wait_for_each_other(tmp_path):
    trainer = trainer_of(tmp_path, threads=1, num_players=(3, 4))
    trainer.update()
    assert torch.get_num_threads() == 1  # a parallel kernel of Numba would have set it to the number of cores


def test_rewards_reach_the_seats_that_earned_them_scaled(tmp_path):
    trainer = trainer_of(tmp_path, mix=("self=1",), reward="win", reward_scale=3.0, num_steps=200)
    trainer.collect()
    rollout = trainer.rollout
    assert rollout.ends.any()
    assert rollout.rewards[rollout.ends].sum(axis=1) == pytest.approx(3.0)
    assert not rollout.rewards[~rollout.ends].any()


def test_both_networks_see_what_the_seat_that_decides_sees_and_nothing_else(tmp_path):
    trainer, twin = (trainer_of(tmp_path / name, mix=("self=1",), open_mice=False) for name in ("one", "twin"))
    trainer.collect()
    rollout, batch = trainer.rollout, twin.batch
    for t in range(trainer.config.num_steps):
        assert np.array_equal(rollout.observations[t].float().numpy(), batch.observations)
        batch.step(rollout.actions[t])
    assert trainer.policy.critic[0].in_features == batch.observations.shape[1]


def test_sixteen_bits_hold_every_observation_exactly():
    batch = Batch(500, [3, 4, 5, 5, 4] * 100, open_mice=True)
    for _ in range(60):
        batch.play_random(7)
        shown = batch.observations
        assert (torch.from_numpy(shown).bfloat16().float().numpy() == shown).all()


def test_minibatches_hold_every_decision_once_an_epoch(tmp_path):
    trainer = trainer_of(tmp_path, update_epochs=2, batch_size=64)
    data = {"actions": torch.arange(695), "advantages": torch.arange(695) / 2}
    parts = [part["actions"] for part in trainer.minibatches(data)]
    half = len(parts) // 2
    assert torch.cat(parts[:half]).tolist() == torch.cat(parts[half:]).tolist() == list(range(695))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert half == 11


def test_learning_rate_and_entropy_bonus_fall_in_a_line(tmp_path):
    trainer = trainer_of(tmp_path, learning_rate=0.01, ent_coef=0.04, ent_coef_end=0.02, total_timesteps=10_000)
    trainer.timesteps = 2500
    given, improve = [], trainer.improve
    trainer.improve = lambda data, ent_coef: given.append(ent_coef) or improve(data, ent_coef)
    trainer.update()
    assert trainer.optimizer.param_groups[0]["lr"] == pytest.approx(0.0075)
    assert given == [pytest.approx(0.035)]


# --- what is made less ------------------------------------------------------------------------------------------------


def disturb(network: torch.nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)


def by_hand(trainer: SelfplayTrainer, data: dict[str, np.ndarray], advantage: np.ndarray, row: int) -> list[float]:
    """Of one decision: what the loss is made of, how far the policy has moved, whether the ratio was out of bounds."""
    observation, legal = torch.from_numpy(data["observations"][row : row + 1]), np.flatnonzero(data["masks"][row])
    with torch.no_grad():
        logits, slow = (net.logits(observation)[0].double().numpy()[legal] for net in (trainer.policy, trainer.average))
        value = trainer.policy.values(observation).item()
    now, before = (np.exp(each) / np.exp(each).sum() for each in (logits, slow))
    ratio = now[legal == data["actions"][row]].item() / np.exp(data["log_probabilities"][row])
    bounded = min(max(ratio, 0.9), 1.1)
    return [
        -min(ratio * advantage[row], bounded * advantage[row]),
        (value - data["returns"][row]) ** 2,
        (now * np.log(now)).sum(),
        (now * np.log(now / before)).sum(),
        ratio - 1 - np.log(ratio),
        abs(ratio - 1) > 0.1,
    ]


def test_the_loss_is_that_of_ppo_with_entropy_and_kl_computed_by_hand(tmp_path):
    trainer = trainer_of(tmp_path, precision="float32", clip_coef=0.1, vf_coef=0.7, kl_coef=0.3)
    disturb(trainer.policy, 1)
    trainer.collect()
    data = trainer.estimate()
    disturb(trainer.policy, 2)
    disturb(trainer.average, 3)
    loss, parts = trainer.loss_of(data, 0.05)
    arrays = {name: tensor.numpy() for name, tensor in data.items()}
    advantage = (arrays["advantages"] - arrays["advantages"].mean()) / arrays["advantages"].std()
    expected = np.mean([by_hand(trainer, arrays, advantage, row) for row in range(len(advantage))], axis=0)
    losses = ("policy_gradient_loss", "value_loss", "entropy_loss", "kl_loss")
    found = [parts[name].item() for name in (*losses, "approx_kl", "clip_fraction")]
    assert 0 < expected[-1] < 1
    assert found == pytest.approx(expected, rel=1e-4)
    assert loss.item() == pytest.approx(expected[:4] @ [1, 0.7, 0.05, 0.3], rel=1e-4)


def test_the_explained_variance_is_one_for_a_critic_that_foresees_all_and_none_for_one_that_knows_nothing():
    returns = torch.tensor([0.0, 1.0, 0.0, 3.0])
    assert explained_variance({"returns": returns, "advantages": torch.zeros(4)}) == 1.0
    assert explained_variance({"returns": returns, "advantages": returns - 0.7}) == pytest.approx(0.0, abs=1e-6)
    assert explained_variance({"returns": torch.ones(4), "advantages": torch.ones(4)}) == 0.0


@pytest.mark.parametrize("decay", [1.0, 0.75])
def test_the_average_policy_follows_slowly_or_stays(tmp_path, decay):
    trainer = trainer_of(tmp_path, kl_coef=0.1, average_decay=decay)
    before = [parameter.clone() for parameter in trainer.average.parameters()]
    trainer.update()
    for old, slow, now in zip(before, trainer.average.parameters(), trainer.policy.parameters(), strict=True):
        assert torch.allclose(slow, decay * old + (1 - decay) * now, atol=1e-6)
    assert any((now != old).any() for old, now in zip(before, trainer.policy.parameters(), strict=True))


# --- the networks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raises", [False, True])
def test_the_policy_that_plays_is_the_policy_that_learns(tmp_path, raises):
    trainer = trainer_of(tmp_path, raises=raises, precision="float32", hidden_sizes=(16, 8))
    trainer.batch.play_random(40)
    observations = trainer.batch.observations
    with torch.inference_mode():
        expected = trainer.policy.logits(torch.from_numpy(observations)).numpy()
    assert logits_of(trainer.layers(), observations, "relu") == pytest.approx(expected, abs=1e-5)


def test_a_policy_with_logits_for_raises_is_written_and_plays(tmp_path):
    trainer = trainer_of(tmp_path, raises=True)
    trainer.update()
    trainer.run.finish(trainer.layers(), trainer.timesteps)
    again = agents.make(f"net:{tmp_path}")
    assert again.layers[-1][1].size > trainer.batch.action_masks.shape[1]
    view = trainer.batch.view()
    assert (again.act(view) == trainer.run.player(trainer.layers()).act(view)).all()


def test_probabilities_of_illegal_actions_are_next_to_nothing_and_legal_ones_add_up_to_one():
    rng = np.random.default_rng(0)
    masks = torch.from_numpy(rng.random((50, 74)) < 0.2)
    masks[:, 10] = True
    logs = masked_log_softmax(torch.from_numpy(rng.normal(0, 60, (50, 74)).astype(np.float32)), masks)
    assert (logs[~masks] == ILLEGAL).all()
    assert (logs.exp() * masks).sum(dim=1).numpy() == pytest.approx(1.0, abs=1e-5)


def test_the_same_seed_makes_the_same_networks_and_no_global_generator_is_touched():
    before = torch.get_rng_state()
    first, second, other = (ActorCritic((16,), raises=False, seed=seed) for seed in (1, 1, 2))
    assert (torch.get_rng_state() == before).all()
    assert (first.actor[0].weight == second.actor[0].weight).all()
    assert (first.actor[0].weight != other.actor[0].weight).any()


def test_actions_are_drawn_as_the_softmax_of_the_legal_logits_has_it():
    rng = np.random.default_rng(1)
    logits, mask = rng.normal(0, 2, 74).astype(np.float32), np.zeros(74, np.int8)
    mask[[3, 10, 11, 40, 73]] = 1
    count = 200_000
    words = rng.integers(0, 2**64, count, dtype=np.uint64)
    rows = np.tile(logits, (count, 1)), np.tile(mask, (count, 1))
    actions, logs = sample(*rows, words, threads=1)
    expected = masked_log_softmax(torch.from_numpy(logits), torch.from_numpy(mask == 1)).numpy()
    assert logs == pytest.approx(expected[actions], abs=1e-5)
    shares = np.bincount(actions, minlength=74) / count
    assert shares == pytest.approx(np.exp(expected) * mask, abs=0.005)


def test_draws_are_legal_at_the_ends_of_the_unit_interval_and_the_same_in_two_threads():
    rng = np.random.default_rng(2)
    batch = Batch(64, 4)
    batch.play_random(50)
    logits = rng.normal(0, 20, (64, 74)).astype(np.float32)
    for words in (np.zeros(64, np.uint64), np.full(64, 2**64 - 1, np.uint64)):
        actions, _ = sample(logits, batch.action_masks, words, threads=1)
        assert batch.action_masks[np.arange(64), actions].all()
    words = rng.integers(0, 2**64, 64, dtype=np.uint64)
    one, two = (sample(logits, batch.action_masks, words, threads=threads) for threads in (1, 2))
    assert (one[0] == two[0]).all()
    assert (one[1] == two[1]).all()
