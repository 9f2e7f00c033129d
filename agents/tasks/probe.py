"""Probe of how a machine computes, which shows whether it gives the same numbers as another, bit for bit.

Matrix products and exponentials depend on which instructions a processor has. `PORTABLE` lets the libraries use those
that all x86-64 processors with AVX2 have, so that such machines compute alike.
"""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np

from agents.tools.startup import PORTABLE
from agents.tools.threads import use_one_blas_thread
from felicity_env import Batch

ROWS, STEPS = 64, 200
GRADIENTS = "gradients"


@functools.cache
def probe(*, with_gradients: bool = False) -> dict[str, str]:
    """Return digests of some computations of this process, {what is computed: 8 hex digits}.

    with_gradients: let torch compute the gradients of a network, too.
    """
    rng = np.random.default_rng(0)
    rows, weights = (rng.standard_normal(shape, np.float32) for shape in ((ROWS, 188), (188, 128)))
    products = rows @ weights
    return {
        "matrix products": _digest(products),
        "exponentials": _digest(*(f(v) for f in (np.exp, np.tanh) for v in (products, products.astype(float)))),
        "sums": _digest(products.mean(axis=0), products.astype(float).mean(axis=1)),
        "games": _digest(*_play()),
        **({GRADIENTS: _digest(*_compute_gradients(rows))} if with_gradients else {}),
    }


def _play() -> tuple[np.ndarray, ...]:
    """Play games with pseudo-random legal actions, and return what the batch shows at their end."""
    batch, rng = Batch(ROWS, num_players=4, seed=0), np.random.default_rng(1)
    for _ in range(STEPS):
        draws = rng.random(batch.action_masks.shape, np.float32)
        batch.step(np.where(batch.action_masks == 1, draws, -1).argmax(axis=1))
    return batch.observations, batch.action_masks, batch.scores


def _compute_gradients(rows: np.ndarray) -> list[np.ndarray]:
    """Return the gradients of a small network with one thread, for the sum of its outputs' exponentials."""
    import torch
    from torch import nn

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(rows.shape[1], 128), nn.Tanh(), nn.Linear(128, 74))
    network(torch.from_numpy(rows)).exp().sum().backward()
    torch.set_num_threads(threads)
    return [parameter.grad.numpy() for parameter in network.parameters() if parameter.grad is not None]


def _digest(*arrays: np.ndarray) -> str:
    return sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:8]


def probe_portable(*, with_gradients: bool = False) -> dict[str, str]:
    """Return the digests of `probe` in another process of this machine that computes as `PORTABLE` says."""
    environment = {**os.environ, **PORTABLE, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    call = f"print_probe(with_gradients={with_gradients})"
    command = [sys.executable, "-c", f"from {__name__} import print_probe; {call}"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def describe_difference(expected: Mapping[str, str]) -> str:
    """Return text on which computations of this process differ from the digests that are expected, or ""."""
    digests = probe(with_gradients=GRADIENTS in expected)
    different = [name for name, digest in expected.items() if digests.get(name) != digest]
    return f"its {' and its '.join(different)} differ from those of this machine" if different else ""


def print_probe(*, with_gradients: bool) -> None:
    """Print the digests of `probe` with one thread for matrix products, as JSON."""
    use_one_blas_thread()
    print(json.dumps(probe(with_gradients=with_gradients)))
