"""Games as data: `python -m agents dataset --players net ev --num-games 100000 --out games.npz`.

The file holds deals and actions; `felicity_env.dataset.Dataset` reads it and computes what any seat saw. An interrupted
command goes on if it is given again.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from agents.data.play import play_games
from agents.identity import identify_player
from agents.policy_player import PolicyPlayer
from agents.registry import check_players, is_slow, list_files, make
from agents.tasks.options import Workers
from agents.tasks.run import run_tasks
from agents.tools.command import print_error
from agents.tools.files import UserError, lock_output, write_atomically
from agents.tools.progress import PartsProgress
from agents.tools.settings import OneSetup, check_at_least, require
from felicity_env.dataset import Dataset
from felicity_env.random_stream import MAX_SEED, game_seed

GAMES_A_PART = 2000
GAMES_A_SLOW_PART = 20  # of a search, whose 2000 games would take hours
SAVE_EVERY = 60.0  # seconds


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Play games and store them as data: deals, actions, players, scores, and probabilities where players have them."""

    players: tuple[str, ...] = ("ev",)
    """Codes of players; each seat of each game gets one of them at random."""
    num_games: int = 100_000
    """Number of games."""
    seed: int = 0
    """Seed of the deals, the seats of the players and their randomness; game k is dealt as game k of a `Batch` with
    this seed."""
    probabilities: bool = True
    """Store the probability of each action of networks; without it they play in about half the time."""
    workers: int = 1
    """Number of processes that play; more than one pays for slow players, such as networks and searches."""
    out: Path = Path("runs/games.npz")
    """File to write; it ends in .npz."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "players")
        check_at_least(self, num_games=1, seed=0)
        require(self.seed <= MAX_SEED, f"--seed must be at most {MAX_SEED}")
        require(self.out.suffix == ".npz", f"--out must end in .npz, not {self.out}")

    @property
    def resumes(self) -> bool:
        """True if there are games so far, from which the same command goes on."""
        return self.unfinished.exists()

    @property
    def unfinished(self) -> Path:
        """File with the games so far while the command runs."""
        return self.out.with_suffix(".unfinished.npz")


def main(config: Config) -> None:
    """Play the games, continue an interrupted command, and print where they are."""
    if config.out.exists():
        raise UserError(f"{config.out} exists; choose another file with --out, or delete it")
    config.out.parent.mkdir(parents=True, exist_ok=True)
    with lock_output(config.out):
        games = _play(config)
        _save(games, config.out)
        config.unfinished.unlink(missing_ok=True)
    size = config.out.stat().st_size / len(games)
    text = f"{len(games):,} games with {len(games.actions):,} decisions are in {config.out} ({size:.0f} bytes a game)"
    Console().print(text, highlight=False, soft_wrap=True)


def _play(config: Config) -> Dataset:
    """Play all games that are missing; save those so far once a minute, and when Ctrl-C is pressed."""
    parts = [read_unfinished(config)] if config.unfinished.exists() else []
    done, saved = sum(map(len, parts)), time.monotonic()
    with PartsProgress(Console(), unit="games") as progress:
        progress.count(done, config.num_games)
        try:
            for part in _play_parts(config, done):
                parts.append(part)
                done += len(part)
                progress.count(done, config.num_games)
                if time.monotonic() - saved > SAVE_EVERY:
                    parts = [Dataset.concatenate(parts)]
                    _save(parts[0], config.unfinished)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            if parts:
                _save(Dataset.concatenate(parts), config.unfinished)
            raise
    return Dataset.concatenate(parts)


def _play_parts(config: Config, first: int) -> Iterator[Dataset]:
    """Play the games from number `first` on, and yield them in parts, in order."""
    size = GAMES_A_SLOW_PART if is_slow(*config.players) else GAMES_A_PART
    tasks = (range(start, min(start + size, config.num_games)) for start in range(first, config.num_games, size))
    play = partial(
        play_games, config.players, config.chosen_setup, seed=config.seed, with_probabilities=config.probabilities
    )
    early: dict[int, Dataset] = {}  # parts that came before one with lower numbers
    following = first
    for outcome in run_tasks(play, tasks, **config.spread, files=list_files(*config.players)):
        if outcome.value is None:
            raise UserError(f"games {outcome.task.start} to {outcome.task.stop - 1}: {outcome.reason}")
        early[outcome.task.start] = outcome.value
        while following in early:
            yield (part := early.pop(following))
            following += len(part)


def read_unfinished(config: Config) -> Dataset:
    """Read the games so far of an interrupted command, and print which players may have changed unseen since then.

    Raises `UserError` unless this command goes on with these games.
    """
    games = Dataset.load(config.unfinished)
    identities = {code: identify_player(code) for code in config.players}
    digests = tuple(identities[code].digest for code in config.players)
    seeds = [game_seed(config.seed, game, 0) for game in range(min(len(games), 3))]
    stores = config.probabilities and any(isinstance(make(code), PolicyPlayer) for code in config.players)
    faults = {
        "setup": games.setup != config.chosen_setup,
        "players": (games.players, games.digests) != (config.players, digests),
        "seed": games.seeds[:3].tolist() != seeds,
        "probabilities": stores != bool(len(games.probabilities)),
        "number of games": len(games) > config.num_games,
    }
    if wrong := [name for name, is_wrong in faults.items() if is_wrong]:
        raise UserError(
            f"{config.unfinished} has games of another command ({', '.join(wrong)}); delete it, or choose another --out"
        )
    for code, identity in identities.items():
        if identity.unseen:
            print_error(f"{code}: {identity.unseen}; delete {config.unfinished} to play everything again")
    return games


def _save(games: Dataset, path: Path) -> None:
    def write(part: Path) -> None:
        with part.open("wb") as file:
            games.save(file)

    write_atomically(path, write)
