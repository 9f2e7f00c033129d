"""`python -m agents review`: what each decision cost, decision and luck kept apart, flagged decisions first."""

import json
import re
from dataclasses import replace

import pytest

import agents
from agents.__main__ import VERBS
from agents.play.explanation import explain_decision
from agents.play.review_game import LEAST_COST, describe_flaw, list_choices, review_game, summarize
from agents.play.review_page import render_review
from agents.tools.command import run_verb
from felicity_env import notation
from felicity_env.game import num_legal_actions
from felicity_env.game_record import Game
from felicity_env.render.replay import unpack
from felicity_env.setups import standard_setup
from tests.support.helpers import random_game

# In round 2 seat 2 could buy 15 + 11 + 8 + 11 for one mouse, and passes.
BLUNDER = """felicity rules 1
players 4
deal start_seat 0
deal removed R R R R

1: 3 3 3 5 | 1 2 3 4 - - -
2: 15 11 8 11 | - - - -
"""


@pytest.fixture(scope="module")
def net():
    return agents.make("net")


@pytest.fixture(scope="module")
def blunder(net):
    game = notation.loads(BLUNDER)
    last = len(game.actions)
    seat = int(replace(game, actions=game.actions[:-1]).final_states()[0].seat)
    review = review_game(game, seat, net, worlds=100)
    return review, last


def test_a_blunder_is_flagged_and_named(blunder):
    review, last = blunder
    flagged = review.flagged[0]
    assert flagged.explanation.decision == last
    assert flagged.better.action == 11
    assert flagged.cost >= LEAST_COST
    assert f"Decision {last}, in round 2: bid 1 would have won" in describe_flaw(flagged)
    assert summarize(review)[-1] in ("1 decision is flagged.", f"{len(review.flagged)} decisions are flagged.")


def test_a_review_and_an_explanation_of_a_decision_have_the_same_numbers(blunder, net):
    review, last = blunder
    alone = explain_decision(review.game, last, net, worlds=100)
    assert [tuple(each) for each in alone.candidates] == [tuple(c) for c in review.decisions[-1].explanation.candidates]


def test_all_decisions_with_a_choice_are_reviewed(net):
    game = random_game(standard_setup(3), 5).game
    states = [state.copy() for _, state in game.states()]
    for seat in range(3):
        choices = list_choices(game, seat)
        assert choices == [k + 1 for k, s in enumerate(states) if s.seat == seat and num_legal_actions(s) > 1]


def test_value_effects_and_luck_sum_to_the_result(net):
    game = random_game(standard_setup(3), 5).game
    review = review_game(game, 1, net, worlds=10)
    first = review.decisions[0].explanation.value.value
    total = first + sum(each.effect + each.luck for each in review.decisions)
    assert total == pytest.approx(review.result)


def test_a_game_that_is_not_over_has_no_result_and_no_luck_after_the_last_decision(blunder):
    review, _ = blunder
    assert review.result is None
    assert review.decisions[-1].luck is None
    assert all(each.luck is not None for each in review.decisions[:-1])
    assert "The game is not over" in " ".join(summarize(review))


def test_a_seat_without_choices_is_told_so(net):
    game = Game(standard_setup(4), random_game(standard_setup(4), 1).game.deal)
    assert summarize(review_game(game, 0, net)) == ["Seat 0 has had no choice in this game yet."]


def test_the_page_of_a_finished_game_opens_with_the_view_of_the_seat(net):
    game = random_game(standard_setup(3), 5).game
    page = render_review(review_game(game, 2, net, worlds=5), "net")
    assert '<option value="0">seat 2</option><option value="1">all cards</option>' in page
    assert page.count("<details") == 1 + len(list_choices(game, 2))  # with that of the tables


def test_the_page_of_an_unfinished_game_holds_the_view_of_the_seat_alone(blunder):
    review, _ = blunder
    page = render_review(review, "net")
    (packed,) = re.findall(r'id="game">(.*?)</script>', page)
    assert len(unpack(packed)["views"]) == 1
    assert "<textarea" not in page
    assert page.index("Flagged decisions") < page.index("All other decisions")


def test_the_command_writes_the_page_and_the_numbers(tmp_path, capsys):
    path = tmp_path / "game.txt"
    path.write_text(BLUNDER)
    words = ["review", str(path), "--seat", "2", "--worlds", "60"]
    assert run_verb("agents", VERBS, words) == 0
    shown = capsys.readouterr().out
    assert "decisions" in shown
    assert f"written: {tmp_path / 'game-seat2.html'} and {tmp_path / 'game-seat2.json'}" in shown
    (number,) = re.findall(rf"explain {path} --player net --decision (\d+) --worlds 60 --seed 0$", shown, re.MULTILINE)
    values = json.loads((tmp_path / "game-seat2.json").read_text())
    assert [each["decision"] for each in values["decisions"] if each["flagged"]] == [int(number)]
    assert notation.loads(values["game"]) == notation.loads(BLUNDER)
    assert values["decisions"][0]["candidates"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seat", "4"], "--seat must be 0 to 3, not 4"),
        (["--seat", "0", "--player", "ev"], "only networks"),
        (["--seat", "0", "--worlds", "1"], "--worlds must be at least 2, not 1"),
    ],
)
def test_what_cannot_be_reviewed_is_an_error_in_one_line(tmp_path, words, message, capsys):
    path = tmp_path / "game.txt"
    path.write_text(BLUNDER)
    assert run_verb("agents", VERBS, ["review", str(path), *words]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


def test_a_judge_that_was_not_trained_on_the_setup_of_the_game_is_named(tmp_path, capsys):
    game = random_game(standard_setup(3), 4).game
    small = replace(game, setup=replace(game.setup, bank=18))
    warning, path = "net was not trained on custom-3-[0-9a-f]{8} and may play badly there", tmp_path / "game.txt"
    for setup_game, is_foreign in ((game, False), (small, True)):
        path.write_text(notation.dumps(replace(setup_game, actions=setup_game.actions[:5])))
        for words in (["explain", "--decision", "5"], ["review", "--seat", "0"]):
            assert run_verb("agents", VERBS, [words[0], str(path), *words[1:], "--worlds", "2"]) == 0
            assert bool(re.search(warning, capsys.readouterr().err)) == is_foreign
        assert bool(re.search(warning, path.with_name("game-seat0.html").read_text())) == is_foreign
