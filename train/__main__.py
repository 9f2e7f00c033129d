"""`python -m train`: train a player, evaluate it, and leave everything in a run folder."""

import sys

import matplotlib
import tyro
from rich.console import Console

from train import run_folder
from train.config import Config, read_config
from train.evaluation import as_table
from train.maskable_ppo import Trainer
from train.progress import Progress
from train.run_folder import RunError


def main(config: Config, console: Console) -> int:
    """Train or resume; the exit status."""
    trainer = _resumed(config) if config.resume else _begun(config)
    folder = trainer.folder
    console.print(f"run folder {folder}   (Ctrl-C saves and stops)", highlight=False, soft_wrap=True)
    with Progress(console, trainer.config.total_timesteps, trainer.model.num_timesteps) as progress:
        finished = trainer.learn(progress)
    if not finished:
        how = f"stopped and saved; go on with:  python -m train --resume {folder}"
        console.print(how, highlight=False, soft_wrap=True)
        return 130
    console.print("evaluating ...", highlight=False)
    console.print(as_table(trainer.finish()))
    console.print(f"the policy plays as  net:{folder}", highlight=False, soft_wrap=True)
    return 0


def _begun(config: Config) -> Trainer:
    return Trainer(config, run_folder.create(config))


def _resumed(config: Config) -> Trainer:
    assert config.resume is not None
    if config.changed_options():
        options = " ".join(config.changed_options())
        raise RunError(f"--resume goes on with the settings of the run; leave out {options}")
    if not config.resume.is_dir():
        raise RunError(f"there is no run folder {config.resume}")
    trainer = Trainer(read_config(config.resume / run_folder.CONFIG), config.resume)
    trainer.restore()
    return trainer


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    matplotlib.use("agg")
    console = Console()
    try:
        config = tyro.cli(Config, prog="python -m train", args=arguments)
        return main(config, console)
    except (RunError, ValueError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; --resume goes on from the run's last checkpoint", highlight=False)
        return 130


if __name__ == "__main__":
    sys.exit(cli())
