"""What is the last mouse card worth?"""

from dataclasses import replace

import numpy as np

from experiments.game.columns import weighted_mean
from experiments.game.copies import Played, Table, base_deals, begun, play_changed
from experiments.game.rounds import is_dry, is_void, round_columns
from felicity_env import SETUPS, Setup

MICE = tuple(range(7))  # on the last mouse card; with more on it somebody could hold more than can be bid (F2)
TIMES_TAKEN = tuple(range(5))  # how often a seat takes the last mouse card in a game; the last: so often or oftener


def last_card_columns(played: Played) -> dict[str, np.ndarray]:
    """Columns [blocks]: what buyers gain beside it, where the points of a victory come from, and who takes it wins?"""
    dry, void = is_dry(played.rounds), is_void(played.rounds)
    is_last = (played.rounds["passed"][..., : played.seats] == played.seats - 1) & (played.taken > 0)
    profit = played.rounds["value"] - played.rounds["price"]
    sources = {"last_card": played.taken * is_last, "other_cards": played.taken * ~is_last, "sacks": played.profit}
    points = {name: values.sum(axis=2) for name, values in sources.items()}
    return {
        "profit_of_buyer": weighted_mean(profit, ~dry & ~void),
        "profit_of_buyer_dry": weighted_mean(profit, dry & ~void),
        **{f"seat_from_{name}": values.mean(axis=(1, 2)) for name, values in points.items()},
        **{f"winner_from_{name}": weighted_mean(values, played.win_share) for name, values in points.items()},
        "win_share_by_times": _by_times(played.win_share, is_last.sum(axis=2)),
    }


def _by_times(shares: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Columns [blocks, TIMES_TAKEN]: mean of `shares` of the seats that took the last mouse card so many times."""
    capped = np.minimum(times, TIMES_TAKEN[-1])
    return np.column_stack([weighted_mean(shares, capped == k) for k in TIMES_TAKEN])


def with_last_mouse_card(seats: int, mice: int) -> Setup:
    """The standard game, but the last mouse card holds `mice`."""
    standard = SETUPS[seats]
    return replace(standard, mouse_cards=(*standard.mouse_cards[:-1], mice))


def changed_card_columns(table: Table) -> dict[str, np.ndarray]:
    """Columns [blocks, MICE]: prices, void and dry rounds if the last mouse card held other mice.

    An experiment on the same deals. The players see the mice but were not made for them: `ev` reckons with what lies on
    the card, `tuned` with weights that were found for 6, `anchor` with what a pass pays at the moment.
    """
    runs, deals = [], base_deals(table)
    for mice in MICE:
        setup = with_last_mouse_card(table.seats, mice)
        runs.append(round_columns(play_changed(table, setup, begun(setup, deals)[:, None])))
    return {f"if_{name}": np.column_stack([run[name] for run in runs]) for name in ("price", "void", "dry")}
