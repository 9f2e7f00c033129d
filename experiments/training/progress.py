"""Question: how does training by the reference recipe make a player harder to exploit? `python -m experiments progress`

The first run of the recipe of the reference player is trained with several seeds. At several points, the player is the
mixture of the policies that the run kept in the second half of its training so far. Best responses to it are trained
from the weights of its last member. These responses are short (probes): they find less than the long ones of the
question `exploit`, but enough to compare players. `--reference` measures the far longer runs of the reference player
instead; in the second of them, the player is the mixture of all policies that it kept so far.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from agents.tasks.options import Workers
from agents.tools.figures import save_figure
from agents.tools.settings import OneSetup, check_at_least, check_range, check_seeds, require
from experiments.builds.reference import (
    FIRST,
    NUM_MEMBERS,
    SECOND,
    choose_members,
    list_annealing_settings,
    write_mixture,
)
from experiments.results import write_result
from experiments.runs import train_runs
from experiments.strength import exploit, probe
from felicity_env.setups import describe_setup
from train.selfplay import SelfplayConfig
from train.storage import POLICIES


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Train by the reference recipe with several seeds, and measure how exploitable the players on the way are."""

    resumes: ClassVar[bool] = True
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of the recipe."""
    total_timesteps: int = 100_000_000
    """Number of decisions to learn from in each run of the recipe."""
    points: int = 5
    """Number of points of each run at which the player is measured, at equal distances from each other."""
    reference: Path | None = None
    """Folder of finished runs of `python -m experiments reference`. If it is given, the players on their way are
    measured, and no runs are trained."""
    probe_timesteps: int = 8_000_000
    """Number of decisions to learn from in the training of each response."""
    num_deals: int = 1500
    """Number of deals that measure each response, each under all rotations of the seats."""
    out: Path = Path("runs/progress")
    """Folder of the training runs; the same command, given again, continues them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds)
        check_at_least(self, total_timesteps=1, probe_timesteps=1, num_deals=2)
        check_range(self, 1, 2 * NUM_MEMBERS, "points")  # a run keeps as many policies
        runs = [] if self.reference is None else [self.reference / name for name in (FIRST, SECOND)]
        for run in runs:
            require((run / POLICIES).is_dir(), f"--reference: {run} holds no policies; it must be a run of the recipe")


def create_config(seed: int, config: Config) -> SelfplayConfig:
    """Return the settings of the training run with one seed."""
    settings = list_annealing_settings(config.total_timesteps) | config.training_setup
    return SelfplayConfig(**settings, seed=seed, threads=1, device="cpu")


def write_players(run: Path, points: int, *, since: float = 0.5) -> Iterator[tuple[int, Path]]:
    """Write the player at each point of a run into a folder; yield the decisions learned from, and the folder.

    since: as in `choose_members`.
    """
    kept = [int(path.name) for path in (run / POLICIES).iterdir() if int(path.name)]  # 0 is the policy at the start
    goals = np.linspace(0, max(kept), points + 1)[1:]
    for timesteps in dict.fromkeys(min(kept, key=lambda number: abs(number - goal)) for goal in goals):
        yield timesteps, write_mixture(choose_members(run, since=since, until=timesteps), run / f"net-{timesteps}")


def write_reference_players(folder: Path, points: int) -> Iterator[tuple[int, Path]]:
    """Write the players at the points of both runs of the reference player, as `write_players` does.

    The decisions of the second run are counted on from those of the first.
    """
    learned = 0
    for learned, player in write_players(folder / FIRST, points):
        yield learned, player
    for timesteps, player in write_players(folder / SECOND, points, since=0.0):
        yield learned + timesteps, player


def create_probes(players: Sequence[Path], config: Config) -> list[exploit.Config]:
    """Return the settings of the question `exploit` for one short response to each player, from its own weights."""
    codes, out = [f"net:{player}" for player in players], config.out / "probes"
    return probe.create_probes(codes, config, total_timesteps=config.probe_timesteps, out=out)


def plot(results: dict[str, Any], path: Path) -> None:
    """Plot the gain of the probes over the decisions of training, one line for each run."""
    figure = Figure(figsize=(6.5, 4), layout="constrained")
    axis = figure.subplots()
    for name, curve in results["curves"].items():
        steps = [point["timesteps"] / 1e6 for point in curve]
        gains = [point["gain"] for point in curve]
        errors = [[g["value"] - g["low"] for g in gains], [g["high"] - g["value"] for g in gains]]
        axis.errorbar(steps, [g["value"] for g in gains], errors, marker="o", capsize=3, label=name)
    axis.axhline(0, color="grey", linestyle=":")
    axis.set(title="what a short best response gains", xlabel="million decisions of training")
    axis.set(ylabel="win share above par", ylim=(0, None))
    axis.grid(alpha=0.3)
    axis.legend()
    save_figure(figure, path)


def train_players(config: Config) -> dict[str, list[tuple[int, Path]]]:
    """Train by the recipe with each seed, and return the players at the points of each run, as `write_players` does."""
    folders = [config.out / f"seed{seed}" for seed in config.seeds]
    runs = zip(folders, (create_config(seed, config) for seed in config.seeds), strict=True)
    for _ in train_runs([*runs], **config.spread):
        pass
    names = (f"training seed {seed}" for seed in config.seeds)
    return {name: [*write_players(run, config.points)] for name, run in zip(names, folders, strict=True)}


def main(config: Config) -> None:
    """Train runs, or take the given ones; measure their players by probes, and print, store and plot the gains."""
    started, console = time.monotonic(), Console()
    if config.reference is None:
        name, players = "progress", train_players(config)
    else:
        name = "progress_reference"
        players = {"reference player": [*write_reference_players(config.reference, config.points)]}
    points = [(run, *player) for run, found in players.items() for player in found]
    curves: dict[str, list[dict[str, Any]]] = {run: [] for run in players}
    gains = probe.measure_gains(create_probes([player for _, _, player in points], config), **config.spread)
    for (run, timesteps, _), gain in zip(points, gains, strict=True):
        curves[run].append({"timesteps": timesteps, "gain": gain})
        console.print(f"{run}, {timesteps:,} decisions: a response gains {gain['value']:+.3f}", highlight=False)
    results = {**describe_setup(config.chosen_setup), "curves": curves}
    path = write_result(name, config, results, started=started, question="progress")
    plot(results, path.with_suffix(".png"))
