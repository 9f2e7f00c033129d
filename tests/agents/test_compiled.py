"""Compiled players: the same games as by their `act`; a kernel is compiled again when one that it calls is edited."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.compiled import select_compiled
from felicity_env import Batch, View
from felicity_env.learners import SingleLearnerGames
from felicity_env.player import RandomPlayer
from tests.env.test_random_stream import PACKAGE, edit, run_python

NUM_GAMES = 48


class SlowAnchor:
    """Player that acts as `anchor` but is not compiled."""

    def __init__(self) -> None:
        self.player = agents.make("anchor")

    def act(self, view: View) -> np.ndarray:
        return self.player.act(view)


def make_games(players: list, order: list[int] | None = None, *, compiled: bool, reward: str) -> SingleLearnerGames:
    """Make games for 3, 4 and 5 players; order: the player in each seat after the learner."""
    batch = Batch(NUM_GAMES, np.resize([3, 4, 5], NUM_GAMES).tolist(), seed=5, reward=reward)
    opponents = (lambda indices: np.tile(order, (len(indices), 1))) if order else None
    return SingleLearnerGames(
        batch, players, opponents=opponents, compiled=select_compiled(players) if compiled else None
    )


def assert_same_games(fast: SingleLearnerGames, slow: SingleLearnerGames, num_steps: int) -> None:
    for _ in range(num_steps):
        actions = RandomPlayer().act(fast.batch.view())
        fast.step(actions)
        slow.step(actions)
        for name in ("observations", "action_masks", "rewards", "terminated", "seats", "final_observations"):
            np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
    assert fast.batch.episodes.min() > 0


@pytest.mark.parametrize("reward", ["win", "round"])
@pytest.mark.parametrize("code", ["random", "anchor", "ev"])
def test_games_with_a_compiled_player_are_the_same_as_without(code: str, reward: str) -> None:
    fast, slow = (make_games([agents.make(code)], compiled=compiled, reward=reward) for compiled in (True, False))
    assert_same_games(fast, slow, 60)


def test_compiled_and_other_players_share_a_game() -> None:
    players = [agents.make("ev"), SlowAnchor(), agents.make("anchor")]
    fast, slow = (make_games(players, [0, 0, 1, 2, 1], compiled=compiled, reward="score") for compiled in (True, False))
    assert_same_games(fast, slow, 60)


CALLED = """
from felicity_env.kernel import kernel

@kernel
def value(card):
    '''Return three times a card.'''
    return 3 * card
"""
CALLER = """
from felicity_env.kernel import kernel
from agents.inner.called import value

@kernel
def trial(card):
    return value(card) + 1
"""
FILES = {"agents/inner/called.py": CALLED, "experiments/caller.py": CALLER, "train/idle.py": CALLED}
RUN_TRIAL = "from experiments import caller; print(caller.trial(5), caller.__file__)"


@pytest.mark.compiled("plain Python has no cache of machine code")
def test_a_kernel_is_compiled_again_after_an_edit_of_one_that_it_calls_and_after_no_other_edit(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "felicity_env", ignore=shutil.ignore_patterns("__pycache__"))
    for name, code in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True)
        for folder in (tmp_path / name).relative_to(tmp_path).parents[:-1]:
            (tmp_path / folder / "__init__.py").touch()
        (tmp_path / name).write_text(code)

    def run() -> tuple[str, bool]:
        """Return the result of the caller, and whether it was compiled."""
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run_python(RUN_TRIAL, cwd=tmp_path, **environment)
        answer, file = done.stdout.split()
        assert Path(file).parent == tmp_path / "experiments"
        return answer, "experiments: compiling" in done.stderr

    called = tmp_path / "agents" / "inner" / "called.py"
    assert run() == ("16", True)
    edit(tmp_path / "train" / "idle.py", "3 * card", "4 * card")
    assert run() == ("16", False)
    edit(called, "Return three times a card.", "Triple a card.")
    assert run() == ("16", False)
    edit(called, "3 * card", "4 * card")
    assert run() == ("21", True)
    edit(called, "4 * card", "3 * card")
    assert run() == ("16", False)  # the old kernel again, still in the cache
