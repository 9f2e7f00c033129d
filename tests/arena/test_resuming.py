"""Resumed folders: an edit invalidates stored parts if it can change what they hold, and otherwise does not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.__main__ import VERBS
from agents.arena import matches
from agents.arena.parts import Match, list_parts
from agents.identity import identify_player
from agents.policy_file import save_policy
from agents.tools.command import run_verb
from felicity_env import NUM_ACTIONS, OBS_SIZE, Setup
from felicity_env.setups import standard_setup
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

PLAYERS = ("random", "anchor", "mc:5", "net", "own_player.play:make")
LIST_PARTS = f"""
import json, sys
from pathlib import Path
from agents.arena.parts import Match, list_parts, open_folder
from felicity_env.setups import standard_setup

folder = Path(sys.argv[1])
matches = {{Match.one_against(one, "random", standard_setup(3)): 1 for one in {PLAYERS[1:]}}}
report = lambda text: print(text, file=sys.stderr)
with open_folder(folder, 0, {PLAYERS}, fresh=False, report=report) as players:
    print(json.dumps({{part.match.codes[0]: str(part.path) for part in list_parts(
        matches, players, seed=0, folder=folder, deals_per_part=1)}}))
"""


class Copy:
    """A copy of the sources that a test may edit, and a folder of a run that belongs to it."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "run"
        self.before: dict[str, str] = {}  # the paths of the parts before any edit

    def create(self) -> None:
        for package in ("felicity_env", "agents", "experiments"):
            ignored = shutil.ignore_patterns("__pycache__", "results")
            shutil.copytree(ROOT / package, self.root / package, ignore=ignored)
        (self.root / "own_player").mkdir()
        (self.root / "own_player" / "__init__.py").touch()
        (self.root / "own_player" / "play.py").write_text(OWN_PLAYER)

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.root / path).read_text()
        assert old in text, f"{path} has changed: choose another edit"
        (self.root / path).write_text(text.replace(old, new, 1))

    def list_parts(self) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", LIST_PARTS, str(self.folder)]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(self.root)}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    def part_paths(self) -> dict[str, str]:
        """Return the path of the part of each player's match, in the folder of the run."""
        done = self.list_parts()
        assert done.returncode == 0, done.stderr
        return {code: str(Path(path).relative_to(self.folder)) for code, path in json.loads(done.stdout).items()}


OWN_PLAYER = '''
"""A player of a user."""

from agents.compiled import CompiledPlayer


def make():
    return CompiledPlayer("pass")
'''


@pytest.fixture(scope="module")
def unedited(tmp_path_factory) -> Copy:
    """Return a copy that is not to be edited, whose run has been opened once."""
    copy = Copy(tmp_path_factory.mktemp("resuming") / "unedited")
    copy.create()
    copy.before = copy.part_paths()
    return copy


@pytest.fixture
def copy(tmp_path, unedited) -> Copy:
    """Return a copy that may be edited; its run has been opened, with the paths in `before`."""
    copy = Copy(tmp_path / "copy")
    shutil.copytree(unedited.root, copy.root, ignore=shutil.ignore_patterns("__pycache__"))
    copy.before = unedited.before
    return copy


def test_edited_plots_reports_pages_and_docstrings_invalidate_nothing(copy):
    copy.edit("agents/arena/plots.py", "MIN_SACKS = 30", "MIN_SACKS = 31")
    copy.edit("agents/arena/report.py", '"## Plots"', '"## Figures"')
    copy.edit(
        "agents/arena/tournament.py", '    """Number of deals for each pair, each', '    """Deals for each pair, each'
    )
    copy.edit("agents/arena/games.py", '"""Games', '"""Many games')
    copy.edit("agents/search.py", '"""', '"""Edited. ')
    copy.edit("felicity_env/game.py", '"""', '"""Edited. ')
    copy.edit("felicity_env/render/text.py", "\n\n\n", "\n\n\nEDITED = True\n\n\n")
    copy.edit("felicity_env/__init__.py", '__version__ = "', '__version__ = "9')
    copy.edit("experiments/pages/model_card.py", "\n\n\n", "\n\n\nEDITED = True\n\n\n")
    assert copy.part_paths() == copy.before


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("felicity_env/game.py", "removed: int = 1", "removed: int = 0"),
        ("felicity_env/rewards.py", "1.0 / winners", "2.0 / winners"),
        ("agents/arena/games.py", "state.passes + 1", "state.passes + 2"),
    ],
)
def test_an_edited_rule_or_game_loop_invalidates_the_folder(copy, path, old, new):
    copy.edit(path, old, new)
    done = copy.list_parts()
    assert done.returncode != 0
    assert "other settings (code of the rules, the arena or a heuristic)" in done.stderr


def test_an_edited_player_invalidates_its_own_matches(copy):
    before = copy.before
    assert "play: its code is as before; files that it reads are not compared" in copy.list_parts().stderr
    copy.edit("own_player/play.py", '"pass"', '"ev"')
    changed = "play (own_player.play:make) has changed since it played here: its games are played again"
    assert changed in copy.list_parts().stderr
    edited_own = copy.part_paths()
    assert {code for code in before if edited_own[code] != before[code]} == {"own_player.play:make"}
    copy.edit("agents/search.py", "MIN_WORLDS = ", "MIN_WORLDS = 1 + ")
    edited_search = copy.part_paths()
    assert {code for code in before if edited_search[code] != edited_own[code]} == {"mc:5"}


def test_an_edited_heuristic_invalidates_the_folder(copy):
    copy.edit("agents/anchor.py", "HIDDEN_CARD = 2.9", "HIDDEN_CARD = 3.1")
    assert "other settings" in copy.list_parts().stderr


# --- weights ----------------------------------------------------------------------------------------------------------


def save_net(folder: Path, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weight = np.random.default_rng(seed).normal(size=(OBS_SIZE, NUM_ACTIONS)).astype(np.float32)
    save_policy(folder, [(weight, np.zeros(NUM_ACTIONS, np.float32))], open_mice=False, activation="tanh")


def name_folder(*codes: str, setup: Setup | None = None) -> str:
    """Return the name of the folder of a match."""
    match = Match(codes, setup or standard_setup(len(codes)))
    players = {code: identify_player(code) for code in codes}
    (part,) = list_parts({match: 1}, players, seed=0, folder=Path(), deals_per_part=1)
    return part.path.parent.name


def test_matches_of_different_codes_setups_or_weights_have_different_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_net(tmp_path / "a" / "b", 1)
    save_net(tmp_path / "a_b", 1)
    matches = [("net:a/b", "ev", "ev"), ("net:a_b", "ev", "ev"), ("ev", "net:a/b", "net:a/b"), ("ev", "ev", "net:a/b")]
    other = Setup(seats=3, mouse_cards=(1, 5), bank=21, dummy=True)
    folders = {name_folder(*codes) for codes in matches} | {name_folder(*matches[0], setup=other)}
    assert len(folders) == len(matches) + 1
    assert all("/" not in folder for folder in folders)
    before = name_folder("net:a_b,greedy", "ev", "ev")
    save_net(tmp_path / "a_b", 2)
    assert name_folder("net:a_b,greedy", "ev", "ev") != before
    save_net(tmp_path / "a_b", 1)
    assert name_folder("net:a_b,greedy", "ev", "ev") == before


def test_a_player_whose_weights_change_while_it_plays_is_named_and_nothing_of_the_new_ones_is_stored(
    tmp_path, monkeypatch, capsys
):
    save_net(tmp_path / "run", 1)
    code, out, play_part = f"net:{tmp_path / 'run'}", tmp_path / "out", matches.play_part
    words = ["--players", code, "pass", "--setup", "tiny-2", "--num-deals", "3", "--deals-per-part", "1"]
    arguments = [*words, "--workers", "1", "--out", str(out)]

    def train_on(part):
        results = play_part(part)
        if part.first == 1:
            save_net(tmp_path / "run", 2)
        return results

    monkeypatch.setattr(matches, "play_part", train_on)
    assert run_verb("agents", VERBS, ["tournament", *arguments]) == 2
    *_, error = capsys.readouterr().err.splitlines()
    assert error.startswith(
        f"error: net:run ({code}) has new weights since this command began; wait until its run has ended"
    )
    assert sorted(path.stem for path in out.rglob("*.npz")) == ["0-1", "0-1", "1-2"]
    monkeypatch.undo()
    assert run_verb("agents", VERBS, ["tournament", *arguments]) == 0
    assert f"({code}) has changed since it played here" in capsys.readouterr().err


@pytest.mark.linux("only POSIX systems send SIGTERM to a process that can end well")
def test_a_signal_to_end_stops_a_tournament_as_ctrl_c_does(tmp_path):
    words = ["--players", "anchor", "random", "--num-players", "3", "--num-deals", "10000", "--deals-per-part", "1"]
    command = [sys.executable, "-m", "agents", "tournament", *words, "--workers", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(tmp_path.rglob("*.npz")), seconds=120)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; the same command goes on from here" in errors.splitlines(), errors
