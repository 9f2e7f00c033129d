"""Interface of players: a `View` holds decisions to take, and a `Player` chooses an action for each of them."""

from functools import cached_property
from typing import Protocol

import numpy as np

from felicity_env.game import NUM_ACTIONS, STATE, State, legal_actions, nth_legal_action, num_legal_actions
from felicity_env.game_record import has_integers
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE, observe
from felicity_env.random_stream import RandomBits, draw_below
from felicity_env.state_check import check_states


class View:
    """Input of a player: B decisions to take, with what the seats to act may know and nothing else.

    states: STATE [B], with only what the seats to act may know (see `information.redact`). seats: int64 [B], the seats
    to act. seeds: uint64 [B], random bits for each decision, which depend only on the game, the seat and the number of
    the seat's decision. Raises `ValueError` unless the arrays have these types and every state is a possible position
    before the end of a game.
    """

    def __init__(self, states: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> None:
        self.states, self.seats, self.seeds = _check_view(states, seats, seeds)

    @classmethod
    def make_unchecked(cls, states: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> "View":
        """Create a view from arrays that are known to be correct, without checking them."""
        view = cls.__new__(cls)
        view.states, view.seats, view.seeds = states, seats, seeds
        return view

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
        return View.make_unchecked(self.states[indices], self.seats[indices], self.seeds[indices])


def _check_view(states: np.ndarray, seats: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check the three arrays of a view, and return them as contiguous arrays.

    Raises `ValueError` naming the array that is wrong.
    """
    states, seats, seeds = (np.ascontiguousarray(array) for array in (states, seats, seeds))
    if states.ndim != 1 or states.dtype != STATE:
        raise ValueError(f"states must be a row of records of STATE, not {states.dtype.name} {list(states.shape)}")
    if seats.shape != states.shape or not has_integers(seats) or (seats != states["seat"]).any():
        raise ValueError(f"seats must be the seats to act in the {len(states)} states, not {seats!r}")
    if seeds.shape != states.shape or seeds.dtype != np.uint64:
        raise ValueError(f"seeds must be {len(states)} integers uint64, not {seeds.dtype.name} {list(seeds.shape)}")
    check_states(states)
    if (seats < 0).any():
        raise ValueError(f"states[{int((seats < 0).argmax())}] is no position to play: the game is over")
    return states, seats.astype(np.int64, copy=False), seeds


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
    """Draw a random legal action of the acting seat; all legal actions are equally likely."""
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
