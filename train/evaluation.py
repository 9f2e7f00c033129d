"""How strong a policy is: alone against tables of others, with random streams of its own.

With 4 or 5 players there are only 40,000 or 500,000 deals in all, so unseen deals are not to be had; what is kept apart
are the random streams. Training derives its games from a seed below 2**32, evaluation from `EVALUATION_SEED`.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from agents.arena import shares_alone
from agents.estimates import bootstrap
from felicity_env import Player, game_seed

EVALUATION_SEED = 2**62
LADDER = ("random", "anchor", "ev")


def evaluate(
    player: Player, *, num_players: int, num_blocks: int, stream: int = 0, against: Sequence[str] = LADDER
) -> dict[str, Any]:
    """Win share of `player` against `num_players - 1` copies of each of `against`: {code: estimate}, and par."""
    seed = game_seed(EVALUATION_SEED, stream, num_players)
    shares = {}
    for code in against:
        shares[code] = asdict(bootstrap(shares_alone(player, code, num_players, num_blocks=num_blocks, seed=seed)))
    return {"num_players": num_players, "par": 1 / num_players, "win_share": shares}


def as_table(results: list[dict[str, Any]]) -> Table:
    """The results of `evaluate` for people."""
    table = Table(title="Win share of one against the rest, 95 % interval", title_justify="left")
    for column in ("players", "against", "win share", "interval", "par", "deals"):
        table.add_column(column, justify="left" if column == "against" else "right")
    for result in results:
        for code, share in result["win_share"].items():
            against = f"{result['num_players'] - 1} x {code}"
            interval = f"{share['low']:.3f} - {share['high']:.3f}"
            row = (str(result["num_players"]), against, f"{share['value']:.3f}", interval, f"{result['par']:.3f}")
            table.add_row(*row, str(share["blocks"]))
    return table
