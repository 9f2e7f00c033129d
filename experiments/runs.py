"""Training runs that experiments need; each is trained in a separate process, as a user would start it.

On a cluster the folder of a run travels: a node unpacks it, trains the run to its end, and sends it back.
"""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.arena.estimates import BOOTSTRAPS, INTERVAL, Estimate
from agents.checkpoint_file import CURVE
from agents.registry import list_files
from agents.tasks.run import run_tasks
from agents.tools.files import UserError, check_same_settings
from experiments.processes import TrainingProcesses
from train.config import Config
from train.storage import CONFIG, EVALUATION, create_run_folder

LAST_LINES = 20  # number of lines of a log that the error message about a run on a cluster quotes


def train_run(folder: Path, config: Config) -> dict[str, Any]:
    """Train a run in `folder` to its end; return its settings, commit, minutes, evaluation and learning curve.

    A finished run is only read; an interrupted run is resumed. Raises `UserError` if training fails or the folder holds
    a run with other settings, and `KeyboardInterrupt` after Ctrl-C, when the run has been saved.
    """
    (result,) = train_runs([(folder, config)], workers=1)
    return result


def _finish_and_read(processes: TrainingProcesses, folder: Path, config: Config, *, quiet: bool) -> dict[str, Any]:
    """Train a run, if it is not finished, in one of `processes`; return what `train_run` returns.

    quiet: write the output of the process to FOLDER.log, and print where that is.
    """
    if not _is_finished(folder, config):
        log = folder.with_name(folder.name + ".log") if quiet else None
        if log:
            print(f"training {folder}: its progress is in {log}", flush=True)
        processes.train(folder, config, log)
    stored = json.loads((folder / CONFIG).read_text())
    evaluation = json.loads((folder / EVALUATION).read_text())
    return {
        "config": stored["config"],
        "commit": stored["commit"],
        "minutes": evaluation["minutes"],
        "results": evaluation["results"],
        "curve": json.loads((folder / CURVE).read_text()),
    }


def _is_finished(folder: Path, config: Config) -> bool:
    """Return whether the run in `folder` is finished; create the folder if there is none.

    Raises `UserError` if the folder holds a run with other settings.
    """
    if not (folder / CONFIG).exists():
        create_run_folder(replace(config.resolve(), out=folder))
    stored, wanted = json.loads((folder / CONFIG).read_text())["config"], config.to_json()
    chosen = {name: stored.get(name) for name, value in wanted.items() if value == "auto"}  # where the run began
    advice = "delete it, or choose another --out"
    check_same_settings(stored, wanted | chosen, where=folder, advice=advice)
    return (folder / EVALUATION).exists()


def train_runs(
    runs: Sequence[tuple[Path, Config]], *, workers: int, ray: str | None = None
) -> Iterator[dict[str, Any]]:
    """Train a run for each pair of folder and settings, and yield the results of the runs in the same order.

    workers: number of runs that are trained at the same time. ray: cluster that trains them, as in `open_pool`. A
    result is the dictionary that `train_run` returns. After Ctrl-C or an error, or if the caller ends early, the runs
    that are being trained save and stop, and no others start.
    """
    if ray is not None:
        _train_on_cluster(runs, workers, ray)
    processes = TrainingProcesses()
    with ThreadPoolExecutor(workers) as pool:
        finish = partial(_finish_and_read, processes, quiet=workers > 1)
        futures = [pool.submit(finish, folder, config) for folder, config in runs]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            processes.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


class RunTask(NamedTuple):
    """Task to train a run to its end. folder: where it belongs. archive: files of the run folder so far."""

    folder: Path
    config: Config
    archive: bytes


def finish_run(task: RunTask) -> bytes:
    """Train a run to its end in a temporary folder, and return an archive of the folder."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / task.folder.name
        unpack(task.archive, folder)
        log = Path(place) / "log"
        try:
            TrainingProcesses().train(folder, task.config, log)
        except UserError as error:  # the log is deleted with its folder, on a machine that may be another
            last = log.read_text().splitlines()[-LAST_LINES:]
            raise UserError("\n".join(["training failed; its output ends with", *last])) from error
        return pack(folder)


def _train_on_cluster(runs: Sequence[tuple[Path, Config]], workers: int, ray: str) -> None:
    """Train on a cluster the runs that are not finished; raise `UserError` if one was given up.

    Each is written to its folder when it is finished. One whose node dies begins again with what its folder holds.
    """
    missing = [(folder, config) for folder, config in runs if not _is_finished(folder, config)]
    tasks = [RunTask(folder, config, pack(folder)) for folder, config in missing]
    codes = {code for _, config in missing for code in (*config.opponent_codes, *config.against)}
    starts = [Path(config.init.removeprefix("net:")) for _, config in missing if config.init]
    files = [*list_files(*sorted(codes)), *starts]
    given_up = []
    for outcome in run_tasks(finish_run, tasks, workers=workers, ray=ray, files=files, learns=True):
        if outcome.value is None:
            given_up.append(f"{outcome.task.folder}: {outcome.reason}")
        else:
            unpack(outcome.value, outcome.task.folder)
    if given_up:
        raise UserError("\n".join(["some runs were given up; the same command tries them again:", *given_up]))


def pack(folder: Path) -> bytes:
    """Return a zip archive of all files in a folder."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(folder))
    return content.getvalue()


def unpack(content: bytes, folder: Path) -> None:
    """Write the files of an archive to a folder."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)


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
