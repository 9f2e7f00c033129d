"""Question: how fast do the players decide? `python -m experiments player-speed`

Three things are measured: decisions per second on one core, for batches of positions from games among copies of each
player; playouts per second from such positions to the end of the game; and the time of a small tournament command.
"""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from rich.progress import track

import agents
from agents.compiled import HEURISTICS, heuristic_number
from agents.playout import play_out
from agents.tools.settings import OneSetup, check_positive
from experiments.results import median_interval, write_result
from experiments.speed.training import measure_seconds
from felicity_env import Batch
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.kernel import kernel
from felicity_env.random_stream import mix

TOURNAMENT = "--players random anchor ev tuned --setup {} --num-deals 500 --workers 2"
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
    view, player = play_positions(code, config).view(), agents.make(code)
    seconds = [measure_seconds(partial(player.act, view)) for _ in range(config.repetitions)]
    return median_interval(len(view) / np.array(seconds))


@kernel
def _play_all(states, workspace, models, bits):
    for k in range(len(states)):
        workspace[0] = states[k]
        bits = mix(bits)
        play_out(workspace[0], workspace[1:], models, bits)


def prepare_playouts(states: np.ndarray, code: str) -> Callable[[], None]:
    """Return a function that plays a game from each of `states` to its end, with one heuristic player in all seats."""
    models = np.full(MAX_SEATS, heuristic_number(code))
    return partial(_play_all, states, np.empty(2, STATE), models, np.uint64(1))


def measure_playouts(code: str, config: Config) -> dict[str, float]:
    """Measure playouts per second on one core: games continued to the end with one heuristic player in all seats."""
    states = play_positions(code, config).states
    play = prepare_playouts(states, code)
    seconds = [measure_seconds(play) for _ in range(config.repetitions + 1)]
    return median_interval(len(states) / np.array(seconds[1:]))  # the first repetition includes compilation


def measure_tournament(options: str) -> float:
    """Measure the seconds that the command for a small tournament takes, from the start of its process to its exit."""
    with TemporaryDirectory() as folder:
        words = ["-m", "agents", "tournament", *shlex.split(options), "--out", str(Path(folder) / "out")]
        return measure_seconds(partial(subprocess.run, [sys.executable, *words], check=True, capture_output=True))


def main(config: Config) -> None:
    """Measure the speed of players, playouts and a tournament, and store the result."""
    started, options = time.monotonic(), TOURNAMENT.format(shlex.quote(config.setup_word))
    results: dict[str, Any] = {
        "decisions_per_second": {c: measure_decisions(c, config) for c in track((*HEURISTICS, "net"), "players")},
        "playouts_per_second": {code: measure_playouts(code, config) for code in PLAYOUT_CODES},
        "tournament": {"options": options, "seconds": measure_tournament(options)},
    }
    write_result("player_speed", config, results, started=started)
