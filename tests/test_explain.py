"""Explaining a decision: the policy's own chances, the seat's own view, and words for what cannot be explained."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.network import save_policy
from experiments.explain import explained, policy_of, read_game, shares_of_cards
from felicity_env import NUM_ACTIONS, OBS_SIZE, describe
from felicity_env.notation import dumps, loads
from felicity_env.observation import AT

ROOT = Path(__file__).resolve().parents[1]
GAME = """felicity rules 1
players 4
deal start_seat 1
deal removed R 3 5 15

1: R R -5 d | 1 2 - - -
2: d R 3 D | 1 2 3 - - -
3: -8 d -8 D | 1 -
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A policy of random weights."""
    folder, rng = tmp_path_factory.mktemp("policy"), np.random.default_rng(0)
    first = rng.normal(0, 0.4, (OBS_SIZE, 8)).astype(np.float32), np.zeros(8, np.float32)
    last = rng.normal(0, 0.4, (8, NUM_ACTIONS)).astype(np.float32), np.zeros(NUM_ACTIONS, np.float32)
    save_policy(folder, [first, last], open_mice=True, activation="relu")
    return folder


@pytest.fixture
def game_file(tmp_path) -> Path:
    path = tmp_path / "game.txt"
    path.write_text(GAME)
    return path


def command(*words: object) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "experiments.explain", *map(str, words)]
    return subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=False)


def test_an_explanation_holds_what_the_seat_saw_and_what_the_policy_would_do(run):
    game, player = loads(GAME), policy_of(f"net:{run}")
    found = explained(game, 23, player, worlds=40)
    seen = describe(found.observation)
    assert (seen["round"], seen["phase"], seen["high_bid"]) == (2, "place", 0)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert found.taken == game.actions[22]
    assert found.hidden.keys() == {0, 1, 2, 3} - {found.seat}
    assert 0 <= found.value.low <= found.value.value <= found.value.high <= 1


def test_a_policy_that_is_not_shown_the_mice_of_others_is_explained_without_them(run, tmp_path):
    layers = policy_of(f"net:{run}").layers
    save_policy(tmp_path, layers, open_mice=False, activation="relu")
    found, blind = (explained(loads(GAME), 23, policy_of(f"net:{path}"), worlds=2) for path in (run, tmp_path))
    assert found.observation[AT.open_mice] == 1
    assert blind.observation[AT.open_mice] == 0


def test_the_decision_where_a_begun_game_stands_can_be_explained(run):
    game = loads(GAME)
    found = explained(game, len(game.actions) + 1, policy_of(f"net:{run}"), worlds=20)
    assert found.taken is None
    assert describe(found.observation)["high_bid"] == 1


@pytest.mark.parametrize(("code", "message"), [("ev", "only networks"), ("net:@greedy", "leave out @greedy")])
def test_who_cannot_say_how_likely_its_actions_are_is_not_explained(code, message):
    with pytest.raises(ValueError, match=message):
        explained(loads(GAME), 3, agents.make(code))


def test_the_same_seed_explains_alike(run):
    game, player = loads(GAME), policy_of(f"net:{run}")
    first, again = (explained(game, 10, player, worlds=30, seed=5) for _ in range(2))
    assert first.value == again.value


def test_shares_of_cards_leave_out_what_is_no_card():
    shares = shares_of_cards(np.array([-1, 3, 3, 9]), np.array([0.4, 0.1, 0.2, 0.3]))
    assert shares[3] == pytest.approx(0.3)
    assert shares.sum() == pytest.approx(0.6)


def test_the_command_lists_decisions_and_shows_one(run, game_file):
    listed = command(game_file, "--player", f"net:{run}")
    assert listed.returncode == 0, listed.stderr
    assert "place R" in listed.stdout
    last = len(loads(GAME).actions) + 1
    assert any(f" {last} " in line and "to come" in line for line in listed.stdout.splitlines())
    shown = command(game_file, "--player", f"net:{run}", "--decision", 24, "--worlds", 20)
    assert shown.returncode == 0, shown.stderr
    for words in ("you are seat", "win share expected", "What the others hide", "<- played"):
        assert words in shown.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--decision", 0], "--decision must be 1 to"),
        (["--decision", 99], "--decision must be 1 to"),
        (["--worlds", 1], "--worlds must be at least 2, not 1"),
        (["--seed", -1], "--seed must be at least 0, not -1"),
        (["--player", "ev"], "only networks"),
        (["--player", "net:@greedy"], "leave out @greedy"),
        (["--player", "net:nowhere"], "no policy can be read from nowhere"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_line(run, game_file, words, message):
    player = [] if "--player" in words else ["--player", f"net:{run}"]
    ended = command(game_file, *player, *words)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_file_that_is_no_game_is_named(tmp_path, run):
    path = tmp_path / "no-game.txt"
    path.write_text(dumps(loads(GAME)).replace("players 4", "players 7"))
    with pytest.raises(ValueError, match=r"no-game\.txt"):
        read_game(path)
    assert command(tmp_path / "missing.txt", "--player", f"net:{run}").returncode == 2
    assert agents.make(f"net:{run}").open_mice
