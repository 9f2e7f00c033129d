"""Settings: impossible ones are refused by their option names, and a resumed folder must have the same ones."""

import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from agents.tools.files import UserError, check_same_settings
from agents.tools.options import read_whole_number
from agents.tools.settings import (
    TimeLimit,
    check_at_least,
    check_positive,
    check_range,
    check_seeds,
    choose_setups,
    require,
)
from felicity_env import Setup
from felicity_env.setups import standard_setup

CONFIG = SimpleNamespace(num_envs=1, rate=float("inf"), other=float("nan"), seed=-1, deals=None, gain=0.5)
FAULTS = [
    (lambda: require(False, "no"), "no"),
    (lambda: check_positive(CONFIG, "num_envs", "rate"), "--rate must be positive, not inf"),
    (lambda: check_positive(CONFIG, "other"), "--other must be positive, not nan"),
    (lambda: check_positive(CONFIG, "seed"), "--seed must be positive, not -1"),
    (lambda: check_at_least(CONFIG, seed=-1, num_envs=2), "--num-envs must be at least 2, not 1"),
    (lambda: check_range(CONFIG, 0, 1, "gain", "seed"), "--seed must be 0 to 1, not -1"),
    (lambda: check_seeds([1, 2, 1]), "--seeds needs different numbers"),
    (lambda: check_seeds([1], at_least=2), "--seeds needs different numbers, at least 2"),
    (lambda: check_seeds([0, -1]), r"--seeds needs different numbers, at least 1, none below 0, not \[0, -1\]"),
    (lambda: choose_setups((), (3, 6)), r"^--num-players must be one of \[3, 4, 5\], not 6"),
    (lambda: choose_setups((), ()), "--num-players needs at least one number"),
    (lambda: choose_setups(("standard-9",), ()), "--setup: no setup 'standard-9'; there are standard-3"),
    (lambda: choose_setups(("nowhere.json",), ()), "--setup: no setup can be read from nowhere.json"),
]


@pytest.mark.parametrize(("check", "message"), FAULTS)
def test_the_first_setting_that_is_wrong_is_named(check: Callable[[], object], message: str):
    with pytest.raises(ValueError, match=message):
        check()


@pytest.mark.parametrize("seconds", [-1, 0, float("inf"), float("nan"), 1e20])
def test_a_time_limit_that_no_timer_takes_is_refused(seconds):
    with pytest.raises(ValueError, match=r"--seconds-a-decision must be positive and at most 86400 \(a day\), not "):
        TimeLimit(seconds_a_decision=seconds).check_time_limit()


def test_whole_numbers_may_have_an_exponent():
    texts = {"7": 7, "-2": -2, "1_000": 1000, "1e6": 10**6, "2.5e3": 2500, str(2**60 + 1): 2**60 + 1}
    assert {text: read_whole_number(text) for text in texts} == texts


@pytest.mark.parametrize("text", ["1.5", "1e-1", "four", "", "inf", "nan", "1e6 2"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(ValueError, match=f"'{text}' is no whole number, such as 1000000 or 1e6"):
        read_whole_number(text)


def test_possible_settings_are_accepted():
    check_positive(CONFIG, "num_envs", "gain")
    check_at_least(CONFIG, num_envs=1, deals=2)
    check_range(CONFIG, 0, 1, "gain", "num_envs")
    check_seeds([3, 1], at_least=2)
    for seconds in (None, 0.01, 86_400):
        TimeLimit(seconds_a_decision=seconds).check_time_limit()


def test_setups_are_chosen_by_name_by_file_or_by_number_of_players_each_once(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"seats": 2, "mouse_cards": [3], "bank": 9}))
    assert choose_setups((), (5, 3, 5)) == (standard_setup(5), standard_setup(3))
    mine = Setup(seats=2, mouse_cards=(3,), bank=9)
    assert choose_setups(("standard-4", str(path), "standard-4"), (3,)) == (standard_setup(4), mine)


def test_the_missing_fields_of_a_setup_are_named(tmp_path):
    path = tmp_path / "part.json"
    path.write_text('{"seats": 2}')
    with pytest.raises(ValueError, match=r"part.json: it lacks mouse_cards, bank$"):
        choose_setups((str(path),), ())


def test_settings_that_differ_from_those_of_a_folder_are_named():
    stored = {"seed": 1, "players": ["a"], "gone": 1}
    check_same_settings(stored, {"seed": 1, "players": ("a",), "gone": 1}, where="runs/x", advice="delete it")
    with pytest.raises(UserError, match=r"runs/x was written with other settings \(seed, gone, new\); delete it"):
        check_same_settings(stored, {"seed": 2, "players": ("a",), "new": 1}, where="runs/x", advice="delete it")
