"""A network that decides as `mc` with very many playouts would, without any. `python -m train.distill --run FOLDER`

A search is too slow to train against. But it goes by one number an action, how much more the action brings than what
`tuned` would do, and a few playouts give an unbiased, if noisy, sample of it. So: play games in which learners do now
what looks best in a few worlds, now what `tuned` would do, among players of the ladder; keep every such sample; fit a
network to all of them, which averages the noise away. Its logits are the leads over `temperature`: it plays the better
action nearly always, and either one where they are worth the same. In a second round the network itself plays.

The result is a policy like any other: `net:FOLDER`, or NAME=WEIGHT in a `--mix` with that name.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.progress import track
from torch import Tensor

from agents.compiled import CompiledPlayer
from agents.network import NetworkPlayer, save_policy
from agents.search import leads
from felicity_env import NUM_ACTIONS, SETUPS, Batch, Player, game_seed
from felicity_env.game import PASS
from train import run_folder
from train.config import MAX_SEED
from train.opponents import SELF, OpponentPool
from train.policy import ACTIVATION, ActorCritic
from train.run_folder import RunError

MIX = {SELF: 0.4, "tuned": 0.1, "ev": 0.1, "anchor": 0.1}
GUESTS = {"tuned": 0.1, "ev": 0.1, "anchor": 0.1}
SPREAD_STEPS = 60  # decisions of learners before samples are kept, so that all rounds are among them
MARGIN = 6.0  # how far below the best the logits of actions stay that the search does not look at
OTHER_SHARE = 0.6  # of the learners' decisions are not those of `tuned`
LONGEST_GRADIENT = 0.1  # with longer ones the logits of rare actions ran away
_GAMES = 3  # of the seed: apart from those of the trainers


@dataclass(frozen=True)
class Config:
    """Make a network that decides as mc with very many playouts would."""

    run: Path
    """Folder of the run; the same command goes on with it."""
    num_players: tuple[int, ...] = (3, 4, 5)
    """Seats at the tables."""
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
        for name in ("rounds", "parts", "part_size", "worlds", "epochs", "batch_size", "num_envs", "threads"):
            if getattr(self, name) <= 0:
                raise ValueError(f"--{name.replace('_', '-')} must be positive")
        if not set(self.num_players) <= set(SETUPS) or not self.num_players:
            raise ValueError(f"--num-players: {list(SETUPS)}, not {self.num_players}")
        if self.num_envs < len(self.num_players):
            raise ValueError("--num-envs must be at least as many as --num-players names")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"--seed must be 0 to {MAX_SEED}, not {self.seed}")
        if not self.hidden_sizes or min(self.hidden_sizes) <= 0:
            raise ValueError("--hidden-sizes must be positive")
        if not self.temperature > 0 or not self.learning_rate > 0:
            raise ValueError("--temperature and --learning-rate must be positive")


# --- samples ----------------------------------------------------------------------------------------------------------


def samples(config: Config, actor: Player | None, part: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Without end: observations [K, OBS_SIZE] of learners and the leads of their actions [K, NUM_ACTIONS].

    actor: plays for the learners; None: whatever looks best, or what `tuned` would do.
    """
    pool = OpponentPool(MIX, guests=GUESTS)
    seats = np.resize(np.array(config.num_players), config.num_envs)
    batch = Batch(config.num_envs, seats.tolist(), seed=game_seed(config.seed, _GAMES, part), open_mice=True)
    tables = pool.tables(batch)
    tables.begin()
    rng, everyone, played = np.random.default_rng([config.seed, part]), np.arange(config.num_envs), 0
    while True:
        view = batch.view(everyone)
        found = leads(view, worlds=config.worlds, threads=config.threads)
        judged = (~np.isnan(found)).sum(axis=1) > 1
        actions = CompiledPlayer("tuned").act(view)
        other = np.where(judged, _best(found), actions) if actor is None else actor.act(view)
        if played >= SPREAD_STEPS:
            yield batch.observations[judged], found[judged]
        tables.step(np.where(rng.random(config.num_envs) < OTHER_SHARE, other, actions))
        played += 1


def _best(found: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(found), -np.inf, found).argmax(axis=1)


def gather(config: Config, number: int, actor: Player | None) -> None:
    """Write the samples of round `number`, file by file; those that are there already are left alone."""
    for part in track(range(config.parts), f"round {number + 1}: samples"):
        path = _part(config, number, part)
        if path.exists():
            continue
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        for observations, found in samples(config, actor, number * config.parts + part):
            kept.append((observations.astype(np.float16), found.astype(np.float16)))
            if sum(len(some) for some, _ in kept) >= config.part_size:
                break
        observations, found = (np.concatenate(arrays)[: config.part_size] for arrays in zip(*kept, strict=True))
        run_folder.write_atomically(path, lambda file, o=observations, f=found: _write(file, o, f))


def _write(path: Path, observations: np.ndarray, found: np.ndarray) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, observations=observations, leads=found)


def _part(config: Config, number: int, part: int) -> Path:
    return config.run / "samples" / f"{number}-{part:03d}.npz"


def gathered(config: Config, rounds: int) -> tuple[Tensor, Tensor]:
    """All samples of the first `rounds` rounds: observations and leads, 16 bits each."""
    parts = [np.load(_part(config, number, part)) for number in range(rounds) for part in range(config.parts)]
    observations, found = (np.concatenate([part[name] for part in parts]) for name in ("observations", "leads"))
    return torch.from_numpy(observations).bfloat16(), torch.from_numpy(found)


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


def fit(config: Config, observations: Tensor, found: Tensor) -> ActorCritic:
    """The network fitted to all samples."""
    torch.set_num_threads(config.threads)
    network = ActorCritic(config.hidden_sizes, raises=config.raises, seed=config.seed)
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=config.learning_rate, fused=True)
    count = max(1, len(found) // config.batch_size)
    steps, generator = count * config.epochs, torch.Generator().manual_seed(config.seed)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in track(range(config.epochs), "fitting"):
        for rows in torch.randperm(len(found), generator=generator).tensor_split(count):
            logits = network.logits(observations[rows].float())
            optimizer.zero_grad()
            error(logits, found[rows].float(), config.temperature).backward()
            torch.nn.utils.clip_grad_norm_(network.actor.parameters(), LONGEST_GRADIENT)
            optimizer.step()
            schedule.step()
    return network


# --- the run ----------------------------------------------------------------------------------------------------------


def play_and_fit(config: Config, number: int) -> None:
    """A round: its samples, and the network of all samples so far; nothing if that is there already."""
    folder = _policy(config, number)
    if (folder / "policy.json").exists():
        return
    gather(config, number, NetworkPlayer(str(_policy(config, number - 1))) if number else None)
    network = fit(config, *gathered(config, number + 1))
    folder.mkdir(parents=True, exist_ok=True)
    about = {"open_mice": True, "num_players": list(config.num_players), "commit": run_folder.commit()}
    save_policy(folder, network.layers(), activation=ACTIVATION, algorithm="distill", **about)


def _policy(config: Config, number: int) -> Path:
    """Where the policy of a round lies; those before the last so deep that nobody takes them for the run's own."""
    return config.run if number == config.rounds - 1 else config.run / "rounds" / str(number + 1)


def main(config: Config, console: Console) -> None:
    """All rounds; the network of the last one is the policy of the run."""
    _begin(config)
    with run_folder.held(config.run):
        for number in range(config.rounds):
            play_and_fit(config, number)
    console.print(f"the policy plays as  net:{config.run}", highlight=False, soft_wrap=True)


def _begin(config: Config) -> None:
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


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    try:
        main(tyro.cli(Config, prog="python -m train.distill", args=arguments), Console())
    except (RunError, ValueError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command goes on from here", highlight=False)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(cli())
