"""A network that plays as another player does. `python -m train.clone --code mc:800 --run FOLDER`

A search is too slow to train against; its clone is as fast as any network, and most of what gains on the clone gains
on the search. So: let the player sit alone among copies of `others`, and one of these among copies of it, keep what it
does there, and fit a network to that by the likelihood of its actions (behavioural cloning). A clone is good where its
player was seen: name those among `others` that will learn against it.

The result is a policy like any other: `net:FOLDER`, or NAME=WEIGHT in a `--mix` or `--guests` with that name.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import track
from torch import Tensor

import agents
from agents.compiled import CompiledPlayer
from felicity_env import Player
from train import imitation
from train.imitation import SPREAD_STEPS, ImitationConfig, Samples
from train.opponents import OpponentPool
from train.policy import ActorCritic

ALONE = 0.2  # of the tables: the player is alone among the others
_GAMES = 4  # of the seed: apart from those of the trainers


@dataclass(frozen=True)
class Config(ImitationConfig):
    """Make a network that plays as another player does."""

    code: str = "mc:800@2"
    """The player; mc:800@2 is mc:800 on two cores."""
    others: tuple[str, ...] = ("net",)
    """Codes of the players beside it."""
    also: tuple[Path, ...] = ()
    """Other runs of this command, whose samples count too."""
    parts: int = 20
    """Files of samples."""
    part_size: int = 10_000
    """Samples in a file."""
    epochs: int = 12
    """Passes over all samples."""
    batch_size: int = 2048
    """Samples in a minibatch."""
    num_envs: int = 66
    """Games side by side."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.others:
            raise ValueError("--others must name a player")
        for code in (self.code, *self.others):
            agents.make(code)
        for run in self.also:
            if not samples_of(run):
                raise ValueError(f"--also {run}: there are no samples")


def samples(config: Config, player: Player, part: int) -> Iterator[Samples]:
    """Without end: observations [K, OBS_SIZE] of the player where it has a choice, masks [K, NUM_ACTIONS], actions [K].

    In the first decisions of all games `tuned` plays for it, which is faster.
    """
    pool = OpponentPool(dict.fromkeys(config.others, ALONE), guests=dict.fromkeys(config.others, 1 - ALONE))
    batch, tables = imitation.new_tables(config, pool, (_GAMES, part))
    for _ in range(SPREAD_STEPS):
        tables.step(CompiledPlayer("tuned").act(batch.view(np.arange(config.num_envs))))
    while True:
        actions = player.act(batch.view(np.arange(config.num_envs)))
        chosen = batch.action_masks.sum(axis=1) > 1
        observations = batch.observations[chosen].astype(np.float16)
        yield {"observations": observations, "masks": batch.action_masks[chosen] == 1, "actions": actions[chosen]}
        tables.step(actions)


def fit(config: Config, found: dict[str, Tensor]) -> ActorCritic:
    """The network under which the player's actions are likeliest."""

    def unlikely(network: ActorCritic, some: dict[str, Tensor]) -> Tensor:
        logs = network.log_probabilities(some["observations"].float(), some["masks"])
        return -logs.gather(1, some["actions"][:, None]).mean()

    return imitation.fit(config, found, unlikely)


def gathered(config: Config) -> dict[str, Tensor]:
    """All samples, those of other runs too; those that are in files already are not made again."""
    player = agents.make(config.code)
    for part in track(range(config.parts), "samples"):
        imitation.keep(_part(config, part), samples(config, player, part), config)
    return imitation.kept([path for run in (config.run, *config.also) for path in samples_of(run)])


def _part(config: Config, part: int) -> Path:
    return imitation.part_of(config, f"{part:03d}")


def samples_of(run: Path) -> list[Path]:
    """The files of a run's samples, in order."""
    return sorted((run / "samples").glob("*.npz"))


def work(config: Config) -> None:
    """Samples and policy; nothing if that is there already."""
    if not imitation.is_saved(config.run):
        imitation.save(config.run, fit(config, gathered(config)), config, algorithm="clone")


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    return imitation.run_command("clone", Config, work, arguments)


if __name__ == "__main__":
    sys.exit(cli())
