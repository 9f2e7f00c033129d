"""Helpers for tests of the arena: players that pass, raise, watch or fail, and lineups of players."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from agents import Player, make
from agents.arena import blocks as arena
from agents.arena.blocks import MEASURES, Blocks, draw_seats
from felicity_env import View, felicity_v0, game_seed
from felicity_env.game import PASS, PLACE, STATE
from felicity_env.game_record import Game, draw_deal
from felicity_env.information import redact
from felicity_env.random_stream import decision_seed
from felicity_env.setups import STANDARD_PLAYERS, standard_setup
from tests.support.helpers import COMPILED, diverse_action

BLOCKS = 6 if COMPILED else 1
MANY = 1500 if COMPILED else 20
SEED = 11


class FirstLegal:
    """Player that places its lowest card and always passes."""

    def act(self, view: View) -> np.ndarray:
        hands = view.states["hands"][np.arange(len(view)), view.seats].astype(np.int64)
        lowest = np.log2(np.maximum(1, hands & -hands)).astype(np.int64)
        return np.where(view.states["phase"] == PLACE, lowest, PASS)


class Eager:
    """Player that raises by one up to 5, and places its highest card."""

    def act(self, view: View) -> np.ndarray:
        masks = view.action_masks.copy()
        masks[:, PASS + 6 :] = 0
        lowest_bid = masks[:, PASS + 1 :].argmax(axis=1) + PASS + 1
        bids = np.where(masks[:, PASS + 1 :].any(axis=1), lowest_bid, PASS)
        return np.where(masks[:, PASS] == 1, bids, PASS - 1 - masks[:, PASS - 1 :: -1].argmax(axis=1))


class Varied:
    """Player in plain Python whose actions are random: the seeds in its views determine them."""

    def act(self, view: View) -> np.ndarray:
        pairs = zip(view.states, view.seeds, strict=True)
        return np.array([int(diverse_action(state, np.uint64(seed))) for state, seed in pairs])


class Plain:
    """Player that acts as another player, but hides it, so that the arena must call `act` and not a kernel."""

    def __init__(self, player: Player) -> None:
        self.player = player

    def act(self, view: View) -> np.ndarray:
        return self.player.act(view)


class Spy(Plain):
    """Player that acts as another player, and keeps all views that it receives."""

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self.views: list[View] = []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return super().act(view)


class Trap(Plain):
    """Player that acts as another player, but reacts in a given way, such as by an error, in one position.

    position: bytes of the redacted state of this position. reaction: function of the other player's actions and of the
    index of the position among them, whose result `act` returns.
    """

    def __init__(self, player: Player, position: bytes, reaction: Callable[[np.ndarray, int], Any]) -> None:
        super().__init__(player)
        self.position, self.reaction = position, reaction

    def act(self, view: View) -> Any:
        actions = np.asarray(super().act(view))
        places = [k for k in range(len(view)) if view.states[k].tobytes() == self.position]
        return self.reaction(actions, places[0]) if places else actions


def deterministic(players: int) -> list[Player]:
    return [make("ev"), FirstLegal(), Eager(), make("ev"), Eager()][:players]


def stochastic(players: int) -> list[Player]:
    return [make("random"), Varied(), make("ev"), make("anchor"), Varied()][:players]


LINEUPS = {"deterministic": deterministic, "stochastic": stochastic}
every_lineup = pytest.mark.parametrize(("players", "lineup"), list(product(STANDARD_PLAYERS, LINEUPS)))
many_games = pytest.mark.compiled("many games; the same kernels run in the other tests")


def assert_same(first: Blocks, second: Blocks) -> None:
    """Check that two results of playing blocks are equal, bit for bit; fail the test if they differ."""
    assert (first.seats == second.seats).all()
    for name in MEASURES:
        assert first.measures[name].tobytes() == second.measures[name].tobytes(), name
    assert first.rounds.tobytes() == second.rounds.tobytes()


class AecGame(NamedTuple):
    game: Game
    wins: list[float]  # rewards, by seat
    infos: list[dict]  # at the end, by seat


def play_by_aec(env: felicity_v0.raw_env, players: Sequence[Player], block: int, rotation: int) -> AecGame:
    """Play one game of an arena block in the PettingZoo environment, to compare it with the arena's game.

    The seeds of the players' decisions come from the documented formula. players: the players, before seats are drawn
    for them. block, rotation: number of the deal, and of the rotation of the seats.
    """
    n = len(players)
    dealt = draw_deal(standard_setup(n), game_seed(SEED, arena._DEAL_STREAM, block))
    stream = game_seed(game_seed(SEED, arena._PLAY_STREAM, block), rotation, 0)
    sitting = np.argsort(draw_seats(n, range(block, block + 1), SEED)[0, rotation])  # who is in each seat
    env.reset(seed=0, options={"deal": asdict(dealt)})
    decisions, wins, infos = [0] * n, [0.0] * n, [{} for _ in range(n)]
    for agent in env.agent_iter():
        seat = env.possible_agents.index(agent)
        _, reward, done, _, info = env.last()
        wins[seat] += reward
        if done:
            infos[seat] = info
            env.step(None)
            continue
        seed = decision_seed(np.uint64(stream), seat, decisions[seat])
        decisions[seat] += 1
        known = redact(np.array([env._states[0]], STATE), seat)
        player = players[sitting[seat]]
        env.step(int(player.act(View(known, np.array([seat]), np.array([seed], np.uint64)))[0]))
    return AecGame(env.game, wins, infos)
