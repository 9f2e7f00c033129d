"""Where a run computes: cores, the device, the precision that is fast there, the settings that suit it."""

from dataclasses import replace

import torch

from felicity_env.kernel import MAX_THREADS
from train.config import DEFAULTS, Config, SelfplayConfig

_TIMES = 16  # as many games, decisions in a minibatch and decisions in all: as many updates, of better estimates
_ENLARGED = ("num_envs", "batch_size", "total_timesteps", "curve_every")


def default_settings(algorithm: str, device: str) -> Config:
    """The defaults of an algorithm; its run is larger on a GPU, which computes large batches as fast as small ones."""
    default = DEFAULTS.get(algorithm, DEFAULTS["maskable-ppo"])  # a wrong name is refused elsewhere
    if not isinstance(default, SelfplayConfig) or device_of(device) != "cuda":
        return default
    return replace(default, **{name: _TIMES * getattr(default, name) for name in _ENLARGED})


def check_threads(threads: int) -> None:
    """Raise `ValueError` if this machine has not so many."""
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"--threads must be 1 to {MAX_THREADS} on this machine, not {threads}")


def device_of(wish: str) -> str:
    """The device meant by `--device`; raises `ValueError` if it is not there."""
    if wish == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch finds no CUDA device here; leave the option out, or use cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if wish == "auto" else wish


def dtype_of(wish: str, device: str) -> torch.dtype:
    """Of the networks' products by `--precision`: 16 bits where the machine computes faster with them."""
    fast = device == "cuda" or torch.cpu._is_avx512_bf16_supported()
    return torch.bfloat16 if wish == "bfloat16" or (wish == "auto" and fast) else torch.float32
