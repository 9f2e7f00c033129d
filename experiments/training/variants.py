"""Variants of the two recipes of self-play training, as data; the question `ablation` compares each with the base.

The recipe `default` is the default run of `python -m train`, and `reference` is that of the reference player. The base
of a recipe has its settings, and every variant changes one of them. A change may name another variant in braces: the
name then stands for the policy of that other variant that was trained with the same seed.
"""

from collections.abc import Mapping
from typing import Any

from experiments.builds.reference import ANNEALING, list_annealing_settings

BASE, EXPLOITER = "base", "exploiter of the base"
LAST_POLICY = "last policy alone"  # the run of the base, of which the last policy plays instead of the mixture


def _scale_coefficients(factor: float) -> dict[str, float]:
    """Return the coefficients of the prior of the reference recipe, all times a factor."""
    return {name: factor * value for name, value in ANNEALING.items() if "_coef" in name}


VARIANTS: dict[str, dict[str, Mapping[str, Any]]] = {
    "default": {
        BASE: {},
        "selves alone": {"mix": ("self=1",)},
        EXPLOITER: {"mix": (f"net:{{{BASE}}}=1",)},
        "exploiter among the others": {"mix": ("self=.3", "tuned=.2", "ev=.2", "anchor=.2", f"net:{{{EXPLOITER}}}=.1")},
        "little entropy all along": {"bidding_coef": 0.01, "placing_coef": 0.01},
        "much entropy all along": {"bidding_coef_end": 0.05, "placing_coef_end": 0.05},
        "twice the entropy at first": {"bidding_coef": 0.1, "placing_coef": 0.1},
        "KL to slow average": {"kl_coef": 0.05},
        "gain of rounds as reward": {"reward": "round", "reward_scale": 0.05},
        "others' mice unseen": {"open_mice": False},
        "logits for raises": {"raises": True},
        "2 x 64": {"hidden_sizes": (64, 64)},
        "2 x 256": {"hidden_sizes": (256, 256)},
        "minibatches of 2048": {"batch_size": 2048},
    },
    "reference": {
        BASE: {},
        LAST_POLICY: {},
        "uniform prior": {"prior": "uniform"},
        "prior e1": {"prior": "e1"},
        "cards drawn as bids": {"placing_coef": 0.2, "placing_coef_end": 0.02},
        "a third of the coefficients": _scale_coefficients(1 / 3),
        "coefficients that stay": {"bidding_coef_end": 0.2, "placing_coef_end": 0.8},
        "ladder among the others": {"mix": ("self=.7", "tuned=.1", "ev=.1", "anchor=.1")},
        "KL to slow average": {"kl_coef": 0.3, "average_decay": 0.98},
        "linear decay": {"decay": "linear"},
        "last weights": {"mean_weights": False},
        "no logits for raises": {"raises": False},
        "units of reward": {"normalize_advantage": False, **_scale_coefficients(1 / 5)},
    },
}


def list_base_settings(recipe: str, total_timesteps: int) -> dict[str, Any]:
    """Return the settings of the base of a recipe that are not defaults of the trainer."""
    if recipe == "reference":
        return list_annealing_settings(total_timesteps)
    return {"total_timesteps": total_timesteps, "curve_every": total_timesteps}
