"""Is it worth writing amounts as thermometers? `python -m experiments.encoding`

The default training run, shortened, with the observation as it is and with the thermometers of own mice and highest bid
blanked (both amounts stay in it as scaled numbers), several seeds each.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

from agents.arena import shares_alone
from agents.network import Layers
from experiments.command import NOTHING_STORED, run_command
from experiments.results import write_result
from experiments.training import over_seeds
from felicity_env.observation import AT, STEPS
from train.config import MaskableConfig as TrainConfig
from train.evaluation import EVALUATION_SEED, LADDER
from train.maskable_ppo import MaskablePPOTrainer
from train.progress import Progress
from train.vec_env import LanesVecEnv

THERMOMETERS = np.r_[AT.mice_steps : AT.mice_steps + STEPS, AT.high_bid_steps : AT.high_bid_steps + STEPS]


@dataclass(frozen=True)
class Config:
    """Compare encodings of amounts by what a short training run reaches."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """Training runs of each encoding."""
    total_timesteps: int = 1_500_000
    """Decisions learned from in a run."""
    num_blocks: int = 1000
    """Deals of the evaluation of a run against each opponent."""


class _BlankedEnv(LanesVecEnv):
    """Lanes whose learner does not see the thermometers."""

    def reset(self) -> np.ndarray:
        return _blanked(super().reset())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, ended, infos = super().step_wait()
        return _blanked(observations), rewards, ended, infos


class _BlankedTrainer(MaskablePPOTrainer):
    """A learner without thermometers; its policy gives them no weight, so it plays from whole observations."""

    env_class = _BlankedEnv

    def layers(self) -> Layers:
        layers = super().layers()
        layers[0][0][THERMOMETERS] = 0.0
        return layers


def _blanked(observations: np.ndarray) -> np.ndarray:
    observations[:, THERMOMETERS] = 0.0
    return observations


TRAINERS = {"numbers and thermometers": MaskablePPOTrainer, "numbers alone": _BlankedTrainer}


def block_shares(trainer: MaskablePPOTrainer, code: str, config: Config) -> np.ndarray:
    """Win share of the trained policy against three of `code` in each block."""
    return shares_alone(trainer.player(), code, 4, num_blocks=config.num_blocks, seed=EVALUATION_SEED + 1)


def main(config: Config) -> None:
    """Train all, evaluate on the same deals, store."""
    started, console = time.monotonic(), Console()
    shares: dict[str, dict[str, list[np.ndarray]]] = defaultdict(lambda: defaultdict(list))
    for seed in config.seeds:
        for name, trainer_class in TRAINERS.items():
            console.print(f"{name}, seed {seed}")
            with TemporaryDirectory() as folder, Progress(console, config.total_timesteps, 0) as progress:
                settings = TrainConfig(seed=seed, total_timesteps=config.total_timesteps, curve_blocks=20)
                trainer = trainer_class(settings, Path(folder))
                trainer.learn(progress)
            for code in LADDER:
                shares[name][code].append(block_shares(trainer, code, config))
    results = {
        name: {"win_share": {code: over_seeds(runs) for code, runs in by_code.items()}}
        for name, by_code in shares.items()
    }
    write_result("encoding", config, results, started=started)


if __name__ == "__main__":
    run_command("encoding", Config, main, interrupted=NOTHING_STORED)
