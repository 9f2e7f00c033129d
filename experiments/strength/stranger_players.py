"""Strangers: fixed players that the reference player never meets in training; see the question `strangers`.

Three are programs. Two are policies in the folder `stranger_policies`: they learned by self-play PPO from random
weights, one with `ev` and the other with `tuned` among the opponents; config.json in their folders has all settings.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents.bidding import place_worst
from agents.compiled import heuristic_number
from agents.ev import break_even_bid
from agents.network import NetworkPlayer
from agents.playout import play_out, utilities
from felicity_env import Player, View
from felicity_env.game import (
    MAX_SEATS,
    PASS,
    PLACE,
    STATE,
    State,
    highest_legal_bid,
    nth_legal_action,
    num_legal_actions,
    step,
)
from felicity_env.information import resample_state
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.random_stream import RandomBits, split

FOLDER = Path(__file__).parent / "stranger_policies"
JUMP = 0.5  # of the break-even bid
ONLY_BID = 0.4  # of the break-even bid
WORLDS = 40  # of the search
MOST_CANDIDATES = 12  # of the search: ten cards, or a pass and the lowest raises


class Workspace(NamedTuple):
    """Workspace of the stranger that searches: arrays that it overwrites at each decision."""

    world: np.ndarray  # STATE [1]
    scratch: np.ndarray  # STATE [1]
    models: np.ndarray  # int64 [MAX_SEATS]: number of the heuristic in each seat of a playout
    values: np.ndarray  # float64 [2, MAX_SEATS]: see `utilities`


@kernel
def jump(state: State, random_bits: RandomBits) -> int:
    """Return the action of a bidder that raises to half of its break-even bid at once, and later by one up to it."""
    if state.phase == PLACE:
        return place_worst(state)
    limit = min(break_even_bid(state), float(highest_legal_bid(state)))
    target = max(state.high_bid + 1, int(JUMP * limit))
    return PASS + target if target <= limit else PASS


@kernel
def bid_once(state: State, random_bits: RandomBits) -> int:
    """Return the action of a bidder that never raises its own first bid, of at least 0.4 of its break-even bid."""
    if state.phase == PLACE:
        return place_worst(state)
    limit = min(break_even_bid(state), float(highest_legal_bid(state)))
    target = max(state.high_bid + 1, int(ONLY_BID * limit))
    return PASS + target if target <= limit and state.bids[state.seat] == 0 else PASS


@outlined_kernel
def search(state: State, random_bits: RandomBits, workspace: Workspace) -> int:
    """Return the action that wins most in random worlds if copies of `anchor` play them out, of all cards or low bids.

    All actions are tried in the same worlds.
    """
    best, highest = PASS, -np.inf
    for n in range(min(num_legal_actions(state), MOST_CANDIDATES)):
        total, action = 0.0, nth_legal_action(state, n)
        for number in range(WORLDS):
            bits = split(random_bits, number)
            workspace.world[0] = state
            resample_state(workspace.world[0], bits)
            step(workspace.world[0], action)
            play_out(workspace.world[0], workspace.scratch, workspace.models, bits)
            utilities(workspace.world[0], workspace.values)
            total += workspace.values[0, state.seat]
        if total > highest:
            best, highest = action, total
    return best


@kernel
def _act(number, states, seeds, workspace, out):
    for k in range(len(states)):
        if number == 0:
            out[k] = jump(states[k], seeds[k])
        elif number == 1:
            out[k] = bid_once(states[k], seeds[k])
        else:
            out[k] = search(states[k], seeds[k], workspace)


class _Stranger:
    """Player that acts by one of the functions above, given its number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for each of the B decisions of `view`, int64 [B]."""
        actions = np.empty(len(view), np.int64)
        models = np.full(MAX_SEATS, heuristic_number("anchor"))
        workspace = Workspace(np.zeros(1, STATE), np.zeros(1, STATE), models, np.zeros((2, MAX_SEATS)))
        _act(self.number, view.states, view.seeds, workspace, actions)
        return actions


def jumper() -> Player:
    """Return the player that jumps to half of what a sack is worth to it."""
    return _Stranger(0)


def single_bidder() -> Player:
    """Return the player that never raises its own first bid."""
    return _Stranger(1)


def searcher() -> Player:
    """Return the player that searches, with other playouts than the searches of the ladder."""
    return _Stranger(2)


def learner_against_ev() -> Player:
    """Return the policy that learned against `ev` and itself."""
    return NetworkPlayer.load(FOLDER / "learner_against_ev")


def learner_against_tuned() -> Player:
    """Return the policy that learned against `tuned` and itself."""
    return NetworkPlayer.load(FOLDER / "learner_against_tuned")
