"""Storage of experiment results in JSON files: numbers with the command, settings, commit, versions and machine."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agents.tools.files import UserError, check_same_settings, write_json
from agents.tools.provenance import WITHOUT_INFLUENCE, describe_measurement

PROJECT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"  # the results that the pages show
TRIALS = Path("runs/results")  # all other results


def write_result(name: str, config: Any, results: Any, *, started: float, question: str | None = None) -> Path:
    """Write measured `results` with their provenance (settings, commit, machine, ...) to a JSON file; return its path.

    The function `store` of this module chooses the path. started: `time.monotonic()` when the measurement began.
    question: the command that measures it, such as `first-player`; by default `name` with hyphens for underscores.
    """
    command = f"experiments {question or name.replace('_', '-')}"
    return store(name, describe_measurement(command, config, started=started) | {"results": results})


def store(name: str, content: Mapping[str, Any]) -> Path:
    """Write a result to a JSON file and return its path: `experiments/results/NAME.json`, or a file in `runs/results`.

    The pages show the results in `experiments/results`. A file there is replaced only by a result with the same
    settings; all other results go to `runs/results`. A trial with other settings therefore never changes what the pages
    show. Move the first result of a new question to `experiments/results` by hand. The names of setups that are not
    standard are appended to the name. Save plots of a result beside the returned path.
    """
    setups = content.get("setups", {})
    name = name_result(name, setups)
    path = RESULTS / f"{name}.json"
    if not path.exists():
        path = TRIALS / path.name
    else:  # results that were stored before their setups were are of standard setups
        both = {"setups": setups} | read_result(name), {"setups": setups, **content}
        stored, wanted = (keep_influential(each["config"]) | {"setups": each["setups"]} for each in both)
        try:
            check_same_settings(stored, wanted, where=path, advice="it stays unchanged")
        except UserError as error:
            print(error)
            path = TRIALS / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, content)
    print(f"written to {path}")
    return path


def name_result(name: str, setups: Iterable[str]) -> str:
    """Return the name of a result to which the names of setups that are not standard are appended."""
    return "_".join([name, *(setup for setup in setups if not setup.startswith("standard-") and setup not in name)])


def keep_influential(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the given settings that can change the measured numbers, {name: value}."""
    return {name: value for name, value in settings.items() if name not in WITHOUT_INFLUENCE}


def read_result(name: str) -> dict[str, Any]:
    """Read a stored result and its provenance (settings, commit, machine, ...) from `results/NAME.json`."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def find_result(name: str) -> Path | None:
    """Return the path of a result that the pages show, or of another in `runs/results`, or None if there is neither."""
    paths = (folder / f"{name}.json" for folder in (RESULTS, TRIALS))
    return next((path for path in paths if path.exists()), None)


def to_file_name(text: str) -> str:
    """Convert a text, such as the code of a player, to a file name: all but letters and digits become `_`."""
    return "".join(letter if letter.isalnum() else "_" for letter in text)


def median_interval(samples: Sequence[float] | np.ndarray) -> dict[str, float]:
    """Return the median of repeated measurements with its 95 % interval (percentile bootstrap)."""
    values = np.asarray(samples, float)
    rng = np.random.default_rng(0)
    medians = np.median(values[rng.integers(len(values), size=(2000, len(values)))], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    return {"value": float(np.median(values)), "low": float(low), "high": float(high), "repetitions": len(values)}
