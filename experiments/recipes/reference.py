"""Recipe of the reference player: the settings with which it is trained."""

from typing import Any

RECIPE: dict[str, Any] = {
    "mix": ("self=1",),
    "prior": "e2",
    "raises": True,
    "mean_weights": True,
    "num_envs": 2048,
    "num_steps": 32,
    "update_epochs": 1,
    "bidding_coef": 0.2,
    "bidding_coef_end": 0.05,
    "placing_coef": 0.8,
    "placing_coef_end": 0.2,
}
