"""Networks that play as a search does, for they have seen what one did. `python -m train.imitate --run FOLDER`

A search is too slow to train against. But what it did can be seen often enough: let it sit at tables with the players
that it is to meet, keep its decisions, and fit a network to them (behavioural cloning: Pomerleau 1989,
https://proceedings.neurips.cc/paper/1988/hash/812b4ba287f5ee0bc9d43bbf5bbe87fb-Abstract.html). What it goes by besides
(`agents.amortised`): which actions a search looks at, and what `tuned` would do, a habit of every search.

One with few playouts can be seen more often, and looks for the same; but it keeps more to its habit than one with many,
which is sure of more. So the networks are fitted to one with few playouts, `search`, and how strong the habit is to a
few decisions of one with many, `like`.

A search with many playouts does nearly always the same in the same place. A network does not know enough to be so sure,
and a player that drew at random wherever it is unsure would play worse than any search: one mistake in the many
decisions of an auction is enough. So its logits are multiplied by `sharpness`. What it then does wrong it does always,
which those who learn against it would learn to exploit; several networks err in different places.

The result is `amortised:FOLDER`, a NAME for NAME=WEIGHT in a `--mix` too. It is at its best at tables like those of the
samples: name the players that will meet it in `others`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from rich.console import Console
from rich.progress import Progress, track
from torch import Tensor, nn

import agents
from agents.amortised import SEARCH_LIKE, Weights, bidding, search_logits
from agents.mixture import network_player
from agents.network import description_of
from agents.search import SearchPlayer, shortlists
from felicity_env import NUM_ACTIONS
from train import gathering
from train.policy import ActorCritic
from train.samples import Samples, files_of, keep, kept

UNSURE = 0.3  # the logits of a policy that a network begins with are multiplied by this
HABIT_RATE = 30  # its learning rate is so much greater: two numbers, which are to move further than any weight
HELD_OUT = 0.1  # of a run's own samples: the last ones, to which no network is fitted


@dataclass(frozen=True, kw_only=True)
class Config(gathering.Config):
    """Make networks that play as a search does."""

    in_samples: ClassVar = "actions"
    search: str = "mc:400"
    """Code of the search."""
    like: str = "mc:4000"
    """Code of the search whose habit they have."""
    liked: int = 10_000
    """Decisions of that one."""
    init: Path | None = None
    """Policy that the networks begin with, whose sizes are theirs then, or a mixture: with its members in turn."""
    parts: int = 30
    """Files of samples."""
    part_size: int = 10_000
    """Decisions of the search in a file."""
    networks: int = 3
    """How many; one of them plays a seat for a whole game."""
    sharpness: float = 4.0
    """By which the logits are multiplied; 1: each action is played as often as the search plays it."""
    epochs: int = 8
    """Passes over all samples."""
    batch_size: int = 1024
    """Samples in a minibatch."""
    num_envs: int = 66
    """Games side by side."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("search", "like"):
            if not isinstance(agents.make(code := getattr(self, name)), SearchPlayer):
                raise ValueError(f"--{name} must be mc:N or ismcts:N, not {code}")
        if self.init:
            _ = self.beginnings

    @property
    def beginnings(self) -> list[ActorCritic]:
        """What the networks begin with."""
        if not self.init:
            return [ActorCritic(self.hidden_sizes, raises=True, seed=self.seed + k) for k in range(self.networks)]
        members = network_player(str(self.init)).members
        return [_unsure(ActorCritic.of(members[k % len(members)])) for k in range(self.networks)]

    @property
    def held_out(self) -> int:
        """How many samples no network is fitted to."""
        return max(1, int(HELD_OUT * self.parts * self.part_size))


def _unsure(network: ActorCritic) -> ActorCritic:
    """With the logits of a policy, which is surer of itself than a search, made smaller."""
    with torch.no_grad():
        for parameter in network.actor[-1].parameters():
            parameter *= UNSURE
    return network


# --- samples ----------------------------------------------------------------------------------------------------------


def decisions(config: Config, code: str, part: int) -> Iterator[Samples]:
    """Without end: what a search did [K] where it had a choice, and all that `search_logits` goes by."""
    batch, tables = gathering.tables(config, part)
    search = agents.make(code)
    assert isinstance(search, SearchPlayer)
    search.threads = config.threads
    while True:
        view = batch.view(np.arange(config.num_envs))
        actions, (defaults, tried) = search.act(view), shortlists(view)
        found = {"bids": bidding(view), "defaults": defaults, "tried": tried, "actions": actions}
        found["observations"] = batch.observations.astype(np.float16)
        chosen = tried.sum(axis=1) > 1
        yield {name: array[chosen] for name, array in found.items()}
        tables.step(actions)


def gather(config: Config) -> None:
    """Write the samples of all parts, and of the search with many playouts; what is there already is left alone."""
    for part, path in enumerate(track(_parts(config), f"watching {config.search}")):
        keep(path, decisions(config, config.search, part), config.part_size)
    shown = _shown(decisions(config, config.like, config.parts), config.liked, f"watching {config.like}")
    keep(_liked(config), shown, config.liked)


def _shown(found: Iterator[Samples], size: int, text: str) -> Iterator[Samples]:
    """The same, with a bar of how many of `size` decisions there are."""
    with Progress() as progress:
        task = progress.add_task(text, total=size)
        for some in found:
            progress.advance(task, len(some["actions"]))
            yield some


def _liked(config: Config) -> Path:
    return config.run / "liked.npz"


def _parts(config: Config) -> list[Path]:
    return [config.run / "samples" / f"{part:03d}.npz" for part in range(config.parts)]


def gathered(config: Config) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """All samples, also of other runs: those that networks are fitted to, and those held out."""
    found = kept([*(path for run in config.also for path in files_of(run)), *_parts(config)])
    return (
        {name: values[: -config.held_out] for name, values in found.items()},
        {name: values[-config.held_out :] for name, values in found.items()},
    )


# --- a network --------------------------------------------------------------------------------------------------------


class Imitation(nn.Module):
    """A network, and the weights that make its logits those of a search."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__()
        self.network = network
        self.logits, self.habit = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))

    def log_likelihoods(self, found: dict[str, Tensor]) -> Tensor:
        """float32 [N]: of what the search did."""
        return self.searched(self.network.logits(found["observations"].float()), found)

    def searched(self, logits: Tensor, found: dict[str, Tensor]) -> Tensor:
        """The same, where the network's logits are known."""
        is_default = torch.arange(NUM_ACTIONS) == found["defaults"][:, None]
        logits = search_logits(Weights(self.logits, self.habit), logits, found["bids"], is_default)
        tried = logits.masked_fill(~found["tried"], -torch.inf)
        return tried.log_softmax(dim=1).gather(1, found["actions"][:, None]).squeeze(1)


def fit(config: Config, network: ActorCritic, samples: dict[str, Tensor], number: int) -> Imitation:
    """A network fitted to the samples, and its habit. number: another order of the samples for each network."""
    imitation = Imitation(network)

    def loss(rows: Tensor) -> Tensor:
        return -imitation.log_likelihoods({name: values[rows] for name, values in samples.items()}).mean()

    parameters = [
        {"params": network.actor.parameters(), "lr": config.learning_rate},
        {"params": [imitation.habit], "lr": HABIT_RATE * config.learning_rate},
    ]
    optimizer = torch.optim.Adam(parameters, fused=True)
    gathering.minimise(loss, optimizer, len(samples["actions"]), config, seed=config.seed + number)
    return imitation


def fit_weights(imitation: Imitation, samples: dict[str, Tensor]) -> None:
    """Give the weights the values under which what a search did is likeliest; the network stays."""
    with torch.no_grad():
        logits = imitation.network.logits(samples["observations"].float())
    optimizer = torch.optim.LBFGS([imitation.logits, imitation.habit], max_iter=100, line_search_fn="strong_wolfe")

    def unlikely() -> Tensor:
        optimizer.zero_grad()
        loss = -imitation.searched(logits, samples).mean()
        loss.backward()
        return loss

    optimizer.step(unlikely)  # pyright: ignore[reportArgumentType] - it takes what returns a tensor


def judged(imitation: Imitation, samples: dict[str, Tensor]) -> dict[str, float]:
    """Mean log-likelihood of the cards and of the bids among these decisions."""
    with torch.no_grad():
        found = imitation.log_likelihoods(samples)
    kinds = {"cards": samples["bids"] == 0, "bids": samples["bids"] == 1}
    return {name: round(found[rows].mean().item(), 4) for name, rows in kinds.items()}


# --- the run ----------------------------------------------------------------------------------------------------------


def main(config: Config, console: Console) -> None:
    """Gather and fit; what is there already is not made again."""
    gather(config)
    folders = [config.run / str(number) for number in range(config.networks)]
    if not all(description_of(folder).exists() for folder in folders):
        fit_all(config, folders, console)
    console.print(f"they play as  amortised:{config.run}", highlight=False, soft_wrap=True)


def fit_all(config: Config, folders: Sequence[Path], console: Console) -> None:
    """Fit a network for each folder."""
    (samples, held_out), liked = gathered(config), kept([_liked(config)])
    for number, (folder, network) in enumerate(zip(folders, config.beginnings, strict=True)):
        imitation = fit(config, network, samples, number)
        found = judged(imitation, held_out)
        fit_weights(imitation, liked)
        _save(folder, imitation, found, config)
        console.print(f"network {number} had not seen, and finds as likely (log, mean): {found}", highlight=False)


def _save(folder: Path, imitation: Imitation, likelihoods: dict[str, float], config: Config) -> None:
    about = {"algorithm": "imitate", "search": config.search, "like": config.like, "log_likelihoods": likelihoods}
    weights = {"logits": imitation.logits, "habit": imitation.habit}
    about |= {SEARCH_LIKE: {name: (config.sharpness * two).tolist() for name, two in weights.items()}}
    gathering.save(folder, imitation.network, config, **about)


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    return gathering.command(Config, "train.imitate", arguments, main)


if __name__ == "__main__":
    sys.exit(cli())
