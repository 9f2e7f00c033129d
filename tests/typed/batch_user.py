# pyright: strict
"""A user's script on `Batch`, with players and a player of its own, which strict type checkers accept."""

import numpy as np
from numpy.typing import NDArray

import agents
from felicity_env import Batch, Player, View, describe, notation


class FirstLegal:
    """Player that takes the legal action with the lowest number."""

    def act(self, view: View) -> NDArray[np.int64]:
        """Return an action for each decision."""
        return np.asarray(view.action_masks.argmax(axis=1), np.int64)


def play(player: Player, steps: int) -> float:
    """Play many games with copies of a player; return the number of games that ended."""
    batch = Batch(64, num_players=4, seed=3)
    ended = 0
    for _ in range(steps):
        batch.step(player.act(batch.view()))
        ended += int(batch.terminated.sum())
    return ended


def look(seed: int) -> tuple[str, object]:
    """Return the notation of a game and what an observation says about the round."""
    batch = Batch(1, num_players=3, seed=seed)
    return notation.__name__, describe(batch.observations[0])["round"]


if __name__ == "__main__":
    print(play(FirstLegal(), 200), play(agents.make("ev"), 200), look(1))
