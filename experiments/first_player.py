"""What does a training run with default settings reach? `python -m experiments.first_player --algorithm selfplay`

Trains with several seeds, one after the other, each as its own process so that the time is what a user would see; a run
that is there already is not trained again, and one that was interrupted is resumed.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments.command import GOES_ON, run_command
from experiments.report import shares_of
from experiments.results import read_result, write_result
from experiments.training import check_seeds, trained
from train.config import Algorithm


@dataclass(frozen=True)
class Config:
    """Train the default player with several seeds and gather the results."""

    algorithm: Algorithm = "selfplay"
    """Of the trainer."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """One run each."""
    runs: Path = Path("runs/first_player")
    """Where the run folders are kept."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)


def plot(runs: list[dict[str, Any]], ev_share: dict[str, float], path: Path) -> None:
    """The learning curves of all seeds, a panel for each kind of opponent."""
    codes = list(runs[0]["results"][0]["win_share"])
    figure, axes = plt.subplots(1, len(codes), figsize=(4 * len(codes), 3.6), layout="constrained", sharey=True)
    for axis, code in zip(axes, codes, strict=True):
        for run in runs:
            shares = [point["results"][0]["win_share"][code]["value"] for point in run["curve"]]
            axis.plot([p["timesteps"] / 1e6 for p in run["curve"]], shares, label=f"seed {run['seed']}")
        axis.axhline(runs[0]["results"][0]["par"], color="grey", linestyle=":", label="par")
        if code in ev_share:
            axis.axhline(ev_share[code], color="black", linestyle="--", label="ev in its place")
        axis.set(title=f"one against three {code}", xlabel="million decisions", ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("win share")
    axes[0].legend(loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def ev_shares() -> dict[str, float]:
    """What `ev` itself gets against three of each, from the stored ladder."""
    shares = shares_of(read_result("ladder")["results"], 4)
    return {rest: share["value"] for (one, rest), share in shares.items() if one == "ev"}


def summary(runs: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean over the seeds with its range, for each kind of opponent."""
    codes = runs[0]["results"][0]["win_share"]
    shares = {code: np.array([run["results"][0]["win_share"][code]["value"] for run in runs]) for code in codes}
    return {
        code: {"mean": float(s.mean()), "lowest": float(s.min()), "highest": float(s.max())}
        for code, s in shares.items()
    }


def main(config: Config) -> None:
    """Train, gather, plot and store."""
    started = time.monotonic()
    runs = []
    for seed in config.seeds:
        options = ["--algorithm", config.algorithm, "--seed", str(seed)]
        runs.append({"seed": seed, **trained(config.runs / f"{config.algorithm}-seed{seed}", options)})
    results = {"summary": summary(runs), "ev": ev_shares(), "runs": runs}
    settings = {"algorithm": config.algorithm, "seeds": config.seeds}
    name = f"first_player_{config.algorithm}"
    path = write_result(name, settings, results, started=started, command="first_player")
    plot(runs, results["ev"], path.with_suffix(".png"))


if __name__ == "__main__":
    run_command("first_player", Config, main, interrupted=GOES_ON)
