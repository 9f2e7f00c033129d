"""What the commands share that fit a network to samples of many games: settings, tables, fitting, folder, command line.

`train.distill` and `train.imitate` are these commands.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn

import agents
from agents.compiled import CompiledPlayer
from agents.network import save_policy
from felicity_env import Batch, game_seed
from felicity_env.tables import Tables
from train import run_folder
from train.checks import no_learner, not_positive, refuse
from train.device import check_threads
from train.opponents import SELF, OpponentPool
from train.policy import ACTIVATION, ActorCritic
from train.run_folder import RunError
from train.samples import files_of, read

MIX = {SELF: 0.4, "tuned": 0.1, "ev": 0.1, "anchor": 0.1}
GUESTS = {"tuned": 0.1, "ev": 0.1, "anchor": 0.1}
ALONE = 0.2  # of the tables with `others`: the learner is alone among them; else one of them is among learners
SPREAD_STEPS = 60  # decisions of learners, as `tuned`, before the first sample, so that all rounds are among them
_GAMES = 3  # of the seed: apart from those of the trainers


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of both commands; each has defaults of its own."""

    in_samples: ClassVar[str]  # the name of an array that only this command's samples have
    run: Path
    """Folder of the run; the same command goes on with it."""
    num_players: tuple[int, ...] = (3, 4, 5)
    """Seats at the tables."""
    others: tuple[str, ...] = ()
    """Codes of the players beside those whose decisions count, by default those of the ladder."""
    also: tuple[Path, ...] = ()
    """Other runs of this command, whose samples count too."""
    parts: int
    """Files of samples."""
    part_size: int
    """Samples in a file."""
    hidden_sizes: tuple[int, ...] = (256, 256)
    """Of the network."""
    epochs: int
    """Passes over all samples."""
    batch_size: int
    """Samples in a minibatch."""
    learning_rate: float = 1e-3
    """Of Adam at the start; falls linearly to zero."""
    num_envs: int
    """Games side by side."""
    seed: int = 0
    """Of games and weights."""
    threads: int = 2
    """Cores."""

    def __post_init__(self) -> None:
        numbers = [field.name for field in fields(self) if type(getattr(self, field.name)) in (int, float)]
        refuse(not_positive(self, *(name for name in numbers if name != "seed")), no_learner(self))
        check_threads(self.threads)
        for code in self.others:
            agents.make(code)
        for run in self.also:
            if not files_of(run) or self.in_samples not in read(files_of(run)[0]):
                raise ValueError(f"--also {run}: there are no samples of this command")

    @property
    def pool(self) -> OpponentPool:
        """Who sits at the tables."""
        if not self.others:
            return OpponentPool(MIX, guests=GUESTS)
        return OpponentPool(dict.fromkeys(self.others, ALONE), guests=dict.fromkeys(self.others, 1 - ALONE))


C = TypeVar("C", bound=Config)


def tables(config: Config, part: int) -> tuple[Batch, Tables]:
    """Games in all their rounds for a file of samples, each part with deals of its own."""
    seats = np.resize(np.array(config.num_players), config.num_envs)
    batch = Batch(config.num_envs, seats.tolist(), seed=game_seed(config.seed, _GAMES, part), open_mice=True)
    found = config.pool.tables(batch)
    found.begin()
    for _ in range(SPREAD_STEPS):
        found.step(CompiledPlayer("tuned").act(batch.view(np.arange(config.num_envs))))
    return batch, found


def minimise(
    loss: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    size: int,
    config: Config,
    *,
    seed: int,
    longest: float = float("inf"),
) -> None:
    """Make the mean `loss` of the rows 0 to `size` small, in minibatches; the rate falls linearly to zero.

    seed: of their order. longest: longer gradients are shortened to this.
    """
    torch.set_num_threads(config.threads)
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    count = max(1, size // config.batch_size)
    steps, generator = count * config.epochs, torch.Generator().manual_seed(seed)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in track(range(config.epochs), "fitting"):
        for rows in torch.randperm(size, generator=generator).tensor_split(count):
            optimizer.zero_grad()
            loss(rows).backward()
            nn.utils.clip_grad_norm_(parameters, longest)
            optimizer.step()
            schedule.step()


def save(folder: Path, network: ActorCritic, config: Config, **about: Any) -> None:
    """Write a network as a policy; `about` goes into its JSON too."""
    folder.mkdir(parents=True, exist_ok=True)
    about |= {"open_mice": True, "num_players": list(config.num_players), "commit": run_folder.commit()}
    save_policy(folder, network.layers(), activation=ACTIVATION, **about)


def begin(config: Config) -> None:
    """Make the folder and write its settings; a folder of other settings is refused."""
    settings = {name: value for name, value in asdict(config).items() if name not in ("run", "threads")}
    settings = json.loads(json.dumps(settings, default=str))  # as it is read again
    path = config.run / run_folder.CONFIG
    if path.exists():
        begun = json.loads(path.read_text())["config"]
        if unlike := [name for name in begun | settings if begun.get(name) != settings.get(name)]:
            raise RunError(f"{config.run} was begun with other settings: {', '.join(unlike)}")
        return
    if config.run.exists():
        raise RunError(f"{config.run} exists already and is no run of this command; choose another --run")
    (config.run / "samples").mkdir(parents=True)
    run_folder.write_json(path, {"config": settings, **run_folder.provenance()})


def command(kind: type[C], name: str, arguments: list[str] | None, work: Callable[[C, Console], None]) -> int:
    """Read the command line of `python -m NAME` and do its work in the folder of the run; the exit status."""
    try:
        config = tyro.cli(kind, prog=f"python -m {name}", args=arguments)
        begin(config)
        with run_folder.held(config.run):
            work(config, Console())
    except (RunError, ValueError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command goes on from here", highlight=False)
        return 130
    return 0
