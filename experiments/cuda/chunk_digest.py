"""Digests of all that a batch of games writes while a chunk of games is played, to compare devices.

A process of its own can play in Numba's simulator, where the rules are plain Python:
`python -m experiments.cuda.chunk_digest K NUM_GAMES` prints the digests as JSON.
"""

import json
import os
import subprocess
import sys
from hashlib import sha256
from itertools import product
from typing import Any

import numpy as np

from agents.tools.files import UserError
from agents.tools.seeds import SEEDS
from felicity_env import REWARDS, Setup, game_seed

STEPS = 100
SETUPS: tuple[Any, ...] = (
    *("standard-3", "standard-4", "standard-5", "small-2-dummy"),
    Setup(seats=4, mouse_cards=(1, 0, 7), bank=11, dummy=True, mice=9, rounds=5, cards=(0, 1, 2, 5, 7, 8, 9)),
    Setup(seats=3, mouse_cards=(9, 2), bank=0, mice=40, rounds=2, removed=0),
)
CASES = tuple(product(SETUPS, REWARDS))
SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}


def digest_chunk(batch_class: Any, k: int, num_games: int) -> dict[str, str]:
    """Play chunk k in a batch of the given class, and return the digest of all that was in each buffer, by name.

    The setup and the reward are those of case k; open mice and records alternate. The actions are random, and each
    depends on the action mask that the batch shows.
    """
    setup, reward = CASES[k % len(CASES)]
    options = {"open_mice": bool(k & 1), "record": bool(k & 2), "reward": reward, "setup": setup}
    batch = batch_class(num_games, seed=game_seed(SEEDS["gpu"], k, 0), **options)
    rng, digests = np.random.default_rng(game_seed(SEEDS["gpu"], k, 1)), {}
    for step in range(STEPS + 1):
        for name, buffer in batch.buffers._asdict().items():
            digests.setdefault(name, sha256()).update(np.ascontiguousarray(_to_numpy(buffer)).tobytes())
        if step < STEPS:
            masks = _to_numpy(batch.action_masks)
            batch.step(_to_device(batch, np.where(masks == 1, rng.random(masks.shape), -1.0).argmax(axis=1)))
    return {name: digest.hexdigest()[:16] for name, digest in digests.items()}


def _to_numpy(buffer: Any) -> np.ndarray:
    return buffer if isinstance(buffer, np.ndarray) else buffer.cpu().numpy()


def _to_device(batch: Any, actions: np.ndarray) -> Any:
    if isinstance(batch.seats, np.ndarray):
        return actions
    import torch

    return torch.from_numpy(actions).to(batch.device)


def digest_in_simulator(k: int, num_games: int) -> dict[str, str]:
    """Play chunk k in Numba's simulator, in a process of its own, and return the digests of its buffers."""
    command = [sys.executable, "-m", "experiments.cuda.chunk_digest", str(k), str(num_games)]
    done = subprocess.run(command, env={**os.environ, **SIMULATOR}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"the simulator failed: {done.stderr.splitlines()[-1]}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    from felicity_env.cuda import Batch

    print(json.dumps(digest_chunk(Batch, *map(int, sys.argv[1:]))))
