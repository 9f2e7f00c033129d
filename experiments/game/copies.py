"""Tables of copies of one player: what they play, and what they would play if we changed something in the deal.

What all players agree on at such tables is about the game. A player that uses no chance needs care: its copies lay the
same cards at the same time, and hardly more than one game is ever played (`cards.card_columns` measures it). As chess
programs are compared from drawn openings, the copies here lay a card by chance now and then (they *tremble*), and
choose the others, and all their bids, themselves.
"""

from typing import NamedTuple

import numpy as np

import agents
from agents.arena import deal_blocks, play_blocks, seat_streams
from agents.games import Games
from agents.playout import MARGIN, WIN
from felicity_env import SETUPS, Player, Setup, View
from felicity_env.game import DUMMY, MAX_SEATS, PLACE, begin
from felicity_env.kernel import kernel
from felicity_env.random_stream import below, mix
from felicity_env.rewards import step_rewards
from felicity_env.view import random_action

CHANCES = 1 << 20  # a chance is a number of so many


class Table(NamedTuple):
    """Copies of a player, and the deals that they play."""

    code: str
    seats: int
    num_blocks: int
    seed: int
    tremble: float  # the chance that a copy lays a uniformly random card instead of the one it chooses

    @property
    def player(self) -> Player:
        """One of the copies."""
        player = agents.make(self.code)
        return Trembling(player, self.tremble) if self.tremble else player


class Trembling:
    """A player that now and then lays a card by chance."""

    def __init__(self, player: Player, chance: float) -> None:
        self.player, self.chance = player, chance

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.array(self.player.act(view), np.int64)
        _tremble(view.states, view.seeds, self.chance, actions)
        return actions


@kernel
def _tremble(states, words, chance, actions):
    for k in range(len(states)):
        word = mix(words[k])  # not the word that the player drew from
        if states[k].phase == PLACE and below(word, CHANCES) < chance * CHANCES:
            actions[k] = random_action(states[k], mix(word))


class Played(NamedTuple):
    """Games played to their end. B blocks, G games in each, R rounds, S seats."""

    rounds: np.ndarray  # ROUND [B, G, R]
    win_share: np.ndarray  # [B, G, S]
    margin: np.ndarray  # [B, G, S]

    @property
    def seats(self) -> int:
        return self.win_share.shape[-1]

    @property
    def bought(self) -> np.ndarray:
        """Whether a seat bought the sack of a round, [B, G, R, S]."""
        return self.rounds["winner"][..., None] == np.arange(self.seats)

    @property
    def taken(self) -> np.ndarray:
        """Mice that a seat was paid for passing, [B, G, R, S]."""
        return self.rounds["taken"][..., : self.seats]

    @property
    def profit(self) -> np.ndarray:
        """Worth of the sack less its price for the seat that bought it, 0 for the others, [B, G, R, S]."""
        return (self.rounds["value"] - self.rounds["price"])[..., None] * self.bought

    @property
    def gain(self) -> np.ndarray:
        """Mice and cat points that a seat gained in a round, [B, G, R, S]."""
        return self.taken + self.profit

    @property
    def rows(self) -> np.ndarray:
        """The cards of a round, by seat, the dummy's last, [B, G, R, cards]."""
        sets = [*range(self.seats), *[DUMMY] * SETUPS[self.seats].dummy]
        return self.rounds["cards"][..., sets]


def play_table(table: Table) -> Played:
    """Every deal under all rotations."""
    blocks = play_blocks([table.player] * table.seats, num_blocks=table.num_blocks, seed=table.seed)
    player_in = np.argsort(blocks.seats, axis=2)  # each seat
    shares, margins = (np.take_along_axis(blocks.measures[name], player_in, axis=2) for name in ("win_share", "margin"))
    return Played(blocks.rounds, shares, margins)


def base_deals(table: Table) -> np.ndarray:
    """The deal of each block, STATE [B]."""
    return deal_blocks(table.seats, range(table.num_blocks), table.seed)[:: table.seats]


def begun(setup: Setup, deals: np.ndarray) -> np.ndarray:
    """States [N] of `setup` about to begin with the chance (removed cards, dummy, start player) of `deals` [N]."""
    states = np.repeat(setup.blank_state(), len(deals))
    for name in ("removed", "dummy_cards", "start_seat"):
        states[name] = deals[name]
    _begin(states)
    return states


def play_changed(table: Table, setup: Setup, states: np.ndarray) -> Played:
    """The games of `setup` that begin with `states` [B, G]; random draws are the same in all games of a block."""
    streams = seat_streams(table.seats, range(table.num_blocks), table.seed)[:: table.seats]
    games = Games(setup, states.ravel(), np.repeat(streams, states.shape[1]), np.zeros((states.size, setup.seats), int))
    games.play([table.player])
    shares, margins = np.empty((2, states.size, MAX_SEATS))
    _count_up(games.states, shares, margins)
    by_game = (games.rounds, shares[:, : setup.seats], margins[:, : setup.seats])
    return Played(*(values.reshape(*states.shape, -1) for values in by_game))


@kernel
def _begin(states):
    for k in range(len(states)):
        begin(states[k])


@kernel
def _count_up(states, shares, margins):
    for k in range(len(states)):
        step_rewards(states[k], WIN, shares[k])
        step_rewards(states[k], MARGIN, margins[k])
