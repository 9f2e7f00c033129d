"""Interface of pools of workers, which are processes of this machine or run on the nodes of a cluster."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Done(NamedTuple):
    """Result of a task: the value that its function returned, and the seconds it took."""

    value: Any
    seconds: float


class Lost(NamedTuple):
    """Report that a task has no result. at_fault: whether the task itself may have ended its worker."""

    reason: str
    at_fault: bool


class Pool(Protocol):
    """Pool of workers, each of which runs one task at a time."""

    @property
    def size(self) -> int:
        """Number of workers at this moment."""
        ...

    @property
    def capacity(self) -> int:
        """Number of tasks that are worth submitting at this moment, those that are running included."""
        ...

    def share(self, value: Any) -> Any:
        """Return a handle for a value that many tasks take as an argument; the value is sent to each node only once."""
        ...

    def submit(self, number: int, function: Callable[..., Any], *arguments: Any) -> None:
        """Run `function(*arguments)` on a worker, at once or when one is free; `number` names the task in `wait`."""
        ...

    def wait(self) -> list[tuple[int, Done | Lost]]:
        """Wait until at least one task has ended, and return the numbers of those that have, with their results.

        Raises the exception of the function, if it raised one.
        """
        ...

    def close(self, *, cancel: bool) -> None:
        """End all workers. cancel: end them at once, although tasks are running."""
        ...
