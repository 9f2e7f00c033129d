"""Number of threads that the numerical libraries (BLAS) may use."""

import numpy  # noqa: F401  # a limit reaches only libraries that are loaded, and NumPy brings one
import threadpoolctl


def use_one_blas_thread() -> None:
    """Limit NumPy's matrix products to one thread in this process.

    If several processes use more threads each, they are several times slower.
    """
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")
