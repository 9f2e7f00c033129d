"""Preparation of worker processes, which never outlive the process that started them."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading

from agents.tools.threads import use_one_blas_thread


def start_worker() -> None:
    """Prepare a worker process: it ignores Ctrl-C, ends with its parent, and uses one thread for matrix products."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the process that waits for this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_blas_thread()


def _end_with_parent() -> None:
    """Wait until the parent process has ended, however it ended, and end this process too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
