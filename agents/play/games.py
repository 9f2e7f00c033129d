"""Games between players, saved in text notation: `python -m agents games net ev ev ev --num-deals 5`.

Each deal is played once in every rotation of the seats, whose order is drawn for the deal, as in a tournament: with the
seed of a tournament or an evaluation, and the players of one of its matches in the same order, the games are those of
that match. The games of a deal are written once it is played, so an interrupted command keeps those that it has played.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console

from agents.arena.blocks import seat_games
from agents.arena.game_file import format_game
from agents.arena.games import Games, PlayerError
from agents.registry import check_players, make
from agents.tools.files import UserError, write_text
from agents.tools.progress import PartsProgress
from agents.tools.settings import check_at_least, require
from felicity_env.game import NO_SEAT, score
from felicity_env.player import Player
from felicity_env.random_stream import game_seed
from felicity_env.setups import STANDARD_PLAYERS, choose_setup, find_setup


@dataclass(frozen=True)
class Config:
    """Play games between players, and save each of them as a file in text notation."""

    players: Annotated[tuple[str, ...], tyro.conf.Positional] = ("net", "ev", "ev", "ev")
    """Code of each player; their number selects the setup. The first sits in seat r in rotation r; the order of the
    others is drawn for each deal."""
    setup: str | None = None
    """Name of a setup, or a file with one. Default: the standard setup for this number of players."""
    num_deals: int = 5
    """Number of deals; each is played once in every rotation of the seats."""
    first_deal: int = 0
    """Number of the first deal."""
    seed: int = 0
    """Seed of the deals and of the players' randomness."""
    out: Path = Path("runs/games")
    """Folder for the files. Games that are already there stay, and are never replaced by others."""

    def __post_init__(self) -> None:
        check_at_least(self, num_deals=1, first_deal=0, seed=0)
        check_players(self, "players")
        number = len(self.players)
        if self.setup is None:
            known = number in STANDARD_PLAYERS
            require(known, f"name 3, 4 or 5 players, not {number}, or give a --setup with {number} seats")
        else:
            seats = find_setup(self.setup).seats
            require(number == seats, f"name {seats} players, not {number}: --setup {self.setup} has {seats} seats")


def main(config: Config) -> None:
    """Play the games, write the files of each deal once it is played, and print where they are."""
    refuse_other_files(config.out)
    deals = range(config.first_deal, config.first_deal + config.num_deals)
    players = [make(code) for code in config.players]
    console, written = Console(), 0
    try:
        with PartsProgress(console, unit="deals") as progress:
            progress.count(0, len(deals))
            for done, deal in enumerate(deals, 1):
                written += write_games(config.out, play_deal(config, players, deal))
                progress.count(done, len(deals))
    except KeyboardInterrupt:
        if not written:
            raise
        raise KeyboardInterrupt(f"the {written} games of finished deals are in {config.out}") from None
    console.print(f"{written} games are in {config.out}", highlight=False, soft_wrap=True)


def play_deal(config: Config, players: Sequence[Player], deal: int) -> dict[str, str]:
    """Play one deal in every rotation of the seats; return the text of each file by its name.

    A comment in each text names the players and the scores.
    """
    setup = choose_setup(len(config.players), config.setup)
    seed = game_seed(config.seed, setup.seats, 0)
    games, seats = seat_games(players, num_deals=range(deal, deal + 1), seed=seed, setup=setup)
    try:
        games.play(players)
    except PlayerError as error:
        raise UserError(f"{config.players[error.index]} failed: {error}") from error
    texts = {}
    for rotation, order in enumerate(seats.reshape(-1, setup.seats)):
        codes = [config.players[index] for index in np.argsort(order)]
        text = format_game(games.batch.game(rotation), codes, _describe_end(games, rotation))
        texts[f"deal{deal}-rotation{rotation}.txt"] = text
    return texts


def write_games(folder: Path, texts: Mapping[str, str]) -> int:
    """Write files of games, {name: text}, in a folder, and return their number.

    Raises `UserError`, and writes none of them, if one is already there with another text.
    """
    refuse_other_games(folder, texts)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_text(folder / name, text)
    return len(texts)


def _describe_end(games: Games, number: int) -> str:
    """Return how a game ended: who forfeited it, or the scores by seat."""
    if (offender := games.forfeited[number]) != NO_SEAT:
        return f"forfeited by seat {offender}"
    scores = [score(games.states[number], seat) for seat in range(games.setup.seats)]
    return f"scores: {', '.join(map(str, scores))}"


def refuse_other_files(folder: Path) -> None:
    """Raise `UserError` if a folder has files, but no games."""
    present = [path.name for path in folder.iterdir()] if folder.exists() else []
    if present and not any(name.startswith("deal") for name in present):
        raise UserError(f"{folder} is not empty and holds no games; choose another --out")


def refuse_other_games(folder: Path, texts: Mapping[str, str]) -> None:
    """Raise `UserError` if one of the files to be written, {name: text}, is already there with another text."""
    for name, text in texts.items():
        if (folder / name).exists() and (folder / name).read_text(encoding="utf-8", errors="replace") != text:
            reason = "of other settings, or of a player with randomness of its own"
            raise UserError(f"{folder / name} is another game ({reason}); choose another --out")
