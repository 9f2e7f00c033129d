"""Advantages of several seats that learn from one game: each seat has a chain of its own."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felicity_env.game import MAX_SEATS
from train.advantages import advantages_of

GAMMA, LAMBDA = 0.9, 0.5


def chains(rewards, ends, seats, values, gamma, gae_lambda):
    """The same for one game by lists: the decisions of each seat, cut where the game ends."""
    steps = len(seats)
    advantages, complete = np.zeros(steps), np.zeros(steps, bool)
    for t in reversed(range(steps)):
        until = next((k for k in range(t, steps) if ends[k] or (k + 1 < steps and seats[k + 1] == seats[t])), None)
        if until is None:
            continue
        earned, complete[t] = rewards[t : until + 1, seats[t]].sum(), True
        value, after = (0.0, 0.0) if ends[until] else (values[until + 1], advantages[until + 1])
        advantages[t] = earned + gamma * value - values[t] + gamma * gae_lambda * after
    return advantages, complete


def of_one_game(rewards, ends, seats, values, *, gamma=GAMMA, gae_lambda=LAMBDA):
    column = [np.asarray(array)[:, None] for array in (rewards, ends, seats, values)]
    advantages, complete = advantages_of(*column, gamma=gamma, gae_lambda=gae_lambda)
    return advantages[:, 0], complete[:, 0]


def test_three_seats_by_hand():
    seats = [0, 1, 2, 0, 1, 2]
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    rewards = np.zeros((6, MAX_SEATS))
    rewards[1, 0] = 0.5  # earned by seat 0 while seat 1 decided: belongs to the first decision of seat 0
    rewards[5, :3] = [10.0, 20.0, 30.0]
    ends = [False] * 5 + [True]
    advantages, complete = of_one_game(rewards, ends, seats, values)
    last = [10 - 4, 20 - 5, 30 - 6]
    first = [0.5 + 0.9 * 4 - 1 + 0.45 * last[0], 0.9 * 5 - 2 + 0.45 * last[1], 0.9 * 6 - 3 + 0.45 * last[2]]
    assert advantages == pytest.approx(first + last)
    assert complete.all()


def test_the_last_decision_of_a_seat_is_only_what_the_one_before_it_goes_on_from():
    rewards = np.zeros((3, MAX_SEATS))
    rewards[:, 1] = [1.0, 2.0, 4.0]
    advantages, complete = of_one_game(rewards, [False] * 3, [1, 0, 1], [0.25, 0.5, 0.75])
    assert complete.tolist() == [True, False, False]
    assert advantages == pytest.approx([1 + 2 + 0.9 * 0.75 - 0.25, 0, 0])


def test_nothing_flows_from_one_game_into_the_one_before():
    rewards = np.zeros((4, MAX_SEATS))
    rewards[1], rewards[3] = 1.0, 100.0
    ends = [False, True, False, True]
    advantages, complete = of_one_game(rewards, ends, [0, 1, 1, 0], np.zeros(4))
    assert complete.all()
    assert advantages == pytest.approx([1.0, 1.0, 100.0, 100.0])


def test_a_seat_that_did_not_act_before_the_end_takes_nothing_from_others():
    rewards = np.zeros((2, MAX_SEATS))
    rewards[1] = [5.0, -1.0, 0.0, 0.0, 0.0]
    advantages, _ = of_one_game(rewards, [False, True], [0, 0], np.zeros(2), gae_lambda=1.0, gamma=1.0)
    assert advantages == pytest.approx([5.0, 5.0])


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 6))
def test_many_games_are_as_the_loop_over_chains_has_it(seed, steps, games):
    rng = np.random.default_rng(seed)
    rewards = rng.normal(size=(steps, games, MAX_SEATS)).astype(np.float32)
    ends, seats = rng.random((steps, games)) < 0.15, rng.integers(0, MAX_SEATS, (steps, games))
    values = rng.normal(size=(steps, games)).astype(np.float32)
    advantages, complete = advantages_of(rewards, ends, seats, values, gamma=GAMMA, gae_lambda=LAMBDA)
    for game in range(games):
        column = (rewards[:, game], ends[:, game], seats[:, game], values[:, game])
        expected, whole = chains(*column, GAMMA, LAMBDA)
        assert complete[:, game].tolist() == whole.tolist()
        assert advantages[:, game] == pytest.approx(expected, abs=1e-5)
