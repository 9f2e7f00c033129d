"""What a player is handed to decide by: the rows of a batch as their seats may know them, and nothing else."""

from functools import cached_property
from typing import Protocol

import numpy as np

from felicity_env.game import NUM_ACTIONS, State, legal_actions, nth_legal_action, num_legal_actions
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE, observe
from felicity_env.random_stream import Word, below


class View:
    """B decisions to take.

    states: redacted, [B] of STATE (see `information.redact`). seats: int64 [B], who decides. seeds: uint64 [B], the
    word each decision may draw its randomness from; it depends on the game, the seat and its decision number alone.
    """

    def __init__(self, states: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> None:
        self.states = states
        self.seats = seats
        self.seeds = seeds

    def __len__(self) -> int:
        return len(self.states)

    @cached_property
    def action_masks(self) -> np.ndarray:
        """int8 [B, NUM_ACTIONS]: 1 where legal."""
        masks = np.empty((len(self), NUM_ACTIONS), np.int8)
        masks_of(self.states, self.seats, masks)
        return masks

    def observations(self, open_mice: bool = False) -> np.ndarray:
        """float32 [B, OBS_SIZE], laid out as `SECTIONS`."""
        out = np.empty((len(self), OBS_SIZE), np.float32)
        observations_of(self.states, self.seats, open_mice, out)
        return out

    def take(self, rows: np.ndarray) -> "View":
        """The decisions in `rows` alone."""
        return View(self.states[rows], self.seats[rows], self.seeds[rows])


class Player(Protocol):
    """Anything that decides. It remembers nothing from one call to the next."""

    def act(self, view: View) -> np.ndarray:
        """A legal action for every row of `view`: integers [B]."""
        ...


@kernel
def masks_of(states: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
    """Write the action mask of seats[k] in states[k] into out[k] int8 [NUM_ACTIONS]."""
    for k in range(len(states)):
        legal_actions(states[k], seats[k], out[k])


@kernel
def observations_of(states: np.ndarray, seats: np.ndarray, open_mice: bool, out: np.ndarray) -> None:
    """Write the observation of seats[k] in states[k] into out[k] float32 [OBS_SIZE]."""
    for k in range(len(states)):
        observe(states[k], seats[k], open_mice, out[k])


@kernel
def random_action(state: State, word: Word) -> int:
    """A legal action of the acting seat, uniform, from 64 random bits."""
    return nth_legal_action(state, below(word, num_legal_actions(state)))


@kernel
def _random_actions(states, seeds, out):
    for k in range(len(states)):
        out[k] = random_action(states[k], seeds[k])


class RandomPlayer:
    """Uniform over the legal actions."""

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.empty(len(view), np.int64)
        _random_actions(view.states, view.seeds, actions)
        return actions
