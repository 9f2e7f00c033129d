"""Policies of players as tables on a game tree, computed from what they see at each information set."""

import numpy as np

from agents.policy_player import PolicyPlayer
from experiments.exact.tree import GameTree
from felicity_env import NUM_ACTIONS, OBS_SIZE, Player, View
from felicity_env.player import write_observations
from felicity_env.random_stream import split

AT_ONCE = 8192  # decisions that a player gets in one view


def tabulate(game: GameTree, player: Player, *, draws: int = 200) -> np.ndarray:
    """Return the policy of a player in all seats as a table, float64 [A].

    The probabilities of a network are exact. Those of any other player are frequencies in `draws` decisions, each with
    other random bits; one draw is enough for a player without randomness.
    """
    rows = [_probabilities(player, game.states[k : k + AT_ONCE], draws) for k in range(0, game.num_sets, AT_ONCE)]
    return np.concatenate(rows)[game.entry_sets, game.actions]


def observe_sets(game: GameTree) -> np.ndarray:
    """Return the observation with open mice at each information set, float32 [I, OBS_SIZE]."""
    out = np.empty((game.num_sets, OBS_SIZE), np.float32)
    write_observations(game.states, game.states["seat"].astype(np.int64), True, out)
    return out


def _probabilities(player: Player, states: np.ndarray, draws: int) -> np.ndarray:
    """Return the probability of each action in each state, float64 [n, NUM_ACTIONS]."""
    seats = states["seat"].astype(np.int64)
    if isinstance(player, PolicyPlayer):
        view = View.make_unchecked(states, seats, np.zeros(len(states), np.uint64))
        return player.probabilities(view).astype(np.float64)
    counts = np.zeros((len(states), NUM_ACTIONS))
    for draw in range(draws):
        seeds = np.array([split(draw, k) for k in range(len(states))], np.uint64)
        counts[np.arange(len(states)), player.act(View.make_unchecked(states, seats, seeds))] += 1
    return counts / draws
