"""Long checks, cut into chunks: results are stored after each chunk, so an interrupted check can be resumed.

A check is a function `chunk(k)` that derives all its randomness from the number k and returns an `Outcome`. Therefore
a check that was interrupted and resumed gives the same result as a check without an interruption.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rich.console import Console

from agents.tools.files import UserError, lock_folder, write_json
from agents.tools.progress import PartsProgress
from experiments.results import write_result
from experiments.resuming import describe_origin, read_state

STATE_FILE = "chunks.json"
MOST_NAMED = 10  # number of chunks with faults that are named in the result


class Outcome(NamedTuple):
    """Result of one chunk of a long check: how much was checked and how many faults were found, by name."""

    counts: Mapping[str, int]
    faults: Mapping[str, int]  # with zeros, so that a result names all that was checked


def count_chunks(total: int, size: int) -> int:
    """Return the number of chunks, of at most `size` units each, that a check of `total` units is cut into."""
    return -(-total // size)


def chunk_size(total: int, size: int, k: int) -> int:
    """Return the number of units in chunk k of a check: `size`, or fewer in the last chunk if fewer remain."""
    return min(size, total - k * size)


def run_check(
    name: str,
    config: Any,
    chunk: Callable[[int], Outcome],
    num_chunks: int,
    *,
    source: str,
    judge: Callable[[Mapping[str, int]], Mapping[str, int]] = lambda counts: {},
    question: str | None = None,
) -> None:
    """Run the chunks of a check that are not done yet, store the result, and raise `UserError` if there are faults.

    config: settings with the folder `out`, where the results of finished chunks are stored. source: path of the
    module of the check. Raises `UserError` too if the stored chunks were made with other settings, or if the code of
    that module or of a module that it imports has changed since. judge: function that receives the counts of all
    chunks together and returns the numbers of those faults, by name, that only these counts can show. question: see
    `write_result`.
    """
    console, path = Console(), config.out / STATE_FILE
    config.out.mkdir(parents=True, exist_ok=True)
    origin = describe_origin(config, source)
    with lock_folder(config.out), PartsProgress(console) as progress:
        state = read_state(path, origin, {"done": 0, "seconds": 0.0, "counts": {}, "faults": {}, "faulty_chunks": []})
        before, first = time.monotonic() - state["seconds"], state["done"]
        progress.count(first, num_chunks)
        for k in range(first, num_chunks):
            _add(state, k, chunk(k), console)
            state["seconds"] = round(time.monotonic() - before, 1)
            write_json(path, state)
            progress.count(k + 1, num_chunks)
    faults = {**state["faults"], **judge(state["counts"])}
    counts = {key: state[key] for key in ("counts", "faulty_chunks")}
    results = {**counts, "faults": faults, "code": origin["code"]}
    write_result(name, config, results, started=time.monotonic() - state["seconds"], question=question)
    if found := list_faults(results):
        raise UserError("; ".join(found))


def list_faults(results: Mapping[str, Any]) -> list[str]:
    """Return one line of text for each kind of fault that a check found: its name and how often it was found."""
    return [f"{name}: {count:,}" for name, count in results["faults"].items() if count]


def _add(state: dict[str, Any], k: int, outcome: Outcome, console: Console) -> None:
    """Add the result of chunk k of a check to the totals in `state`, and print the faults that the chunk found.

    The faults are printed at once, because a check may take hours.
    """
    for key, values in outcome._asdict().items():
        total = Counter(state[key])
        total.update(values)
        state[key] = {name: int(count) for name, count in total.items()}
    state["done"] = k + 1
    if found := list_faults(outcome._asdict()):
        console.print(f"chunk {k}: {'; '.join(found)}", highlight=False, soft_wrap=True)
        state["faulty_chunks"] = [*state["faulty_chunks"], k][:MOST_NAMED]
