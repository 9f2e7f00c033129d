"""Games among copies of one player, from ordinary deals or from deals in which one thing is changed.

A result that is equal for all players is a property of the game. A player without randomness needs care: its copies
place the same cards at the same time, so nearly all games are alike (`cards.py` measures this). Chess programs are
compared from random openings for the same reason. Here a copy sometimes places a random card (it *trembles*). It
chooses all other cards and all its bids itself.
"""

from typing import NamedTuple

import numpy as np

import agents
from agents.arena.blocks import deal_blocks, list_streams, measure_seats, play_blocks
from agents.arena.games import Games
from felicity_env import Player, Setup, View
from felicity_env.game import DUMMY, PLACE, begin
from felicity_env.kernel import kernel
from felicity_env.player import random_action
from felicity_env.random_stream import draw_below, mix

PROBABILITY_STEPS = 1 << 20  # number of steps into which probabilities are divided


class Copies(NamedTuple):
    """Games to play among copies of one player: its code, the setup, the deals and the probability of random cards."""

    code: str
    setup: Setup
    num_deals: int
    seed: int
    tremble: float  # probability that a copy places a uniformly random card instead of its own choice

    @property
    def player(self) -> Player:
        """Player in every seat; it sometimes places a random card if `tremble` is above 0."""
        player = agents.make(self.code)
        return Trembling(player, self.tremble) if self.tremble else player


class Trembling:
    """Player that places a random card with a given probability; all its other actions are those of another player."""

    def __init__(self, player: Player, probability: float) -> None:
        self.player, self.probability = player, probability

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for each of the B decisions of `view`, int64 [B]."""
        actions = np.array(self.player.act(view), np.int64)
        _tremble(view.states, view.seeds, self.probability, actions)
        return actions


@kernel
def _tremble(states, seeds, probability, actions):
    for k in range(len(states)):
        bits = mix(seeds[k])  # independent of the bits that the player used
        if states[k].phase == PLACE and draw_below(bits, PROBABILITY_STEPS) < probability * PROBABILITY_STEPS:
            actions[k] = random_action(states[k], mix(bits))


class PlayedGames(NamedTuple):
    """Records of finished games. Shapes: B blocks (deals), G games in each block, R rounds, S seats."""

    setup: Setup
    rounds: np.ndarray  # ROUND [B, G, R]
    win_share: np.ndarray  # [B, G, S]
    margin: np.ndarray  # [B, G, S]

    @property
    def seats(self) -> int:
        """Number of seats in each game, S."""
        return self.setup.seats

    @property
    def bought(self) -> np.ndarray:
        """Mask that is true for the seat that bought the sack of a round, [B, G, R, S]."""
        return self.rounds["winner"][..., None] == np.arange(self.seats)

    @property
    def taken(self) -> np.ndarray:
        """Number of mice that each seat was paid for passing in a round, [B, G, R, S]."""
        return self.rounds["taken"][..., : self.seats]

    @property
    def profit(self) -> np.ndarray:
        """Value of the sack minus its price for the seat that bought it, 0 for all other seats, [B, G, R, S]."""
        return (self.rounds["value"] - self.rounds["price"])[..., None] * self.bought

    @property
    def gain(self) -> np.ndarray:
        """Points (mice and cat points) that each seat gained in a round, [B, G, R, S]."""
        return self.taken + self.profit

    @property
    def rows(self) -> np.ndarray:
        """Cards placed in each round, by seat, then the dummy's card, [blocks, games in a block, rounds, cards]."""
        sets = [*range(self.seats), *[DUMMY] * self.setup.dummy]
        return self.rounds["cards"][..., sets]


def play_copies(copies: Copies) -> PlayedGames:
    """Play every deal under all rotations of the seats with copies of one player in all seats; return the records."""
    setup = copies.setup
    blocks = play_blocks([copies.player] * setup.seats, num_deals=copies.num_deals, seed=copies.seed, setup=setup)
    players = np.argsort(blocks.seats, axis=2)  # the player in each seat
    by_seat = (np.take_along_axis(blocks.measures[name], players, axis=2) for name in ("win_share", "margin"))
    return PlayedGames(setup, blocks.rounds, *by_seat)


def list_deals(copies: Copies) -> np.ndarray:
    """Return the initial state of each deal, before any rotation of the seats, STATE [number of deals]."""
    return deal_blocks(copies.setup, range(copies.num_deals), copies.seed)[:: copies.setup.seats]


def redeal(setup: Setup, deals: np.ndarray) -> np.ndarray:
    """Return states at the beginning of games in `setup` that have the same deals as other games.

    deals: states [N] of the other games, which give the removed cards, the order of the dummy and the start seats.
    Returns STATE [N].
    """
    states = np.repeat(setup.blank_state(), len(deals))
    for name in ("removed", "dummy_cards", "start_seat"):
        states[name] = deals[name]
    _begin(states)
    return states


@kernel
def _begin(states):
    for k in range(len(states)):
        begin(states[k])


def play_states(copies: Copies, setup: Setup, states: np.ndarray) -> PlayedGames:
    """Play games from given first states to the end, with copies of one player in all seats; return the records.

    states: first states [B, G] in `setup`. All games of a block (row of `states`) use the same random streams.
    """
    streams = list_streams(copies.setup, range(copies.num_deals), copies.seed)[:: copies.setup.seats]
    seating = np.zeros((states.size, setup.seats), int)
    games = Games(setup, states.ravel(), np.repeat(streams, states.shape[1]), seating)
    games.play([copies.player])
    measures = measure_seats(games, setup.seats)
    by_game = (games.rounds, measures["win_share"], measures["margin"])
    return PlayedGames(setup, *(values.reshape(*states.shape, -1) for values in by_game))
