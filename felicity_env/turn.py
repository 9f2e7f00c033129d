"""Guard of an object that only one thread may change at a time."""

import threading


class Turn:
    """Context manager that raises `RuntimeError` if another thread is inside it; it never waits.

    owner: word for the guarded object in the message. A copy, also a pickled one, is a new guard.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(f"another thread is playing in this {self.owner}; give every thread one of its own")

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["Turn"], tuple[str]]:
        return Turn, (self.owner,)
