"""What tests of the training command share: a short run in this process, its settings, what it leaves."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from train import checkpoint
from train.__main__ import cli
from train.config import MaskableConfig

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = {
    "--num-envs": 32,
    "--num-steps": 32,
    "--batch-size": 512,
    "--evaluation-blocks": 4,
    "--curve-blocks": 2,
    "--hidden-sizes": 16,
    "--threads": 1,
}
SMALL = [str(word) for option in OPTIONS.items() for word in option]
TINY = [*SMALL, "--total-timesteps", "4096"]


class Outcome(NamedTuple):
    status: int
    output: str  # without line breaks and boxes, so that messages can be found
    errors: str


def train(*arguments: object) -> Outcome:
    """`python -m train` in this process."""
    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = cli([str(argument) for argument in arguments])
        except SystemExit as end:  # the parser's way
            status = int(end.code or 0)
    return Outcome(status, plain(output.getvalue()), plain(errors.getvalue()))


def short_run(run: Path) -> tuple[Path, Outcome]:
    """Begun and finished, with a few points in its curve."""
    return run, train(*TINY, "--curve-every", "2048", "--run", run)


def plain(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def tensors_of(run: Path) -> bytes:
    return (run / "policy.safetensors").read_bytes()


def newest(run: Path) -> checkpoint.Checkpoint:
    return checkpoint.load(run, say=print)


def small_config(**settings: object) -> MaskableConfig:
    small = {"num_envs": 32, "num_steps": 32, "batch_size": 512, "hidden_sizes": (16,), "threads": 1}
    few = {"total_timesteps": 4096, "curve_blocks": 2, "evaluation_blocks": 2}
    return MaskableConfig(**(small | few | settings))


def flat(layers: list[tuple[np.ndarray, np.ndarray]]) -> bytes:
    return b"".join(array.tobytes() for layer in layers for array in layer)
