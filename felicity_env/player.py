"""Interface of players: a view holds decisions to take and what the acting seats may know; a player returns actions."""

from functools import cached_property
from typing import Protocol

import numpy as np

from felicity_env.game import NUM_ACTIONS, State, legal_actions, nth_legal_action, num_legal_actions
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE, observe
from felicity_env.random_stream import RandomBits, draw_below


class View:
    """Input of a player: B decisions to take, with what the seats to act may know and nothing else.

    states: only what the seats to act may know, STATE [B] (see `information.redact`). seats: int64 [B], the seats to
    act. seeds: uint64 [B], random bits for each decision; they depend on the game, the seat and its decision number
    alone.
    """

    def __init__(self, states: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> None:
        self.states = states
        self.seats = seats
        self.seeds = seeds

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def action_masks(self) -> np.ndarray:
        """Action masks of the seats to act, int8 [B, NUM_ACTIONS]: 1 for each legal action."""
        masks = np.empty((len(self), NUM_ACTIONS), np.int8)
        write_action_masks(self.states, self.seats, masks)
        return masks

    def observations(self, open_mice: bool = False) -> np.ndarray:
        """Return the observations of the seats to act, float32 [B, OBS_SIZE], in the layout of `SECTIONS`."""
        out = np.empty((len(self), OBS_SIZE), np.float32)
        write_observations(self.states, self.seats, open_mice, out)
        return out

    def take(self, indices: np.ndarray) -> "View":
        """Return a view with only the decisions at `indices`."""
        return View(self.states[indices], self.seats[indices], self.seeds[indices])


class Player(Protocol):
    """Interface of a player: it chooses actions by `act`, and keeps no state from one call to the next."""

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for every decision of `view`: integers [B]."""
        ...


@kernel
def write_action_masks(states: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
    """Write the action mask of seats[k] in states[k] into out[k], int8 [NUM_ACTIONS], for each k."""
    for k in range(len(states)):
        legal_actions(states[k], seats[k], out[k])


@kernel
def write_observations(states: np.ndarray, seats: np.ndarray, open_mice: bool, out: np.ndarray) -> None:
    """Write the observation of seats[k] in states[k] into out[k], float32 [OBS_SIZE], for each k."""
    for k in range(len(states)):
        observe(states[k], seats[k], open_mice, out[k])


@kernel
def random_action(state: State, bits: RandomBits) -> int:
    """Draw a legal action of the acting seat; all are equally likely."""
    return nth_legal_action(state, draw_below(bits, num_legal_actions(state)))


@kernel
def _random_actions(states, seeds, out):
    for k in range(len(states)):
        out[k] = random_action(states[k], seeds[k])


class RandomPlayer:
    """Player that chooses uniformly among the legal actions."""

    def act(self, view: View) -> np.ndarray:
        """Return a random legal action for each of the B decisions of `view`, integers [B]."""
        actions = np.empty(len(view), np.int64)
        _random_actions(view.states, view.seeds, actions)
        return actions
