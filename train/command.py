"""Implementation of `python -m train`: read the settings, start or resume a run, train, and show the results."""

import json
import shlex
from argparse import ArgumentParser
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.arena.report import build_pair_tables
from agents.checkpoint_file import list_checkpoints
from agents.policy_file import policy_json_path
from agents.tools.command import python_command
from agents.tools.files import UserError, lock_folder, write_json
from agents.tools.options import read_settings
from agents.tools.settings import option_name
from agents.tools.startup import INTERRUPTED
from agents.tools.threads import use_one_blas_thread
from felicity_env.kernel import MAX_THREADS
from train.algorithms import DEFAULT, load_trainer
from train.config import COMMAND_SETTINGS, WITH_RESUME, Config, find_foreign_players, read_config
from train.progress import Progress, report_waiting
from train.storage import CONFIG, EVALUATION, choose_run_folder, create_run_folder
from train.trainer import Trainer


def read_arguments(arguments: Sequence[str]) -> tuple[Config, list[str]]:
    """Read the settings of a training run from the arguments `[ALGORITHM] [options]` of `python -m train`.

    Returns the settings and the names of the options that the user gave, such as `--seed`. Default values depend on the
    algorithm and the device. Raises `UserError` if the algorithm is unknown, or if `--resume` is given together with an
    option that cannot be changed in a resumed run.
    """
    is_named = bool(arguments) and not arguments[0].startswith("-")
    name, options = (arguments[0], arguments[1:]) if is_named else (DEFAULT, arguments)
    named = [word.split("=")[0].replace("_", "-") for word in options if word.startswith("--")]
    kind = load_trainer(name).config_class
    settings = [option.removeprefix("--").replace("-", "_") for option in named]
    default = kind.choose_defaults(_find_device(options), settings)
    config = read_settings(kind, f"python -m train {name}", options, default)
    others = [*arguments[:1], *named] if is_named else named
    if config.resume and (others := [word for word in others if word not in map(option_name, WITH_RESUME)]):
        raise UserError(f"--resume continues with the settings of the run; leave out {' '.join(others)}")
    return config, named


def train(config: Config, named: Collection[str] = ()) -> int:
    """Start a training run, or continue the run in the folder `config.resume`; return the exit status.

    The run is trained to its end and evaluated, unless the user stops it. named: names of the options that the user
    gave. If `--total-timesteps` is one of them, a continued run is extended to that new total.
    """
    use_one_blas_thread()
    console, folder = Console(), config.resume or choose_run_folder(config)
    try:
        if config.resume:
            return _continue(config, config.total_timesteps if "--total-timesteps" in named else None, console)
        return _begin(config, folder, console)
    except KeyboardInterrupt:
        stored = (folder / CONFIG).exists()
        advice = f"continue: {_resume_command(config, folder)}" if stored else "nothing was stored"
        raise KeyboardInterrupt(advice) from None


def _begin(config: Config, folder: Path, console: Console) -> int:
    """Start a training run in a new folder, train to its end, and return the exit status of the command."""
    config = config.resolve()
    trainer = _create_trainer(config, folder)  # before the folder, because it refuses impossible settings
    create_run_folder(replace(config, out=folder))
    with lock_folder(folder):
        return _learn(trainer, console)


def _continue(config: Config, total: int | None, console: Console) -> int:
    """Continue the training run in the folder `config.resume`, and return the exit status of the command.

    total: new number of decisions to learn from in the whole run, or None to keep the stored number.
    """
    folder: Any = config.resume
    if not folder.is_dir():
        raise UserError(f"there is no run folder {folder}")
    if not (folder / CONFIG).exists():
        raise UserError(f"{folder} is no run folder: it has no {CONFIG}")
    with lock_folder(folder):
        return _learn(_resume(config, total, console), console)


def _create_trainer(config: Config, folder: Path) -> Trainer:
    with _explain_memory():
        return load_trainer(config.algorithm)(config, folder)


@contextmanager
def _explain_memory() -> Iterator[None]:
    """Turn an error for lack of memory, on the host or on a GPU, into a `UserError` (context manager)."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        from torch import OutOfMemoryError  # torch is imported where a run needs it

        texts = ("can't allocate memory", "Storage size calculation overflowed")  # torch has no class for these
        if isinstance(error, MemoryError | OutOfMemoryError) or any(text in str(error) for text in texts):
            sizes = "--num-envs, --num-steps or --hidden-sizes"
            raise UserError(f"there is not enough memory for a run of this size; make {sizes} smaller") from error
        raise


def _resume(given: Config, total: int | None, console: Console) -> Trainer:
    """Return a trainer that continues the training run in the folder `given.resume` from its newest checkpoint.

    If the run has no checkpoint yet, the trainer begins at the start. given: the settings of this command. total: new
    number of decisions to learn from in the whole run, or None to keep the stored number. Raises `UserError` if `total`
    is not larger than the stored number.
    """
    folder: Any = given.resume
    config = read_config(folder / CONFIG, allow=given.allow)
    before = config.total_timesteps
    if total is not None and total <= before:
        raise UserError(f"--total-timesteps is the new total: it must be more than the run's {before:,}, not {total:,}")
    threads = given.threads or (config.threads and min(config.threads, MAX_THREADS))
    config = replace(config, threads=threads, total_timesteps=total or before, **_take_from_command(given, config))
    trainer = _create_trainer(config, folder)
    report = partial(_print, console)
    if list_checkpoints(folder) or policy_json_path(folder).exists():
        trainer.restore(report)
    else:
        report(f"{folder} has no checkpoint yet: it starts from the beginning")
    if total is not None and trainer.timesteps >= total:
        raise UserError(f"{folder} has learned from {trainer.timesteps:,} decisions; --total-timesteps must be more")
    if total is not None:
        _extend(trainer, before)
        report(_describe_extension(config, trainer.timesteps, before))
    return trainer


def _take_from_command(given: Config, config: Config) -> dict[str, Any]:
    """Return those settings of a resumed run that are taken from this command, `COMMAND_SETTINGS`, {name: value}.

    given: the settings of this command. config: those of the run. Raises `UserError` if the run's algorithm has no such
    setting.
    """
    if foreign := [option_name(name) for name in _list_command_settings(given) if not hasattr(config, name)]:
        raise UserError(f"{config.algorithm}, with which this run learns, has no {', '.join(foreign)}")
    return {name: getattr(given, name) for name in COMMAND_SETTINGS if hasattr(config, name)}


def _list_command_settings(config: Config) -> dict[str, Any]:
    """Return those of the settings `COMMAND_SETTINGS` that do not have their default, {name: value}."""
    default: Any = type(config)()  # type: ignore[call-arg]  # each algorithm has a default for every setting
    names = [name for name in COMMAND_SETTINGS if hasattr(config, name)]
    return {name: getattr(config, name) for name in names if getattr(config, name) != getattr(default, name)}


def _extend(trainer: Trainer, before: int) -> None:
    """Store the new total of decisions of an extended run, and delete its final policy and its evaluation.

    before: the total before the extension.
    """
    folder, path = trainer.run.folder, trainer.run.folder / CONFIG
    values = json.loads(path.read_text())
    step = {"from": before, "to": trainer.run.config.total_timesteps, "at": trainer.timesteps}
    values |= {"config": trainer.run.config.to_json(), "extended": [*values.get("extended", []), step]}
    write_json(path, values)
    for name in (EVALUATION, "policy.json", "policy.safetensors"):
        (folder / name).unlink(missing_ok=True)


def _describe_extension(config: Config, timesteps: int, before: int) -> str:
    """Return a line of text about the changing settings, such as the learning rate, of an extended training run.

    timesteps: number of decisions learned from so far. before: number of decisions in the whole run before the
    extension.
    """
    now, end = config.compute_schedule(timesteps), config.compute_schedule(config.total_timesteps)
    values = ", ".join(f"{name} {value:.2g} (at the end {end[name]:.2g})" for name, value in now.items())
    return f"extended from {before:,} to {config.total_timesteps:,} decisions; it goes on with {values}"


def _learn(trainer: Trainer, console: Console) -> int:
    """Train a run to its end, evaluate its policy and print the results; return the exit status of the command.

    The exit status is 0, or 130 if the user stopped the run. A run that is already finished is not trained again.
    """
    run, folder = trainer.run, trainer.run.folder
    total = run.config.total_timesteps
    if trainer.timesteps >= total and (results := run.read_evaluation()):
        _print(console, f"{folder} is finished: it has learned from all of its {trainer.timesteps:,} decisions")
        return _show_results(trainer, results, console)
    _print(console, f"run folder {folder}   (Ctrl-C saves and stops)")
    size = run.config.rollout_size
    _print(console, f"the run ends with the first update at {total:,} decisions or more; an update has up to {size:,}")
    with _explain_memory(), Progress(console, total, trainer.timesteps) as progress:
        is_finished = trainer.learn(progress)
    if not is_finished:
        quoted = shlex.quote(str(folder))
        _print(console, f"stopped and saved after {trainer.timesteps:,} decisions")
        _print(console, f"continue:   {_resume_command(run.config, folder)}")
        _print(console, f"evaluate:   {python_command('agents')} evaluate {quoted}")
        return INTERRUPTED
    _print(console, "evaluating ...")
    with report_waiting("evaluating", partial(_print, console)):
        results = run.finish(trainer.layers(), trainer.critic_layers(), trainer.timesteps)
    return _show_results(trainer, results, console)


def _show_results(trainer: Trainer, results: list[dict[str, Any]], console: Console) -> int:
    folder, total = trainer.run.folder, trainer.run.config.total_timesteps
    pairs = [
        result | {"one": "policy", "rest": code, "measures": {"win_share": win_share}}
        for result in results
        for code, win_share in result["win_share"].items()
    ]
    console.print(build_pair_tables(pairs))
    quoted = shlex.quote(str(folder))
    _print(console, f"the policy plays as  net:{folder}")
    search = "--against mc:100 --num-deals 50"  # minutes; search players are slow
    _print(console, f"measure it against more players:  {python_command('agents')} evaluate {quoted} {search}")
    more = f"--total-timesteps {2 * (total if 2 * total > trainer.timesteps else trainer.timesteps)}"
    _print(console, f"train it further:                 {_resume_command(trainer.run.config, folder)} {more}")
    return 0


def _resume_command(config: Config, folder: Path) -> str:
    """Return the command that continues the run in `folder`, with all that the folder does not keep or may not decide.

    config: settings of the run, or of the command that has continued it.
    """
    words = ["--resume", str(folder)]
    if foreign := find_foreign_players((*config.against, *config.allow), config.mix):
        words += ["--allow", *foreign]
    for name, value in _list_command_settings(config).items():
        words += [option_name(name), str(value)]
    return f"{python_command('train')} {shlex.join(words)}"


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, soft_wrap=True)


def _find_device(options: Sequence[str]) -> str:
    """Return the value of the option `--device`, or "auto" if the option is not given.

    The default values of other settings depend on the device.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--device", nargs="?", const="auto", default="auto")
    return parser.parse_known_args(options)[0].device
