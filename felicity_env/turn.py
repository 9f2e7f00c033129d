"""Guard that lets only one thread at a time change an object."""

import threading


class Turn:
    """Context manager that raises `RuntimeError` at once if another thread is already inside it.

    owner: word for the guarded object in the error message. A copied or unpickled guard is new, with no thread inside.
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
