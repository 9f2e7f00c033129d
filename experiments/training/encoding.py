"""Question: do thermometers in the observation help a learner? `python -m experiments encoding`

A thermometer writes an amount as a row of ones. Layout 1 of the observation held a player's own mice and the highest
bid as thermometers too, and layout 2 holds them as scaled numbers alone. Runs of self-play with several seeds,
alike but for the layout, are evaluated on the same deals.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import agents
from agents.arena.matches import win_shares_against_copies
from agents.layouts import LAYOUTS
from agents.tasks.options import Workers
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least, check_seeds
from experiments.results import write_result
from experiments.runs import estimate_over_seeds, train_runs
from train.selfplay import SelfplayConfig

OPPONENTS = ("random", "anchor", "ev", "tuned")
NAMES = {1: "numbers and thermometers", 2: "numbers alone"}


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Compare win shares after training with and without thermometers (amounts as rows of ones)."""

    resumes: ClassVar[bool] = True
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds; for each, one run with thermometers and one without is made."""
    total_timesteps: int = 3_000_000
    """Number of decisions to train on in each run."""
    num_deals: int = 1000
    """Number of deals to evaluate each run against each opponent, each under all rotations of the seats."""
    workers: int = 1
    """Number of training runs at the same time; the results do not depend on it. With --ray, only `local` uses it."""
    out: Path = Path("runs/encoding")
    """Folder of the training runs; the same command, given again, continues them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds)
        check_at_least(self, total_timesteps=1, num_deals=2)


def train_players(version: int, config: Config) -> tuple[list[Any], list[float]]:
    """Train a player in one layout of the observation with each seed; return the players, and the minutes they took."""
    settings: dict[str, Any] = {**config.training_setup, "total_timesteps": config.total_timesteps}
    settings |= {"observation_version": version, "evaluation_deals": 2, "curve_deals": 2}
    default = SelfplayConfig(**settings, threads=1, device="cpu")
    folders = {seed: config.out / f"layout-{version}-seed{seed}" for seed in config.seeds}
    runs = [(folder, replace(default, seed=seed)) for seed, folder in folders.items()]
    minutes = [run["minutes"] for run in train_runs(runs, **config.spread)]
    return [agents.make(f"net:{folder}") for folder in folders.values()], minutes


def main(config: Config) -> None:
    """Train players with and without thermometers, evaluate them on the same deals, and store the result."""
    started, results = time.monotonic(), {}
    deals = {"num_deals": config.num_deals, "seed": SEEDS["encoding"]}
    for version in LAYOUTS:
        players, minutes = train_players(version, config)
        win_shares = {
            code: [win_shares_against_copies(player, code, config.chosen_setup, **deals) for player in players]
            for code in OPPONENTS
        }
        estimates = {code: estimate_over_seeds(runs) for code, runs in win_shares.items()}
        results[NAMES[version]] = {"win_share": estimates, "minutes": minutes}
    write_result("encoding", config, results, started=started)
