"""Question: what are a seat, a card and a mouse card worth? `python -m experiments anatomy`

Copies of one player play many deals. The answers, with intervals: the value of a position in the order of play, the
value of each card, how often rounds are dry (no mice on the mouse cards) or void (nobody buys), how often a seat wins
without buying a sack and how far the other seats must overbid for that, and the value of the last mouse card.

Some answers are experiments: the start player is random, and a removed card or the mice on a mouse card are changed
while the rest of the deal stays equal. All other answers are correlations between cards, seats and the course of the
game. The docstrings of the functions in `experiments/game` say which answers are experiments.
"""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from rich.progress import track

from agents.registry import check_players
from agents.tools.figures import save_figure
from agents.tools.seeds import SEEDS
from agents.tools.settings import SeveralSetups, check_at_least, check_range
from experiments.game.cards import compute_card_columns, compute_holding_columns
from experiments.game.columns import estimate_columns
from experiments.game.copies import Copies, play_copies
from experiments.game.mouse_card import compute_changed_card_columns, compute_last_card_columns
from experiments.game.never_buying import NON_BUYERS, compute_without_buying_columns, measure_non_buyer
from experiments.game.plots import draw_figures
from experiments.game.rounds import compute_round_columns
from experiments.game.seats import compute_seat_columns
from experiments.results import write_result
from felicity_env import game_seed
from felicity_env.setups import describe_setup


@dataclass(frozen=True)
class Config(SeveralSetups):
    """Measure the value of seats, cards and mouse cards in games among copies of one player."""

    resumes: ClassVar[bool] = False
    players: tuple[str, ...] = ("anchor", "ev", "tuned")
    """Codes of the players whose copies play. Results that are alike for all players are properties of the game."""
    tremble: float = 0.3
    """Probability that a player places a random card. With 0, copies of a deterministic player all play alike."""
    num_deals: int = 5000
    """Number of deals for each player, each under all rotations of the seats; 4 times as many halve the intervals."""
    curve_deals: int = 2000
    """Number of deals for each point of the curves that show how often players win although they never buy a sack."""
    seed: int = SEEDS["anatomy"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "players")
        check_at_least(self, num_deals=2, curve_deals=2, seed=0)
        check_range(self, 0, 1, "tremble")


def list_copies(config: Config) -> list[Copies]:
    """Return a list of tables to play at: one with copies of each player in all seats, in each setup.

    All players get the same deals.
    """
    return [
        Copies(code, setup, config.num_deals, game_seed(config.seed, setup.seats, 0), config.tremble)
        for setup in config.setups
        for code in config.players
    ]


def measure_copies(copies: Copies) -> dict[str, Any]:
    """Play games among copies of one player in one setup; return all estimates that these games give, by name."""
    games = play_copies(copies)
    columns: dict[str, np.ndarray] = {}
    for compute_columns in (
        compute_seat_columns,
        compute_card_columns,
        compute_round_columns,
        compute_without_buying_columns,
        compute_last_card_columns,
    ):
        columns |= compute_columns(games)
    columns |= compute_holding_columns(copies) | compute_changed_card_columns(copies)
    return describe_setup(copies.setup) | {"player": copies.code} | estimate_columns(columns)


def measure(config: Config) -> dict[str, Any]:
    """Play all games about the value of seats, cards and mouse cards, and return all estimates.

    The result is a dictionary. tables: estimates for copies of each player in each setup. non_buyers: results of
    players that never buy a sack.
    """
    curves = [(name, setup) for setup in config.setups for name in NON_BUYERS]
    return {
        "tables": [measure_copies(copies) for copies in track(list_copies(config), "copies")],
        "non_buyers": [
            measure_non_buyer(name, setup, num_deals=config.curve_deals, seed=game_seed(config.seed, setup.seats, 1))
            for name, setup in track(curves, "never buying")
        ],
    }


def main(config: Config) -> None:
    """Measure the value of seats, cards and mouse cards, store the result and plot it."""
    started = time.monotonic()
    results = measure(config)
    path = write_result("anatomy", config, results, started=started)
    for name, figure in draw_figures(results).items():
        save_figure(figure, path.with_name(f"{path.stem}_{name}.png"))
