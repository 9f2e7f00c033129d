"""Where the tests of games on a GPU run: Numba's simulator, kernels translated to C, or a GPU.

The variable FELICITY_GPU names one of them; `tests/test_simulated_gpu.py` runs the tests in the simulator.
"""

import os
from collections.abc import Iterator

import pytest

GPU = os.environ.get("FELICITY_GPU", "")  # simulator, translated, or device


@pytest.fixture(autouse=True, scope="session")
def gpu() -> Iterator[None]:
    """Let `felicity_env.cuda.Batch` find the GPU that these tests use."""
    if GPU == "translated":
        from experiments.cuda.translated_gpu import use_translated_gpu

        with use_translated_gpu():
            yield
    else:
        yield


@pytest.fixture(scope="session")
def size() -> int:
    """Return a number of games: the simulator plays a thousand decisions a second."""
    return 6 if GPU == "simulator" else 300
