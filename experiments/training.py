"""Training runs as experiments need them: begun, resumed or left alone, each a process as a user would start it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena import bootstrap
from train.run_folder import CONFIG, CURVE, EVALUATION, RunError, held


def trained(folder: Path, options: Sequence[str], *, quiet: bool = False) -> dict[str, Any]:
    """Settings, commit, evaluation, curve and minutes of the run in `folder`, trained with `options` if need be.

    quiet: what it says goes to FOLDER.log. Raises `RunError` if training fails, and passes Ctrl-C
    on.
    """
    if not (folder / EVALUATION).exists():
        begin = ["--resume", str(folder)] if _has_checkpoint(folder) else _anew(folder, options)
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


def distilled(folder: Path, options: Sequence[str]) -> None:
    """Have `python -m train.distill` make the network in `folder`, or what is missing. Raises as `trained`."""
    command = [sys.executable, "-m", "train.distill", "--run", str(folder), *options]
    _check(subprocess.run(command, check=False).returncode, f"distilling into {folder}", "above")


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


def _has_checkpoint(folder: Path) -> bool:
    return any(folder.glob("checkpoints/*"))


def _anew(folder: Path, options: Sequence[str]) -> list[str]:
    """A run that was stopped before its first checkpoint makes room."""
    if (folder / CONFIG).exists():
        with held(folder):
            shutil.rmtree(folder)
    return [*options, "--run", str(folder)]


def over_seeds(runs: Sequence[np.ndarray]) -> dict[str, Any]:
    """What the policies of several seeds got in the same blocks: the mean with its interval, and the mean of each."""
    return asdict(bootstrap(np.mean(runs, axis=0))) | {"seeds": [float(run.mean()) for run in runs]}
