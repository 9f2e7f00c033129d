"""Buffers (arrays) of a batch of games, and the compiled functions that play the games in them.

`batch.Batch` is the public class.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

from felicity_env.game import (
    MAX_BID,
    MAX_ROUNDS,
    MAX_SEATS,
    NO_SEAT,
    NUM_ACTIONS,
    STATE,
    Setup,
    deal,
    is_legal,
    is_terminal,
    legal_actions,
    score,
    step,
)
from felicity_env.kernel import kernel, parallel_kernel
from felicity_env.observation import OBS_SIZE, observe, observe_everything
from felicity_env.player import random_action
from felicity_env.random_stream import RandomBits, decision_seed, next_game_seed
from felicity_env.rewards import step_rewards

MAX_DECISIONS = MAX_ROUNDS * (MAX_SEATS + MAX_BID + MAX_SEATS)  # per round: a card per seat, every bid, a pass per seat


class Buffers(NamedTuple):
    """Arrays of a batch of B games, in one tuple that compiled functions take as an argument.

    `Batch.PUBLIC` lists the arrays that are also attributes of `Batch`.
    """

    observations: np.ndarray  # float32 [B, OBS_SIZE]: observation of the seat to act
    action_masks: np.ndarray  # int8 [B, NUM_ACTIONS]: action mask of the seat to act
    seats: np.ndarray  # int64 [B]: the seat to act; NO_SEAT in a game that stays finished
    rewards: np.ndarray  # float64 [B, MAX_SEATS]: rewards of the last step
    terminated: np.ndarray  # bool [B]: whether the last step finished the game
    scores: np.ndarray  # int64 [B, MAX_SEATS]: written where terminated
    states: np.ndarray  # STATE [B]: current states, with all hidden cards
    final_states: np.ndarray  # STATE [B]: written where terminated
    game_seeds: np.ndarray  # uint64 [B]: seed of the game in progress
    episodes: np.ndarray  # int64 [B]: index of the game in progress in its sequence of games, from 0
    decisions: np.ndarray  # int64 [B, MAX_SEATS]: decisions that each seat has taken in this game
    blanks: np.ndarray  # STATE [setups]: the state before the deal, for each setup
    setup_numbers: np.ndarray  # int64 [B]: the setup of each game, an index of `blanks`
    first_states: np.ndarray  # STATE [B], or [0] without `record`: the state that the game in progress began with
    actions: np.ndarray  # int8 [B, MAX_DECISIONS], or [0, MAX_DECISIONS]: actions of the game in progress
    lengths: np.ndarray  # int64 [B], or [0]: number of entries of `actions` in use


class Settings(NamedTuple):
    """Settings of a batch that compiled functions need to play a step, in addition to the buffers."""

    seed: Any  # uint64: seed of the batch
    reward: int  # see `rewards.reward_code`
    open_mice: bool
    autoreset: bool  # restart a game in the step that finishes it


def allocate(setups: Sequence[Setup], *, record: bool) -> Buffers:
    """Allocate the buffers of a batch in which game k has the setup setups[k].

    record: also allocate buffers for the first state and the actions of each game in progress.
    """
    objects, num_games = {id(setup): setup for setup in setups}, len(setups)
    different = list(dict.fromkeys(objects.values()))
    numbers = {key: different.index(setup) for key, setup in objects.items()}  # hashing each setup would take longer
    return Buffers(
        observations=np.zeros((num_games, OBS_SIZE), np.float32),
        action_masks=np.zeros((num_games, NUM_ACTIONS), np.int8),
        seats=np.zeros(num_games, np.int64),
        rewards=np.zeros((num_games, MAX_SEATS)),
        terminated=np.zeros(num_games, np.bool_),
        scores=np.zeros((num_games, MAX_SEATS), np.int64),
        states=np.zeros(num_games, STATE),
        final_states=np.zeros(num_games, STATE),
        game_seeds=np.zeros(num_games, np.uint64),
        episodes=np.zeros(num_games, np.int64),
        decisions=np.zeros((num_games, MAX_SEATS), np.int64),
        blanks=np.concatenate([setup.blank_state() for setup in different]),
        setup_numbers=np.array([numbers[id(setup)] for setup in setups], np.int64),
        first_states=np.zeros(num_games if record else 0, STATE),
        actions=np.zeros((num_games if record else 0, MAX_DECISIONS), np.int8),
        lengths=np.zeros(num_games if record else 0, np.int64),
    )


@kernel
def restart_game(b: Buffers, game: int, seed: Any) -> None:
    """Deal and begin game number `game` of a batch anew, as the episode with the index b.episodes[game]."""
    b.game_seeds[game] = next_game_seed(seed, game, b.episodes[game])
    b.states[game] = b.blanks[b.setup_numbers[game]]
    deal(b.states[game], b.game_seeds[game])
    begin_game(b, game)


@kernel
def begin_game(b: Buffers, game: int) -> None:
    """Prepare the counters and the record of actions of a game that is about to begin.

    The first state of the game must be in the buffers already.
    """
    b.decisions[game] = 0
    b.seats[game] = b.states[game].seat
    if len(b.lengths):
        b.first_states[game] = b.states[game]
        b.lengths[game] = 0


@kernel
def write_observation(b: Buffers, game: int, open_mice: bool) -> None:
    """Write the observation and action mask of the seat to act in a game into the buffers of the batch.

    A finished game keeps its last observation, and its action mask becomes zero.
    """
    state = b.states[game]
    if state.seat == NO_SEAT:
        b.action_masks[game] = 0
    else:
        observe(state, state.seat, open_mice, b.observations[game])
        legal_actions(state, state.seat, b.action_masks[game])


@kernel
def advance(b: Buffers, game: int, action: int, settings: Settings) -> None:
    """Play one action in one game and update all buffers except the observation, which `write_observation` writes."""
    state = b.states[game]
    if len(b.lengths):
        b.actions[game, b.lengths[game]] = action
        b.lengths[game] += 1
    b.decisions[game, state.seat] += 1
    step(state, action)
    step_rewards(state, settings.reward, b.rewards[game])
    b.terminated[game] = is_terminal(state)
    if is_terminal(state):
        _finish(b, game, settings)
    b.seats[game] = state.seat


@kernel
def _finish(b, game, settings):
    """Store the final state and the scores of a finished game, and begin its next episode if `autoreset` is on."""
    state = b.states[game]
    b.final_states[game] = state
    for seat in range(state.num_seats):
        b.scores[game, seat] = score(state, seat)
    if settings.autoreset:
        b.episodes[game] += 1
        restart_game(b, game, settings.seed)


@kernel
def acting_seed(b: Buffers, game: int) -> RandomBits:
    """Return the random bits for the next decision in a game.

    They depend on the seed of the game, the seat to act and the number of decisions that this seat has taken.
    """
    seat = b.seats[game]
    return decision_seed(b.game_seeds[game], seat, b.decisions[game, seat])


@kernel
def play_chunk(b, indices, actions, first, last, settings):
    """Play actions[k] in the game indices[k], for each k from `first` to last - 1."""
    for k in range(first, last):
        advance(b, indices[k], actions[k], settings)
        write_observation(b, indices[k], settings.open_mice)


@parallel_kernel
def play_parallel(b, indices, actions, threads, settings):
    """Play actions[k] in the game indices[k], for each k, in parallel threads."""
    for t in numba.prange(threads):
        play_chunk(b, indices, actions, len(indices) * t // threads, len(indices) * (t + 1) // threads, settings)


@kernel
def play_random_chunk(b, first, last, num_steps, settings):
    """Play `num_steps` random actions in each of the games number `first` to `last - 1`."""
    for _ in range(num_steps):
        for game in range(first, last):
            if b.seats[game] != NO_SEAT:
                advance(b, game, random_action(b.states[game], acting_seed(b, game)), settings)
                write_observation(b, game, settings.open_mice)


@parallel_kernel
def play_random_parallel(b, num_steps, threads, settings):
    """Play `num_steps` random actions in each game, in parallel threads."""
    games = len(b.states)
    for t in numba.prange(threads):
        play_random_chunk(b, games * t // threads, games * (t + 1) // threads, num_steps, settings)


@kernel
def restart_games(b, indices, seed):
    """Deal and begin the current episode of the games at `indices`."""
    for game in indices:
        restart_game(b, game, seed)


@kernel
def begin_games(b, indices):
    """Prepare the counts of decisions and the recorded actions of the games at `indices`, which are about to begin.

    The first states of these games must be in the buffers already.
    """
    for game in indices:
        begin_game(b, game)


@kernel
def write_acting_observations(b, indices, open_mice):
    """Write the observation and action mask of the seat to act in each of the games at `indices`."""
    for game in indices:
        write_observation(b, game, open_mice)


@kernel
def find_illegal(b, indices, actions):
    """Return the first k for which actions[k] is illegal in the game indices[k], or -1 if all are legal."""
    for k in range(len(indices)):
        if not is_legal(b.states[indices[k]], actions[k]):
            return k
    return -1


@kernel
def write_acting_seeds(b, indices, out):
    """Write the random bits for the seat to act in the game indices[k] of the buffers `b` into out[k], for each k."""
    for k in range(len(indices)):
        out[k] = acting_seed(b, indices[k])


@kernel
def observe_everything_chunk(states, seats, first, last, out):
    """Write the full state of game k, relative to seats[k], into out[k], for each k from `first` to last - 1."""
    for game in range(first, last):
        observe_everything(states[game], seats[game], out[game])


@parallel_kernel
def observe_everything_parallel(states, seats, threads, out):
    """Write the full state of game k, relative to seats[k], into out[k], for each k, in parallel threads."""
    games = len(states)
    for t in numba.prange(threads):
        observe_everything_chunk(states, seats, games * t // threads, games * (t + 1) // threads, out)
