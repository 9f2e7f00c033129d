"""Games among copies of one player, also from deals in which one thing is changed.

An answer on which all players agree is about the game. A player without randomness needs care: its copies place the
same cards at the same time, and hardly more than one game is ever played (`cards.py` measures this). Chess programs
are compared from drawn openings for this reason. Here a copy sometimes places a random card (it *trembles*), and
chooses the other cards and all its bids itself.
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

PROBABILITY_STEPS = 1 << 20  # resolution of a probability


class Copies(NamedTuple):
    """Copies of a player, and the deals that they play."""

    code: str
    setup: Setup
    num_deals: int
    seed: int
    tremble: float  # probability that a copy places a uniformly random card instead of its own choice

    @property
    def player(self) -> Player:
        """One of the copies."""
        player = agents.make(self.code)
        return Trembling(player, self.tremble) if self.tremble else player


class Trembling:
    """Player that places a random card with some probability, and otherwise acts as another player."""

    def __init__(self, player: Player, probability: float) -> None:
        self.player, self.probability = player, probability

    def act(self, view: View) -> np.ndarray:
        """Return legal actions, integers [B]."""
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
    """Records of games that were played to the end. B blocks, G games in each, R rounds, S seats."""

    setup: Setup
    rounds: np.ndarray  # ROUND [B, G, R]
    win_share: np.ndarray  # [B, G, S]
    margin: np.ndarray  # [B, G, S]

    @property
    def seats(self) -> int:
        """Number of seats."""
        return self.setup.seats

    @property
    def bought(self) -> np.ndarray:
        """Mask of the seats that bought the sack of a round, [B, G, R, S]."""
        return self.rounds["winner"][..., None] == np.arange(self.seats)

    @property
    def taken(self) -> np.ndarray:
        """Mice that each seat was paid for passing, [B, G, R, S]."""
        return self.rounds["taken"][..., : self.seats]

    @property
    def profit(self) -> np.ndarray:
        """Value of the sack minus its price for the seat that bought it, 0 for the others, [B, G, R, S]."""
        return (self.rounds["value"] - self.rounds["price"])[..., None] * self.bought

    @property
    def gain(self) -> np.ndarray:
        """Mice and cat points that each seat gained in a round, [B, G, R, S]."""
        return self.taken + self.profit

    @property
    def rows(self) -> np.ndarray:
        """Cards of each round by seat, the dummy's last, [B, G, R, cards]."""
        sets = [*range(self.seats), *[DUMMY] * self.setup.dummy]
        return self.rounds["cards"][..., sets]


def play_copies(copies: Copies) -> PlayedGames:
    """Play every deal under all rotations."""
    setup = copies.setup
    blocks = play_blocks([copies.player] * setup.seats, num_deals=copies.num_deals, seed=copies.seed, setup=setup)
    players = np.argsort(blocks.seats, axis=2)  # the player in each seat
    by_seat = (np.take_along_axis(blocks.measures[name], players, axis=2) for name in ("win_share", "margin"))
    return PlayedGames(setup, blocks.rounds, *by_seat)


def list_deals(copies: Copies) -> np.ndarray:
    """Return the deal of each block, STATE [B]."""
    return deal_blocks(copies.setup, range(copies.num_deals), copies.seed)[:: copies.setup.seats]


def redeal(setup: Setup, deals: np.ndarray) -> np.ndarray:
    """Return first states [N] of `setup` with the removed cards, dummy order and start seats of `deals` [N]."""
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
    """Play on from the first states [B, G] of `setup`; all games of a block have the same random streams."""
    streams = list_streams(copies.setup, range(copies.num_deals), copies.seed)[:: copies.setup.seats]
    seating = np.zeros((states.size, setup.seats), int)
    games = Games(setup, states.ravel(), np.repeat(streams, states.shape[1]), seating)
    games.play([copies.player])
    measures = measure_seats(games, setup.seats)
    by_game = (games.rounds, measures["win_share"], measures["margin"])
    return PlayedGames(setup, *(values.reshape(*states.shape, -1) for values in by_game))
