"""A network that decides as `mc` with very many playouts would, without any. `python -m train.distill --run FOLDER`

A search is too slow to train against. But it goes by one number an action, how much more the action brings than what
`tuned` would do, and a few playouts give an unbiased, if noisy, sample of it. So: play games in which learners do now
what looks best in a few worlds, now what `tuned` would do, among players of the ladder; keep every such sample; fit a
network to all of them, which averages the noise away. Its logits are the leads over `temperature`. In a second round
the network itself plays, in the manner of a search.

The result plays in two ways, each a NAME for NAME=WEIGHT in a `--mix` too. `amortised:FOLDER` decides as `mc` does, by
the leads. `net:FOLDER` is a policy like any other, which plays the better action nearly always, and either one where
they are worth the same. Both are at their best at tables like those of the samples: name the players that will meet
them in `others`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.progress import track
from torch import Tensor

import agents
from agents.amortised import TEMPERATURE, AmortisedPlayer
from agents.compiled import CompiledPlayer
from agents.search import leads
from felicity_env import NUM_ACTIONS, Player
from felicity_env.game import PASS
from train import imitation
from train.imitation import SPREAD_STEPS, ImitationConfig, Samples, check_positive
from train.opponents import SELF, OpponentPool
from train.policy import ActorCritic

MIX = {SELF: 0.4, "tuned": 0.1, "ev": 0.1, "anchor": 0.1}
GUESTS = {"tuned": 0.1, "ev": 0.1, "anchor": 0.1}
MARGIN = 6.0  # how far below the best the logits of actions stay that the search does not look at
ALONE = 0.2  # of the tables with `others`: the learner is alone among them; else one of them is among learners
OTHER_SHARE = 0.6  # of the learners' decisions are not those of `tuned`
_GAMES = 3  # of the seed: apart from those of the trainers


@dataclass(frozen=True)
class Config(ImitationConfig):
    """Make a network that decides as mc with very many playouts would."""

    rounds: int = 2
    """In the first a noisy search plays; in each later one the network of the round before."""
    others: tuple[str, ...] = ()
    """Codes of the players beside the learners, by default those of the ladder."""
    also: tuple[Path, ...] = ()
    """Other runs of this command, whose samples count too."""
    worlds: int = 5
    """In which each action is played out for a sample."""
    temperature: float = 0.01
    """Of the policy: two actions whose leads differ by this are played e to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rounds", "worlds", "temperature"):
            check_positive(self, name)
        for code in self.others:
            agents.make(code)
        for run in self.also:
            if not samples_of(run):
                raise ValueError(f"--also {run}: there are no samples")

    @property
    def pool(self) -> OpponentPool:
        """Who sits at the tables."""
        if not self.others:
            return OpponentPool(MIX, guests=GUESTS)
        return OpponentPool(dict.fromkeys(self.others, ALONE), guests=dict.fromkeys(self.others, 1 - ALONE))


# --- samples ----------------------------------------------------------------------------------------------------------


def samples(config: Config, actor: Player | None, part: int) -> Iterator[Samples]:
    """Without end: observations [K, OBS_SIZE] of learners and the leads of their actions [K, NUM_ACTIONS].

    actor: plays for the learners; None: whatever looks best, or what `tuned` would do.
    """
    batch, tables = imitation.new_tables(config, config.pool, (_GAMES, part))
    rng, played = np.random.default_rng([config.seed, part]), 0
    while True:
        view = batch.view(np.arange(config.num_envs))
        found = leads(view, worlds=config.worlds, threads=config.threads)
        judged = (~np.isnan(found)).sum(axis=1) > 1
        actions = CompiledPlayer("tuned").act(view)
        other = np.where(judged, _best(found), actions) if actor is None else actor.act(view)
        if played >= SPREAD_STEPS:
            observations = batch.observations[judged].astype(np.float16)
            yield {"observations": observations, "leads": found[judged].astype(np.float16)}
        tables.step(np.where(rng.random(config.num_envs) < OTHER_SHARE, other, actions))
        played += 1


def _best(found: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(found), -np.inf, found).argmax(axis=1)


def gather(config: Config, number: int, actor: Player | None) -> None:
    """Write the samples of round `number`, file by file; those that are there already are left alone."""
    for part in track(range(config.parts), f"round {number + 1}: samples"):
        imitation.keep(_part(config, number, part), samples(config, actor, number * config.parts + part), config)


def _part(config: Config, number: int, part: int) -> Path:
    return imitation.part_of(config, f"{number}-{part:03d}")


def gathered(config: Config, rounds: int) -> dict[str, Tensor]:
    """All samples of the first `rounds` rounds, and of other runs: observations and leads, 16 bits each."""
    own = [_part(config, number, part) for number in range(rounds) for part in range(config.parts)]
    return imitation.kept([*own, *(path for run in config.also for path in samples_of(run))])


def samples_of(run: Path) -> list[Path]:
    """The files of a run's samples, in order."""
    return sorted((run / "samples").glob("*.npz"))


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


def fit(config: Config, found: dict[str, Tensor]) -> ActorCritic:
    """The network fitted to all samples."""

    def missed(network: ActorCritic, some: dict[str, Tensor]) -> Tensor:
        return error(network.logits(some["observations"].float()), some["leads"].float(), config.temperature)

    return imitation.fit(config, found, missed)


# --- the run ----------------------------------------------------------------------------------------------------------


def play_and_fit(config: Config, number: int) -> None:
    """A round: its samples, and the network of all samples so far; nothing if that is there already."""
    folder = _policy(config, number)
    if imitation.is_saved(folder):
        return
    gather(config, number, AmortisedPlayer(str(_policy(config, number - 1))) if number else None)
    about = {"algorithm": "distill", TEMPERATURE: config.temperature}
    imitation.save(folder, fit(config, gathered(config, number + 1)), config, **about)


def _policy(config: Config, number: int) -> Path:
    """Where the policy of a round lies; those before the last so deep that nobody takes them for the run's own."""
    return config.run if number == config.rounds - 1 else config.run / "rounds" / str(number + 1)


def work(config: Config) -> None:
    """All rounds; the network of the last one is the policy of the run."""
    for number in range(config.rounds):
        play_and_fit(config, number)


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    return imitation.run_command("distill", Config, work, arguments)


if __name__ == "__main__":
    sys.exit(cli())
