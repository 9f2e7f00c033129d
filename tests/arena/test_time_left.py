"""Time left of matches: a match that was not measured takes what its players cost in those that were."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from agents.arena import time_left
from agents.arena.parts import Match, Part
from agents.arena.time_left import TimeLeft, estimate_seconds
from felicity_env.setups import standard_setup

SETUP = standard_setup(3)


def pair(one: str, rest: str) -> Match:
    return Match.one_against(one, rest, SETUP)


def list_parts(matches: Sequence[Match], count: int = 1) -> list[Part]:
    """Return parts of two deals each, first the first part of each match."""
    return [Part(match, 2 * k, 2 * k + 2, 0, (), (), "", Path()) for k in range(count) for match in matches]


def test_a_match_that_was_not_measured_takes_the_sum_of_what_its_seats_cost():
    measured = {pair("a", "b"): 5.0, pair("b", "a"): 4.0, pair("a", "c"): 21.0}  # a 1, b 2, c 10 seconds a deal
    wanted = [pair("c", "b"), pair("b", "c"), Match(("a", "b", "c"), SETUP), pair("a", "b")]
    found = estimate_seconds(measured, wanted)
    assert [found[match] for match in wanted] == pytest.approx([14, 22, 13, 5])


def test_players_or_sizes_that_were_not_measured_cost_the_mean_of_the_others():
    measured = {pair("a", "b"): 5.0, pair("b", "a"): 4.0}
    larger = Match.one_against("a", "b", standard_setup(4))
    found = estimate_seconds(measured, [pair("new", "b"), larger])
    assert found[pair("new", "b")] == pytest.approx(1.5 + 2 * 2)
    assert found[larger] == pytest.approx(4 * 1.5)


def test_no_player_costs_less_than_nothing():
    found = estimate_seconds({pair("a", "b"): 1.0, pair("b", "a"): 5.0}, [pair("c", "b")])
    assert found[pair("c", "b")] >= 0


def test_the_time_left_after_a_resume_does_not_count_fast_matches_as_slow_ones():
    slow, fast = pair("mc", "ev"), [pair(one, rest) for one in ("ev", "tuned") for rest in ("anchor", "pass")]
    parts, left = list_parts([slow, fast[0], *fast[1:]]), []
    timer = TimeLeft(parts, len(parts), lambda *values: left.append(values))
    timer.count(parts[1], 0.6, 2)  # ev and anchor: 0.3 seconds a deal
    timer.count(parts[0], 200.0, 2)
    assert left[-1][:2] == (2, 5)
    timer.count(parts[2], 0.6, 2)  # ev and pass
    timer.count(parts[3], 0.6, 2)  # tuned and anchor
    assert left[-1] == (4, 5, pytest.approx(0.3, abs=0.01))  # the last has the players of those before


@pytest.mark.parametrize("seed", range(10))
def test_the_time_left_ends_at_zero_and_is_never_negative(seed):
    parts, left = list_parts([pair("a", f"b{k}") for k in range(20)], 5), []
    timer = TimeLeft(parts, len(parts), lambda done, total, seconds: left.append(seconds))
    for part, seconds in zip(parts, np.random.default_rng(seed).exponential(size=len(parts)), strict=True):
        timer.count(part, seconds, 1)
    assert min(left[1:]) >= 0  # before the first part it is unknown
    assert f"{left[-1]:.0f}" == "0"


def test_a_fit_is_made_for_new_matches_only_and_less_often_the_more_there_are(monkeypatch):
    fits = []
    monkeypatch.setattr(time_left, "estimate_seconds", lambda *args: fits.append(1) or estimate_seconds(*args))
    matches = [Match.one_against("a", f"b{k}", SETUP) for k in range(100)]
    parts = list_parts(matches, 3)
    timer = TimeLeft(parts, len(parts), lambda *_: None)
    for part in parts:
        timer.count(part, 2.0, 1)
    assert 20 < len(fits) < 70
    assert timer.needed == pytest.approx(0)
