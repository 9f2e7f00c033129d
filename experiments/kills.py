"""Does a run survive being killed? `python -m experiments.kills`

Small self-play runs are killed with SIGKILL at random moments, every second time in the middle of writing a checkpoint,
and resumed, until they end; then weights and curve are compared, byte for byte, with those of a twin left alone.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.progress import Progress

from experiments.command import NOTHING_STORED, run_command
from experiments.results import write_result
from train.run_folder import CURVE, EVALUATION

SMALL = (
    "--algorithm selfplay --num-envs 32 --num-steps 32 --batch-size 256 --hidden-sizes 32 --threads 1 --save-every 1 "
    "--curve-every 4000 --curve-blocks 2 --evaluation-blocks 2 --mix self=4 ev=1"
)


@dataclass(frozen=True)
class Config:
    """Kill runs and compare them with runs that were left alone."""

    kills: int = 60
    """At least so many in all."""
    total_timesteps: int = 40_000
    """Decisions learned from in each run."""
    longest_wait: float = 2.0
    """A kill comes at most so many seconds after the run folder is there."""


def command(folder: Path, seed: int, config: Config) -> list[str]:
    """What begins the run in `folder`, or goes on with it."""
    if folder.exists():
        return ["--resume", str(folder)]
    return [*SMALL.split(), "--seed", str(seed), "--total-timesteps", str(config.total_timesteps), "--run", str(folder)]


def is_saving(folder: Path) -> bool:
    """Whether a checkpoint is being written."""
    return any(folder.glob("checkpoints/*.part"))


def run_until_killed(folder: Path, words: list[str], wait: float, *, in_save: bool) -> tuple[bool, bool]:
    """Start a process and kill it after `wait` seconds, or then in its next save: (was it killed, was it saving?)."""
    process = subprocess.Popen([sys.executable, "-m", "train", *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()  # it says where its folder is
    until = time.monotonic() + wait
    while process.poll() is None and (time.monotonic() < until or (in_save and not is_saving(folder))):
        time.sleep(0.0002)
    if killed := process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.stdout.close()
    process.wait()
    return killed, killed and is_saving(folder)


def outcome(folder: Path) -> tuple[bytes, list[Any]]:
    """Weights and curve (without the seconds) of a finished run."""
    curve = json.loads((folder / CURVE).read_text())
    return (folder / "policy.safetensors").read_bytes(), [(p["timesteps"], p["results"]) for p in curve]


def killed_run(folder: Path, seed: int, config: Config, rng: np.random.Generator, most: int) -> dict[str, int]:
    """A run with up to `most` kills: how many there were, and how many of them inside a save."""
    counts = {"kills": 0, "in_save": 0}
    while not (folder / EVALUATION).exists():
        last = counts["kills"] >= most
        wait = 1e9 if last else rng.random() * config.longest_wait
        killed, saving = run_until_killed(folder, command(folder, seed, config), wait, in_save=counts["kills"] % 2 == 1)
        counts["kills"] += killed
        counts["in_save"] += saving
    return counts


def main(config: Config) -> None:
    """Kill, compare and store."""
    os.environ["PYTHONUNBUFFERED"] = "1"
    started, rng = time.monotonic(), np.random.default_rng(0)
    runs: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder, Progress() as progress:
        task = progress.add_task("kills", total=config.kills)
        for seed in itertools.count():
            done = sum(run["kills"] for run in runs)
            progress.update(task, completed=done)
            if done >= config.kills:
                break
            whole, killed = Path(folder) / f"whole{seed}", Path(folder) / f"killed{seed}"
            subprocess.run(
                [sys.executable, "-m", "train", *command(whole, seed, config)], check=True, stdout=subprocess.DEVNULL
            )
            counts = killed_run(killed, seed, config, rng, most=config.kills - done)
            runs.append({"seed": seed, **counts, "same_bits": outcome(killed) == outcome(whole)})
    totals = {name: sum(run[name] for run in runs) for name in ("kills", "in_save")}
    results = {**totals, "all_the_same_bits": all(run["same_bits"] for run in runs), "runs": runs}
    print(f"{totals}; all the same bits: {results['all_the_same_bits']}")
    write_result("kills", config, results, started=started)


if __name__ == "__main__":
    run_command("kills", Config, main, interrupted=NOTHING_STORED)
