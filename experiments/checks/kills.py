"""Question: does a training run survive being killed at any moment? `python -m experiments kills`

Small self-play training runs are killed with SIGKILL at random moments, every second time while they write a
checkpoint, and resumed until they are finished. Their weights and learning curves are then compared, byte for byte,
with those of runs with the same seed that were never killed.
"""

import itertools
import json
import os
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
    device="cpu",
    save_every=1,
    curve_every=4000,
    curve_deals=2,
    evaluation_deals=2,
    mix=("self=4", "ev=1"),
)


@dataclass(frozen=True)
class Config:
    """Kill training runs at random moments, resume them, and compare them with runs that were never killed."""

    resumes: ClassVar[bool] = False
    kills: int = 60
    """Number of kills in total; runs with new seeds are started until it is reached."""
    total_timesteps: int = 40_000
    """Number of decisions to train on in each run. The check kills the process again and again, so a longer run is
    killed more often."""
    longest_wait: float = 2.0
    """Longest time in seconds before a process is killed; each time is random, up to this limit."""

    def __post_init__(self) -> None:
        check_positive(self, "kills", "total_timesteps", "longest_wait")


def create_run(folder: Path, seed: int, config: Config) -> list[str]:
    """Create the folder of a small training run; return the command that starts the run or resumes it."""
    create_run_folder(replace(SMALL, seed=seed, total_timesteps=config.total_timesteps, out=folder))
    return [sys.executable, "-m", "train", "--resume", str(folder)]


def is_saving(folder: Path) -> bool:
    """Return whether a training run is writing a checkpoint in `folder` now."""
    return any(folder.glob("checkpoints/*.part"))


def run_until_killed(folder: Path, command: list[str], wait: float, *, in_save: bool) -> tuple[bool, bool]:
    """Start a training process and kill it after `wait` seconds, unless it finishes before.

    in_save: after that time, wait until the process writes its next checkpoint. Returns whether the process was killed
    and whether it was writing a checkpoint at that moment.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()  # wait for the first line of output, which names the run folder
    until = time.monotonic() + wait
    while process.poll() is None and (time.monotonic() < until or (in_save and not is_saving(folder))):
        time.sleep(0.0002)
    if is_killed := process.poll() is None:
        process.kill()
    process.stdout.close()
    process.wait()
    return is_killed, is_killed and is_saving(folder)


def read_outcome(folder: Path) -> tuple[bytes, list[Any]]:
    """Return the weights of a finished training run, as bytes, and its learning curve, without times."""
    curve = json.loads((folder / CURVE).read_text())
    return (folder / "policy.safetensors").read_bytes(), [(p["timesteps"], p["results"]) for p in curve]


def finish_with_kills(
    folder: Path, command: list[str], config: Config, rng: np.random.Generator, most: int
) -> dict[str, int]:
    """Run a training to its end with up to `most` kills; return how many there were, in all and while saving."""
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
    """Kill and resume training runs, compare each with a run that was never killed, and store the result."""
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
