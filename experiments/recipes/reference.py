"""Build: the reference player, trained from nothing. `python -m experiments reference`

One network is trained for 3, 4 and 5 players by self-play, with the settings in `RECIPE`. They serve one aim: that
little can be won by a best response. The trained policy is `net:runs/reference`; the one that the project ships is in
`agents/net`. A run that was interrupted goes on if the same command is given again.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from agents.tools.settings import SeveralSetups, check_at_least
from experiments.results import write_result
from experiments.runs import train_run
from train.selfplay import SelfplayConfig

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
AGAINST = ("anchor", "ev", "tuned")  # players that the learning curve shows


@dataclass(frozen=True)
class Config(SeveralSetups):
    """Train the reference player from nothing."""

    resumes: ClassVar[bool] = True
    total_timesteps: int = 600_000_000
    """Number of decisions to learn from."""
    seed: int = 0
    """Training seed."""
    out: Path = Path("runs/reference")
    """Folder of the training run; the same command, given again, continues it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, total_timesteps=1)
        create_config(self)  # checks the settings of the trainer


def create_config(config: Config) -> SelfplayConfig:
    """Return the settings of the training run."""
    return SelfplayConfig(
        **RECIPE,
        num_players=config.num_players,
        setup=config.setup,
        total_timesteps=config.total_timesteps,
        seed=config.seed,
        against=AGAINST,
        keep_policies=True,
    )


def main(config: Config) -> None:
    """Train the reference player, or continue an interrupted training, and store its learning curve."""
    started, console = time.monotonic(), Console()
    run = train_run(config.out, create_config(config))
    curve = {"curve": run["curve"], "minutes": run["minutes"], "results": run["results"]}
    write_result("reference", config, curve, started=started)
    console.print(f"the policy plays as net:{config.out}")
