"""`python -m train`: train a player, evaluate it, and leave everything in a run folder."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import tyro
from rich.console import Console

from agents.network import description_of
from train import run_folder
from train.checkpoint import checkpoints
from train.config import Config, MaskableConfig, SelfplayConfig, read_config
from train.device import check_threads, default_settings
from train.evaluation import as_table
from train.progress import Progress
from train.run import Trainer
from train.run_folder import RunError

SIZES = {"--num-envs", "--num-steps", "--batch-size", "--total-timesteps"}  # who names one means the usual others


def main(config: Config, console: Console) -> int:
    """Train or resume; the exit status."""
    folder = _to_resume(config) if config.resume else run_folder.create(config)
    with run_folder.held(folder):
        trainer = _resumed(folder, console) if config.resume else _begun(config, folder)
        return _trained(trainer, console)


def _trained(trainer: Trainer, console: Console) -> int:
    run, folder = trainer.run, trainer.run.folder
    if trainer.timesteps >= run.config.total_timesteps and (evaluated := run.evaluation()):
        told = f"{folder} is finished: all of its {trainer.timesteps:,} decisions are learned"
        console.print(told, highlight=False, soft_wrap=True)
        return _shown(folder, evaluated, console)
    console.print(f"run folder {folder}   (Ctrl-C saves and stops)", highlight=False, soft_wrap=True)
    with Progress(console, run.config.total_timesteps, trainer.timesteps) as progress:
        finished = trainer.learn(progress)
    if not finished:
        how = f"stopped and saved; go on with:  python -m train --resume {shlex.quote(str(folder))}"
        console.print(how, highlight=False, soft_wrap=True)
        return 130
    console.print("evaluating ...", highlight=False)
    return _shown(folder, run.finish(trainer.layers(), trainer.timesteps), console)


def _shown(folder: Path, evaluated: list[dict[str, Any]], console: Console) -> int:
    console.print(as_table(evaluated))
    console.print(f"the policy plays as  net:{folder}", highlight=False, soft_wrap=True)
    return 0


def _trainer(config: Config, folder: Path) -> Trainer:
    check_threads(config.threads)
    if isinstance(config, SelfplayConfig):
        from train.selfplay import SelfplayTrainer

        return SelfplayTrainer(config, folder)
    from train.maskable_ppo import MaskablePPOTrainer  # its library takes seconds to import

    assert isinstance(config, MaskableConfig)
    return MaskablePPOTrainer(config, folder)


def _begun(config: Config, folder: Path) -> Trainer:
    try:
        return _trainer(config, folder)
    except (ValueError, RunError):
        run_folder.remove_empty(folder)
        raise


def _to_resume(config: Config) -> Path:
    assert config.resume is not None
    if not config.resume.is_dir():
        raise RunError(f"there is no run folder {config.resume}")
    return config.resume


def _resumed(folder: Path, console: Console) -> Trainer:
    """A run that was stopped before its first checkpoint begins again, which makes it the same run."""

    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    trainer = _trainer(read_config(folder / run_folder.CONFIG), folder)
    if checkpoints(folder) or description_of(folder).exists():
        trainer.restore(say)
    else:
        say(f"{folder} has no checkpoint yet: it begins again")
    return trainer


def read_arguments(arguments: Sequence[str]) -> Config:
    """The settings on the command line, with the defaults of the algorithm named there."""
    names = argparse.ArgumentParser(add_help=False)
    names.add_argument("--algorithm", default="maskable-ppo")
    names.add_argument("--device", default="auto")
    named = names.parse_known_args([word for word in arguments if word not in ("-h", "--help")])[0]
    options = [name for word in arguments if (name := word.split("=")[0]).startswith("--") and name != "--resume"]
    default = default_settings(named.algorithm, "cpu" if SIZES & set(options) else named.device)
    prog = f"python -m train --algorithm {default.algorithm}"  # whose help it is
    config = tyro.cli(type(default), default=default, prog=prog, args=list(arguments))
    if config.resume and options:
        raise RunError(f"--resume goes on with the settings of the run; leave out {' '.join(options)}")
    return config


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    matplotlib.use("agg")
    console = Console()
    try:
        return main(read_arguments(sys.argv[1:] if arguments is None else arguments), console)
    except (RunError, ValueError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print(
            "stopped; --resume RUN goes on from the run's last checkpoint, if there is one", highlight=False
        )
        return 130


if __name__ == "__main__":
    sys.exit(cli())
