"""Can one win without ever buying, and how reckless must the others be for that?"""

from collections.abc import Callable
from typing import Any

import numpy as np

import agents
from agents.arena import play_blocks
from agents.belief import expected_sack
from agents.bidding import raise_up_to
from agents.estimates import INTERVAL
from experiments.game.columns import estimate_of, estimated, resampled_means, weighted_mean
from experiments.game.copies import Played
from experiments.game.rounds import is_void
from felicity_env import Player, View
from felicity_env.game import PASS, PLACE, State, is_alone
from felicity_env.kernel import kernel
from felicity_env.random_stream import Word
from felicity_env.view import random_action

EXTRAS = tuple(range(0, 31, 2))  # mice above the worth of a sack
CAUTION = 5.0  # mice; of 0, 5 and 10 the one with which `tease` needs the least recklessness at 4 and 5 seats


def without_buying_columns(played: Played) -> dict[str, np.ndarray]:
    """Columns [blocks]: share of the victories that went to seats without a sack, and how many seats buy none."""
    none_bought = ~played.bought.any(axis=2)
    return {
        "victories_without_buying": (played.win_share * none_bought).sum(axis=2).mean(axis=1),
        "seats_without_buying": none_bought.mean(axis=(1, 2)),
    }


@kernel
def _overbid(states, words, extra, out):
    for k in range(len(states)):
        out[k] = overbid_action(states[k], words[k], extra)


@kernel
def overbid_action(state: State, word: Word, extra: float) -> int:
    """Pays `extra` mice more than a sack is worth on average; a uniformly random card (as `reckless`)."""
    return random_action(state, word) if state.phase == PLACE else raise_up_to(state, expected_sack(state) + extra)


@kernel
def _tease(states, words, extra, out):
    for k in range(len(states)):
        out[k] = tease_action(states[k], words[k], extra)


@kernel
def tease_action(state: State, word: Word, extra: float) -> int:
    """Wants no sack, but raises while a rival who pays `extra` too much can and should raise again; a random card.

    So the others pass before it, and it is paid by the higher mouse cards.
    """
    if state.phase == PLACE:
        return random_action(state, word)
    if is_alone(state):
        return PASS
    return raise_up_to(state, min(expected_sack(state) + extra - CAUTION, richest_rival(state) - 1))


@kernel
def richest_rival(state: State) -> int:
    """The most mice that another seat in the auction holds."""
    most = 0
    for seat in range(state.num_seats):
        if seat != state.seat and state.in_auction[seat]:
            most = max(most, state.mice[seat])
    return most


class ExtraPlayer:
    """A player with a number: how many mice above the worth of a sack it pays, or takes the others to pay."""

    def __init__(self, kernel_of_rows: Callable[..., None], extra: float) -> None:
        self.act_rows, self.extra = kernel_of_rows, float(extra)

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.empty(len(view), np.int64)
        self.act_rows(view.states, view.seeds, self.extra, actions)
        return actions


def overbidder(extra: float) -> Player:
    """A player that pays `extra` mice too much for every sack."""
    return ExtraPlayer(_overbid, extra)


NON_BUYERS: dict[str, Callable[[float], Player]] = {
    "pass": lambda extra: agents.make("pass"),
    "tease": lambda extra: ExtraPlayer(_tease, extra),
}


def non_buyer_columns(name: str, seats: int, extra: float, *, num_blocks: int, seed: int) -> dict[str, np.ndarray]:
    """Columns [blocks] of one of `NON_BUYERS` against overbidders: its victories without a sack, and what they lose."""
    players = [NON_BUYERS[name](extra), *[overbidder(extra)] * (seats - 1)]
    blocks = play_blocks(players, num_blocks=num_blocks, seed=seed)
    victories = blocks.measures["win_share"][..., 0] * (blocks.measures["sacks"][..., 0] == 0)
    loss = blocks.rounds["price"] - blocks.rounds["value"]
    return {
        "win_share": victories.mean(axis=1),
        "sacks": blocks.mean_of(0, "sacks"),
        "loss_per_sack": weighted_mean(loss, ~is_void(blocks.rounds)),
    }


def non_buyer_answers(name: str, seats: int, *, num_blocks: int, seed: int) -> dict[str, Any]:
    """The curve over how reckless the others are, all on the same deals, and where it crosses par, if it does."""
    runs = [non_buyer_columns(name, seats, extra, num_blocks=num_blocks, seed=seed) for extra in EXTRAS]
    columns = {answer: np.column_stack([run[answer] for run in runs]) for answer in runs[0]}
    return {
        "num_players": seats,
        "one": name,
        "extras": list(EXTRAS),
        **estimated(columns),
        "crosses_par": _crossing_estimate(columns["win_share"], 1 / seats),
    }


def crossing(extras: np.ndarray, shares: np.ndarray, par: float) -> float:
    """Where `shares` [K] first reach `par`, linear between the `extras` [K]; infinite if they never do."""
    above = np.flatnonzero(shares >= par)
    if not len(above):
        return float("inf")
    k = above[0]
    return float(extras[0] if k == 0 else np.interp(par, shares[k - 1 : k + 1], extras[k - 1 : k + 1]))


def _crossing_estimate(shares: np.ndarray, par: float) -> dict[str, Any] | None:
    """The crossing with its interval; None unless the curve crosses in nearly every resample."""
    extras = np.array(EXTRAS, float)
    crossings = [crossing(extras, means, par) for means in resampled_means(shares)]
    low, high = np.percentile(crossings, INTERVAL, method="nearest")  # between two infinities there is no number
    return estimate_of(crossing(extras, shares.mean(axis=0), par), low, high, blocks=len(shares))
