"""Question: does a training run survive being killed at any moment? `python -m experiments kills`

Small self-play runs are killed with SIGKILL at random moments, every second time while they write a checkpoint, and
resumed until they are finished. Their weights and learning curves are then compared, byte for byte, with those of twins
that were never killed.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from rich.progress import Progress

from agents.tools.files import UserError
from agents.tools.settings import check_positive
from experiments.results import write_result
from train.selfplay import SelfplayConfig
from train.storage import CURVE, EVALUATION, create_run_folder

SMALL = SelfplayConfig(
    num_envs=32,
    num_steps=32,
    batch_size=256,
    hidden_sizes=(32,),
    threads=1,
    save_every=1,
    curve_every=4000,
    curve_deals=2,
    evaluation_deals=2,
    mix=("self=4", "ev=1"),
)


@dataclass(frozen=True)
class Config:
    """Kill runs and compare them with runs that were never killed."""

    resumes: ClassVar[bool] = False
    kills: int = 60
    """Least number of kills over all runs."""
    total_timesteps: int = 40_000
    """Decisions learned from in each run; longer runs are killed more often."""
    longest_wait: float = 2.0
    """Longest time in seconds from the start of a process to its kill."""

    def __post_init__(self) -> None:
        check_positive(self, "kills", "total_timesteps", "longest_wait")


def create_run(folder: Path, seed: int, config: Config) -> list[str]:
    """Create a run folder; return the command that starts or resumes the run."""
    create_run_folder(replace(SMALL, seed=seed, total_timesteps=config.total_timesteps, out=folder))
    return [sys.executable, "-m", "train", "--resume", str(folder)]


def is_saving(folder: Path) -> bool:
    """Return whether a checkpoint is being written."""
    return any(folder.glob("checkpoints/*.part"))


def run_until_killed(folder: Path, command: list[str], wait: float, *, in_save: bool) -> tuple[bool, bool]:
    """Start a process and kill it after `wait` seconds, or in its next save after that.

    Returns whether it was killed and whether it was writing a checkpoint then.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()  # the first line names the run folder
    until = time.monotonic() + wait
    while process.poll() is None and (time.monotonic() < until or (in_save and not is_saving(folder))):
        time.sleep(0.0002)
    if is_killed := process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.stdout.close()
    process.wait()
    return is_killed, is_killed and is_saving(folder)


def read_outcome(folder: Path) -> tuple[bytes, list[Any]]:
    """Return weights and learning curve (without the seconds) of a finished run."""
    curve = json.loads((folder / CURVE).read_text())
    return (folder / "policy.safetensors").read_bytes(), [(p["timesteps"], p["results"]) for p in curve]


def finish_with_kills(
    folder: Path, command: list[str], config: Config, rng: np.random.Generator, most: int
) -> dict[str, int]:
    """Finish a run with up to `most` kills; return the number of kills and of those during a save."""
    counts = {"kills": 0, "in_save": 0}
    while not (folder / EVALUATION).exists():
        wait = 1e9 if counts["kills"] >= most else rng.random() * config.longest_wait
        is_killed, was_saving = run_until_killed(folder, command, wait, in_save=counts["kills"] % 2 == 1)
        if not is_killed and not (folder / EVALUATION).exists():
            raise UserError(f"the run in {folder} cannot be resumed; see the messages above")
        counts["kills"] += is_killed
        counts["in_save"] += was_saving
    return counts


def main(config: Config) -> None:
    """Kill, compare and store."""
    os.environ["PYTHONUNBUFFERED"] = "1"
    started, rng = time.monotonic(), np.random.default_rng(0)
    runs: list[dict[str, Any]] = []
    with TemporaryDirectory() as parent, Progress() as progress:
        task = progress.add_task("kills", total=config.kills)
        for seed in itertools.count():
            done = sum(run["kills"] for run in runs)
            progress.update(task, completed=done)
            if done >= config.kills:
                break
            whole, killed = Path(parent) / f"whole{seed}", Path(parent) / f"killed{seed}"
            subprocess.run(create_run(whole, seed, config), check=True, stdout=subprocess.DEVNULL)
            command = create_run(killed, seed, config)
            counts = finish_with_kills(killed, command, config, rng, config.kills - done)
            runs.append({"seed": seed, **counts, "same_bits": read_outcome(killed) == read_outcome(whole)})
    totals = {name: sum(run[name] for run in runs) for name in ("kills", "in_save")}
    results = {**totals, "all_the_same_bits": all(run["same_bits"] for run in runs), "runs": runs}
    print(f"{totals}; all the same bits: {results['all_the_same_bits']}")
    write_result("kills", config, results, started=started)
