"""The check of the arena's statistics: it counts rightly, its blocks do not overlap, and it notices what is wrong."""

from copy import deepcopy
from dataclasses import replace
from io import StringIO
from itertools import repeat

import numpy as np
import pytest
from rich.console import Console

import agents
from agents.arena.blocks import play_blocks
from agents.arena.estimates import MINIMUM_BLOCKS, estimate_mean
from agents.tools.files import UserError
from experiments.checks import soundness
from experiments.checks.soundness import (
    COVERAGE,
    PAIRED,
    SEQUENTIAL,
    Config,
    compute_win_shares,
    estimate_rate,
    find_faults,
    run_to_verdict,
)
from experiments.parts import Measured
from felicity_env.setups import STANDARD_PLAYERS

SMALL = Config(truth_deals=4, intervals=3, interval_deals=2, tests=2, pair_deals=3)


def test_win_shares_are_those_of_the_arena_in_however_many_pieces_they_are_played(monkeypatch):
    monkeypatch.setattr(soundness, "PIECE", 2)
    codes = ("anchor", "ev", "random")
    blocks = play_blocks([agents.make(code) for code in codes], num_deals=range(1, 6), seed=3)
    expected = np.column_stack([blocks.block_means(player) for player in range(3)])
    assert (compute_win_shares(codes, range(1, 6), 3) == expected).all()


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"), [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0)]
)
def test_a_rate_has_the_interval_of_wilson(hits, trials, low, high):
    made = estimate_rate([True] * hits + [False] * (trials - hits))
    assert [made[key] for key in ("value", "low", "high")] == pytest.approx([hits / trials, low, high], abs=1e-4)
    assert made["trials"] == trials


class Asked:
    """Stands for `compute_win_shares`; keeps which blocks were asked for, and gives chosen values."""

    def __init__(self, values_of):
        self.values_of, self.ranges = values_of, []

    def __call__(self, codes, blocks, seed):
        self.ranges.append(blocks)
        return np.column_stack([self.values_of(np.array(blocks), place) for place in range(len(codes))])


def coin(blocks, place):
    """Return 0 or 1 for each block and place, as good as independent."""
    return np.random.default_rng(17).integers(2, size=(4, 100_000))[place][blocks].astype(float)


def test_about_nineteen_of_twenty_intervals_of_independent_blocks_hold_the_truth(monkeypatch):
    monkeypatch.setattr(soundness, "compute_win_shares", Asked(coin))
    config = Config(truth_deals=50_000, intervals=200, interval_deals=100)
    row = soundness.measure_coverage("a", "b", 3, config=config, seed=1)
    assert row["truth"]["value"] == pytest.approx(0.5, abs=0.01)
    assert row["covered"]["low"] < 0.95 < row["covered"]["high"]


def test_blocks_that_depend_on_each_other_are_noticed(monkeypatch):
    monkeypatch.setattr(soundness, "compute_win_shares", Asked(lambda blocks, place: coin(blocks // 10, place)))
    config = Config(truth_deals=50_000, intervals=100, interval_deals=100)
    row = soundness.measure_coverage("a", "b", 3, config=config, seed=1)
    assert row["covered"]["value"] < 0.8


def test_intervals_and_their_truth_are_from_blocks_apart(monkeypatch):
    asked = Asked(coin)
    monkeypatch.setattr(soundness, "compute_win_shares", asked)
    soundness.measure_coverage("a", "b", 3, config=SMALL, seed=1)
    assert asked.ranges == [range(6), range(6, 10)]


def test_sequential_tests_use_fresh_blocks_after_those_of_the_truth(monkeypatch):
    asked = Asked(coin)
    monkeypatch.setattr(soundness, "compute_win_shares", asked)
    row = soundness.measure_sequential("a", "a", config=SMALL, seed=1)
    used = [block for blocks in asked.ranges for block in blocks]
    assert used == list(range(len(used)))
    assert len(used) == SMALL.truth_deals + row["mean_blocks"]["value"] * SMALL.tests


@pytest.mark.parametrize(("difference", "verdict"), [(0.5, "stronger"), (-0.5, "not stronger")])
def test_a_clear_difference_is_decided_at_the_first_look_that_may_decide(difference, verdict):
    look = run_to_verdict(repeat(np.full(MINIMUM_BLOCKS, difference)))
    assert (look.verdict, look.blocks) == (verdict, MINIMUM_BLOCKS)


def test_a_difference_is_of_two_against_two_at_one_table():
    blocks = play_blocks([agents.make(code) for code in ("ev", "anchor", "ev", "anchor")], num_deals=3, seed=2)
    ours, theirs = ((blocks.block_means(place) + blocks.block_means(place + 2)) / 2 for place in (0, 1))
    assert soundness.compute_differences("ev", "anchor", range(3), 2) == pytest.approx(ours - theirs)


def test_the_fixed_sample_that_the_test_is_compared_with_errs_as_often_as_asked(monkeypatch):
    """`fixed_blocks` normal differences: their mean is over half the gain one time in twenty if there is no gain."""
    monkeypatch.setattr(soundness, "compute_win_shares", Asked(coin))
    config = Config(truth_deals=50_000, tests=2)
    fixed = soundness.measure_sequential("a", "a", config=config, seed=1)["fixed_blocks"]
    means = np.random.default_rng(1).normal(0, 0.5 / np.sqrt(fixed), size=100_000)  # of (a + c - b - d) / 2 for coins
    assert np.mean(means > soundness.GAIN / 2) == pytest.approx(0.05, abs=0.005)


def test_variance_that_pairing_takes_away_is_found_with_its_interval(monkeypatch):
    deal, own = (np.random.default_rng(seed).normal(size=(2, 3000)) for seed in (1, 2))
    shares = {"a": deal[0] + own[0], "b": deal[0] + own[1]}  # correlation 1/2
    monkeypatch.setattr(soundness, "compute_win_shares", lambda codes, blocks, seed: shares[codes[0]][blocks][:, None])
    row = soundness.measure_paired("a", "b", "c", config=Config(pair_deals=3000), seed=1)
    reduction = row["variance_reduction"]
    assert reduction["low"] < 0.5 < reduction["high"]
    assert reduction["high"] - reduction["low"] < 0.08
    assert row["unpaired_blocks"] == pytest.approx(6000, rel=0.1)
    made = estimate_mean(shares["a"] - shares["b"])
    assert row["difference"]["value"] == made.value


@pytest.mark.parametrize("num_players", STANDARD_PLAYERS)
def test_copies_without_chance_win_exactly_par(num_players):
    row = soundness.measure_copies(num_players, config=replace(SMALL, pair_deals=10), seed=5)
    assert row["furthest_from_par"] == pytest.approx(0, abs=1e-15)
    assert row["width"] == pytest.approx(0, abs=1e-15)


GOOD = {
    "coverage": [{"one": "a", "rest": "b", "num_players": 4, "covered": {"value": 0.945}}],
    "sequential": [
        {"one": "a", "other": "a", "stronger": {"value": 0.05, "low": 0.04, "high": 0.06}, "truth": {"value": 0.0}},
        {"one": "b", "other": "a", "stronger": {"value": 0.97, "low": 0.96, "high": 0.98}, "truth": {"value": 0.04}},
    ],
    "paired": [],
    "copies": [{"player": "ev", "num_players": 4, "furthest_from_par": 0.0, "width": 0.0}],
}


def test_results_that_hold_have_no_faults():
    assert list(find_faults(GOOD)) == []


@pytest.mark.parametrize(
    ("question", "row", "changes", "says"),
    [
        (
            "coverage",
            0,
            {"covered": {"value": 0.90}},
            "90.0% of the intervals of a against b contain",
        ),
        ("coverage", 0, {"covered": {"value": 0.99}}, "99.0% of the intervals"),
        ("sequential", 0, {"stronger": {"value": 0.08, "low": 0.06, "high": 0.1}}, "a copy of a is called stronger"),
        (
            "sequential",
            1,
            {"stronger": {"value": 0.9, "low": 0.88, "high": 0.92}},
            "b is called stronger than a in only",
        ),
        ("sequential", 1, {"truth": {"value": 0.01}}, "b is stronger than a by less than"),
        ("copies", 0, {"width": 1e-3}, "4 copies of ev do not win exactly par"),
        ("copies", 0, {"furthest_from_par": 1e-3}, "do not win exactly par"),
    ],
)
def test_results_that_do_not_hold_are_told(question, row, changes, says):
    results = deepcopy(GOOD)
    results[question][row] |= changes
    (fault,) = find_faults(results)
    assert says in fault


@pytest.mark.compiled("thousands of games; the same functions run in the other tests")
def test_a_small_run_answers_every_question_and_the_same_seed_gives_the_same_answers(tmp_path):
    configs = [replace(SMALL, workers=1, out=tmp_path / folder) for folder in ("first", "again")]
    first, again = (soundness.measure(config, Console(file=StringIO())).tables for config in configs)
    assert first == again
    sizes = {name: len(rows) for name, rows in first.items()}
    expected = {
        "coverage": len(COVERAGE),
        "sequential": len(SEQUENTIAL),
        "paired": len(PAIRED),
        "copies": len(STANDARD_PLAYERS),
    }
    assert sizes == expected


def test_the_run_is_stored_before_it_fails(monkeypatch):
    stored = []
    bad = GOOD | {"copies": [GOOD["copies"][0] | {"width": 1.0}]}
    monkeypatch.setattr(soundness, "measure", lambda config, console: Measured(bad, 1.0))
    monkeypatch.setattr(soundness, "write_result", lambda *call, started: stored.append(call))
    with pytest.raises(UserError, match="do not win exactly par"):
        soundness.main(SMALL)
    assert stored == [("soundness", SMALL, bad)]
