"""Training players. `python -m train --help`."""

import os

# Opponents are played by NumPy beside torch; with more than one BLAS thread the two fight over the cores and a lane
# runs five times slower. It counts only if NumPy has not been imported yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
