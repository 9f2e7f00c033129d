"""Victories of players that buy no sack, in ordinary games and against players that pay too much for sacks."""

from collections.abc import Callable
from typing import Any

import numpy as np

import agents
from agents.arena.blocks import play_blocks
from agents.arena.estimates import INTERVAL, resample_means
from agents.bidding import raise_up_to
from agents.reckless import overbid_action
from agents.sack_value import expected_sack_value
from experiments.game.columns import average, estimate_columns, round_estimate
from experiments.game.copies import PlayedGames
from experiments.game.rounds import is_void
from felicity_env import Player, Setup, View
from felicity_env.game import PASS, PLACE, State, is_alone
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits
from felicity_env.setups import describe_setup

ROUNDING = 1e-9  # a mean that is par but for rounding counts as par
EXTRAS = tuple(range(0, 31, 2))  # mice that overbidders pay above the expected value of a sack
CAUTION = 5.0  # mice below an overbidder's limit where `tease` stops; the best of 0, 5, 10 with 4 and 5 seats


def compute_without_buying_columns(games: PlayedGames) -> dict[str, np.ndarray]:
    """Return the fraction of victories without buying a sack, and the fraction of seats that buy none, [blocks]."""
    none_bought = ~games.bought.any(axis=2)
    return {
        "victories_without_buying": (games.win_share * none_bought).sum(axis=2).mean(axis=1),
        "seats_without_buying": none_bought.mean(axis=(1, 2)),
    }


@kernel
def tease_action(state: State, random_bits: RandomBits, extra: float) -> int:
    """Return the action of a player that bids only to raise the price, against players that pay too much for a sack.

    Such an overbidder pays up to `extra` mice above the expected value of the sack. This player raises as long as an
    overbidder should still raise again, but it does not want the sack. If the other seats pass first, it gets more mice
    for its own pass. It places random cards.
    """
    if state.phase == PLACE:
        return random_action(state, random_bits)
    if is_alone(state):
        return PASS
    return raise_up_to(state, min(expected_sack_value(state) + extra - CAUTION, mice_of_richest_rival(state) - 1))


@kernel
def mice_of_richest_rival(state: State) -> int:
    """Return the largest number of mice that any other seat in the auction holds, or 0 if there is no other seat."""
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
    """Player that acts by a compiled rule with a parameter `extra`, a number of mice.

    extra: mice that an overbidder pays above the expected value of a sack. act_all: function `act_all(states, seeds,
    extra, out)` that writes an action for each state into `out`.
    """

    def __init__(self, act_all: Callable[..., None], extra: float) -> None:
        self.act_all, self.extra = act_all, float(extra)

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for each of the B decisions of `view`, int64 [B]."""
        actions = np.empty(len(view), np.int64)
        self.act_all(view.states, view.seeds, self.extra, actions)
        return actions


def make_overbidder(extra: float) -> Player:
    """Return a player that pays up to `extra` mice above the expected value of every sack."""
    return ExtraPlayer(_overbid, extra)


NON_BUYERS: dict[str, Callable[[float], Player]] = {
    "pass": lambda extra: agents.make("pass"),
    "tease": lambda extra: ExtraPlayer(_tease, extra),
}


def compute_non_buyer_columns(
    name: str, setup: Setup, extra: float, *, num_deals: int, seed: int
) -> dict[str, np.ndarray]:
    """Measure a player that tries to win without buying a sack, alone against overbidders; return values by block.

    name: key of `NON_BUYERS` that names the player. extra: mice that the overbidders pay above the expected value of a
    sack. Returns arrays [blocks]: `win_share` is the player's win share in games in which it bought no sack (0 in other
    games), `sacks` the number of sacks that it bought, and `loss_per_sack` the price minus the value of a sack,
    averaged over all sacks sold.
    """
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
    """Estimate how often a player wins without buying a sack, for each number of mice that its opponents overbid.

    The same deals are played with each number. The entry `crosses_par` of the result is the smallest number at which
    the player's win share reaches par (1 / number of players). name: key of `NON_BUYERS` that names the player.
    """
    runs = [compute_non_buyer_columns(name, setup, extra, num_deals=num_deals, seed=seed) for extra in EXTRAS]
    columns = {answer: np.column_stack([run[answer] for run in runs]) for answer in runs[0]}
    return {
        **describe_setup(setup),
        "one": name,
        "extras": list(EXTRAS),
        **estimate_columns(columns),
        "crosses_par": _estimate_crossing(columns["win_share"], 1 / setup.seats),
    }


def find_crossing(extras: np.ndarray, win_shares: np.ndarray, par: float) -> float:
    """Return the value of `extras` [K] at which `win_shares` [K] first reach `par`, or infinity if they never do.

    Between the given points the curve is linear.
    """
    above = np.flatnonzero(win_shares >= par - ROUNDING)
    if not len(above):
        return float("inf")
    k = above[0]
    return float(extras[0] if k == 0 else np.interp(par, win_shares[k - 1 : k + 1], extras[k - 1 : k + 1]))


def _estimate_crossing(win_shares: np.ndarray, par: float) -> dict[str, Any] | None:
    """Estimate how many mice the opponents must overbid so that the win share reaches par, with a 95 % interval.

    win_shares: [blocks, EXTRAS], a column for each number of mice. Returns None unless the curve reaches par in nearly
    every bootstrap resample.
    """
    extras = np.array(EXTRAS, float)
    crossings = [find_crossing(extras, means, par) for means in resample_means(win_shares)]
    low, high = np.percentile(crossings, INTERVAL, method="nearest")  # infinities cannot be interpolated
    return round_estimate(find_crossing(extras, win_shares.mean(axis=0), par), low, high, blocks=len(win_shares))
