"""Pool of workers on a Ray cluster; code and files travel with the work, and nodes that compute otherwise get none.

https://docs.ray.io/en/latest/ray-core/walkthrough.html
"""

import functools
import logging
import os
import pickle
import shutil
import socket
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agents.tasks.pool import Done, Lost
from agents.tasks.probe import describe_difference, probe_portable
from agents.tasks.processes import run_timed
from agents.tools.command import explain_missing_extra, print_error
from agents.tools.files import UserError
from agents.tools.startup import PORTABLE
from agents.tools.threads import use_one_blas_thread
from felicity_env.code_digest import PROJECT

if (Path.home() / ".ray" / "auth_token").exists():  # then `ray start --head` asks for it; Ray reads this when imported
    os.environ.setdefault("RAY_AUTH_MODE", "token")
with explain_missing_extra("--ray", "dist"):
    import ray  # pyright: ignore[reportMissingImports]
    from ray.exceptions import NodeDiedError, ObjectLostError, RayError, RayTaskError  # pyright: ignore[reportMissingImports]

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "results")  # of the packages
SECONDS = 10  # between two messages that no node is there
NODE_ID = "ray.io/node-id"  # label that Ray gives to each node


class Refused(NamedTuple):
    """Answer of a node that computes otherwise than the process that asked."""

    node_id: str
    name: str
    difference: str


def _work(expected: dict[str, str], function: Callable[..., Any], *arguments: Any) -> bytes:
    """Run a task on this node if it computes as expected, and return its `Done` or `Refused`, packed.

    The probe is made once in each worker process.
    """
    _begin_process()
    result: Done | Refused
    if difference := describe_difference(expected):
        context = ray.get_runtime_context()
        result = Refused(context.get_node_id(), os.uname().nodename, difference)
    else:
        result = run_timed(function, *arguments)
    return pack(result)


def pack(result: Done | Refused) -> bytes:
    """Return a result as compressed bytes: Ray sends results of up to 100 KB directly, which is faster."""
    return zlib.compress(pickle.dumps(result), level=1)


_begin_process = functools.cache(use_one_blas_thread)


class RayPool:
    """Pool of all processors of a Ray cluster. Nodes may come and go while it works."""

    def __init__(self, *, learns: bool) -> None:
        self._remote = ray.remote(num_cpus=1, max_retries=0)(_work)
        self._running: dict[Any, int] = {}  # number of the task of each object reference
        self._expected = probe_portable(with_gradients=learns)
        self._refused: dict[str, str] = {}  # name of each refused node, by its id
        self._size, self._looked_up = 0, 0.0

    @classmethod
    def connect(cls, address: str, *, workers: int, files: Sequence[Path] = (), learns: bool = False) -> "RayPool":
        """Join the cluster at an address, or start one on this machine with `workers` processors for `local`.

        address: "local", "auto" for the cluster that this machine is part of, or its address, such as "10.0.0.1:6379".
        files, learns: as in `open_pool`. Raises `UserError` if there is no such cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
        if address != "local":
            address = find_cluster(address)
        with tempfile.TemporaryDirectory() as folder:
            copy_sources(Path(folder), files)
            environment = {"working_dir": folder, "env_vars": {**PORTABLE, "OMP_NUM_THREADS": "1"}}
            options: dict[str, Any] = {"address": address, "runtime_env": environment}
            if address == "local":
                options |= {"num_cpus": workers, "include_dashboard": False}
            try:
                ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError, RuntimeError) as error:
                advice = "if it was started with RAY_AUTH_MODE=token, this command needs it too"
                raise UserError(
                    f"cannot join the Ray cluster {address}: {str(error).splitlines()[0]}; {advice}"
                ) from error
        return cls(learns=learns)

    @property
    def size(self) -> int:
        """Number of processors of the nodes that are alive and not refused; it is looked up once a second."""
        if time.monotonic() > self._looked_up + 1:
            self._looked_up = time.monotonic()
            nodes = (node for node in ray.nodes() if node["Alive"] and node["NodeID"] not in self._refused)
            self._size = int(sum(node["Resources"].get("CPU", 0) for node in nodes))
        return self._size

    @property
    def capacity(self) -> int:
        """Number of tasks that are worth submitting: two for each processor, so that none waits for this process."""
        return max(2 * self.size, 1)

    def share(self, value: Any) -> Any:
        """Return a reference to a value in the cluster's object store."""
        return ray.put(value)

    def submit(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a task on any processor of the cluster that is not refused."""
        labels = {NODE_ID: f"!in({','.join(self._refused)})"} if self._refused else None
        reference = self._remote.options(label_selector=labels).remote(self._expected, function, *arguments)
        self._running[reference] = number

    def wait(self) -> list[tuple[int, Done | Lost]]:
        """Wait until a task has ended or was lost, and return what happened to which tasks."""
        while not ray.wait(list(self._running), timeout=SECONDS)[0]:
            if not self.size:
                print_error("the cluster has no processors now; the work goes on when a node joins it")
        ready, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=0)
        return [(self._running.pop(reference), self._read(reference)) for reference in ready]

    def _read(self, reference: Any) -> Done | Lost:
        try:
            result: Any = pickle.loads(zlib.decompress(ray.get(reference)))
        except RayTaskError as error:
            if isinstance(error.cause, RayError):
                return Lost(f"its input did not arrive ({type(error.cause).__name__})", at_fault=True)
            raise error.cause from error
        except (NodeDiedError, ObjectLostError):
            return Lost("its node died", at_fault=False)
        except RayError as error:
            return Lost(f"its process ended ({type(error).__name__})", at_fault=True)
        if isinstance(result, Refused):
            self._refuse(result)
            return Lost("its node computes otherwise", at_fault=False)
        return result

    def _refuse(self, answer: Refused) -> None:
        """Give no more work to a node; raise `UserError` if no other is left."""
        if answer.node_id not in self._refused:
            self._refused[answer.node_id] = answer.name
            self._looked_up = 0.0
            print_error(f"the node {answer.name} ({answer.node_id[:8]}) gets no work: {answer.difference}")
        if not self.size:
            raise UserError("all nodes of the cluster compute otherwise than this machine")

    def close(self, *, cancel: bool) -> None:
        """Leave the cluster, which ends the tasks that are running; a cluster that `local` has started ends too."""
        ray.shutdown()


def find_cluster(address: str) -> str:
    """Return the address HOST:PORT of a running cluster; raise `UserError` if none answers there.

    address: "auto" for the one that this machine is part of, or HOST:PORT. Ray itself would try for minutes.
    """
    found = address
    if address == "auto":
        started = Path(tempfile.gettempdir()) / "ray" / "ray_current_cluster"  # where `ray start` writes it
        found = os.environ.get("RAY_ADDRESS") or (started.read_text().strip() if started.exists() else "")
    host, _, port = found.rpartition(":")
    if (found or address != "auto") and not port.isdigit():
        raise UserError(f"--ray must be auto, local or HOST:PORT, not {address}")
    try:
        socket.create_connection((host, int(port or 0)), timeout=5).close()
    except OSError as error:
        where = f"at {address}" if address != "auto" else "on this machine"
        advice = "ray start --head starts one, and --ray local does so for one command"
        raise UserError(f"there is no Ray cluster {where}: {advice}") from error
    return found


def copy_sources(folder: Path, files: Sequence[Path]) -> None:
    """Copy this project's packages and some files, below the current folder, to where a cluster takes them from.

    Raises `UserError` if a file is elsewhere, because its path would be another one on the nodes.
    """
    for package in PROJECT:
        shutil.copytree(ROOT / package, folder / package, ignore=LEFT_OUT)
    here = Path.cwd()
    for path in files:
        place = Path(os.path.relpath(path, here)) if path.suffix == ".py" else path
        if place.is_absolute() or ".." in place.parts:
            raise UserError(f"a cluster cannot get {path}: its path must be relative, below the current folder")
        if path.is_dir():
            shutil.copytree(path, folder / place, ignore=LEFT_OUT, dirs_exist_ok=True)
        else:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / place)
