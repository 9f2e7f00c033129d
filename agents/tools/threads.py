"""Threads of the numerical libraries."""

import threadpoolctl


def use_one_blas_thread() -> None:
    """Limit NumPy's matrix products to one thread in this process.

    Commands play with several processes or beside torch's threads. With more than one BLAS thread they fight over the
    cores: snapshot opponents then ran five times slower.
    """
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")
