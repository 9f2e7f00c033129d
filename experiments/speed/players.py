"""Question: how fast do the players decide? `python -m experiments player-speed`

Three things are measured: decisions per second on one core, for batches of positions from games among copies of each
player; playouts per second from such positions to the end of the game; and the time of a small tournament command.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from rich.progress import track

import agents
from agents.compiled import HEURISTICS, heuristic_number
from agents.playout import play_out
from agents.tools.settings import check_positive
from experiments.results import median_interval, write_result
from experiments.settings import OneSetup
from felicity_env import Batch
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.kernel import kernel
from felicity_env.random_stream import mix

TOURNAMENT = "--players random anchor ev tuned --num-players 4 --num-deals 500 --workers 2"
PLAYOUT_CODES = ("random", "ev", "tuned")
DECISIONS_BEFORE = 40  # decisions between the start of a game and the position for the measurement


@dataclass(frozen=True)
class Config(OneSetup):
    """Measure decisions per second of the players, playouts per second, and the time of a small tournament."""

    resumes: ClassVar[bool] = False
    repetitions: int = 15
    """Number of repetitions of each measurement; the median is reported."""
    num_games: int = 4096
    """Number of positions in which a player decides in one call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "repetitions", "num_games")


def play_positions(code: str, config: Config) -> Batch:
    """Play a batch of games among copies of a player for DECISIONS_BEFORE decisions each; return the batch."""
    batch, player = Batch(config.num_games, seed=1, setup=config.chosen_setup), agents.make(code)
    for _ in range(DECISIONS_BEFORE):
        batch.step(player.act(batch.view()))
    return batch


def measure_decisions(code: str, config: Config) -> dict[str, float]:
    """Measure how many decisions per second a player makes on a batch of positions."""
    view, player, samples = play_positions(code, config).view(), agents.make(code), []
    for _ in range(config.repetitions):
        started = time.perf_counter()
        player.act(view)
        samples.append(len(view) / (time.perf_counter() - started))
    return median_interval(samples)


@kernel
def _play_all(states, workspace, models, bits):
    for k in range(len(states)):
        workspace[0] = states[k]
        bits = mix(bits)
        play_out(workspace[0], workspace[1:], models, bits)


def measure_playouts(code: str, config: Config) -> dict[str, float]:
    """Measure playouts per second on one core: games continued to the end with one heuristic player in all seats."""
    states, workspace = play_positions(code, config).states, np.empty(2, STATE)
    models, samples = np.full(MAX_SEATS, heuristic_number(code)), []
    for _ in range(config.repetitions + 1):
        started = time.perf_counter()
        _play_all(states, workspace, models, np.uint64(1))
        samples.append(len(states) / (time.perf_counter() - started))
    return median_interval(samples[1:])  # the first repetition includes compilation


def measure_tournament() -> float:
    """Measure the seconds that the command for a small tournament takes, from the start of its process to its exit."""
    with TemporaryDirectory() as folder:
        options = [*TOURNAMENT.split(), "--out", str(Path(folder) / "out")]
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "agents", "tournament", *options], check=True, capture_output=True)
        return time.perf_counter() - started


def main(config: Config) -> None:
    """Measure the speed of players, playouts and a tournament, and store the result."""
    started = time.monotonic()
    results: dict[str, Any] = {
        "decisions_per_second": {c: measure_decisions(c, config) for c in track((*HEURISTICS, "net"), "players")},
        "playouts_per_second": {code: measure_playouts(code, config) for code in PLAYOUT_CODES},
        "tournament": {"options": TOURNAMENT, "seconds": measure_tournament()},
    }
    write_result("player_speed", config, results, started=started)
