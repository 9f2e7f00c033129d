"""Games between players, saved in text notation: `python -m agents games net ev ev ev --num-deals 5`.

Each deal is played once in every rotation of the seats, as in a tournament: with the seed of a tournament or an
evaluation, and the players of one of its matches in the same order, the games are those of that match.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console

from agents.arena.blocks import seat_games
from agents.arena.game_file import write_game
from agents.registry import check_players, make
from agents.tools.settings import check_at_least
from felicity_env.game import NO_SEAT
from felicity_env.random_stream import game_seed
from felicity_env.setups import choose_setup


@dataclass(frozen=True)
class Config:
    """Play games between players, and save each of them as a file in text notation."""

    players: Annotated[tuple[str, ...], tyro.conf.Positional] = ("net", "ev", "ev", "ev")
    """Code of each player, or run folders; their number selects the setup."""
    setup: str | None = None
    """Name of a setup, or a file with one. Default: the standard setup for this number of players."""
    num_deals: int = 5
    """Number of deals; each is played once in every rotation of the seats."""
    first_deal: int = 0
    """Number of the first deal."""
    seed: int = 0
    """Seed of the deals and of the players' randomness."""
    out: Path = Path("runs/games")
    """Folder for the files."""

    def __post_init__(self) -> None:
        check_at_least(self, num_deals=1, first_deal=0, seed=0)
        check_players(self, "players")
        choose_setup(len(self.players), self.setup)  # raises if there is none


def main(config: Config) -> None:
    """Play the games, write their files, and print where they are."""
    setup = choose_setup(len(config.players), config.setup)
    deals = range(config.first_deal, config.first_deal + config.num_deals)
    players = [make(code) for code in config.players]
    games, seats = seat_games(players, num_deals=deals, seed=game_seed(config.seed, setup.seats, 0), setup=setup)
    games.play(players)
    config.out.mkdir(parents=True, exist_ok=True)
    for number, order in enumerate(seats.reshape(-1, setup.seats)):
        deal, rotation = deals[number // setup.seats], number % setup.seats
        codes = [config.players[index] for index in np.argsort(order)]
        offender = games.forfeited[number]
        notes = [] if offender == NO_SEAT else [f"forfeited by seat {offender}"]
        write_game(config.out / f"deal{deal}-rotation{rotation}.txt", games.batch.game(number), codes, *notes)
    console = Console()
    console.print(f"{len(games.states)} games are in {config.out}", highlight=False, soft_wrap=True)
