"""Training runs as experiments need them: begun, resumed or left alone, each a process as a user would start it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena import bootstrap
from train.run_folder import CONFIG, CURVE, EVALUATION, RunError


def trained(folder: Path, options: Sequence[str]) -> dict[str, Any]:
    """Settings, commit, evaluation, curve and minutes of the run in `folder`, trained with `options` if need be.

    Raises `RunError` if training fails, and passes Ctrl-C on.
    """
    if not (folder / EVALUATION).exists():
        begin = ["--resume", str(folder)] if _has_checkpoint(folder) else _anew(folder, options)
        status = subprocess.run([sys.executable, "-m", "train", *begin], check=False).returncode
        if status == 130:
            raise KeyboardInterrupt
        if status:
            raise RunError(f"training in {folder} ended with status {status}; what it said stands above")
    evaluation = json.loads((folder / EVALUATION).read_text())
    begun = json.loads((folder / CONFIG).read_text())
    return {
        "config": begun["config"],
        "commit": begun["commit"],
        "minutes": evaluation["minutes"],
        "results": evaluation["results"],
        "curve": json.loads((folder / CURVE).read_text()),
    }


def _has_checkpoint(folder: Path) -> bool:
    return any(folder.glob("checkpoints/*"))


def _anew(folder: Path, options: Sequence[str]) -> list[str]:
    """A run that was stopped before its first checkpoint makes room."""
    if (folder / CONFIG).exists():
        shutil.rmtree(folder)
    return [*options, "--run", str(folder)]


def over_seeds(runs: Sequence[np.ndarray]) -> dict[str, Any]:
    """What the policies of several seeds got in the same blocks: the mean with its interval, and the mean of each."""
    return asdict(bootstrap(np.mean(runs, axis=0))) | {"seeds": [float(run.mean()) for run in runs]}
