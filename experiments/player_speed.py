"""How fast do the players of the ladder decide? `python -m experiments.player_speed`

Decisions a second in a batch on one core, over positions from games of each player among copies of itself; playouts a
second from such positions to the end of the game, every seat as `ev`; and the time of a tournament as a user runs it.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.progress import track

import agents
from agents.compiled import COMPILED, NUMBERS
from agents.playout import play_out
from experiments.command import NOTHING_STORED, run_command
from experiments.results import median_interval, write_result
from felicity_env import Batch, View
from felicity_env.game import MAX_SEATS, STATE
from felicity_env.kernel import kernel
from felicity_env.random_stream import mix

TOURNAMENT = "--players random anchor ev tuned --num-players 4 --deals 500 --workers 2"


@dataclass(frozen=True)
class Config:
    """Measure the speed of players, playouts and a tournament."""

    repetitions: int = 15
    """Of each measurement; the median is reported."""
    num_games: int = 4096
    """Positions decided at a time."""
    num_players: int = 4
    """Seats at the tables."""


def positions(code: str, config: Config) -> Batch:
    """Games among copies of a player, 40 decisions after the start."""
    batch, player = Batch(config.num_games, config.num_players, seed=1), agents.make(code)
    for _ in range(40):
        batch.step(player.act(batch.view()))
    return batch


def decisions_per_second(code: str, config: Config) -> dict[str, float]:
    """Of a batched player, the view given."""
    view, player = positions(code, config).view(), agents.make(code)
    return median_interval([len(view) / _seconds(player, view) for _ in range(config.repetitions)])


def _seconds(player: agents.Player, view: View) -> float:
    started = time.perf_counter()
    player.act(view)
    return time.perf_counter() - started


@kernel
def _play_all(states, room, models, word):
    for k in range(len(states)):
        room[0] = states[k]
        word = mix(word)
        play_out(room[0], room[1:], models, word)


def playouts_per_second(code: str, config: Config) -> dict[str, float]:
    """From the positions to the end, every seat as that player, on one core."""
    states, room = positions(code, config).states, np.empty(2, STATE)
    models, samples = np.full(MAX_SEATS, NUMBERS[code]), []
    for _ in range(config.repetitions + 1):
        started = time.perf_counter()
        _play_all(states, room, models, np.uint64(1))
        samples.append(len(states) / (time.perf_counter() - started))
    return median_interval(samples[1:])  # the first compiles


def tournament_seconds() -> float:
    """Of the whole command, start to end."""
    with TemporaryDirectory() as folder:
        words = [*TOURNAMENT.split(), "--out", str(Path(folder) / "out")]
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "experiments.tournament", *words], check=True, capture_output=True)
        return time.perf_counter() - started


def main(config: Config) -> None:
    """Measure and store."""
    started = time.monotonic()
    results: dict[str, Any] = {
        "decisions_per_second": {c: decisions_per_second(c, config) for c in track((*COMPILED, "net"), "players")},
        "playouts_per_second": {c: playouts_per_second(c, config) for c in ("random", "ev", "tuned")},
        "tournament": {"options": TOURNAMENT, "seconds": tournament_seconds()},
    }
    write_result("player_speed", config, results, started=started)


if __name__ == "__main__":
    run_command("player_speed", Config, main, interrupted=NOTHING_STORED)
