"""Value of the last mouse card, whose mice are paid to the last seat that passes in an auction."""

from dataclasses import replace

import numpy as np

from experiments.game.columns import average
from experiments.game.copies import Copies, PlayedGames, list_deals, play_states, redeal
from experiments.game.rounds import compute_round_columns, is_dry, is_void
from felicity_env import Setup

MICE = tuple(range(7))  # numbers of mice on the last mouse card; with more, a seat could hold more than can be bid (F2)
TIMES_TAKEN = tuple(range(5))  # how often a seat takes the last mouse card in a game; the last entry includes more


def compute_last_card_columns(games: PlayedGames) -> dict[str, np.ndarray]:
    """Return statistics of the last mouse card, whose mice are paid to the last seat that passes.

    Each is an array with a value for each block, [blocks]: the profits of buyers, the points that seats get from the
    card and from other sources, and, as [blocks, TIMES_TAKEN], the win share of seats that take the card 0, 1, 2, ...
    times.
    """
    dry, void = is_dry(games.rounds), is_void(games.rounds)
    is_last = (games.rounds["passed"][..., : games.seats] == games.seats - 1) & (games.taken > 0)
    profit = games.rounds["value"] - games.rounds["price"]
    sources = {"last_card": games.taken * is_last, "other_cards": games.taken * ~is_last, "sacks": games.profit}
    points = {name: values.sum(axis=2) for name, values in sources.items()}
    return {
        "profit_of_buyer": average(profit, ~dry & ~void),
        "profit_of_buyer_dry": average(profit, dry & ~void),
        **{f"seat_from_{name}": values.mean(axis=(1, 2)) for name, values in points.items()},
        **{f"winner_from_{name}": average(values, games.win_share) for name, values in points.items()},
        "win_share_by_times": _average_by_times(games.win_share, is_last.sum(axis=2)),
    }


def _average_by_times(win_shares: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the mean win share of seats that took the last mouse card 0, 1, 2, ... times, [blocks, TIMES_TAKEN]."""
    capped = np.minimum(times, TIMES_TAKEN[-1])
    return np.column_stack([average(win_shares, capped == k) for k in TIMES_TAKEN])


def change_last_mouse_card(setup: Setup, mice: int) -> Setup:
    """Return a copy of the setup with `mice` mice on its last mouse card."""
    return replace(setup, mouse_cards=(*setup.mouse_cards[:-1], mice))


def compute_changed_card_columns(copies: Copies) -> dict[str, np.ndarray]:
    """Return prices and frequencies of void and dry rounds for each number of mice on the last mouse card.

    Each array is [blocks, MICE]. This is an experiment: the same deals are played with every number of mice. The
    players see the mice but were not made for other numbers: `ev` uses the mice on the card, `tuned` has weights for 6
    mice, and `anchor` uses what a pass pays at the moment. In a void round nobody buys; in a dry round there are no
    mice on the mouse cards.
    """
    runs, deals = [], list_deals(copies)
    for mice in MICE:
        setup = change_last_mouse_card(copies.setup, mice)
        runs.append(compute_round_columns(play_states(copies, setup, redeal(setup, deals)[:, None])))
    return {f"if_{name}": np.column_stack([run[name] for run in runs]) for name in ("price", "void", "dry")}
