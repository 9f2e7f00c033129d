"""Training players. `python -m train --help`."""

import ctypes
import os
import sys

# Opponents are played by NumPy beside torch; with more than one BLAS thread the two fight over the cores and a lane
# runs five times slower. It counts only if NumPy has not been imported yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# glibc gives large pieces of memory back as soon as they are free, and a minibatch later takes them again, page by
# page: a tenth of the time of training on a CPU. The numbers are M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h.
if sys.platform == "linux":
    for option, size in ((-3, 2**30), (-1, 2**31 - 1)):
        getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)(option, size)
