"""Rollouts: sampled actions, and advantages of several seats that learn from one game."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from felicity_env import Batch
from felicity_env.advantages import compute_advantages
from felicity_env.game import MAX_SEATS
from felicity_env.kernel import MAX_THREADS
from train.networks import masked_log_softmax
from train.rollout import share_rewards
from train.sampling import sample

GAMMA, LAMBDA = 0.9, 0.5


def compute_by_chains(rewards, terminated, seats, values, gamma, gae_lambda):
    """Compute the advantages of one game from lists of the decisions of each seat."""
    steps = len(seats)
    advantages, complete = np.zeros(steps), np.zeros(steps, bool)
    for t in reversed(range(steps)):
        until = next(
            (k for k in range(t, steps) if terminated[k] or (k + 1 < steps and seats[k + 1] == seats[t])), None
        )
        if until is None:
            continue
        earned, complete[t] = rewards[t : until + 1, seats[t]].sum(), True
        value, after = (0.0, 0.0) if terminated[until] else (values[until + 1], advantages[until + 1])
        advantages[t] = earned + gamma * value - values[t] + gamma * gae_lambda * after
    return advantages, complete


def compute_for_one_game(rewards, terminated, seats, values, *, gamma=GAMMA, gae_lambda=LAMBDA):
    column = [np.asarray(array)[:, None] for array in (rewards, terminated, seats, values)]
    advantages, complete = compute_advantages(*column, gamma=gamma, gae_lambda=gae_lambda)
    return advantages[:, 0], complete[:, 0]


def test_three_seats_by_hand():
    seats = [0, 1, 2, 0, 1, 2]
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    rewards = np.zeros((6, MAX_SEATS))
    rewards[1, 0] = 0.5  # earned by seat 0 while seat 1 decided: belongs to the first decision of seat 0
    rewards[5, :3] = [10.0, 20.0, 30.0]
    terminated = [False] * 5 + [True]
    advantages, complete = compute_for_one_game(rewards, terminated, seats, values)
    last = [10 - 4, 20 - 5, 30 - 6]
    first = [0.5 + 0.9 * 4 - 1 + 0.45 * last[0], 0.9 * 5 - 2 + 0.45 * last[1], 0.9 * 6 - 3 + 0.45 * last[2]]
    assert advantages == pytest.approx(first + last)
    assert complete.all()


def test_the_last_decision_of_a_seat_is_only_what_the_one_before_it_goes_on_from():
    rewards = np.zeros((3, MAX_SEATS))
    rewards[:, 1] = [1.0, 2.0, 4.0]
    advantages, complete = compute_for_one_game(rewards, [False] * 3, [1, 0, 1], [0.25, 0.5, 0.75])
    assert complete.tolist() == [True, False, False]
    assert advantages == pytest.approx([1 + 2 + 0.9 * 0.75 - 0.25, 0, 0])


def test_nothing_flows_from_one_game_into_the_one_before():
    rewards = np.zeros((4, MAX_SEATS))
    rewards[1], rewards[3] = 1.0, 100.0
    terminated = [False, True, False, True]
    advantages, complete = compute_for_one_game(rewards, terminated, [0, 1, 1, 0], np.zeros(4))
    assert complete.all()
    assert advantages == pytest.approx([1.0, 1.0, 100.0, 100.0])


def test_a_seat_that_did_not_act_before_the_end_takes_nothing_from_others():
    rewards = np.zeros((2, MAX_SEATS))
    rewards[1] = [5.0, -1.0, 0.0, 0.0, 0.0]
    advantages, _ = compute_for_one_game(rewards, [False, True], [0, 0], np.zeros(2), gae_lambda=1.0, gamma=1.0)
    assert advantages == pytest.approx([5.0, 5.0])


@pytest.mark.parametrize(
    ("name", "shape", "form"),
    [
        ("rewards", (5, 3), r"\[steps, games, 5\], not one of shape \[5, 3\]"),
        ("rewards", (5, 3, 3), r"\[steps, games, 5\], not one of shape \[5, 3, 3\]"),
        ("values", (6, 3), r"\[steps, games\], not one of shape \[6, 3\]"),
        ("terminated", (5,), r"\[steps, games\], not one of shape \[5\]"),
    ],
)
def test_arrays_of_other_shapes_are_refused(name, shape, form):
    shapes = {"rewards": (5, 3, MAX_SEATS), "terminated": (5, 3), "seats": (5, 3), "values": (5, 3)} | {name: shape}
    arrays = {name: np.zeros(shape, int if name == "seats" else float) for name, shape in shapes.items()}
    with pytest.raises(ValueError, match=f"{name} must be an array {form}"):
        compute_advantages(**arrays, gamma=GAMMA, gae_lambda=LAMBDA)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 6))
def test_many_games_are_as_the_loop_over_chains_has_it(seed, steps, games):
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(steps, games, MAX_SEATS)).astype(np.float32)
    terminated, seats = rng.random((steps, games)) < 0.15, rng.integers(0, MAX_SEATS, (steps, games))
    values = rng.normal(size=(steps, games)).astype(np.float32)
    advantages, complete = compute_advantages(rewards, terminated, seats, values, gamma=GAMMA, gae_lambda=LAMBDA)
    for game in range(games):
        column = (rewards[:, game], terminated[:, game], seats[:, game], values[:, game])
        expected, whole = compute_by_chains(*column, GAMMA, LAMBDA)
        assert complete[:, game].tolist() == whole.tolist()
        assert advantages[:, game] == pytest.approx(expected, abs=1e-5)


def test_sixteen_bits_hold_every_observation_exactly():
    batch = Batch(500, [3, 4, 5, 5, 4] * 100, open_mice=True)
    for _ in range(60):
        batch.play_random(7)
        shown = batch.observations
        assert (torch.from_numpy(shown).bfloat16().float().numpy() == shown).all()


def test_actions_are_drawn_as_the_softmax_of_the_legal_logits_has_it():
    rng = np.random.default_rng(1)
    logits, mask = rng.normal(0, 2, 74).astype(np.float32), np.zeros(74, np.int8)
    mask[[3, 10, 11, 40, 73]] = 1
    count = 50_000
    random_bits = rng.integers(0, 2**64, count, dtype=np.uint64)
    rows = np.tile(logits, (count, 1)), np.tile(mask, (count, 1))
    actions, logs = sample(*rows, random_bits, threads=1)
    expected = masked_log_softmax(torch.from_numpy(logits), torch.from_numpy(mask == 1)).numpy()
    assert logs == pytest.approx(expected[actions], abs=1e-5)
    shares = np.bincount(actions, minlength=74) / count
    assert shares == pytest.approx(np.exp(expected) * mask, abs=0.01)


def test_draws_are_legal_at_the_ends_of_the_unit_interval_and_the_same_in_two_threads():
    rng = np.random.default_rng(2)
    batch = Batch(64, 4)
    batch.play_random(50)
    logits = rng.normal(0, 20, (64, 74)).astype(np.float32)
    for random_bits in (np.zeros(64, np.uint64), np.full(64, 2**64 - 1, np.uint64)):
        actions, _ = sample(logits, batch.action_masks, random_bits, threads=1)
        assert batch.action_masks[np.arange(64), actions].all()
    random_bits = rng.integers(0, 2**64, 64, dtype=np.uint64)
    one, two = (
        sample(logits, batch.action_masks, random_bits, threads=threads) for threads in (1, min(2, MAX_THREADS))
    )
    assert (one[0] == two[0]).all()
    assert (one[1] == two[1]).all()


def test_logits_that_are_no_numbers_or_far_apart_give_legal_actions():
    masks = np.zeros((3, 74), np.int8)
    masks[:, [2, 11, 30]] = 1
    logits = np.zeros((3, 74), np.float32)
    logits[0], logits[1, 11], logits[2, 30] = np.nan, 1e30, 90.0
    for seed in range(50):
        bits = np.random.default_rng(seed).integers(0, 2**64, 3, dtype=np.uint64)
        actions, logs = sample(logits, masks, bits, threads=1)
        assert masks[np.arange(3), actions].all()
        assert np.isfinite(logs).all()
        assert actions[1:].tolist() == [11, 30]
        assert logs[1:].tolist() == [0.0, 0.0]


def test_learners_that_cooperate_share_their_rewards_and_rivals_keep_theirs():
    rewards = np.array([[0.5, 0.25, 0.25, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    learns = np.array([[True, False, True, False, False], [True] * 5])
    shared = share_rewards(rewards, learns)
    assert shared[0].tolist() == [0.375, 0.25, 0.375, 0.0, 0.0]
    assert shared[1].tolist() == rewards[1].tolist()
