"""Question: what does a default training run reach? `python -m experiments first-player --algorithm selfplay`

The answer is the win shares of the trained player and the minutes of training. Runs with several seeds are trained one
after the other, each in a separate process, as a user would start them. The measured minutes are therefore those of a
user.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure

from agents.tasks.options import Workers
from agents.tools.figures import save_figure
from agents.tools.settings import OneSetup, check_seeds
from experiments.results import write_result
from experiments.runs import train_runs
from experiments.strength.ladder import read_win_shares
from felicity_env.setups import setup_name
from train.algorithms import ALGORITHMS, load_trainer


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Train players with default settings and several seeds; collect win shares and minutes."""

    resumes: ClassVar[bool] = True
    algorithm: str = "selfplay"
    """Name of the training algorithm of `python -m train`; it is run with its default settings."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds; one run is made with each."""
    workers: int = 1
    """Number of training runs at the same time; the results do not depend on it. With --ray, only `local` uses it."""
    out: Path = Path("runs/first_player")
    """Folder of the training runs; the same command, given again, continues them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"--algorithm must be one of {', '.join(ALGORITHMS)}, not {self.algorithm}")


def plot(runs: Sequence[Mapping[str, Any]], ev: Mapping[str, Mapping[str, float]], path: Path, *, seats: int) -> None:
    """Plot the learning curves (win share against decisions) of all training seeds, with a panel for each opponent.

    ev: win shares of the player `ev` against the same opponents, drawn as lines to compare with. seats: number of
    seats.
    """
    codes = list(runs[0]["results"][0]["win_share"])
    figure = Figure(figsize=(4 * len(codes), 3.6), layout="constrained")
    axes = figure.subplots(1, len(codes), sharey=True)
    for axis, code in zip(axes, codes, strict=True):
        for run in runs:
            win_shares = [point["results"][0]["win_share"][code]["value"] for point in run["curve"]]
            axis.plot([p["timesteps"] / 1e6 for p in run["curve"]], win_shares, label=f"seed {run['seed']}")
        axis.axhline(runs[0]["results"][0]["par"], color="grey", linestyle=":", label="par")
        if code in ev:
            axis.axhline(ev[code]["value"], color="black", linestyle="--", label="ev in its place")
        axis.set(title=f"one against {seats - 1} {code}", xlabel="million decisions", ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("win share")
    axes[0].legend(loc="lower right")
    save_figure(figure, path)


def summarise(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the mean, lowest and highest win share over the training seeds, against each opponent."""
    summary = {}
    for code in runs[0]["results"][0]["win_share"]:
        values = np.array([run["results"][0]["win_share"][code]["value"] for run in runs])
        summary[code] = {"mean": float(values.mean()), "lowest": float(values.min()), "highest": float(values.max())}
    return summary


def main(config: Config) -> None:
    """Train a player with each seed, collect the win shares and minutes of training, store the result and plot it."""
    started, setup = time.monotonic(), config.chosen_setup
    default = load_trainer(config.algorithm).config_class.choose_defaults("auto")
    stem = f"{config.algorithm}-{setup_name(setup)}"
    settings = {seed: replace(default, seed=seed, **config.training_setup) for seed in config.seeds}
    wanted = [(config.out / f"{stem}-seed{seed}", each) for seed, each in settings.items()]
    trained = train_runs(wanted, **config.spread)
    runs = [{"seed": seed, **run} for seed, run in zip(settings, trained, strict=True)]
    results = {"summary": summarise(runs), "runs": runs}
    name = f"first_player_{config.algorithm}"
    path = write_result(name, config, results, started=started, question="first-player")
    plot(runs, read_win_shares("ev", setup_name(setup)), path.with_suffix(".png"), seats=setup.seats)
