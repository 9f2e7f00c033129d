"""CUDA kernels of training on a GPU: one thread for each game, with the same functions as on a CPU."""

from typing import Any, NamedTuple

from agents.compiled import play_game
from felicity_env.advantages import walk_back
from felicity_env.buffers import acting_seed, advance
from felicity_env.cuda.device import cuda
from felicity_env.game import MAX_SEATS, is_legal
from felicity_env.kernel import kernel
from felicity_env.learners import LEARNER, NOT_COMPILED
from train.opponents import draw_seats
from train.rollout import share_game_rewards
from train.sampling import draw_action


class Pool(NamedTuple):
    """Opponents among which each game draws, in arrays for kernels."""

    thresholds: Any  # float64 [opponents]: see `opponents.draw_seats`
    numbers: Any  # int64 [opponents]: number of each compiled player
    num_learners: int


@kernel
def seat_players(b, game, loop, pool):
    """Draw who plays in each seat of a game that begins."""
    numbers = loop.numbers[game]
    draw_seats(b.game_seeds[game], b.states[game].num_seats, pool.thresholds, pool.num_learners, numbers)
    for seat in range(MAX_SEATS):
        numbers[seat] = NOT_COMPILED if numbers[seat] == LEARNER else pool.numbers[numbers[seat]]


@kernel
def play_others(b, settings, game, loop, pool):
    """Let opponents act in a game until a learner is to act; return whether a game has finished meanwhile."""
    has_finished = False
    while True:
        play_game(b, settings, game, loop, loop.scratch, game)
        if not loop.terminated[game]:
            return has_finished
        has_finished = True
        seat_players(b, game, loop, pool)


@cuda.jit
def seat_all(b, loop, pool):
    """Draw who plays in each seat of all games."""
    game = cuda.grid(1)
    if game < len(b.states):
        loop.rewards[game] = 0.0
        seat_players(b, game, loop, pool)


@cuda.jit
def begin(b, settings, loop, pool):
    """Let opponents act in all games until a learner is to act."""
    game = cuda.grid(1)
    if game < len(b.states):
        play_others(b, settings, game, loop, pool)


@cuda.jit
def step(b, settings, loop, pool, actions, faults, scale, rewards, terminated):
    """Play a learner's action in each game, and let opponents act until a learner is to act again.

    rewards, terminated: outputs, the rewards since this action, shared and scaled, and whether the game has finished.
    """
    game = cuda.grid(1)
    if game < len(b.states):
        if not is_legal(b.states[game], actions[game]):
            cuda.atomic.add(faults, 0, 1)
            return
        learns = 0
        for seat in range(MAX_SEATS):
            learns |= (loop.numbers[game, seat] == NOT_COMPILED) << seat
        advance(b, game, actions[game], settings)
        for seat in range(MAX_SEATS):
            loop.rewards[game, seat] = b.rewards[game, seat]
        has_finished = b.terminated[game]
        if has_finished:
            seat_players(b, game, loop, pool)
        terminated[game] = play_others(b, settings, game, loop, pool) or has_finished
        share_game_rewards(loop.rewards[game], learns, scale, rewards[game])


@cuda.jit
def draw_actions(b, logits, actions, log_probabilities):
    """Draw an action for each game from the logits of its legal actions."""
    game = cuda.grid(1)
    if game < len(b.states):
        mask = b.action_masks[game]
        actions[game], log_probabilities[game] = draw_action(logits[game], mask, acting_seed(b, game))


@cuda.jit
def compute_advantages(rewards, terminated, seats, values, gamma, gae_lambda, advantages, complete, following):
    """Compute the advantages of all decisions of each game; see `felicity_env.advantages.compute_advantages`."""
    game = cuda.grid(1)
    if game < seats.shape[1]:
        walk_back(
            rewards[:, game],
            terminated[:, game],
            seats[:, game],
            values[:, game],
            gamma,
            gae_lambda,
            advantages[:, game],
            complete[:, game],
            following[game],
        )
