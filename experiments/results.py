"""Results on disk: every figure with the command, commit, settings, seeds and machine that it came from."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from train.run_folder import provenance, write_json

RESULTS = Path(__file__).parent / "results"


def provenance_of(name: str, config: Any, *, started: float) -> dict[str, Any]:
    """Command, settings, seconds since `started` (of `time.monotonic()`), commit, versions, machine."""
    settings = asdict(config) if is_dataclass(config) and not isinstance(config, type) else config
    return {
        "command": " ".join(["python", "-m", f"experiments.{name}", *sys.argv[1:]]),
        "config": json.loads(json.dumps(settings, default=str)),
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }


def write_result(name: str, config: Any, results: Any, *, started: float, command: str | None = None) -> Path:
    """Store `results` as `results/NAME.json`.

    started: `time.monotonic()` when the measurement began. command: `experiments.COMMAND`, if it is not the name.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    write_json(path, provenance_of(command or name, config, started=started) | {"results": results})
    return path


def read_result(name: str) -> dict[str, Any]:
    """What `write_result` stored."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def median_interval(samples: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Median with its 95 % interval (percentile bootstrap over the repetitions)."""
    values = np.asarray(samples, float)
    rng = np.random.default_rng(0)
    medians = np.median(values[rng.integers(len(values), size=(2000, len(values)))], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return {"value": float(np.median(values)), "low": float(low), "high": float(high), "repetitions": len(values)}
