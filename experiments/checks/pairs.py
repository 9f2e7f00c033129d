"""Pairs of a position and a seat, and the games that the seat holds possible there."""

from typing import NamedTuple

import numpy as np

from experiments.checks.random_games import Played, random_game
from felicity_env.game import NO_CARD, Setup
from felicity_env.game_record import Deal, Game


class Pair(NamedTuple):
    """Position of a game as one seat knows it."""

    played: Played
    length: int  # actions played so far
    seat: int

    @property
    def states(self) -> np.ndarray:
        """State of the position, STATE [1]."""
        return self.played.states[self.length : self.length + 1]

    @property
    def game(self) -> Game:
        """Record of the game up to the position."""
        game = self.played.game
        return Game(game.setup, game.deal, game.actions[: self.length])


def draw_pairs(setup: Setup, count: int, *, seed: int, early: int = 5) -> list[Pair]:
    """Draw random positions; `early` of ten come from the first rounds, where most is hidden and a replay is short."""
    rng = np.random.default_rng(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        played = random_game(setup, int(rng.integers(2**40)))
        for k in range(10):
            last = min(14, len(played.states)) if k < early else len(played.states)
            pairs.append(Pair(played, int(rng.integers(last)), int(rng.integers(setup.seats))))
    return pairs[:count]


def rebuild_game(pair: Pair, world: np.void) -> Game:
    """Return the game as it was if `world`, a resampled state, is the truth."""
    game = pair.played.game
    return Game(game.setup, _rebuild_deal(world, game.setup, game.deal), actions_in_world(pair, world))


def _rebuild_deal(world: np.void, setup: Setup, dealt: Deal) -> Deal:
    """Return the deal of a resampled world; the first start seat is public."""
    removed = tuple(int(card) for card in world["removed"][: setup.seats] if card != NO_CARD)
    dummy = tuple(int(card) for card in world["dummy_cards"] if card != NO_CARD)
    return Deal(removed, dummy, dealt.start_seat)


def actions_in_world(pair: Pair, world: np.void) -> tuple[int, ...]:
    """Return the actions of the game, with the cards of `world` in the current round."""
    actions, state = list(pair.game.actions), pair.states[0]
    rounds = pair.played.states["round_number"][: pair.length]
    first = int(np.searchsorted(rounds, state.round_number))  # the action that began this round
    for k in range(int(state.row_size - state.has_dummy)):
        actions[first + k] = int(world["row"][k + state.has_dummy])
    return tuple(actions)
