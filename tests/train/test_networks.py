"""Networks of the self-play trainer."""

import numpy as np
import pytest
import torch

from train.networks import ILLEGAL, ActorCritic, masked_log_softmax


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
