"""Parts of a long experiment: the result of each is stored as soon as it is known, so that the experiment resumes."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
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
    """Results of the parts of each table, {table: [result, ...]}.

    seconds: how long they took, together with the time before interruptions.
    """

    tables: dict[str, list[Any]]
    seconds: float


def measure_tables(
    tables: Mapping[str, Sequence[Part]],
    config: Any,
    *,
    source: str,
    report: Callable[[str, Any], None],
    console: Console,
    files: Sequence[Path] = (),
    learns: bool = False,
) -> Measured:
    """Measure the parts of some tables of results, but for those that are stored already; return all results.

    tables: {name of the table: parts}; no two parts have the same name. config: settings with those of `Workers` and
    with the folder `out`, where the results of parts are stored. source: path of the module of the question. report:
    function that is called with the name and the result of each part as soon as it is known. files, learns: as in
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
        parts = [*chain(*tables.values())]
        progress.count(len(results), len(parts))
        missing = [part for part in parts if part.name not in results]
        for outcome in run_tasks(_measure, missing, files=files, learns=learns, **config.spread):
            if outcome.reason:
                advice = "the same command tries it again"
                raise UserError(f"{outcome.task.name} was given up ({outcome.reason}); {advice}")
            results[outcome.task.name] = outcome.value
            state["seconds"] = round(time.monotonic() - before, 1)
            write_json(path, state)
            report(outcome.task.name, outcome.value)
            progress.count(len(results), len(parts))
    rows = {table: [results[part.name] for part in parts] for table, parts in tables.items()}
    return Measured(rows, state["seconds"])


def _measure(part: Part) -> Any:
    return part.measure()
