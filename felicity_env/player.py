"""Players and their views: the decisions to take, as the acting seats may know them, and nothing else."""

from functools import cached_property
from typing import Protocol

import numpy as np

from felicity_env.game import NUM_ACTIONS, State, legal_actions, nth_legal_action, num_legal_actions
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE, observe
from felicity_env.random_stream import RandomBits, draw_below


class View:
    """B decisions to take.

    states: redacted, STATE [B] (see `information.redact`). seats: int64 [B], the seats to act. seeds: uint64 [B],
    random bits for each decision; they depend on the game, the seat and its decision number alone.
    """

    def __init__(self, states: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> None:
        self.states = states
        self.seats = seats
        self.seeds = seeds

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def action_masks(self) -> np.ndarray:
        """Action masks, int8 [B, NUM_ACTIONS]: 1 where legal."""
        masks = np.empty((len(self), NUM_ACTIONS), np.int8)
        write_action_masks(self.states, self.seats, masks)
        return masks

    def observations(self, open_mice: bool = False) -> np.ndarray:
        """Return the observations of the seats to act, float32 [B, OBS_SIZE], in the layout of `SECTIONS`."""
        out = np.empty((len(self), OBS_SIZE), np.float32)
        write_observations(self.states, self.seats, open_mice, out)
        return out

    def take(self, indices: np.ndarray) -> "View":
        """Return a view of the decisions at `indices` alone."""
        return View(self.states[indices], self.seats[indices], self.seeds[indices])


class Player(Protocol):
    """Anything that decides. A player keeps nothing from one call to the next."""

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for every decision of `view`: integers [B]."""
        ...


@kernel
def write_action_masks(states: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
    """Write the action mask of seats[k] in states[k] into out[k] int8 [NUM_ACTIONS]."""
    for k in range(len(states)):
        legal_actions(states[k], seats[k], out[k])


@kernel
def write_observations(states: np.ndarray, seats: np.ndarray, open_mice: bool, out: np.ndarray) -> None:
    """Write the observation of seats[k] in states[k] into out[k] float32 [OBS_SIZE]."""
    for k in range(len(states)):
        observe(states[k], seats[k], open_mice, out[k])


@kernel
def random_action(state: State, bits: RandomBits) -> int:
    """Return a legal action of the acting seat, uniform over all."""
    return nth_legal_action(state, draw_below(bits, num_legal_actions(state)))


@kernel
def _random_actions(states, seeds, out):
    for k in range(len(states)):
        out[k] = random_action(states[k], seeds[k])


class RandomPlayer:
    """Player that chooses uniformly among the legal actions."""

    def act(self, view: View) -> np.ndarray:
        """Return legal actions, integers [B]."""
        actions = np.empty(len(view), np.int64)
        _random_actions(view.states, view.seeds, actions)
        return actions
