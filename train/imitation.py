"""Samples in files, a network fitted to them, a run that goes on."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.progress import track
from torch import Tensor

from agents.network import description_of, save_policy
from felicity_env import SETUPS, Batch, game_seed
from felicity_env.tables import Tables
from train import run_folder
from train.config import MAX_SEED
from train.opponents import OpponentPool
from train.policy import ACTIVATION, ActorCritic
from train.run_folder import RunError

SPREAD_STEPS = 60  # decisions of learners before samples are kept, so that all rounds are among them
LONGEST_GRADIENT = 0.1  # with longer ones the logits of rare actions ran away

Samples = dict[str, np.ndarray]  # by name: [K, ...], observations among them
C = TypeVar("C", bound="ImitationConfig")


@dataclass(frozen=True)
class ImitationConfig:
    """Settings that both have."""

    run: Path
    """Folder of the run; the same command goes on with it."""
    num_players: tuple[int, ...] = (3, 4, 5)
    """Seats at the tables."""
    parts: int = 20
    """Files of samples in a round."""
    part_size: int = 100_000
    """Samples in a file."""
    hidden_sizes: tuple[int, ...] = (256, 256)
    """Of the network."""
    raises: bool = True
    """Give every raise a logit of its own; a run that is to begin from this policy needs the same."""
    epochs: int = 6
    """Passes over all samples."""
    batch_size: int = 4096
    """Samples in a minibatch."""
    learning_rate: float = 1e-3
    """Of Adam at the start; falls linearly to zero."""
    num_envs: int = 510
    """Games side by side."""
    seed: int = 0
    """Of games and weights."""
    threads: int = 2
    """Cores."""

    def __post_init__(self) -> None:
        for name in ("parts", "part_size", "epochs", "batch_size", "learning_rate", "num_envs", "threads"):
            check_positive(self, name)
        if not set(self.num_players) <= set(SETUPS) or not self.num_players:
            raise ValueError(f"--num-players: {list(SETUPS)}, not {self.num_players}")
        if self.num_envs < len(self.num_players):
            raise ValueError("--num-envs must be at least as many as --num-players names")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"--seed must be 0 to {MAX_SEED}, not {self.seed}")
        if not self.hidden_sizes or min(self.hidden_sizes) <= 0:
            raise ValueError("--hidden-sizes must be positive")


def check_positive(config: ImitationConfig, name: str) -> None:
    """Raise `ValueError` if a setting is not."""
    if not getattr(config, name) > 0:
        raise ValueError(f"--{name.replace('_', '-')} must be positive")


# --- samples ----------------------------------------------------------------------------------------------------------


def new_tables(config: ImitationConfig, pool: OpponentPool, seed: Sequence[int]) -> tuple[Batch, Tables]:
    """Games among the players of a pool, with all mice seen, begun from a part of the run's seed."""
    seats = np.resize(np.array(config.num_players), config.num_envs)
    batch = Batch(config.num_envs, seats.tolist(), seed=game_seed(config.seed, *seed), open_mice=True)
    tables = pool.tables(batch)
    tables.begin()
    return batch, tables


def keep(path: Path, samples: Iterator[Samples], config: ImitationConfig) -> None:
    """Write the first `part_size` samples into a file, unless it is there already."""
    if path.exists():
        return
    found: list[Samples] = []
    while sum(len(some["observations"]) for some in found) < config.part_size:
        found.append(next(samples))
    arrays = {name: np.concatenate([some[name] for some in found])[: config.part_size] for name in found[0]}
    run_folder.write_atomically(path, lambda file: _write(file, arrays))


def _write(path: Path, arrays: Samples) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType] - no array has that name


def part_of(config: ImitationConfig, name: str) -> Path:
    """The file of a part of the samples."""
    return config.run / "samples" / f"{name}.npz"


def kept(paths: Sequence[Path]) -> dict[str, Tensor]:
    """All samples in these files, by name: [N, ...]."""
    parts = [np.load(path) for path in paths]
    return {name: torch.from_numpy(np.concatenate([part[name] for part in parts])) for name in parts[0].files}


# --- the network ------------------------------------------------------------------------------------------------------


def fit(
    config: ImitationConfig, samples: dict[str, Tensor], error: Callable[[ActorCritic, dict[str, Tensor]], Tensor]
) -> ActorCritic:
    """The network whose `error`, a mean over the samples that it is given, is least."""
    torch.set_num_threads(config.threads)
    network = ActorCritic(config.hidden_sizes, raises=config.raises, seed=config.seed)
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=config.learning_rate, fused=True)
    size = len(samples["observations"])
    count = max(1, size // config.batch_size)
    steps, generator = count * config.epochs, torch.Generator().manual_seed(config.seed)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in track(range(config.epochs), "fitting"):
        for rows in torch.randperm(size, generator=generator).tensor_split(count):
            optimizer.zero_grad()
            error(network, {name: tensor[rows] for name, tensor in samples.items()}).backward()
            torch.nn.utils.clip_grad_norm_(network.actor.parameters(), LONGEST_GRADIENT)
            optimizer.step()
            schedule.step()
    return network


# --- the run ----------------------------------------------------------------------------------------------------------


def save(folder: Path, network: ActorCritic, config: ImitationConfig, **about: Any) -> None:
    """Write the policy into a folder, with `about` in its JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    about |= {"open_mice": True, "num_players": list(config.num_players), "commit": run_folder.commit()}
    save_policy(folder, network.layers(), activation=ACTIVATION, **about)


def is_saved(folder: Path) -> bool:
    """Whether `save` has been here."""
    return description_of(folder).exists()


def main(config: C, console: Console, work: Callable[[C], None]) -> None:
    """Do the work in the run's folder, which it makes, or goes on with if the settings are the same."""
    _begin(config)
    with run_folder.held(config.run):
        work(config)
    console.print(f"the policy plays as  net:{config.run}", highlight=False, soft_wrap=True)


def _begin(config: ImitationConfig) -> None:
    """Make the folder and write its settings; a folder of other settings is refused."""
    settings = {name: value for name, value in asdict(config).items() if name not in ("run", "threads")}
    path = config.run / run_folder.CONFIG
    if path.exists():
        if json.loads(path.read_text())["config"] != json.loads(json.dumps(settings)):
            raise RunError(f"{config.run} was begun with other settings, which its config.json tells")
        return
    if config.run.exists():
        raise RunError(f"{config.run} exists already and is no run of this command; choose another --run")
    (config.run / "samples").mkdir(parents=True)
    run_folder.write_json(path, {"config": settings, **run_folder.provenance()})


def run_command(name: str, config: type[C], work: Callable[[C], None], arguments: list[str] | None) -> int:
    """Read the command line of `python -m train.NAME` and do the work; the exit status."""
    try:
        main(tyro.cli(config, prog=f"python -m train.{name}", args=arguments), Console(), work)
    except (RunError, ValueError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command goes on from here", highlight=False)
        return 130
    return 0
