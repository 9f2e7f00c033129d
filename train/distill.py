"""A network that decides as `mc` with very many playouts would, without any. `python -m train.distill --run FOLDER`

A search goes by one number an action, how much more the action brings than what `tuned` would do, and a few playouts
give an unbiased, if noisy, sample of it. So: play games in which learners do now what looks best in a few worlds, now
what `tuned` would do, among players of the ladder; keep every such sample; fit a network to all of them, which averages
the noise away. Its logits are the leads over `temperature`: it plays the better action nearly always, and either one
where they are worth the same. In a second round the network itself plays.

The result is a policy like any other, `net:FOLDER`, for self-play to begin with (`--init`) or to meet in a `--mix`. For
an opponent that errs as a search does, see `train.imitate`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from agents.compiled import CompiledPlayer
from agents.network import NetworkPlayer, description_of
from agents.search import leads
from felicity_env import NUM_ACTIONS, Player
from felicity_env.game import PASS
from train import gathering
from train.policy import ActorCritic
from train.samples import Samples, files_of, keep, kept

MARGIN = 6.0  # how far below the best the logits of actions stay that the search does not look at
OTHER_SHARE = 0.6  # of the learners' decisions are not those of `tuned`
LONGEST_GRADIENT = 0.1  # with longer ones the logits of rare actions ran away


@dataclass(frozen=True, kw_only=True)
class Config(gathering.Config):
    """Make a network that decides as mc with very many playouts would."""

    in_samples: ClassVar = "leads"
    rounds: int = 2
    """In the first a noisy search plays; in each later one the network of the round before."""
    parts: int = 20
    """Files of samples in a round."""
    part_size: int = 100_000
    """Samples in a file."""
    worlds: int = 5
    """In which each action is played out for a sample."""
    temperature: float = 0.01
    """Of the policy: two actions whose leads differ by this are played e to 1."""
    raises: bool = True
    """Give every raise a logit of its own; a run that is to begin from this policy needs the same."""
    epochs: int = 6
    """Passes over all samples."""
    batch_size: int = 4096
    """Samples in a minibatch."""
    num_envs: int = 510
    """Games side by side."""


# --- samples ----------------------------------------------------------------------------------------------------------


def samples(config: Config, actor: Player | None, part: int) -> Iterator[Samples]:
    """Without end: observations [K, OBS_SIZE] of learners and the leads of their actions [K, NUM_ACTIONS].

    actor: plays for the learners; None: whatever looks best, or what `tuned` would do.
    """
    batch, tables = gathering.tables(config, part)
    rng = np.random.default_rng([config.seed, part])
    while True:
        view = batch.view(np.arange(config.num_envs))
        found = leads(view, worlds=config.worlds, threads=config.threads)
        judged = (~np.isnan(found)).sum(axis=1) > 1
        actions = CompiledPlayer("tuned").act(view)
        other = np.where(judged, _best(found), actions) if actor is None else actor.act(view)
        observations = batch.observations[judged].astype(np.float16)
        yield {"observations": observations, "leads": found[judged].astype(np.float16)}
        tables.step(np.where(rng.random(config.num_envs) < OTHER_SHARE, other, actions))


def _best(found: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(found), -np.inf, found).argmax(axis=1)


def gather(config: Config, number: int, actor: Player | None) -> None:
    """Write the samples of round `number`, file by file; those that are there already are left alone."""
    for part in track(range(config.parts), f"round {number + 1}: samples"):
        found = samples(config, actor, number * config.parts + part)
        keep(_part(config, number, part), found, config.part_size)


def _part(config: Config, number: int, part: int) -> Path:
    return config.run / "samples" / f"{number}-{part:03d}.npz"


def gathered(config: Config, rounds: int) -> dict[str, Tensor]:
    """All samples of the first `rounds` rounds, and of other runs: observations and leads, 16 bits each."""
    own = [_part(config, number, part) for number in range(rounds) for part in range(config.parts)]
    return kept([*own, *(path for run in config.also for path in files_of(run))])


# --- the network ------------------------------------------------------------------------------------------------------


def error(logits: Tensor, found: Tensor, temperature: float) -> Tensor:
    """Mean square of what the logits miss: the leads, less their mean, where there are any; elsewhere MARGIN."""
    tried = ~found.isnan()
    judged = (temperature * _centred(logits, tried) - _centred(found, tried)).square().sum(dim=1).mean()
    best = logits.detach().masked_fill(~tried, -torch.inf).amax(dim=1, keepdim=True)
    raises = torch.arange(NUM_ACTIONS) > PASS  # cards are never legal beside them
    too_high = (logits - best + MARGIN).relu().masked_fill(tried | ~raises, 0.0)
    return judged + (temperature * too_high).square().sum(dim=1).mean()


def _centred(values: Tensor, tried: Tensor) -> Tensor:
    """Less their mean over the actions tried; 0 at the others."""
    kept = values.masked_fill(~tried, 0.0)
    return (kept - kept.sum(dim=1, keepdim=True) / tried.sum(dim=1, keepdim=True)).masked_fill(~tried, 0.0)


def fit(config: Config, samples: dict[str, Tensor]) -> ActorCritic:
    """The network fitted to all samples."""
    network = ActorCritic(config.hidden_sizes, raises=config.raises, seed=config.seed)
    observations, found = samples["observations"], samples["leads"]

    def loss(rows: Tensor) -> Tensor:
        return error(network.logits(observations[rows].float()), found[rows].float(), config.temperature)

    optimizer = torch.optim.Adam(network.actor.parameters(), lr=config.learning_rate, fused=True)
    gathering.minimise(loss, optimizer, len(found), config, seed=config.seed, longest=LONGEST_GRADIENT)
    return network


# --- the run ----------------------------------------------------------------------------------------------------------


def play_and_fit(config: Config, number: int) -> None:
    """A round: its samples, and the network of all samples so far; nothing if that is there already."""
    folder = _policy(config, number)
    if description_of(folder).exists():
        return
    gather(config, number, NetworkPlayer(str(_policy(config, number - 1))) if number else None)
    network = fit(config, gathered(config, number + 1))
    gathering.save(folder, network, config, algorithm="distill")


def _policy(config: Config, number: int) -> Path:
    """Where the policy of a round lies; those before the last so deep that nobody takes them for the run's own."""
    return config.run if number == config.rounds - 1 else config.run / "rounds" / str(number + 1)


def main(config: Config, console: Console) -> None:
    """All rounds, whose last network is the policy of the run; what is there already is not made again."""
    for number in range(config.rounds):
        play_and_fit(config, number)
    console.print(f"the policy plays as  net:{config.run}", highlight=False, soft_wrap=True)


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    return gathering.command(Config, "train.distill", arguments, main)


if __name__ == "__main__":
    sys.exit(cli())
