"""Question: which player of the ladder beats which? `python -m experiments ladder`

The players of the ladder, in order of strength, play a tournament with 3, 4 and 5 seats, together with the reference
player and the one before it.
"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from agents.arena import tournament
from agents.arena.report import list_win_shares
from agents.tools.seeds import SEEDS
from experiments.results import read_result, store

SHOWN_PLOTS = ("cross_table", "ratings")  # plots that are stored with the result; the folder of the tournament has all
LADDER = ("pass", "random", "greedy", "anchor", "ev", "tuned", "mc:100", "ismcts:100")  # weakest first
REFERENCE = ("net-1", "net")  # made to be hard to exploit, so they have no place in that order


@dataclass(frozen=True)
class Config(tournament.Config):
    """Play a tournament of all players of the ladder (players in order of strength) and the reference player."""

    players: tuple[str, ...] = (*LADDER, *REFERENCE)
    """Codes of the players."""
    num_deals: int = 2000
    """Number of deals for each pair of players, each under all rotations of the seats."""
    search_deals: int | None = 150
    """Number of deals for each pair with a search; it is small, because searches are slow."""
    mixed_deals: int = 20
    """Number of deals for each mixed table (a table at which all players differ); 0 for no mixed tables."""
    seed: int = SEEDS["ladder"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""
    out: Path = Path("runs/ladder")
    """Folder of the tournament; the same command, given again, continues an interrupted tournament."""


def read_win_shares(player: str, setup: str) -> dict[str, dict[str, float]]:
    """Read from the stored tournament the win shares of one player alone against copies of each other player.

    setup: name of the setup. Returns {code of the other player: win share with its interval}.
    """
    win_shares = list_win_shares(read_result("ladder")["results"], setup)
    return {rest: win_share for (one, rest), win_share in win_shares.items() if one == player}


def main(config: Config) -> None:
    """Play the tournament of the ladder, or continue it, and store its results and plots."""
    results, content = tournament.play_tournament(config, Console(), command="experiments ladder")
    results.raise_failure()
    path = store("ladder", content)
    for name in SHOWN_PLOTS:
        path.with_name(f"{path.stem}_{name}.png").write_bytes((config.out / f"{name}.png").read_bytes())
