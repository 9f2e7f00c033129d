"""Pairs of a random position and a seat, and the games that are possible from the point of view of that seat."""

from typing import NamedTuple

import numpy as np

from experiments.checks.random_games import Played, random_game
from felicity_env.game import NO_CARD, Setup
from felicity_env.game_record import Deal, Game


class Pair(NamedTuple):
    """Position of a random game, together with a seat whose knowledge of the position is tested."""

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
    """Draw `count` random pairs of a position and a seat, ten from each random game.

    Of each ten, `early` have a position among the first 14 of the game, where most cards are hidden and a replay is
    short.
    """
    rng = np.random.default_rng(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        played = random_game(setup, int(rng.integers(2**40)))
        for k in range(10):
            last = min(14, len(played.states)) if k < early else len(played.states)
            pairs.append(Pair(played, int(rng.integers(last)), int(rng.integers(setup.seats))))
    return pairs[:count]


def rebuild_game(pair: Pair, world: np.void) -> Game:
    """Return the record of the game up to the position of a pair, as it would be if the state `world` were the truth.

    `world` is the state of that position after the cards that the seat may not know are resampled.
    """
    game = pair.played.game
    return Game(game.setup, _rebuild_deal(world, game.setup, game.deal), actions_in_world(pair, world))


def _rebuild_deal(world: np.void, setup: Setup, dealt: Deal) -> Deal:
    """Return the deal of a game whose hidden cards are those of the resampled state `world`.

    The start seat is that of the true deal `dealt`, because it is public.
    """
    removed = tuple(int(card) for card in world["removed"][: setup.seats] if card != NO_CARD)
    dummy = tuple(int(card) for card in world["dummy_cards"] if card != NO_CARD)
    return Deal(removed, dummy, dealt.start_seat)


def actions_in_world(pair: Pair, world: np.void) -> tuple[int, ...]:
    """Return the actions up to the position of a pair, with the cards of `world` placed in the current round.

    Actions of earlier rounds are those of the true game, because their cards are public (R8.3).
    """
    actions, state = list(pair.game.actions), pair.states[0]
    rounds = pair.played.states["round_number"][: pair.length]
    first = int(np.searchsorted(rounds, state.round_number))  # the action that began this round
    for k in range(int(state.row_size - state.has_dummy)):
        actions[first + k] = int(world["row"][k + state.has_dummy])
    return tuple(actions)
