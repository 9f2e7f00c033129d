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

RESULTS = Path(__file__).parent / "results"  # what the README tells of
OTHERS = Path("runs/results")  # all else that is measured
WITHOUT_INFLUENCE = ("workers", "out", "runs", "pack")  # settings that do not change what is measured


def provenance_of(name: str, config: Any, *, started: float) -> dict[str, Any]:
    """Command, settings, seconds since `started` (of `time.monotonic()`), commit, versions, machine."""
    return {
        "command": " ".join(["python", "-m", f"experiments.{name}", *sys.argv[1:]]),
        "config": _plain(config),
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }


def _plain(config: Any) -> dict[str, Any]:
    settings = asdict(config) if is_dataclass(config) and not isinstance(config, type) else config
    return json.loads(json.dumps(settings, default=str))


def write_result(name: str, config: Any, results: Any, *, started: float, command: str | None = None) -> Path:
    """Store `results` with where they come from, as `store` does.

    started: `time.monotonic()` when the measurement began. command: `experiments.COMMAND`, if it is not the name.
    """
    return store(name, provenance_of(command or name, config, started=started) | {"results": results})


def store(name: str, content: dict[str, Any]) -> Path:
    """Write `OTHERS/NAME.json`, or `results/NAME.json` if one of the same settings lies there; plots belong beside it.

    So a trial changes nothing that the README tells of; a first result is moved there by hand.
    """
    path = RESULTS / f"{name}.json"
    if not path.exists():
        path = OTHERS / path.name
    elif unlike := _unlike(read_result(name)["config"], content["config"]):
        print(f"{path} is of other settings ({', '.join(unlike)}) and stays")
        path = OTHERS / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, content)
    print(f"written to {path}")
    return path


def _unlike(kept: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    return [key for key in kept | settings if kept.get(key) != settings.get(key) and key not in WITHOUT_INFLUENCE]


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
