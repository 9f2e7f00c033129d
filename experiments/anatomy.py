"""What is the game like? `python -m experiments.anatomy`

Questions that the rules themselves raise, with intervals: what is a seat worth, and what is each card; how often are
rounds dry (without mice) or void (nobody buys); can one win without ever buying, and how reckless must the others be
for that; what is the last mouse card worth. They are asked of tables of copies of one player (`experiments/game`).

Some answers are experiments: the start player is drawn by chance, and a card missing from a hand or the mice on a mouse
card are changed by us while the rest of the deal stays. The others are what happens at the table, where cards and seats
go with how a game stands: correlations. The comments at the functions say which is which.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.progress import track

import agents
from experiments.command import NOTHING_STORED, run_command
from experiments.game.cards import card_columns, holding_columns
from experiments.game.columns import estimated
from experiments.game.copies import Table, play_table
from experiments.game.mouse_card import changed_card_columns, last_card_columns
from experiments.game.never_buying import NON_BUYERS, non_buyer_answers, without_buying_columns
from experiments.game.plots import figures
from experiments.game.rounds import round_columns
from experiments.game.seats import seat_columns
from experiments.results import write_result
from felicity_env import SETUPS, game_seed
from train.checks import below, no_tables, refuse


@dataclass(frozen=True)
class Config:
    """Measure what seats, cards, rounds and mouse cards are worth."""

    players: tuple[str, ...] = ("anchor", "ev", "tuned")
    """Codes of the players whose tables of copies are studied."""
    num_players: tuple[int, ...] = tuple(SETUPS)
    """Seats at the tables."""
    tremble: float = 0.3
    """Chance that a player lays a uniformly random card instead of the one it chooses."""
    num_blocks: int = 5000
    """Deals at each table."""
    curve_blocks: int = 2000
    """Deals for each point of the curves of those who never buy."""
    seed: int = 2**59
    """Of the deals; apart from training (below 2**32), tune (2**60), the ladder (2**61) and evaluation (2**62)."""


def check(config: Config) -> None:
    """Raise `ValueError` naming what is wrong with a configuration."""
    if not config.players or not config.num_players:
        raise ValueError("--players and --num-players must name something to study")
    refuse(no_tables(config.num_players), below(config, num_blocks=2, curve_blocks=2, seed=0))
    if not 0 <= config.tremble <= 1:
        raise ValueError(f"--tremble must be a chance from 0 to 1, not {config.tremble}")
    for code in config.players:
        agents.make(code)


def tables(config: Config) -> list[Table]:
    """A table of each player for each number of seats; the same deals for all players."""
    return [
        Table(code, seats, config.num_blocks, game_seed(config.seed, seats, 0), config.tremble)
        for seats in config.num_players
        for code in config.players
    ]


def table_answers(table: Table) -> dict[str, Any]:
    """Every answer that a table gives."""
    played = play_table(table)
    columns: dict[str, np.ndarray] = {}
    for reduce_games in (seat_columns, card_columns, round_columns, without_buying_columns, last_card_columns):
        columns |= reduce_games(played)
    columns |= holding_columns(table) | changed_card_columns(table)
    return {"num_players": table.seats, "player": table.code, **estimated(columns)}


def measure(config: Config) -> dict[str, Any]:
    """All answers."""
    curves = [(name, seats) for seats in config.num_players for name in NON_BUYERS]
    return {
        "tables": [table_answers(table) for table in track(tables(config), "tables")],
        "non_buyers": [
            non_buyer_answers(name, seats, num_blocks=config.curve_blocks, seed=game_seed(config.seed, seats, 1))
            for name, seats in track(curves, "never buying")
        ],
    }


def main(config: Config) -> None:
    """Play, estimate, store and plot."""
    started = time.monotonic()
    check(config)
    results = measure(config)
    path = write_result("anatomy", config, results, started=started)
    for name, figure in figures(results).items():
        figure.savefig(path.with_name(f"anatomy_{name}.png"), dpi=110)


if __name__ == "__main__":
    run_command("anatomy", Config, main, interrupted=NOTHING_STORED)
