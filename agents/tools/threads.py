"""Number of threads that the numerical libraries (BLAS) may use."""

import threadpoolctl


def use_one_blas_thread() -> None:
    """Limit NumPy's matrix products to one thread in this process.

    Commands run several processes, or torch with its own threads. With more than one BLAS thread these compete for the
    cores: opponents that are networks then ran five times slower.
    """
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")
