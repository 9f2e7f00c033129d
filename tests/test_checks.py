"""Settings that cannot be are refused in the words of the command line."""

from types import SimpleNamespace

import pytest

from train.checks import MAX_SEED, below, no_learner, no_tables, not_positive, refuse

LEARNER = {"seed": MAX_SEED, "hidden_sizes": (8,), "num_players": (3, 5), "num_envs": 2}


def learner(**changes: object) -> SimpleNamespace:
    return SimpleNamespace(**(LEARNER | changes))


FAULTS = [
    (not_positive(learner(num_envs=0), "seed", "num_envs"), "--num-envs must be positive"),
    (not_positive(learner(rate=float("inf")), "rate"), "--rate must be positive"),
    (not_positive(learner(rate=float("nan")), "rate"), "--rate must be positive"),
    (below(learner(num_envs=1), seed=0, num_envs=2), "--num-envs must be at least 2, not 1"),
    (no_tables([3, 2, 6]), r"--num-players must be from \[3, 4, 5\], not 2 6"),
    (no_learner(learner(seed=-1)), "--seed must be 0 to 4294967295, not -1"),
    (no_learner(learner(seed=MAX_SEED + 1)), "--seed must be 0 to 4294967295, not 4294967296"),
    (no_learner(learner(hidden_sizes=())), "--hidden-sizes must be positive"),
    (no_learner(learner(hidden_sizes=(8, 0))), "--hidden-sizes must be positive"),
    (no_learner(learner(num_players=())), "--num-players needs at least one number"),
    (no_learner(learner(num_players=(4, 7))), "--num-players must be from"),
    (no_learner(learner(num_envs=1)), "--num-envs must be at least as many as --num-players names"),
]


@pytest.mark.parametrize(("faults", "told"), FAULTS)
def test_the_first_thing_that_is_wrong_is_told(faults, told):
    with pytest.raises(ValueError, match=told):
        refuse(iter(()), faults)


def test_what_can_be_is_accepted():
    fine = learner(deals=None)
    refuse(not_positive(fine, "num_envs"), below(fine, num_envs=2, deals=2), no_tables([3, 4, 5]), no_learner(fine))
