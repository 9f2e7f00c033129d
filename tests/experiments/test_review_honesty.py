"""`python -m experiments review-honesty`: blunders are planted as described, and counts are judged by their bounds."""

import json
from dataclasses import replace

import pytest

from agents.play.explanation import make_policy
from experiments.checks import review_honesty
from experiments.checks.review_honesty import Config, judge, list_blunders, main, play_game
from felicity_env.game import CARD_VALUES, PASS, step

GOOD = {
    "blunders": 30,
    "blunders flagged": 27,
    "identical actions": 300,
    "identical actions flagged": 15,
    "estimates": 1000,
    "estimates that hold": 950,
}


@pytest.mark.compiled("several games of networks")
def test_planted_blunders_are_passes_of_good_sacks_and_offers_of_everything_for_bad_ones():
    policy, kinds = make_policy("net"), set()
    for seed in range(8):
        for game in list_blunders(play_game(policy, seed)):
            before = replace(game, actions=game.actions[:-1]).final_states()
            state = before[0]
            kinds.add(game.actions[-1] == PASS)
            if game.actions[-1] == PASS:
                assert state.face_up == state.row_size
                step(state, PASS + 1)
                assert state.last_value >= review_honesty.LEAST_WORTH
            else:
                assert game.actions[-1] - PASS == state.mice[state.seat] >= review_honesty.LEAST_MICE
                assert CARD_VALUES[state.row[0]] < 0
    assert kinds == {True, False}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"blunders flagged": 26}, "blunders not flagged"),
        ({"identical actions flagged": 16}, "identical actions flagged"),
        ({"estimates that hold": 929}, "intervals that do not hold"),
        ({"estimates that hold": 971}, "intervals that do not hold"),
    ],
)
def test_counts_are_judged(changed, fault):
    faults = judge(GOOD | changed)
    assert {name for name, count in faults.items() if count} == ({fault} if fault else set())


@pytest.mark.compiled("several games of networks")
def test_the_check_counts_everything_and_resumes(tmp_path, monkeypatch):
    small = {"WORLDS": 10, "FEW_WORLDS": 10, "MORE": 2, "ESTIMATES": 2}
    for name, value in {**small, "INTERVALS_HOLD": (0, 1), "IDENTICAL_FLAGGED": 1, "BLUNDERS_FLAGGED": 0}.items():
        monkeypatch.setattr(review_honesty, name, value)
    stored = []
    monkeypatch.setattr("experiments.checks.chunks.write_result", lambda *args, **kwargs: stored.append(args))
    config = Config(blunders=2, identical=2, intervals=2, out=tmp_path)
    main(config)
    state = json.loads((tmp_path / "chunks.json").read_text())
    assert state["done"] == 5
    assert (state["counts"]["blunders"], state["counts"]["identical actions"], state["counts"]["estimates"]) == (
        2,
        2,
        2,
    )
    main(config)
    assert json.loads((tmp_path / "chunks.json").read_text())["counts"] == state["counts"]
    assert len(stored) == 2
