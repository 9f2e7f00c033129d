"""Games as data: `python -m agents dataset --players net ev --num-games 100000 --out games.npz`.

The file holds deals and actions; `felicity_env.dataset.Dataset` reads it and computes what any seat saw. An interrupted
command goes on if it is given again.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from agents.data.play import has_probabilities, play_games
from agents.registry import check_players, identify_player, make
from agents.tools.files import UserError, lock_output, write_atomically
from agents.tools.progress import PartsProgress
from agents.tools.settings import OneSetup, check_at_least, require
from felicity_env.dataset import Dataset
from felicity_env.random_stream import MAX_SEED, game_seed

GAMES_A_PART = 2000
SAVE_EVERY = 60.0  # seconds


@dataclass(frozen=True)
class Config(OneSetup):
    """Play games and store them as data: deals, actions, players, scores, and probabilities where players have them."""

    players: tuple[str, ...] = ("ev",)
    """Codes of players, or run folders; each seat of each game gets one of them at random."""
    num_games: int = 100_000
    """Number of games."""
    seed: int = 0
    """Seed of the deals, the seats of the players and their randomness; game k is dealt as game k of `Batch(seed)`."""
    probabilities: bool = True
    """Store the probability of each action of networks; without it they play in about half the time."""
    out: Path = Path("runs/games.npz")
    """File to write; it ends in .npz."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "players")
        check_at_least(self, num_games=1, seed=0)
        require(self.seed <= MAX_SEED, f"--seed must be at most {MAX_SEED}")
        require(self.out.suffix == ".npz", f"--out must end in .npz, not {self.out}")

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
    done, saved, started = sum(map(len, parts)), time.monotonic(), time.monotonic()
    first = done
    with PartsProgress(Console(), unit="games") as progress:
        try:
            while done < config.num_games:
                part = range(done, min(done + GAMES_A_PART, config.num_games))
                options = {"seed": config.seed, "with_probabilities": config.probabilities}
                parts.append(play_games(config.players, config.chosen_setup, part, **options))
                done, now = part.stop, time.monotonic()
                progress.report(done, config.num_games, (now - started) / (done - first) * (config.num_games - done))
                if now - saved > SAVE_EVERY:
                    parts = [Dataset.concatenate(parts)]
                    _save(parts[0], config.unfinished)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            if parts:
                _save(Dataset.concatenate(parts), config.unfinished)
            raise
    return Dataset.concatenate(parts)


def read_unfinished(config: Config) -> Dataset:
    """Read the games so far of an interrupted command; raise `UserError` unless this command goes on with them."""
    games = Dataset.load(config.unfinished)
    digests = tuple(identify_player(code).digest for code in config.players)
    seeds = [game_seed(config.seed, game, 0) for game in range(min(len(games), 3))]
    stores = config.probabilities and any(has_probabilities(make(code)) for code in config.players)
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
    return games


def _save(games: Dataset, path: Path) -> None:
    def write(part: Path) -> None:
        with part.open("wb") as file:
            games.save(file)

    write_atomically(path, write)
