"""CUDA kernels for a batch of games: one thread for each game, which calls the same functions as the CPU does.

numba-cuda compiles the functions of the rules for the GPU when a kernel here calls them. Playing and showing are two
kernels, because one that does both needs more registers than a thread has.
"""

from felicity_env.buffers import acting_seed, advance, begin_game, restart_game, write_observation
from felicity_env.cuda.device import cuda
from felicity_env.game import NO_SEAT, is_legal, legal_actions
from felicity_env.information import redact_state
from felicity_env.observation import observe, observe_everything
from felicity_env.player import random_action


@cuda.jit
def play(b, games, actions, settings, faults):
    """Play actions[k] in games[k]; a game whose number or action is impossible stands still and counts in faults[0]."""
    k = cuda.grid(1)
    if k < len(games):
        game = games[k]
        if game < 0 or game >= len(b.states):
            cuda.atomic.add(faults, 0, 1)
        elif is_legal(b.states[game], actions[k]):
            advance(b, game, actions[k], settings)
        else:
            cuda.atomic.add(faults, 0, 1)
            b.rewards[game] = 0.0
            b.terminated[game] = False


@cuda.jit
def play_random(b, settings):
    """Play a random action in every game that is not over."""
    game = cuda.grid(1)
    if game < len(b.states) and b.seats[game] != NO_SEAT:
        advance(b, game, random_action(b.states[game], acting_seed(b, game)), settings)


@cuda.jit
def show(b, games, open_mice):
    """Write the observation and action mask of the seat to act in games[k]."""
    k = cuda.grid(1)
    if k < len(games) and 0 <= games[k] < len(b.states):
        write_observation(b, games[k], open_mice)


@cuda.jit
def find_illegal(b, games, actions, first):
    """Write the lowest k for which actions[k] is illegal in games[k] into first[0], unless that is lower already."""
    k = cuda.grid(1)
    if k < len(games) and not is_legal(b.states[games[k]], actions[k]):
        cuda.atomic.min(first, 0, k)


@cuda.jit
def restart(b, games, seed):
    """Deal and begin the current episode of games[k]."""
    k = cuda.grid(1)
    if k < len(games):
        restart_game(b, games[k], seed)


@cuda.jit
def begin(b, games):
    """Prepare the counters and the recorded actions of games[k], whose first state is in the buffers."""
    k = cuda.grid(1)
    if k < len(games):
        begin_game(b, games[k])


@cuda.jit
def draw_seeds(b, games, out):
    """Write the random bits for the next decision in games[k] into out[k]."""
    k = cuda.grid(1)
    if k < len(games):
        out[k] = acting_seed(b, games[k])


@cuda.jit
def redact(b, games, out):
    """Write the state of games[k], with only what the seat to act may know, into out[k]."""
    k = cuda.grid(1)
    if k < len(games):
        out[k] = b.states[games[k]]
        redact_state(out[k], b.seats[games[k]])


@cuda.jit
def observe_states(states, seats, open_mice, out):
    """Write the observation of seats[k] in states[k] into out[k]."""
    k = cuda.grid(1)
    if k < len(states):
        observe(states[k], seats[k], open_mice, out[k])


@cuda.jit
def encode(states, open_mice, observations, masks):
    """Write the observation and the action mask of the seat to act in states[k] into row k of both arrays."""
    k = cuda.grid(1)
    if k < len(states):
        observe(states[k], states[k].seat, open_mice, observations[k])
        legal_actions(states[k], states[k].seat, masks[k])


@cuda.jit
def observe_all(states, out):
    """Write the full state of game k, relative to the seat to act, into out[k]; relative to seat 0 if it is over."""
    k = cuda.grid(1)
    if k < len(states):
        observe_everything(states[k], max(states[k].seat, 0), out[k])
