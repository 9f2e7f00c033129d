"""Question: do thermometers in the observation help a learner? `python -m experiments encoding`

A thermometer writes an amount as a row of ones. The observation holds own mice and highest bid as thermometers and as
scaled numbers. The default training run, shortened, learns with the whole observation and with the thermometers set to
zero, with several seeds each.
"""

import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from agents.arena.matches import win_shares_against_copies
from agents.policy_file import Layers
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least, check_seeds
from experiments.results import write_result
from experiments.runs import estimate_over_seeds
from felicity_env.observation import AT, STEPS
from felicity_env.setups import standard_setup
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer, SingleLearnerVecEnv
from train.trainer import Progress

OPPONENTS = ("random", "anchor", "ev")
THERMOMETERS = np.r_[AT.mice_steps : AT.mice_steps + STEPS, AT.high_bid_steps : AT.high_bid_steps + STEPS]


@dataclass(frozen=True)
class Config:
    """Compare encodings of amounts by the win shares that a short training run reaches."""

    resumes: ClassVar[bool] = False
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of each encoding."""
    total_timesteps: int = 1_500_000
    """Decisions learned from in each run."""
    num_deals: int = 1000
    """Deals for the evaluation of a run against each opponent, each under all rotations."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        check_at_least(self, total_timesteps=1, num_deals=2)


class _BlankedEnv(SingleLearnerVecEnv):
    """Games whose learner sees zeros in place of the thermometers."""

    def reset(self) -> np.ndarray:
        return _blank(super().reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminated, infos = super().step_wait()
        return _blank(observations), rewards, terminated, infos


class _BlankedTrainer(MaskablePPOTrainer):
    """Trainer without thermometers; its policy has zero weights there, so it plays from whole observations."""

    env_class = _BlankedEnv

    def layers(self) -> Layers:
        layers = super().layers()
        layers[0][0][THERMOMETERS] = 0.0
        return layers


def _blank(observations: np.ndarray) -> np.ndarray:
    observations[:, THERMOMETERS] = 0.0
    return observations


TRAINERS = {"numbers and thermometers": MaskablePPOTrainer, "numbers alone": _BlankedTrainer}


def measure_win_shares(trainer: MaskablePPOTrainer, code: str, config: Config) -> np.ndarray:
    """Return the win share in each block, [blocks], of the trained policy against three copies of a player."""
    setup, seed = standard_setup(4), SEEDS["encoding"]
    return win_shares_against_copies(trainer.player(), code, setup, num_deals=config.num_deals, seed=seed)


def main(config: Config) -> None:
    """Train with each encoding, evaluate on the same deals, store."""
    started, console = time.monotonic(), Console()
    win_shares: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for seed in config.seeds:
        for name, trainer_class in TRAINERS.items():
            console.print(f"{name}, seed {seed}")
            with TemporaryDirectory() as folder, Progress(console, config.total_timesteps, 0) as progress:
                settings = MaskablePPOConfig(seed=seed, total_timesteps=config.total_timesteps, curve_deals=20)
                trainer = trainer_class(settings, Path(folder))
                trainer.learn(progress)
            for code in OPPONENTS:
                win_shares[name][code].append(measure_win_shares(trainer, code, config))
    results = {
        name: {"win_share": {code: estimate_over_seeds(runs) for code, runs in by_code.items()}}
        for name, by_code in win_shares.items()
    }
    write_result("encoding", config, results, started=started)
