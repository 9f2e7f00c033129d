"""Helpers for tests of training: a short training run in the process of the test, its settings, its files."""

from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents.checkpoint_file import Checkpoint, load_checkpoint
from train.__main__ import main
from train.algorithms import load_trainer
from train.maskable_ppo import MaskablePPOConfig

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {
    "--num-envs": 32,
    "--num-steps": 32,
    "--batch-size": 512,
    "--evaluation-deals": 4,
    "--curve-deals": 2,
    "--hidden-sizes": 16,
    "--threads": 1,
}
SMALL = [str(word) for option in OPTIONS.items() for word in option]
TINY = ["maskable-ppo", *SMALL, "--total-timesteps", "4096"]
RUN_FILES = {
    *("config.json", "logs", "learning_curve.json", "learning_curve.png", "evaluation.json", "checkpoints"),
    *("policy.safetensors", "policy.json"),
}


class Outcome(NamedTuple):
    status: int
    output: str  # without line breaks and boxes, so that messages can be found
    errors: str  # in the same way, and without the note that something is compiled, which depends on the tests before


def train(*arguments: object) -> Outcome:
    """Execute `python -m train` with these arguments in this process; return its exit status and output."""
    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:  # the parser exits this way
            status = int(end.code or 0)
    lines = [line for line in errors.getvalue().splitlines() if "compiling for this machine" not in line]
    return Outcome(status, plain(output.getvalue()), plain("\n".join(lines)))


def choose_cpu(algorithm: str) -> list[str]:
    """Return the command-line options that make an algorithm train on the CPU.

    The list is empty for an algorithm that has no choice, because it always trains on the CPU.
    """
    names = {field.name for field in fields(load_trainer(algorithm).config_class)}
    return ["--device", "cpu"] if "device" in names else []


def short_run(run: Path) -> tuple[Path, Outcome]:
    """Train a short run to its end in the folder `run`, and return the folder and the outcome of the command.

    Its learning curve has a few points.
    """
    return run, train(*TINY, "--curve-every", "2048", "--out", run)


def plain(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file in a folder, by path, without the file that locks the folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"]
    return {str(path): path.read_bytes() for path in files}


def list_names(run: Path) -> set[str]:
    return {path.name for path in run.iterdir()} - {".lock"}


def policy_bytes(run: Path) -> bytes:
    return (run / "policy.safetensors").read_bytes()


def newest(run: Path) -> Checkpoint:
    return load_checkpoint(run, report=print)


def small_config(**settings: object) -> MaskablePPOConfig:
    small = {"num_envs": 32, "num_steps": 32, "batch_size": 512, "hidden_sizes": (16,), "threads": 1}
    few = {"total_timesteps": 4096, "curve_deals": 2, "evaluation_deals": 2}
    return MaskablePPOConfig(**(small | few | settings))


def flat(layers: list[tuple[np.ndarray, np.ndarray]]) -> bytes:
    return b"".join(array.tobytes() for layer in layers for array in layer)
