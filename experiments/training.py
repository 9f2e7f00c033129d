"""Training runs as experiments need them: begun, resumed or left alone, each a process as a user would start it."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from agents.estimates import BOOTSTRAPS, INTERVAL, Estimate
from train.__main__ import read_arguments
from train.config import read_config
from train.run_folder import CONFIG, CURVE, EVALUATION, RunError

DISTILLED_LAYERS = "--raises --hidden-sizes 256 256"  # settings of a run that begins with what `distilled` makes


def check_seeds(seeds: Sequence[int], *, least: int = 1) -> None:
    """Raise `ValueError` if these are fewer or not different."""
    if len(set(seeds)) < max(least, len(seeds)):
        raise ValueError(f"--seeds needs different numbers, at least {least}, not {list(seeds)}")


def trained(folder: Path, options: Sequence[str], *, quiet: bool = False) -> dict[str, Any]:
    """Settings, commit, evaluation, curve and minutes of the run in `folder`, trained with `options` if need be.

    quiet: what it says goes to FOLDER.log. Raises `RunError` if training fails or the run in the folder has other
    settings, and passes Ctrl-C on.
    """
    _check_settings(folder, options)
    if not (folder / EVALUATION).exists():
        begin = ["--resume", str(folder)] if (folder / CONFIG).exists() else [*options, "--run", str(folder)]
        log = folder.with_name(folder.name + ".log")
        _check(_train(begin, log if quiet else None), f"training in {folder}", str(log) if quiet else "above")
    evaluation = json.loads((folder / EVALUATION).read_text())
    begun = json.loads((folder / CONFIG).read_text())
    return {
        "config": begun["config"],
        "commit": begun["commit"],
        "minutes": evaluation["minutes"],
        "results": evaluation["results"],
        "curve": json.loads((folder / CURVE).read_text()),
    }


def all_trained(runs: Sequence[tuple[Path, Sequence[str]]], *, workers: int) -> Iterator[dict[str, Any]]:
    """`trained` for each folder and its options, in order, `workers` at a time.

    With several at a time what they say goes to FOLDER.log.
    """
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(trained, folder, options, quiet=workers > 1) for folder, options in runs]
        try:
            for run in waiting:
                yield run.result()
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C those under way save and end, and no more are begun


def made(module: str, folder: Path, options: Sequence[str]) -> None:
    """Have `python -m MODULE` make what it makes in `folder`, or what is missing. Raises as `trained`."""
    command = [sys.executable, "-m", module, "--run", str(folder), *options]
    _check(subprocess.run(command, check=False).returncode, f"{module} --run {folder}", "above")


def _check(status: int, work: str, place: str) -> None:
    if status == 130:
        raise KeyboardInterrupt
    if status:
        raise RunError(f"{work} ended with status {status}; see {place}")


def _train(options: Sequence[str], log: Path | None) -> int:
    """The exit status of `python -m train`."""
    command = [sys.executable, "-m", "train", *options]
    if log is None:
        return subprocess.run(command, check=False).returncode
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as file:
        return subprocess.run(command, check=False, stdout=file, stderr=file).returncode


def _check_settings(folder: Path, options: Sequence[str]) -> None:
    """Raise `RunError` if the run in `folder` was begun with others than `options`."""
    if (folder / CONFIG).exists():
        begun = read_config(folder / CONFIG).to_json()
        wanted = read_arguments(options).to_json()
        if other := [name for name in wanted if wanted[name] != begun.get(name)]:
            raise RunError(
                f"{folder} holds a run with another {' and '.join(other)}; delete it, or choose another --runs"
            )


def over_seeds(runs: Sequence[np.ndarray]) -> dict[str, Any]:
    """What policies of several seeds got in the same blocks, [blocks] each: mean, interval and the mean of each.

    The interval is over seeds as well as blocks: both are resampled (95 %). Of few seeds it is a rough one.
    """
    shares, rng = np.array(runs), np.random.default_rng(0)
    num_seeds, num_blocks = shares.shape
    counts = rng.multinomial(num_blocks, np.full(num_blocks, 1 / num_blocks), size=BOOTSTRAPS) / num_blocks
    seeds = rng.integers(num_seeds, size=(BOOTSTRAPS, num_seeds))
    low, high = np.percentile(np.take_along_axis(counts @ shares.T, seeds, axis=1).mean(axis=1), INTERVAL)
    estimate = Estimate(float(shares.mean()), float(low), float(high), num_blocks)
    return asdict(estimate) | {"seeds": [float(run.mean()) for run in runs]}
