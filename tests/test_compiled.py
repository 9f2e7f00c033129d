"""Compiled players in lanes: the same games as by their `act`."""

import numpy as np
import pytest

import agents
from agents.compiled import compiled_among
from felicity_env import Batch, View
from felicity_env.lanes import Lanes
from felicity_env.view import RandomPlayer

NUM_GAMES = 48


class SlowAnchor:
    """A player without a number that does what `anchor` does."""

    def __init__(self) -> None:
        self.player = agents.make("anchor")

    def act(self, view: View) -> np.ndarray:
        return self.player.act(view)


def lanes_of(players: list, order: list[int] | None = None, *, compiled: bool, reward: str) -> Lanes:
    """Lanes for 3, 4 and 5 players; order: who sits in each place after the learner."""
    batch = Batch(NUM_GAMES, np.resize([3, 4, 5], NUM_GAMES).tolist(), seed=5, reward=reward)
    seating = (lambda rows: np.tile(order, (len(rows), 1))) if order else None
    return Lanes(batch, players, seating=seating, compiled=compiled_among(players) if compiled else None)


def assert_played_alike(fast: Lanes, slow: Lanes, num_steps: int) -> None:
    for _ in range(num_steps):
        actions = RandomPlayer().act(fast.batch.view())
        fast.step(actions)
        slow.step(actions)
        for name in ("observations", "action_masks", "rewards", "terminated", "seats", "final_observations"):
            np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
    assert fast.batch.episodes.min() > 0


@pytest.mark.parametrize("reward", ["win", "round"])
@pytest.mark.parametrize("code", ["random", "anchor", "ev"])
def test_lanes_with_a_compiled_player_are_the_same_as_without(code: str, reward: str) -> None:
    fast, slow = (lanes_of([agents.make(code)], compiled=compiled, reward=reward) for compiled in (True, False))
    assert_played_alike(fast, slow, 60)


def test_compiled_and_other_players_share_a_table() -> None:
    players = [agents.make("ev"), SlowAnchor(), agents.make("anchor")]
    fast, slow = (lanes_of(players, [0, 0, 1, 2, 1], compiled=compiled, reward="score") for compiled in (True, False))
    assert_played_alike(fast, slow, 60)
