"""Training runs that experiments need; each is trained in a separate process, as a user would start it."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.estimates import BOOTSTRAPS, INTERVAL, Estimate
from agents.tools.files import UserError, check_same_settings
from agents.tools.startup import INTERRUPTED
from train.config import Config
from train.storage import CONFIG, CURVE, EVALUATION, create_run_folder


def train_run(folder: Path, config: Config, *, quiet: bool = False) -> dict[str, Any]:
    """Train a run in `folder` to its end; return its settings, commit, minutes, evaluation and learning curve.

    A finished run is only read; an interrupted run is resumed. quiet: write the output of the process to FOLDER.log.
    Raises `UserError` if training fails or the folder holds a run with other settings, and `KeyboardInterrupt` after
    Ctrl-C.
    """
    if not (folder / CONFIG).exists():
        create_run_folder(replace(config, out=folder))
    stored = json.loads((folder / CONFIG).read_text())
    advice = "delete it, or choose another --out"
    check_same_settings(stored["config"], config.to_json(), where=folder, advice=advice)
    if not (folder / EVALUATION).exists():
        _resume(folder, config, folder.with_name(folder.name + ".log") if quiet else None)
    evaluation = json.loads((folder / EVALUATION).read_text())
    return {
        "config": stored["config"],
        "commit": stored["commit"],
        "minutes": evaluation["minutes"],
        "results": evaluation["results"],
        "curve": json.loads((folder / CURVE).read_text()),
    }


def train_runs(runs: Sequence[tuple[Path, Config]], *, workers: int) -> Iterator[dict[str, Any]]:
    """Train a run for each pair of folder and settings, and yield the results of the runs in the same order.

    workers: number of runs that are trained at the same time. A result is the dictionary that `train_run` returns.
    """
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(train_run, folder, config, quiet=workers > 1) for folder, config in runs]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C the running processes save and stop, and no others start


def _resume(folder: Path, config: Config, log: Path | None) -> None:
    """Start the training run in `folder`, or continue it from its last checkpoint, and wait until it ends.

    The command `python -m train --resume FOLDER` does this in a separate process. config: settings of the run, whose
    players may be in modules of the user. log: file for the output of the process, or None to show it. Raises
    `UserError` if training fails, and `KeyboardInterrupt` if the user stopped it.
    """
    players = {*config.weights, *config.against}
    command = [sys.executable, "-m", "train", "--resume", str(folder), "--allow", *sorted(players)]
    if log is None:
        status = subprocess.run(command, check=False).returncode
    else:
        with log.open("a") as file:
            status = subprocess.run(command, check=False, stdout=file, stderr=file).returncode
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status:
        raise UserError(f"training in {folder} failed with exit status {status}; see {log or 'above'}")


def estimate_over_seeds(runs: Sequence[np.ndarray]) -> dict[str, Any]:
    """Estimate the mean, with its 95 % interval, of a value that was measured for several training seeds.

    `runs` holds one array [blocks] per training seed. A block is one deal under all rotations of the seats; all seeds
    are measured on the same blocks. Returns the mean, its interval and the mean of each seed. The bootstrap resamples
    both seeds and blocks; with few seeds the interval is rough.
    """
    win_shares, rng = np.array(runs), np.random.default_rng(0)
    num_seeds, num_blocks = win_shares.shape
    weights = rng.multinomial(num_blocks, np.full(num_blocks, 1 / num_blocks), size=BOOTSTRAPS) / num_blocks
    seeds = rng.integers(num_seeds, size=(BOOTSTRAPS, num_seeds))
    low, high = np.percentile(np.take_along_axis(weights @ win_shares.T, seeds, axis=1).mean(axis=1), INTERVAL)
    estimate = Estimate(float(win_shares.mean()), float(low), float(high), num_blocks)
    return asdict(estimate) | {"seeds": [float(run.mean()) for run in runs]}
