"""Question: does a cluster give the same results whatever fails in it? `python -m experiments faults`

A small tournament is played on a Ray cluster of two nodes on this machine while faults are injected: processes end in
the middle of a task, nodes are killed, results come twice or too late, objects are lost, and the command itself is
killed and started again. The files of all parts are then compared, byte for byte, with those of the same tournament
played by two processes without a cluster. Needs the extra `dist`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np

from agents.arena.blocks import Blocks
from agents.arena.matches import play_part
from agents.arena.parts import Match, Part, list_parts, save_part
from agents.identity import identify_player
from agents.tasks.pool import Done, Lost
from agents.tasks.run import Tasks
from agents.tools.files import UserError
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_positive
from agents.tools.startup import PORTABLE
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check
from felicity_env.setups import standard_setup

FAULTS_A_CHUNK = 5
DEALS_A_PART, PARTS = 4, 40  # of each match
OTHER_BYTES = "parts with other bytes than without a cluster"
PAIRS = (("ev", "random"), ("net", "tuned"))


@dataclass(frozen=True)
class Config:
    """Inject faults into a cluster that plays tournaments, and check that the results are unchanged."""

    resumes: ClassVar[bool] = True
    faults: int = 100
    """Number of faults in total."""
    out: Path = Path("runs/faults")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_positive(self, "faults")


# --- a small tournament -----------------------------------------------------------------------------------------------


def list_small_parts(folder: Path, seed: int) -> list[Part]:
    """List the parts of a small tournament whose files are in a folder."""
    codes = sorted({code for pair in PAIRS for code in pair})
    players = {code: identify_player(code) for code in codes}
    matches = {Match.one_against(*pair, standard_setup(3)): DEALS_A_PART * PARTS for pair in PAIRS}
    return list_parts(matches, players, seed=seed, folder=folder, deals_per_part=DEALS_A_PART)


class Task(NamedTuple):
    """Task to play a part.

    marker: file whose absence ends the process that plays it, once; None to play at once. ballast: bytes that are sent
    with the result; a large result stays on its node until it is read.
    """

    part: Part
    marker: Path | None = None
    ballast: int = 0


def play_task(task: Task) -> tuple[Any, bytes]:
    """Return the results of a part with the ballast, or end this process in the middle of the work."""
    if task.marker and not task.marker.exists():
        task.marker.touch()
        os._exit(1)
    return play_part(task.part), os.urandom(task.ballast)


def play_tasks(pool: Any, tasks: list[Task], during: Callable[[int], Any]) -> None:
    """Play the parts of a tournament on a pool, and write their files; call `during` with the number of parts done."""
    running: Tasks[Task, Any] = Tasks(pool, play_task)
    waiting, done = iter(tasks), 0
    while done < len(tasks):
        for task in islice(waiting, max(0, pool.capacity - len(running))):
            running.submit(task)
        for outcome in running.wait():
            blocks, _ = outcome.value or (None, None)
            assert isinstance(blocks, Blocks), outcome
            save_part(outcome.task.part, blocks)
            during(done := done + 1)


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the content of the files of all parts in a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.npz"))}


# --- faults -----------------------------------------------------------------------------------------------------------


@contextmanager
def start_cluster() -> Iterator[Any]:
    """Start a cluster whose head does not work, with two nodes that do, for the time of a `with` block."""
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        add_node(cluster)
    try:
        yield cluster
    finally:
        cluster.shutdown()


class FaultyPool:
    """Pool that hands on what another one reports, with faults. faults: kind of fault, by number of the task."""

    def __init__(self, pool: Any, faults: dict[int, str]) -> None:
        self.pool, self.faults, self._late = pool, faults, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pool, name)

    def wait(self) -> list[tuple[int, Done | Lost]]:
        """Return what the pool reports; some results twice, some first as lost, and once more when they ran again."""
        results: list[tuple[int, Done | Lost]] = []
        for number, result in self.pool.wait():
            kind = self.faults.pop(number, "")
            if kind == "late results":
                self._late.append((number, result))
                result = Lost("it seems to be lost", at_fault=False)
            results += [(number, result)] * (2 if kind == "results twice" else 1)
        if len(self._late) and not self.faults:
            results, self._late = [*results, *self._late], []
        return results


def inject(kind: str, tasks: list[Task], numbers: list[int], place: Path) -> None:
    """Play a tournament on a cluster with faults of one kind at the tasks with these numbers."""
    from agents.tasks.ray_cluster import RayPool

    with start_cluster() as cluster:
        pool = RayPool.connect(cluster.address, workers=1)
        during: Callable[[int], Any] = _ignore
        if kind == "processes ended":
            tasks = [task._replace(marker=place / str(k)) if k in numbers else task for k, task in enumerate(tasks)]
        elif kind == "nodes killed":
            during = _Changes(cluster, numbers)
        elif kind == "objects lost":
            tasks = [task._replace(ballast=1_000_000) for task in tasks]
            during = _Losses(cluster, pool, numbers)
        else:
            pool = FaultyPool(pool, dict.fromkeys(numbers, kind))
        try:
            play_tasks(pool, tasks, during)
        finally:
            pool.close(cancel=True)
    if isinstance(during, _Losses) and during.numbers:
        raise UserError(f"{len(during.numbers)} of the results could not be lost")


def add_node(cluster: Any, **options: Any) -> None:
    """Add a node with one processor to a cluster on this machine.

    It has a folder of its own, as nodes on other machines have: a node that joins writes the project's files anew.
    """
    cluster.add_node(**{"num_cpus": 1, "temp_dir": tempfile.mkdtemp(prefix="ray-"), **options})


def find_other_node(cluster: Any) -> Any:
    """Return a node that works, but not the one by which this process takes part."""
    from ray._private.worker import global_worker  # pyright: ignore[reportMissingImports]

    mine: Any = global_worker.node
    return next(node for node in cluster.worker_nodes if node._raylet_socket_name != mine._raylet_socket_name)


def kill_node(cluster: Any) -> None:
    """Kill a node that works, but not the one by which this process takes part."""
    cluster.remove_node(find_other_node(cluster))


def _ignore(done: int) -> None:
    """Do nothing when a part is done."""


class _Changes:
    """Changes of a node: when certain numbers of parts are done, one is killed and another added."""

    def __init__(self, cluster: Any, numbers: list[int]) -> None:
        self.cluster, self.numbers = cluster, list(numbers)

    def __call__(self, done: int) -> None:
        """Replace a node if that is due."""
        if done in self.numbers:
            self.change()

    def change(self) -> None:
        """Kill a node that works, and add another one."""
        kill_node(self.cluster)
        add_node(self.cluster)


class _Losses(_Changes):
    """Losses of results: from each of some numbers of parts on, as soon as it is possible, one is lost."""

    def __init__(self, cluster: Any, pool: Any, numbers: list[int]) -> None:
        super().__init__(cluster, numbers)
        self.pool = pool

    def __call__(self, done: int) -> None:
        """Kill a node that holds the only copy of a result that nobody has read yet, if one is due and there is one."""
        if self.numbers and done >= self.numbers[0] and self._wait_for_result():
            self.change()
            self.numbers.pop(0)

    def _wait_for_result(self) -> bool:
        """Wait a second for a result that is on the other node only, and return whether there is one."""
        from ray.experimental import get_object_locations  # pyright: ignore[reportMissingImports]

        victim, end = find_other_node(self.cluster).node_id, time.monotonic() + 1
        while time.monotonic() < end:
            places = get_object_locations(list(self.pool._running)).values()
            if any(each["node_ids"] == [victim] for each in places):
                return True
            time.sleep(0.01)
        return False


def kill_driver(command: list[str], folder: Path, kills: int) -> None:
    """Start a tournament on a cluster, kill the command when it has written some more parts, and finish it at last."""
    with start_cluster() as cluster:
        words = [*command, "--ray", cluster.address, "--out", str(folder)]
        for _ in range(kills):
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wanted = len(read_files(folder)) + 5
            while process.poll() is None and len(read_files(folder)) < wanted:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


KINDS = ("processes ended", "nodes killed", "results twice", "late results", "objects lost", "commands killed")


def check_chunk(k: int, config: Config) -> Outcome:
    """Inject the faults of chunk k, which are of one kind, and compare the files of all parts."""
    kind, count = KINDS[k % len(KINDS)], chunk_size(config.faults, FAULTS_A_CHUNK, k)
    rng, seed = np.random.default_rng([SEEDS["faults"], k]), int(SEEDS["faults"]) + k
    with TemporaryDirectory() as text:
        here, there, place = (Path(text) / name for name in ("here", "there", "place"))
        place.mkdir()
        if kind == "commands killed":
            pair = ["--players", *PAIRS[0], "--num-players", "3", "--mixed-deals", "0"]
            sizes = [
                "--num-deals",
                str(DEALS_A_PART * PARTS),
                "--deals-per-part",
                str(DEALS_A_PART),
                "--seed",
                str(seed),
            ]
            command = [sys.executable, "-m", "agents", "tournament", *pair, *sizes]
            options = {"env": os.environ | PORTABLE, "stdout": subprocess.DEVNULL}
            subprocess.run([*command, "--workers", "2", "--out", str(here)], check=True, **options)
            kill_driver(command, there, count)
        else:
            tasks = [Task(part) for part in list_small_parts(there, seed)]
            numbers = sorted(int(number) for number in rng.choice(np.arange(2, len(tasks) - 10), count, replace=False))
            play_here(list_small_parts(here, seed))
            inject(kind, tasks, numbers, place)
        one, two = read_files(here), read_files(there)
        different = sum(one.get(name) != two.get(name) for name in {*one, *two})
    return Outcome({kind: count, "parts": len(one)}, {OTHER_BYTES: different})


def play_here(parts: list[Part]) -> None:
    """Play the parts by a process that computes as the nodes of a cluster do, and write their files."""
    from agents.tasks.processes import ProcessPool

    before = dict(os.environ)
    os.environ.update(PORTABLE)
    try:
        pool = ProcessPool(2)
        play_tasks(pool, [Task(part) for part in parts], _ignore)
        pool.close(cancel=False)
    finally:
        os.environ.clear()
        os.environ.update(before)


def main(config: Config) -> None:
    """Inject all faults, store the result, and raise `UserError` if a part has other bytes."""
    chunks = count_chunks(config.faults, FAULTS_A_CHUNK)
    run_check("faults", config, lambda k: check_chunk(k, config), chunks, source=__file__)
