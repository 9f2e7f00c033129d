"""Question: do thermometers in the observation help a learner? `python -m experiments encoding`

A thermometer writes an amount as a row of ones. The observation holds a player's own mice and the highest bid both as
thermometers and as scaled numbers. Short training runs with default settings and several seeds get the whole
observation, or one with the thermometers set to zero. Their win shares are compared.
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
from agents.tools.settings import OneSetup, check_at_least, check_seeds
from experiments.results import write_result
from experiments.runs import estimate_over_seeds
from felicity_env.observation import AT, STEPS
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer, SingleLearnerVecEnv
from train.trainer import Progress

OPPONENTS = ("random", "anchor", "ev")
THERMOMETERS = np.r_[AT.mice_steps : AT.mice_steps + STEPS, AT.high_bid_steps : AT.high_bid_steps + STEPS]


@dataclass(frozen=True)
class Config(OneSetup):
    """Compare win shares after training with and without thermometers (amounts as rows of ones)."""

    resumes: ClassVar[bool] = False
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds; for each, one run with thermometers and one without is made."""
    total_timesteps: int = 1_500_000
    """Number of decisions to train on in each run."""
    num_deals: int = 1000
    """Number of deals to evaluate each run against each opponent, each under all rotations of the seats."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds)
        check_at_least(self, total_timesteps=1, num_deals=2)


class _BlankedEnv(SingleLearnerVecEnv):
    """Training games whose learner sees zeros instead of the thermometers (amounts as rows of ones)."""

    def reset(self) -> np.ndarray:
        return _blank(super().reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, terminated, infos = super().step_wait()
        return _blank(observations), rewards, terminated, infos


class _BlankedTrainer(MaskablePPOTrainer):
    """Trainer whose learner sees zeros instead of the thermometers (amounts as rows of ones).

    The weights of these inputs are stored as zeros, so the policy can play from complete observations.
    """

    env_class = _BlankedEnv

    def layers(self) -> Layers:
        layers = super().layers()
        layers[0][0][THERMOMETERS] = 0.0
        return layers


def _blank(observations: np.ndarray) -> np.ndarray:
    observations[:, THERMOMETERS] = 0.0
    return observations


TRAINERS = {"numbers and thermometers": MaskablePPOTrainer, "numbers alone": _BlankedTrainer}


def create_config(seed: int, config: Config) -> MaskablePPOConfig:
    """Return the settings of a short training run of MaskablePPO with the given training seed."""
    timesteps = config.total_timesteps
    return MaskablePPOConfig(**config.training_setup, seed=seed, total_timesteps=timesteps, curve_deals=20)


def measure_win_shares(trainer: MaskablePPOTrainer, code: str, config: Config) -> np.ndarray:
    """Measure the win share of a trained policy against copies of a player, for each block (deal), [blocks]."""
    deals = {"num_deals": config.num_deals, "seed": SEEDS["encoding"]}
    return win_shares_against_copies(trainer.player(), code, config.chosen_setup, **deals)


def main(config: Config) -> None:
    """Train players with and without thermometers, evaluate them on the same deals, and store the result."""
    started, console = time.monotonic(), Console()
    win_shares: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for seed in config.seeds:
        for name, trainer_class in TRAINERS.items():
            console.print(f"{name}, seed {seed}")
            with TemporaryDirectory() as folder, Progress(console, config.total_timesteps, 0) as progress:
                trainer = trainer_class(create_config(seed, config), Path(folder))
                if not trainer.learn(progress):
                    raise KeyboardInterrupt
            for code in OPPONENTS:
                win_shares[name][code].append(measure_win_shares(trainer, code, config))
    results = {
        name: {"win_share": {code: estimate_over_seeds(runs) for code, runs in by_code.items()}}
        for name, by_code in win_shares.items()
    }
    write_result("encoding", config, results, started=started)
