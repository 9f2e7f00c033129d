"""Policies trained on small games: their exact NashConv along the curve, and the share of it that a response finds."""

import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import agents
from experiments.exact.cfr import average_policies
from experiments.exact.policies import tabulate
from experiments.exact.tree import GameTree
from experiments.exact.values import compute_gains, compute_values
from felicity_env.setups import find_setup
from train.selfplay import SelfplayConfig, SelfplayTrainer


def train_with_curve(
    setup: str, settings: Mapping[str, Any], *, seed: int, total_timesteps: int, points: int
) -> dict[str, Any]:
    """Train a policy on a small setup; return its exact NashConv, and the decisions learned from, at each point.

    A point also has the NashConv of the mixture of the policies at the points of the later half so far.
    """
    started, game, curve, tables = time.monotonic(), GameTree.from_setup(find_setup(setup)), [], []
    config = SelfplayConfig(
        **settings, setup=(setup,), seed=seed, total_timesteps=total_timesteps, threads=1, device="cpu"
    )
    with TemporaryDirectory() as folder:
        trainer = SelfplayTrainer(config, Path(folder))
        while True:
            if trainer.timesteps >= len(curve) * total_timesteps / points:
                player = trainer.run.create_player(trainer.layers())
                tables.append(tabulate(game, player))
                mixture = average_policies(game, tables[len(tables) // 2 :])
                measured = {"nash_conv": tables[-1], "mixture_nash_conv": mixture}
                sums = {name: float(compute_gains(game, table).sum()) for name, table in measured.items()}
                curve.append({"timesteps": trainer.timesteps, **sums})
            if trainer.timesteps >= total_timesteps:
                return {"seed": seed, "curve": curve, "minutes": round((time.monotonic() - started) / 60, 2)}
            trainer.run_iteration()


def measure_response(setup: str, *, target: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train a response to copies of a player on a small setup; return what it gains, and what an exact one gains.

    Both gains are means over the seats, in win share.
    """
    game, player = GameTree.from_setup(find_setup(setup)), agents.make(target)
    config = SelfplayConfig(
        **settings, setup=(setup,), mix=(f"{target}=1",), seed=seed, threads=1, device="cpu", against=(target,)
    )
    with TemporaryDirectory() as folder:
        trainer = SelfplayTrainer(config, Path(folder))
        while trainer.timesteps < config.total_timesteps:
            trainer.run_iteration()
        response = tabulate(game, trainer.run.create_player(trainer.layers()))
    table = tabulate(game, player)
    return {
        "target": target,
        "seed": seed,
        "exact_gain": float(compute_gains(game, table).mean()),
        "found_gain": compute_response_gain(game, response, table),
    }


def compute_response_gain(game: GameTree, response: np.ndarray, target: np.ndarray) -> float:
    """Return what each seat gains, on average over the seats, if it alone follows `response` instead of `target`."""
    entry_seats = game.states["seat"][game.entry_sets]
    own = compute_values(game, target)
    gains = [
        compute_values(game, np.where(entry_seats == seat, response, target))[seat] - own[seat]
        for seat in range(game.num_seats)
    ]
    return float(np.mean(gains))
