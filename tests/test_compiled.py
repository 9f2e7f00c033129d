"""Compiled players in lanes: the same games as by their `act`; and no kernel goes on with an old one that it calls."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.compiled import compiled_among
from felicity_env import Batch, View
from felicity_env.lanes import Lanes
from felicity_env.view import RandomPlayer
from tests.helpers import COMPILED
from tests.test_random_stream import PACKAGE, edit, run_python

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
    places = (lambda rows: np.tile(order, (len(rows), 1))) if order else None
    return Lanes(batch, players, places=places, compiled=compiled_among(players) if compiled else None)


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


CALLED = """
from felicity_env.kernel import kernel

@kernel
def worth(card):
    return 3 * card
"""
CALLER = """
from felicity_env.kernel import kernel
from players.called import worth

@kernel
def trial(card):
    return worth(card) + 1
"""
RUN_TRIAL = "import trials.caller; print(trials.caller.trial(5), trials.caller.__file__)"


@pytest.mark.skipif(not COMPILED, reason="plain Python has no cache of machine code")
def test_after_an_edit_of_a_kernel_its_caller_in_another_package_does_not_serve_the_old_one(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "felicity_env", ignore=shutil.ignore_patterns("__pycache__"))
    for name, code in (("players/called.py", CALLED), ("trials/caller.py", CALLER), ("others/idle.py", CALLED)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(code)

    def run() -> tuple[str, bool]:
        """(what the caller answers, whether it was compiled)."""
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run_python(RUN_TRIAL, cwd=tmp_path, **environment)
        answer, file = done.stdout.split()
        assert Path(file).parent == tmp_path / "trials"
        return answer, "trials: compiling" in done.stderr

    called = tmp_path / "players" / "called.py"
    assert run() == ("16", True)
    edit(tmp_path / "others" / "idle.py", "3 * card", "4 * card")
    assert run() == ("16", False)  # warm: nothing that it calls was edited
    edit(called, "3 * card", "4 * card")
    assert run() == ("21", True)
    edit(called, "4 * card", "3 * card")
    assert run() == ("16", False)  # the old kernel again, from the cache of old
