"""Preparation of a command before its slow imports: Ctrl-C, an output that nobody reads, and waiting threads."""

import io
import os
import signal
import sys
from types import FrameType
from typing import Any

INTERRUPTED = 130  # exit status after Ctrl-C
PORTABLE_VARIABLE = "FELICITY_PORTABLE"  # of the user; with the value 1 a command sets the following
PORTABLE = {  # variables that let numerical libraries compute alike on all x86-64 processors with AVX2
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2",
}
_SIGNALS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}  # with what Python does at first


def begin_command() -> None:
    """Handle Ctrl-C, SIGTERM and a closed output without a traceback while the modules of a command are imported.

    Ctrl-C and SIGTERM end the process with one line until `raise_at_ctrl_c` is called. A closed output never ends it.
    The numerical libraries use one thread, and several sleep while they wait, unless the variables `OMP_NUM_THREADS`
    and `OMP_WAIT_POLICY` say otherwise; `--threads` of training sets the number of torch's threads. With
    `FELICITY_PORTABLE=1`, or with the option `--ray`, these libraries use only what all x86-64 processors with AVX2
    have.
    """
    # Threads that wait in a loop take the cores from those that work, if other programs use some of the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # also for a bot with networks, such as a model of torch
    if os.environ.get(PORTABLE_VARIABLE) == "1" or "--ray" in [word.split("=")[0] for word in sys.argv]:
        os.environ.update(PORTABLE)
    for number, usual in _SIGNALS.items():
        if signal.getsignal(number) is usual:
            signal.signal(number, _stop)
    if type(sys.stdout) is io.TextIOWrapper:
        raw = _Output(sys.stdout.fileno(), "w", closefd=False)
        settings = {"encoding": sys.stdout.encoding, "errors": sys.stdout.errors}
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=raw.isatty(), **settings)


def raise_at_ctrl_c() -> None:
    """Let Ctrl-C and SIGTERM raise `KeyboardInterrupt`, if `begin_command` has changed what they do."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> None:
    """End the process at once with one line of text, when Ctrl-C is pressed or SIGTERM comes during slow imports.

    An exception would be raised inside an import, and some libraries would catch it.
    """
    os.write(sys.stderr.fileno(), b"stopped; nothing was stored\n")
    os._exit(INTERRUPTED)


class _Output(io.FileIO):
    """Standard output that discards everything after its reader has gone, as in `python -m train | head -1`."""

    def write(self, content: Any) -> int:
        """Write bytes, or discard them and all later ones if nobody reads them; return their number."""
        try:
            return super().write(content)
        except BrokenPipeError:
            if not {"--help", "-h"} & set(sys.argv):
                print("nobody reads the output any more; the command goes on without it", file=sys.stderr, flush=True)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(content)
