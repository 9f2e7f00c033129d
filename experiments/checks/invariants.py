"""Question: do the rules hold in random games? `python -m experiments invariants`

Every position and every step of random games with 3, 4 and 5 players is checked against invariants that are stated from
the rules (`position_faults.FAULTS`). In half of the games all legal actions are equally likely; in the others passes
and lowest bids are more frequent, so that bidding wars and void rounds occur. The command fails if a game violates an
invariant. The result tells for each invariant how many games violate it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check
from experiments.checks.game_faults import check_games
from felicity_env.setups import SETUPS

GAMES_A_CHUNK = 20_000


@dataclass(frozen=True)
class Config:
    """Check random games in all standard setups against the invariants of the rules."""

    resumes: ClassVar[bool] = True
    games: int = 10_000_000
    """Number of games in each standard setup; more find rarer faults."""
    out: Path = Path("runs/invariants")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_at_least(self, games=1)


def check_chunk(k: int, games: int) -> Outcome:
    """Play and check the random games of chunk k, all in one setup; return {fault: number of games that have it}.

    games: number of games in each setup in the whole check. Successive chunks belong to the setups in turn.
    """
    name, setup = list(SETUPS.items())[k % len(SETUPS)]
    part = k // len(SETUPS)
    first, size = part * GAMES_A_CHUNK, chunk_size(games, GAMES_A_CHUNK, part)
    found = check_games(setup, range(first, first + size), SEEDS["invariants"])
    return Outcome({f"games of {name}": size, f"decisions of {name}": found.decisions}, found.faults)


def main(config: Config) -> None:
    """Check all games, store the counts, and raise `UserError` if a game violates an invariant.

    An interrupted check continues with the first chunk of games that was not finished.
    """
    num_chunks = count_chunks(config.games, GAMES_A_CHUNK) * len(SETUPS)
    run_check("invariants", config, lambda k: check_chunk(k, config.games), num_chunks, source=__file__)
