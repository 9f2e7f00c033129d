"""How do the ladder's players stand to each other? `python -m experiments.yardsticks`

One against n-1 copies of another, and the other way round, on the same deals under all rotations of the seats.
"""

import time
from dataclasses import asdict, dataclass
from typing import Any

import tyro
from rich.progress import track

import agents
from agents.arena import bootstrap, play_blocks
from experiments.results import write_result
from felicity_env import SETUPS
from felicity_env.random_stream import game_seed


@dataclass(frozen=True)
class Config:
    """Measure pairs of players in both formats at 3, 4 and 5 players."""

    players: tuple[str, ...] = ("random", "anchor", "ev")
    """Codes of the players; every pair of different ones is measured."""
    num_players: tuple[int, ...] = tuple(SETUPS)
    """Seats at the tables."""
    num_blocks: int = 4000
    """Deals for each pair, each under all rotations of the seats."""
    seed: int = 2**61
    """Of the deals; apart from those of training (below 2**32) and of a run's evaluation (2**62)."""


def share_of_one(one: str, rest: str, *, num_players: int, config: Config) -> dict[str, Any]:
    """Win share of `one` against `num_players - 1` copies of `rest`."""
    seating = [agents.make(one)] + [agents.make(rest) for _ in range(num_players - 1)]
    blocks = play_blocks(seating, num_blocks=config.num_blocks, seed=game_seed(config.seed, num_players, 0))
    share = asdict(bootstrap(blocks.mean_of(0)))
    return {"one": one, "rest": rest, "num_players": num_players, "par": 1 / num_players, "win_share": share}


def main(config: Config) -> None:
    """Measure every pair and store it."""
    started = time.monotonic()
    pairs = [(n, a, b) for n in config.num_players for a in config.players for b in config.players if a != b]
    results = [share_of_one(a, b, num_players=n, config=config) for n, a, b in track(pairs, "pairs")]
    print(f"written to {write_result('yardsticks', config, results, started=started)}")


if __name__ == "__main__":
    main(tyro.cli(Config))
