"""Implementation of `python -m train`: read the settings, start or resume a run, train, and show the results."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.arena.evaluate import build_table
from agents.policy_file import policy_json
from agents.tools.command import read_settings
from agents.tools.files import UserError, lock_folder
from agents.tools.threads import use_one_blas_thread
from felicity_env.kernel import MAX_THREADS
from train.algorithms import DEFAULT, load_trainer
from train.config import Config, read_config
from train.storage import CONFIG, choose_run_folder, create_run_folder, list_checkpoints
from train.trainer import Progress, Trainer


def read_arguments(arguments: Sequence[str]) -> Config:
    """Read the settings from the arguments `[ALGORITHM] [options]`; defaults depend on the algorithm and the device.

    Raises `UserError` if the algorithm is unknown, or if `--resume` is given together with other settings.
    """
    is_named = bool(arguments) and not arguments[0].startswith("-")
    name, options = (arguments[0], arguments[1:]) if is_named else (DEFAULT, arguments)
    named = [word.split("=")[0] for word in options if word.startswith("--")]
    if "--algorithm" in named:
        raise UserError("--algorithm is now the first word: python -m train ALGORITHM [options]")
    kind = load_trainer(name).config_class
    settings = [option.removeprefix("--").replace("-", "_") for option in named]
    default = kind.choose_defaults(_find_device(options), settings)
    config = read_settings(kind, f"python -m train {name}", options, default)
    others = [*arguments[:1], *named] if is_named else named
    if config.resume and (others := [word for word in others if word != "--resume"]):
        raise UserError(f"--resume continues with the settings of the run; leave out {' '.join(others)}")
    return config


def train(config: Config) -> int:
    """Start a run, or resume the run `config.resume`; train it to its end and evaluate it; return the exit status."""
    use_one_blas_thread()
    console = Console()
    if config.resume:
        if not config.resume.is_dir():
            raise UserError(f"there is no run folder {config.resume}")
        with lock_folder(config.resume):
            return _learn(_resume(config.resume, console), console)
    folder = choose_run_folder(config)
    # The trainer comes before the folder, because it refuses impossible settings.
    trainer = load_trainer(config.algorithm)(config, folder)
    create_run_folder(replace(config, out=folder))
    with lock_folder(folder):
        return _learn(trainer, console)


def _resume(folder: Path, console: Console) -> Trainer:
    """Return the trainer of a stopped run, restored from its last checkpoint; without one the run starts again."""
    config = read_config(folder / CONFIG)
    # A run that was started on a machine with more cores continues with those of this one.
    config = replace(config, threads=config.threads and min(config.threads, MAX_THREADS))
    trainer = load_trainer(config.algorithm)(config, folder)
    if list_checkpoints(folder) or policy_json(folder).exists():
        trainer.restore(lambda text: _print(console, text))
    else:
        _print(console, f"{folder} has no checkpoint yet: it starts from the beginning")
    return trainer


def _learn(trainer: Trainer, console: Console) -> int:
    """Train a run to its end and print its evaluation; return the exit status, 130 if the user stopped it."""
    run, folder = trainer.run, trainer.run.folder
    if trainer.timesteps >= run.config.total_timesteps and (results := run.read_evaluation()):
        _print(console, f"{folder} is finished: it has learned from all of its {trainer.timesteps:,} decisions")
        return _show_results(folder, results, console)
    _print(console, f"run folder {folder}   (Ctrl-C saves and stops)")
    with Progress(console, run.config.total_timesteps, trainer.timesteps) as progress:
        is_finished = trainer.learn(progress)
    if not is_finished:
        resume = f"python -m train --resume {shlex.quote(str(folder))}"
        _print(console, f"stopped and saved; continue with:  {resume}")
        return 130
    _print(console, "evaluating ...")
    return _show_results(folder, run.finish(trainer.layers(), trainer.timesteps), console)


def _show_results(folder: Path, results: list[dict[str, Any]], console: Console) -> int:
    pairs = [
        result | {"one": "policy", "rest": code, "measures": {"win_share": win_share}}
        for result in results
        for code, win_share in result["win_share"].items()
    ]
    console.print(build_table(pairs))
    _print(console, f"the policy plays as  net:{folder}")
    return 0


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _find_device(options: Sequence[str]) -> str:
    """Return the value of `--device`, on which the defaults of other settings depend; "auto" if it is not given."""
    for option, value in pairwise([*options, ""]):
        if option == "--device":
            return value
        if option.startswith("--device="):
            return option.partition("=")[2]
    return "auto"
