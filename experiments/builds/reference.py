"""Build: the reference player, trained from nothing. `python -m experiments reference`

Two runs of self-play train for 3, 4 and 5 players, for one aim: that a best response gains little. In the first, the
weights of the prior fall (`ANNEALING`). The second begins with the policy of the first, and its weights stay at half of
their last values (`AVERAGING`). Where policies go round, the average of play is what approaches an equilibrium
(fictitious play). So the player is a mixture of the policies at ten points of the second run, from which each seat
draws one for a whole game.

The runs are `annealing` and `averaging` in `runs/reference`, the mixture is `net:runs/reference/net`. The model card of
the player that the project ships, `agents/net/README.md`, names the commits of its runs. An interrupted run goes on if
the same command is given again.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from rich.console import Console

from agents.policy_file import load_policy_and_critic, save_policy
from agents.registry import check_player
from agents.tools.settings import SeveralSetups, check_at_least, require
from experiments.gpu import require_gpu
from experiments.results import write_result
from experiments.runs import train_run
from train.selfplay import SelfplayConfig
from train.storage import POLICIES

ANNEALING: dict[str, Any] = {
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
# The weights of the prior are smaller here; a pull to the slow average of the policy damps the oscillation instead.
AVERAGING = ANNEALING | {
    "bidding_coef": 0.01,
    "bidding_coef_end": 0.01,
    "placing_coef": 0.04,
    "placing_coef_end": 0.04,
    "kl_coef": 0.05,
    "learning_rate": 2e-4,
}
ON_GPU: dict[str, Any] = {"num_envs": 16384, "batch_size": 8192, "device": "cuda"}
FIRST, SECOND = "annealing", "averaging"  # folders of the two runs
NUM_MEMBERS = 10  # one for each card that may have been removed from a seat's set
AGAINST = ("anchor", "ev", "tuned")  # players that the learning curve shows


@dataclass(frozen=True)
class Config(SeveralSetups):
    """Train the reference player from nothing."""

    resumes: ClassVar[bool] = True
    total_timesteps: int = 900_000_000
    """Number of decisions to learn from in the first run, in which the weights of the prior fall."""
    averaging_timesteps: int = 150_000_000
    """Number of decisions to learn from in the second run, whose policies make the mixture; 0 leaves it out."""
    start: Path | None = None
    """Policy with which the second run begins. If it is given, no first run is trained."""
    seed: int = 0
    """Training seed."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device that plays and learns. On a GPU (cuda) there are eight times as many games, and decisions in a minibatch;
    this needs the extra `cuda`."""
    out: Path = Path("runs/reference")
    """Folder of the training runs; the same command, given again, continues them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, total_timesteps=1, averaging_timesteps=0)
        has_use = self.start is None or self.averaging_timesteps > 0
        require(has_use, "--start begins the second run, which --averaging-timesteps 0 leaves out: give one of them")
        if self.start is not None:
            check_player(f"net:{self.start}", "--start")
        create_annealing(self)  # checks the settings of the trainer


def list_settings(recipe: Mapping[str, Any], total_timesteps: int, *, points: int) -> dict[str, Any]:
    """Return the settings of a training run that keeps its policies at a number of points.

    recipe: settings of the trainer, such as `ANNEALING`.
    """
    every = max(1, total_timesteps // points)
    kept = {"total_timesteps": total_timesteps, "curve_every": every, "keep_policies": True}
    return {**recipe, **kept, "against": AGAINST}


def list_annealing_settings(total_timesteps: int) -> dict[str, Any]:
    """Return the settings of a first run, whose second half keeps as many policies as a mixture has members."""
    return list_settings(ANNEALING, total_timesteps, points=2 * NUM_MEMBERS)


def _create_config(config: Config, settings: Mapping[str, Any]) -> SelfplayConfig:
    setups = {"num_players": config.num_players, "setup": config.setup, "seed": config.seed}
    on_device = ON_GPU if config.device == "cuda" else {"device": "cpu"}
    return SelfplayConfig(**{**settings, **on_device, **setups})


def create_annealing(config: Config) -> SelfplayConfig:
    """Return the settings of the first run."""
    return _create_config(config, list_annealing_settings(config.total_timesteps))


def create_averaging(config: Config, start: Path) -> SelfplayConfig:
    """Return the settings of the second run, which begins with the policy `start`."""
    settings = list_settings(AVERAGING, config.averaging_timesteps, points=NUM_MEMBERS)
    return _create_config(config, settings | {"init": str(start)})


def write_mixture(policies: Sequence[Path], folder: Path) -> Path:
    """Write a mixture of policies into a folder, as its folders `0`, `1`, ...; return the folder.

    Only the last member has a critic, because a search needs one alone.
    """
    for number, path in enumerate(policies):
        layers, critic, metadata = load_policy_and_critic(path)
        save_policy(folder / str(number), layers, critic=critic if path == policies[-1] else (), **metadata)
    return folder


def choose_members(run: Path, *, since: float = 0.0, until: int | None = None) -> list[Path]:
    """Choose the policies of a run that make a mixture: the last that it kept, at most NUM_MEMBERS.

    until: number of decisions at which the run is taken to end; by default its last policy. since: part of the run
    up to which policies are left out, such as 0.5 for its first half.
    """
    kept = {int(path.name): path for path in sorted((run / POLICIES).iterdir())}
    end = max(kept) if until is None else until
    return [path for timesteps, path in kept.items() if since * end < timesteps <= end][-NUM_MEMBERS:]


def main(config: Config) -> None:
    """Train the reference player, or continue an interrupted training, and store the learning curves of both runs."""
    console = Console()
    if config.device == "cuda":
        require_gpu("--device cuda")
    player = config.start
    if player is None:
        player = config.out / FIRST
        _train("reference", player, create_annealing(config), config)
    if config.averaging_timesteps:
        run = config.out / SECOND
        _train("reference_averaging", run, create_averaging(config, player), config)
        player = write_mixture(choose_members(run), config.out / "net")
    console.print(f"the player is net:{player}", highlight=False, soft_wrap=True)


def _train(name: str, folder: Path, settings: SelfplayConfig, config: Config) -> None:
    """Train a run, or continue it, and store its learning curve as the result `name`."""
    started, run = time.monotonic(), train_run(folder, settings)
    results = {key: run[key] for key in ("curve", "minutes", "results")}
    write_result(f"{name}_{config.device}", config, results, started=started, question="reference")
