"""Policies trained on small games: their exact NashConv along the curve, and the share of it that a response finds."""

import time
from collections.abc import Iterator, Mapping, Sequence
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
    setup: str, runs: Sequence[Mapping[str, Any]], *, seed: int, total_timesteps: int, points: int
) -> dict[str, Any]:
    """Train a policy on a small setup; return its exact NashConv, and the decisions learned from, at each point.

    runs: settings of one or several training runs; each but the first begins with the last policy of the one before.
    total_timesteps, points: number of decisions and of points in each run. A point has the number of its run, from 0,
    and the decisions since the start of the first. It also has the NashConv of the mixture of the policies at the
    points of the later half of its run so far.
    """
    started, game, curve = time.monotonic(), GameTree.from_setup(find_setup(setup)), []
    options: dict[str, Any] = {"setup": (setup,), "seed": seed, "total_timesteps": total_timesteps}
    options |= {"threads": 1, "device": "cpu"}
    with TemporaryDirectory() as folder:
        previous: str | None = None
        for number, settings in enumerate(runs):
            (path := Path(folder, str(number))).mkdir()
            config = SelfplayConfig(**settings, **options, init=previous)
            trainer, before = SelfplayTrainer(config, path), curve[-1]["timesteps"] if curve else 0
            for timesteps, sums in measure_training(trainer, game, points):
                curve.append({"run": number, "timesteps": before + timesteps, **sums})
            trainer.save()
            previous = str(path)
    return {"seed": seed, "curve": curve, "minutes": round((time.monotonic() - started) / 60, 2)}


def measure_training(trainer: SelfplayTrainer, game: GameTree, points: int) -> Iterator[tuple[int, dict[str, float]]]:
    """Train to the end of a run; yield the decisions learned from and the NashConvs at each of its points."""
    tables: list[np.ndarray] = []
    total_timesteps = trainer.config.total_timesteps
    while True:
        if trainer.timesteps >= len(tables) * total_timesteps / points:
            tables.append(tabulate(game, trainer.run.create_player(trainer.layers())))
            mixture = average_policies(game, tables[len(tables) // 2 :])
            measured = {"nash_conv": tables[-1], "mixture_nash_conv": mixture}
            sums = {name: float(compute_gains(game, table).sum()) for name, table in measured.items()}
            yield trainer.timesteps, sums
        if trainer.timesteps >= total_timesteps:
            return
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
