"""`python -m agents explain`: the policy's probabilities, the seat's own view, and errors that name the fault."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.__main__ import VERBS
from agents.arena.game_file import read_game
from agents.play.explanation import (
    compute_card_probabilities,
    explain_decision,
    list_beliefs,
    make_policy,
    play_candidates,
)
from agents.policy_file import save_policy
from agents.posterior import NOTHING_HIDDEN, HiddenCards
from agents.tools.command import run_verb
from felicity_env import NUM_ACTIONS, OBS_SIZE, Game
from felicity_env.game import HIDDEN, PLACE, rank
from felicity_env.game_record import draw_deal
from felicity_env.notation import dumps, loads
from felicity_env.setups import standard_setup
from tests.support.helpers import ODD_SETUPS, random_game

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
    """Return the folder of a policy with random weights."""
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


def explain(*words: object) -> int:
    return run_verb("agents", VERBS, ["explain", *map(str, words)])


def test_an_explanation_holds_what_the_seat_saw_and_what_the_policy_would_do(run):
    game, player = loads(GAME), make_policy(f"net:{run}")
    explanation = explain_decision(game, 23, player, worlds=40)
    assert (explanation.state["round_number"], explanation.state["phase"], explanation.state["high_bid"]) == (
        2,
        PLACE,
        0,
    )
    hands = explanation.state["hands"][:4] != HIDDEN
    assert hands.tolist() == [seat == explanation.seat for seat in range(4)]
    assert explanation.probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert explanation.taken == game.actions[22]
    assert explanation.hidden.keys() == {0, 1, 2, 3} - {explanation.seat}
    assert 0 <= explanation.value.low <= explanation.value.value <= explanation.value.high <= 1


def test_a_policy_that_is_not_shown_the_mice_of_others_is_explained_without_them(run, tmp_path):
    layers = make_policy(f"net:{run}").layers
    save_policy(tmp_path, layers, open_mice=False, activation="relu")
    shown, blind = (explain_decision(loads(GAME), 23, make_policy(f"net:{path}"), worlds=2) for path in (run, tmp_path))
    assert (shown.open_mice, blind.open_mice) == (True, False)


def test_the_decision_where_a_game_stops_can_be_explained(run):
    game = loads(GAME)
    explanation = explain_decision(game, len(game.actions) + 1, make_policy(f"net:{run}"), worlds=20)
    assert explanation.taken is None
    assert explanation.state["high_bid"] == 1


@pytest.mark.parametrize(("code", "message"), [("ev", "only networks"), ("net:greedy", "leave out the option greedy")])
def test_a_player_without_action_probabilities_is_not_explained(code, message):
    with pytest.raises(ValueError, match=message):
        explain_decision(loads(GAME), 3, agents.make(code))


def test_every_plausible_action_is_compared_with_the_one_taken(run):
    game, player = loads(GAME), make_policy(f"net:{run}")
    explanation = explain_decision(game, 23, player, worlds=40)
    values = [candidate.value for candidate in explanation.candidates]
    assert values == sorted(values, reverse=True)
    taken = explanation.find(explanation.taken)
    assert (taken.difference.low, taken.difference.high) == (0, 0)
    for candidate in explanation.candidates:
        assert candidate.difference.value == pytest.approx(candidate.value - taken.value)
        assert candidate.probability == pytest.approx(explanation.probabilities[candidate.action])
    with pytest.raises(KeyError):
        explanation.find(73)


def test_the_value_before_a_decision_is_that_of_the_policy_over_the_candidates(run):
    explanation = explain_decision(loads(GAME), 23, make_policy(f"net:{run}"), worlds=40)
    weights = np.array([candidate.probability for candidate in explanation.candidates])
    values = np.array([candidate.value for candidate in explanation.candidates])
    assert explanation.value.value == pytest.approx(weights @ values / weights.sum())


def test_an_action_that_ends_the_game_is_worth_its_result(run):
    game = random_game(standard_setup(3), 2).game
    before = replace(game, actions=game.actions[:-1])
    worlds = np.repeat(before.final_states(), 3)
    seat, action = int(worlds[0].seat), game.actions[-1]
    values = play_candidates(before, worlds, np.array([action]), seat, make_policy(f"net:{run}"), seed=1)
    ranks = [int(rank(game.final_states()[0], other)) for other in range(3)]
    assert values.tolist() == [[(ranks[seat] == 1) / ranks.count(1)] * 3]


def test_the_same_action_in_the_same_world_has_the_same_value(run):
    game = replace(loads(GAME), actions=loads(GAME).actions[:5])
    worlds = np.repeat(game.final_states(), 30)
    seat, player = int(worlds[0].seat), make_policy(f"net:{run}")
    twice = play_candidates(game, worlds, np.array([10, 10]), seat, player, seed=1)
    assert np.array_equal(twice[0], twice[1])
    assert 0 < twice[0].mean() < 1


def test_the_same_seed_explains_alike_and_another_otherwise(run):
    game, player = loads(GAME), make_policy(f"net:{run}")
    first, again, other = (explain_decision(game, 10, player, worlds=30, seed=seed) for seed in (5, 5, 6))
    assert (first.value, first.candidates) == (again.value, again.candidates)
    assert first.value != other.value


def test_card_probabilities_leave_out_what_is_no_card():
    shares = compute_card_probabilities(np.array([-1, 3, 3, 9]), np.array([0.4, 0.1, 0.2, 0.3]))
    assert shares[3] == pytest.approx(0.3)
    assert shares.sum() == pytest.approx(0.6)


def test_beliefs_are_percent_with_a_dot_where_the_rules_exclude_a_card():
    hidden = HiddenCards(np.array([0, 9]), np.full(2, NOTHING_HIDDEN), posterior=np.array([0.0, 1.0]))
    dots = ["."] * 8
    assert list(list_beliefs(hidden)) == [
        ["removed", "rules", "50", *dots, "50"],
        ["removed", "actions", "0", *dots, "100"],
    ]


def test_the_command_lists_decisions_and_explains_one(run, game_file, capsys):
    assert explain(game_file, "--player", f"net:{run}") == 0
    listed = capsys.readouterr().out
    assert "place R" in listed
    last = len(loads(GAME).actions) + 1
    assert any(f" {last} " in line and "to come" in line for line in listed.splitlines())
    assert explain(game_file, "--player", f"net:{run}", "--decision", 24, "--worlds", 20) == 0
    explained = capsys.readouterr().out
    for text in ("you", "mice are shown, because", "win share expected", "What the others hide", "<- taken"):
        assert text in explained


@pytest.mark.parametrize("setup", ODD_SETUPS)
def test_decisions_of_any_setup_are_explained(run, setup, tmp_path, capsys):
    game = Game(setup, draw_deal(setup, 3))
    path = tmp_path / "odd.txt"
    path.write_text(dumps(game))
    assert explain(path, "--player", f"net:{run}", "--decision", 1, "--worlds", 4) == 0
    assert "win share expected" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--decision", 0], "--decision must be 1 to"),
        (["--decision", 99], "--decision must be 1 to"),
        (["--worlds", 1], "--worlds must be at least 2, not 1"),
        (["--seed", -1], "--seed must be at least 0, not -1"),
        (["--player", "ev"], "only networks"),
        (["--player", "net:greedy"], "leave out the option greedy"),
        (["--player", "net:nowhere"], "cannot read a policy from nowhere"),
    ],
)
def test_what_cannot_be_explained_is_an_error_in_one_line(run, game_file, words, message, capsys):
    player = [] if "--player" in words else ["--player", f"net:{run}"]
    assert explain(game_file, *player, *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("error: ")


def test_a_file_that_is_no_game_is_named(tmp_path, run, capsys):
    path = tmp_path / "no-game.txt"
    path.write_text(dumps(loads(GAME)).replace("players 4", "players 7"))
    with pytest.raises(ValueError, match=r"no-game\.txt"):
        read_game(path)
    assert explain(tmp_path / "missing.txt", "--player", f"net:{run}") == 2
    assert capsys.readouterr().err == f"error: there is no file {tmp_path / 'missing.txt'}\n"
    assert agents.make(f"net:{run}").open_mice
