"""Question: how large is a dataset of games, and how fast is it? `python -m experiments dataset`

Games among copies of a player are played, written to a file, read again and re-simulated with the observations of all
seats, on one core. Sizes are also given with the probabilities of the actions, for players that have them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from rich.progress import track

from agents.data.play import play_games
from agents.policy_player import PolicyPlayer
from agents.registry import check_players, make
from agents.tools.settings import OneSetup, check_positive
from experiments.results import median_interval, write_result
from experiments.speed.training import measure_seconds
from felicity_env.dataset import Dataset
from felicity_env.setups import describe_setup


@dataclass(frozen=True)
class Config(OneSetup):
    """Measure the size of datasets of games, and how fast they are written and re-simulated."""

    resumes: ClassVar[bool] = False
    players: tuple[str, ...] = ("random", "ev", "net")
    """Players; each plays against copies of itself."""
    games: int = 20_000
    """Number of games of compiled players; networks play a tenth of them."""
    repetitions: int = 7
    """Number of repetitions of each measurement; the median is reported."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "players")
        check_positive(self, "games", "repetitions")


def resimulate(games: Dataset) -> None:
    """Compute the observations and masks of all decisions."""
    for _ in games.iter_decisions():
        pass


def measure_rate(work: Callable[[], Any], decisions: int, repetitions: int) -> dict[str, float]:
    """Measure how many decisions a second a function handles; its first call, which may compile, is not counted."""
    work()
    return median_interval(decisions / np.array([measure_seconds(work) for _ in range(repetitions)]))


def measure_player(code: str, config: Config, folder: Path) -> dict[str, Any]:
    """Measure games among copies of a player: their size in a file, and the decisions a second."""
    count = config.games // 10 if isinstance(make(code), PolicyPlayer) else config.games
    path = folder / "games.npz"

    def write() -> Dataset:
        games = play_games([code], config.chosen_setup, range(count), seed=0, with_probabilities=False)
        games.save(path)
        return games

    games = write()
    results = {"games": count, "decisions": len(games.actions), "bytes_per_game": path.stat().st_size / count}
    results["written_per_second"] = measure_rate(write, len(games.actions), config.repetitions)
    results["resimulated_per_second"] = measure_rate(partial(resimulate, games), len(games.actions), config.repetitions)
    with_probabilities = play_games([code], config.chosen_setup, range(count // 10), seed=0)
    if len(with_probabilities.probabilities):
        with_probabilities.save(path)
        results["bytes_per_game_with_probabilities"] = path.stat().st_size / len(with_probabilities)
    return results


def main(config: Config) -> None:
    """Measure the datasets of all players, and store the result."""
    started = time.monotonic()
    with TemporaryDirectory() as folder:
        rows = {code: measure_player(code, config, Path(folder)) for code in track(config.players, "players")}
    write_result("dataset", config, {**describe_setup(config.chosen_setup), "players": rows}, started=started)
