"""Parts of a long experiment: the result of each is stored as soon as it is known, so that the experiment resumes."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from agents.tasks.run import run_tasks
from agents.tools.files import UserError, lock_folder, write_json
from agents.tools.progress import PartsProgress
from experiments.resuming import describe_origin, read_state

PARTS_FILE = "parts.json"


class Part(NamedTuple):
    """Part of an experiment. measure: function without arguments that returns data of the kinds that JSON has."""

    name: str
    measure: Callable[[], Any]


class Measured(NamedTuple):
    """Results of all parts, {name: result}, and the seconds that they took, those before interruptions included."""

    results: dict[str, Any]
    seconds: float


def measure_parts(
    parts: Sequence[Part],
    config: Any,
    *,
    source: str,
    report: Callable[[str, Any], None],
    console: Console,
    files: Sequence[Path] = (),
) -> Measured:
    """Measure the parts that are not stored in the folder of the experiment yet; return the results of all.

    config: settings with the folder `out` and with those of `Workers`. source: path of the module of the question.
    report: function that is called with the name and the result of each part as soon as it is known. files: as in
    `open_pool`. Raises `UserError` if the stored results were made with other settings, or if the code of that module
    or of a module that it imports has changed since, and if a part is given up because it ends its workers.
    """
    path = config.out / PARTS_FILE
    config.out.mkdir(parents=True, exist_ok=True)
    origin = describe_origin(config, source)
    with lock_folder(config.out), PartsProgress(console) as progress:
        state = read_state(path, origin, {"seconds": 0.0, "results": {}})
        results, before = state["results"], time.monotonic() - state["seconds"]
        for name, result in results.items():
            report(name, result)
        progress.count(len(results), len(parts))
        missing = [part for part in parts if part.name not in results]
        for outcome in run_tasks(_measure, missing, files=files, learns=True, **config.spread):
            if outcome.reason:
                advice = "the same command tries it again"
                raise UserError(f"{outcome.task.name} was given up ({outcome.reason}); {advice}")
            results[outcome.task.name] = outcome.value
            state["seconds"] = round(time.monotonic() - before, 1)
            write_json(path, state)
            report(outcome.task.name, outcome.value)
            progress.count(len(results), len(parts))
    return Measured(results, state["seconds"])


def _measure(part: Part) -> Any:
    return part.measure()
