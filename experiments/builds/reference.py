"""Build: the reference player, trained from nothing. `python -m experiments reference`

One run of self-play trains for 3, 4 and 5 players, with the settings in `RECIPE`, for one aim: that a best response
gains little. The weights of the prior fall. Where policies then go round, each beaten by the next, the average of play
is what approaches an equilibrium (fictitious play), as on the small games that are solved exactly. The reference player
is a mixture of the policies at ten points of the second half of the run, from which each seat draws one for a whole
game.

The run is `runs/reference`, its mixture `net:runs/reference/net`; the project ships the latter as `agents/net`. An
interrupted run goes on if the same command is given again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.console import Console

from agents.policy_file import load_policy_and_critic, save_policy
from agents.tools.settings import SeveralSetups, check_at_least
from experiments.gpu import require_gpu
from experiments.results import write_result
from experiments.runs import train_run
from train.selfplay import SelfplayConfig
from train.storage import POLICIES

RECIPE: dict[str, Any] = {
    "mix": ("self=1",),
    "prior": "e2",
    "raises": True,
    "mean_weights": True,
    "num_envs": 2048,
    "num_steps": 32,
    "update_epochs": 1,
    "decay": "geometric",
    "bidding_coef": 0.2,
    "bidding_coef_end": 0.02,
    "placing_coef": 0.8,
    "placing_coef_end": 0.08,
}
ON_GPU: dict[str, Any] = {"num_envs": 16384, "batch_size": 8192, "device": "cuda"}
NUM_MEMBERS = 10  # one for each card that may have been removed from a seat's set
AGAINST = ("anchor", "ev", "tuned")  # players that the learning curve shows


@dataclass(frozen=True)
class Config(SeveralSetups):
    """Train the reference player from nothing."""

    resumes: ClassVar[bool] = True
    total_timesteps: int = 900_000_000
    """Number of decisions to learn from."""
    seed: int = 0
    """Training seed."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device that plays and learns. On a GPU (cuda) there are eight times as many games, and decisions in a minibatch;
    this needs the extra `cuda`."""
    out: Path = Path("runs/reference")
    """Folder of the training run; the same command, given again, continues it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, total_timesteps=1)
        create_config(self)  # checks the settings of the trainer


def list_settings(total_timesteps: int) -> dict[str, Any]:
    """Return the settings of a training run by the recipe that keeps the policies which its mixture needs."""
    every = max(1, total_timesteps // (2 * NUM_MEMBERS))
    kept = {"total_timesteps": total_timesteps, "curve_every": every, "keep_policies": True}
    return {**RECIPE, **kept, "against": AGAINST}


def create_config(config: Config) -> SelfplayConfig:
    """Return the settings of the training run."""
    setups = {"num_players": config.num_players, "setup": config.setup, "seed": config.seed}
    on_device = ON_GPU if config.device == "cuda" else {"device": "cpu"}
    return SelfplayConfig(**list_settings(config.total_timesteps) | on_device, **setups)


def write_mixture(policies: Sequence[Path], folder: Path) -> Path:
    """Write a mixture of policies into a folder, as its folders `0`, `1`, ...; return the folder.

    Only the last member has a critic, because a search needs one alone.
    """
    for number, path in enumerate(policies):
        layers, critic, metadata = load_policy_and_critic(path)
        save_policy(folder / str(number), layers, critic=critic if path == policies[-1] else (), **metadata)
    return folder


def choose_members(run: Path, until: int | None = None) -> list[Path]:
    """Choose the policies of a run that make its mixture: those that it kept in its second half, at most NUM_MEMBERS.

    until: number of decisions at which the run is taken to end; by default its last policy.
    """
    kept = {int(path.name): path for path in sorted((run / POLICIES).iterdir())}
    end = max(kept) if until is None else until
    return [path for timesteps, path in kept.items() if end / 2 < timesteps <= end][-NUM_MEMBERS:]


def main(config: Config) -> None:
    """Train the reference player, or continue an interrupted training, and store its learning curve."""
    started, console = time.monotonic(), Console()
    if config.device == "cuda":
        require_gpu("--device cuda")
    run = train_run(config.out, create_config(config))
    results = {name: run[name] for name in ("curve", "minutes", "results")}
    write_result(f"reference_{config.device}", config, results, started=started, question="reference")
    player = write_mixture(choose_members(config.out), config.out / "net")
    console.print(f"the player is net:{player}", highlight=False, soft_wrap=True)
