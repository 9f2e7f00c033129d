"""Victories without buying a sack, in ordinary games and against overbidders."""

from collections.abc import Callable
from typing import Any

import numpy as np

import agents
from agents.arena.blocks import play_blocks
from agents.arena.estimates import INTERVAL
from agents.bidding import raise_up_to
from agents.sack_value import expected_sack_value
from experiments.game.columns import average, estimate_columns, resample_means, round_estimate
from experiments.game.copies import PlayedGames
from experiments.game.rounds import is_void
from felicity_env import Player, Setup, View
from felicity_env.game import PASS, PLACE, State, is_alone
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits
from felicity_env.setups import setup_name

EXTRAS = tuple(range(0, 31, 2))  # mice above the value of a sack
CAUTION = 5.0  # mice; of 0, 5 and 10 the value with which `tease` needs the smallest extra at 4 and 5 seats


def compute_without_buying_columns(games: PlayedGames) -> dict[str, np.ndarray]:
    """Return columns [blocks]: fraction of victories by seats without a sack, and fraction of seats that buy none."""
    none_bought = ~games.bought.any(axis=2)
    return {
        "victories_without_buying": (games.win_share * none_bought).sum(axis=2).mean(axis=1),
        "seats_without_buying": none_bought.mean(axis=(1, 2)),
    }


@kernel
def overbid_action(state: State, random_bits: RandomBits, extra: float) -> int:
    """Bid up to `extra` mice above the expected value of the sack; place a random card (as `reckless` does)."""
    if state.phase == PLACE:
        return random_action(state, random_bits)
    return raise_up_to(state, expected_sack_value(state) + extra)


@kernel
def tease_action(state: State, random_bits: RandomBits, extra: float) -> int:
    """Raise without wanting the sack while a rival that pays `extra` too much can and should raise again.

    The others then pass first, and this player takes the higher mouse cards. It places random cards.
    """
    if state.phase == PLACE:
        return random_action(state, random_bits)
    if is_alone(state):
        return PASS
    return raise_up_to(state, min(expected_sack_value(state) + extra - CAUTION, mice_of_richest_rival(state) - 1))


@kernel
def mice_of_richest_rival(state: State) -> int:
    """Return the most mice that another seat in the auction holds."""
    most = 0
    for seat in range(state.num_seats):
        if seat != state.seat and state.in_auction[seat]:
            most = max(most, state.mice[seat])
    return most


@kernel
def _overbid(states, seeds, extra, out):
    for k in range(len(states)):
        out[k] = overbid_action(states[k], seeds[k], extra)


@kernel
def _tease(states, seeds, extra, out):
    for k in range(len(states)):
        out[k] = tease_action(states[k], seeds[k], extra)


class ExtraPlayer:
    """Player with a number of mice above the value of a sack: it pays them, or expects the others to pay them."""

    def __init__(self, act_all: Callable[..., None], extra: float) -> None:
        self.act_all, self.extra = act_all, float(extra)

    def act(self, view: View) -> np.ndarray:
        """Return legal actions, integers [B]."""
        actions = np.empty(len(view), np.int64)
        self.act_all(view.states, view.seeds, self.extra, actions)
        return actions


def make_overbidder(extra: float) -> Player:
    """Return a player that pays up to `extra` mice too much for every sack."""
    return ExtraPlayer(_overbid, extra)


NON_BUYERS: dict[str, Callable[[float], Player]] = {
    "pass": lambda extra: agents.make("pass"),
    "tease": lambda extra: ExtraPlayer(_tease, extra),
}


def compute_non_buyer_columns(
    name: str, setup: Setup, extra: float, *, num_deals: int, seed: int
) -> dict[str, np.ndarray]:
    """Return columns [blocks] of one of `NON_BUYERS` against overbidders: its wins without a sack, their losses."""
    players = [NON_BUYERS[name](extra), *[make_overbidder(extra)] * (setup.seats - 1)]
    blocks = play_blocks(players, num_deals=num_deals, seed=seed, setup=setup)
    victories = blocks.measures["win_share"][..., 0] * (blocks.measures["sacks"][..., 0] == 0)
    loss = blocks.rounds["price"] - blocks.rounds["value"]
    return {
        "win_share": victories.mean(axis=1),
        "sacks": blocks.block_means(0, "sacks"),
        "loss_per_sack": average(loss, ~is_void(blocks.rounds)),
    }


def measure_non_buyer(name: str, setup: Setup, *, num_deals: int, seed: int) -> dict[str, Any]:
    """Return the win share of a non-buyer for each extra of the others, on the same deals, and where it reaches par."""
    runs = [compute_non_buyer_columns(name, setup, extra, num_deals=num_deals, seed=seed) for extra in EXTRAS]
    columns = {answer: np.column_stack([run[answer] for run in runs]) for answer in runs[0]}
    return {
        "setup": setup_name(setup),
        "num_players": setup.seats,
        "one": name,
        "extras": list(EXTRAS),
        **estimate_columns(columns),
        "crosses_par": _estimate_crossing(columns["win_share"], 1 / setup.seats),
    }


def find_crossing(extras: np.ndarray, win_shares: np.ndarray, par: float) -> float:
    """Return where `win_shares` [K] first reach `par`, linear between the `extras` [K]; infinite if they never do."""
    above = np.flatnonzero(win_shares >= par)
    if not len(above):
        return float("inf")
    k = above[0]
    return float(extras[0] if k == 0 else np.interp(par, win_shares[k - 1 : k + 1], extras[k - 1 : k + 1]))


def _estimate_crossing(win_shares: np.ndarray, par: float) -> dict[str, Any] | None:
    """Return the crossing with its interval; None unless the curve crosses in nearly every resample."""
    extras = np.array(EXTRAS, float)
    crossings = [find_crossing(extras, means, par) for means in resample_means(win_shares)]
    low, high = np.percentile(crossings, INTERVAL, method="nearest")  # infinities cannot be interpolated
    return round_estimate(find_crossing(extras, win_shares.mean(axis=0), par), low, high, blocks=len(win_shares))
