"""Run tasks on a pool of workers; repeat those that are lost, and give up a task that has ended its worker three times.

A task must be a pure function of its arguments: it may run anywhere, and twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from agents.tasks.pool import Done, Lost, Pool
from agents.tasks.processes import ProcessPool, ThisProcess

Task = TypeVar("Task")
Value = TypeVar("Value")
ATTEMPTS = 3  # that may end a worker


class Outcome(NamedTuple, Generic[Task, Value]):
    """Outcome of a task: its value and the seconds it took, or, if it was given up, `None` and the reason.

    workers: number of workers at that moment.
    """

    task: Task
    value: Value | None
    seconds: float
    workers: int
    reason: str = ""


class Tasks(Generic[Task, Value]):
    """Tasks that run on a pool of workers. Those that are lost run again.

    function: a function of a module, not one defined inside another; it is called with a task.
    """

    def __init__(self, pool: Pool, function: Callable[..., Value]) -> None:
        self.pool, self._function = pool, function
        self._running: dict[int, tuple[Any, ...]] = {}  # arguments of each task, by its number
        self._faults: Counter[int] = Counter()
        self._number = 0

    def __len__(self) -> int:
        return len(self._running)

    def submit(self, task: Task, *shared: Any) -> None:
        """Let a worker call the function with a task, and with what `Pool.share` returned."""
        self._running[self._number] = (task, *shared)
        self.pool.submit(self._number, self._function, task, *shared)
        self._number += 1

    def wait(self) -> list[Outcome[Task, Value]]:
        """Wait until the pool reports something; return the outcomes of the tasks that have ended, perhaps none.

        Raises the exception of the function, if it raised one.
        """
        outcomes = []
        for number, result in self.pool.wait():
            if number not in self._running:  # it was lost, has run again, and comes back after all
                continue
            if isinstance(result, Done):
                outcomes.append(self._end(number, result.value, result.seconds))
            elif self._is_given_up(number, result):
                outcomes.append(self._end(number, None, 0.0, f"{result.reason}, {ATTEMPTS} times"))
            else:
                self.pool.submit(number, self._function, *self._running[number])
        return outcomes

    def _is_given_up(self, number: int, result: Lost) -> bool:
        self._faults[number] += result.at_fault
        return self._faults[number] >= ATTEMPTS

    def _end(self, number: int, value: Value | None, seconds: float, reason: str = "") -> Outcome[Task, Value]:
        return Outcome(self._running.pop(number)[0], value, seconds, self.pool.size, reason)


def run_tasks(
    function: Callable[[Task], Value],
    tasks: Iterable[Task],
    *,
    workers: int,
    ray: str | None = None,
    files: Sequence[Path] = (),
    learns: bool = False,
) -> Iterator[Outcome[Task, Value]]:
    """Run `function(task)` for all tasks, and yield their outcomes in the order in which they end.

    tasks: taken from the iterator when a worker is nearly free, so that an outcome may still decide about later ones.
    function, workers, ray, files, learns: as in `Tasks` and `open_pool`. The exception of a function ends everything.
    """
    pool, source = open_pool(workers, ray, files, learns=learns), iter(tasks)
    running: Tasks[Task, Value] = Tasks(pool, function)
    try:
        while True:
            while len(running) < pool.capacity and (task := next(source, None)) is not None:
                running.submit(task)
            if not len(running):
                break
            yield from running.wait()
    except BaseException:
        pool.close(cancel=True)
        raise
    pool.close(cancel=False)


def open_pool(workers: int, ray: str | None = None, files: Sequence[Path] = (), *, learns: bool = False) -> Pool:
    """Return a pool of workers.

    workers: number of processes; with 1, tasks run in this process. ray: `--ray` of a command, or None for processes of
    this machine. files: files and folders that the tasks read, below the current folder; they are copied to the nodes
    of a cluster. learns: whether tasks train networks, so that all nodes must compute the same gradients. Raises
    `UserError` if there is no such cluster.
    """
    if ray is not None:
        from agents.tasks.ray_cluster import RayPool

        return RayPool.connect(ray, workers=workers, files=files, learns=learns)
    return ThisProcess() if workers == 1 else ProcessPool(workers)
