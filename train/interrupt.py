"""Ctrl-C and the signals of schedulers, which let a training run save and stop."""

import signal
from types import FrameType

from train.progress import Progress


class Interrupt:
    """Context manager in which Ctrl-C asks a training run to save and stop, instead of ending the program at once.

    The first Ctrl-C sets `is_requested`, which the trainer reads; the second raises `KeyboardInterrupt`. The signals
    SIGTERM, which a scheduler sends to end a job, and SIGHUP, which a closing terminal sends, have the same effect as
    the first Ctrl-C, however often they come: a scheduler and the process that waits for this one may both send them.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress, self.is_requested = progress, False
        self.when = "soon"  # when the run stops, for the message

    def __enter__(self) -> "Interrupt":
        signals = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        self._previous_handlers = {number: signal.signal(number, self._request) for number in signals}
        return self

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.is_requested:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return
        self.is_requested = True
        again = "Ctrl-C again stops at once and loses what is not saved"
        self.progress.print(f"stopping {self.when}, and saving ({again}) ...")

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
