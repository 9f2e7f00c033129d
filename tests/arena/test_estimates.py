"""Estimates over blocks: intervals cover the truth, pairing reduces variance, and tests err as seldom as asked."""

import tracemalloc
from math import inf, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import binomtest, t

from agents.arena import estimates
from agents.arena.estimates import (
    BOOTSTRAPS,
    MINIMUM_BLOCKS,
    Look,
    SequentialTest,
    compare_paired,
    estimate_differences,
    estimate_mean,
    estimate_share,
    linearise_ratio,
    resample_means,
)

GAIN = 0.1
LOOK_EVERY = 25  # blocks


def count_covering(share: float, trials: int = 4000) -> float:
    """Return how often intervals from 80 blocks of four dependent games each contain the true win share."""
    rng = np.random.default_rng(1)
    chances = rng.beta(8 * share, 8 * (1 - share), size=(trials, 80))  # the games of a block are alike
    estimates = [estimate_share(blocks) for blocks in rng.binomial(4, chances) / 4]
    return float(np.mean([estimate.low <= share <= estimate.high for estimate in estimates]))


@pytest.mark.parametrize("share", [0.03, 0.3, 0.9])
def test_the_interval_of_a_win_share_covers_the_truth_as_often_as_it_says_also_if_wins_are_rare(share):
    assert 0.935 <= count_covering(share) <= 0.965


def test_independent_games_have_the_interval_of_wilson():
    wins = (np.arange(400) < 100).astype(float)
    estimate, reference = estimate_share(wins), binomtest(100, 400).proportion_ci(method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((reference.low, reference.high), abs=5e-4)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_no_win_and_nothing_but_wins_leave_a_doubt_that_shrinks_with_the_blocks(share):
    few, many = (estimate_share(np.full(blocks, share)) for blocks in (20, 2000))
    assert few.value == many.value == share
    assert 0.1 < few.high - few.low < 0.2
    assert 0.001 < many.high - many.low < 0.003


def test_win_shares_out_of_range_are_refused():
    with pytest.raises(ValueError, match=r"win shares must be between 0 and 1, not -0.5 to 0.25"):
        estimate_share(np.array([0.25, -0.5]))


def test_the_interval_of_a_mean_covers_the_truth_also_with_few_blocks():
    samples = np.random.default_rng(2).normal(5, 2, size=(4000, 5))
    covered = [estimate.low <= 5 <= estimate.high for estimate in map(estimate_mean, samples)]
    assert 0.94 <= np.mean(covered) <= 0.96
    estimate = estimate_mean(samples[0])
    assert estimate.value == pytest.approx(samples[0].mean())
    assert estimate.blocks == 5


@pytest.mark.parametrize("estimate", [estimate_mean, estimate_share])
def test_blocks_that_do_not_vary_have_an_interval_of_no_width(estimate):
    made = estimate(np.full(10, 0.25))
    assert (made.value, made.low, made.high) == pytest.approx((0.25, 0.25, 0.25))


@pytest.mark.parametrize("share", [0.25, 1 / 3, 0.7])
def test_a_few_equal_win_shares_do_not_look_certain(share):
    made = estimate_share(np.full(9, share))
    assert made.value == pytest.approx(share)
    assert made.low < share - 0.1 < share + 0.1 < made.high


@pytest.mark.parametrize("indices", [1, 51, 1000, 3333, 50 * BOOTSTRAPS])
def test_resampled_means_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch, indices):
    blocks = np.random.default_rng(4).random(51)
    whole = resample_means(blocks)
    monkeypatch.setattr(estimates, "_SLICE", indices)
    assert (resample_means(blocks) == whole).all()
    assert whole.std() == pytest.approx(blocks.std() / np.sqrt(51), rel=0.1)
    pairs = np.stack([blocks, 1 - blocks], axis=1)
    assert resample_means(pairs) == pytest.approx(np.stack([whole, 1 - whole], axis=1))  # columns share the draws


def test_resampling_fifty_thousand_blocks_needs_little_memory():
    blocks = np.random.default_rng(5).random(50_000)
    tracemalloc.start()
    resample_means(blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6  # bytes; the indices of all resamples at once are 800 million


@pytest.mark.parametrize("blocks", [[], [0.5]])
@pytest.mark.parametrize("estimate", [estimate_mean, estimate_share])
def test_fewer_than_two_blocks_have_no_interval(estimate, blocks):
    with pytest.raises(ValueError, match=f"at least 2 blocks, not {len(blocks)}"):
        estimate(np.array(blocks))


@pytest.mark.parametrize(
    ("blocks", "fault"),
    [([0.1, np.nan, 0.2], "block 1 is not a finite number"), ([[0.1, 0.2]], r"not an array of shape \(1, 2\)")],
)
def test_blocks_that_are_no_vector_of_finite_numbers_are_refused(blocks, fault):
    for estimate in (estimate_mean, estimate_share):
        with pytest.raises(ValueError, match=fault):
            estimate(np.array(blocks))
    with pytest.raises(ValueError, match=fault):
        compare_paired(np.array(blocks), np.array(blocks))
    with pytest.raises(ValueError, match=fault):
        SequentialTest(GAIN).update(np.array(blocks))


def draw_correlated(correlation: float, blocks: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Return results of two players whose means differ by 0.3, with variance 1 each and this correlation."""
    rng = np.random.default_rng(6)
    shared, own, other = rng.normal(size=(3, blocks))
    part = abs(correlation)
    first, second = (np.sqrt(part) * shared + np.sqrt(1 - part) * noise for noise in (own, other))
    return first + 0.3, np.sign(correlation) * second


@pytest.mark.parametrize("count", [2, 400])
def test_the_interval_of_one_difference_is_that_of_student_with_two_blocks_more(count):
    values = np.random.default_rng(1).choice([-1.0, 0.0, 1.0], (1, count))
    (found,) = estimate_differences(values)
    values = np.append(values, [sqrt(0.5), -sqrt(0.5)])
    error = values.std(ddof=1) / sqrt(count + 2)
    assert found.value - found.low == pytest.approx(t.ppf(0.975, count - 1) * error, rel=0.05)
    assert found.high - found.value == pytest.approx(found.value - found.low)
    assert found.blocks == count


def test_intervals_of_several_differences_hold_all_at_once():
    rng, inside = np.random.default_rng(2), 0
    for _ in range(300):
        found = estimate_differences(rng.uniform(-1, 1, size=(4, 100)))
        inside += all(estimate.low <= 0 <= estimate.high for estimate in found)
    assert inside / 300 == pytest.approx(0.95, abs=0.03)  # each alone would hold in about 0.95, all four in 0.81


def test_differences_that_never_occurred_have_an_interval():
    (found,) = estimate_differences(np.zeros((1, 200)))
    assert found.low < 0 < found.high < 0.02
    assert estimate_differences(np.zeros((0, 200))) == []


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_blocks_have_no_intervals_of_differences(count):
    with pytest.raises(ValueError, match=f"at least 2 blocks, not {count}"):
        estimate_differences(np.zeros((2, count)))


def test_a_ratio_has_its_value_and_about_the_interval_of_resampled_ratios():
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 9, size=300)
    totals = counts * rng.normal(2, 1, size=300)
    column = linearise_ratio(totals, counts)
    assert column.mean() == pytest.approx(totals.sum() / counts.sum())
    drawn = rng.integers(300, size=(4000, 300))
    ratios = totals[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    assert column.std() / np.sqrt(300) == pytest.approx(ratios.std(), rel=0.1)


def test_each_column_has_a_ratio_of_its_own():
    rng = np.random.default_rng(3)
    totals, counts = rng.normal(size=(50, 2)), rng.integers(1, 9, size=(50, 2))
    for k in range(2):
        assert linearise_ratio(totals, counts)[:, k] == pytest.approx(linearise_ratio(totals[:, k], counts[:, k]))


@pytest.mark.parametrize("correlation", [0.9, 0.5, -0.5])
def test_pairing_takes_away_as_much_variance_as_the_players_share(correlation):
    first, second = draw_correlated(correlation)
    paired = compare_paired(first, second)
    assert paired.variance_reduction == pytest.approx(correlation, abs=0.05)
    assert paired.difference.value == pytest.approx(first.mean() - second.mean())
    assert paired.difference.low < 0.3 < paired.difference.high
    width = 2 * 1.96 * np.sqrt(2 * (1 - correlation) / len(first))
    assert paired.difference.high - paired.difference.low == pytest.approx(width, rel=0.15)


def test_a_paired_difference_is_the_mean_of_the_differences_and_turns_with_the_players():
    first, second = draw_correlated(0.5, blocks=60)
    assert compare_paired(first, second).difference == estimate_mean(first - second)
    forward, backward = compare_paired(first, second).difference, compare_paired(second, first).difference
    assert (backward.low, backward.high) == pytest.approx((-forward.high, -forward.low))


def test_players_with_equal_results_differ_by_exactly_nothing():
    first = draw_correlated(0.5, blocks=60)[0]
    paired = compare_paired(first, first)
    assert (paired.difference.low, paired.difference.value, paired.difference.high) == (0, 0, 0)
    assert paired.variance_reduction == 1


def test_where_neither_player_varies_nothing_was_reduced():
    assert compare_paired(np.full(5, 0.5), np.full(5, 0.25)).variance_reduction == 0


def test_results_of_different_blocks_cannot_be_paired():
    with pytest.raises(ValueError, match="same blocks, not 3 of one and 4 of the other"):
        compare_paired(np.zeros(3), np.zeros(4))


def verdicts(mean: float, *, tests: int = 400, deviation: float = 0.5) -> list[Look]:
    """Return the last look of each of many tests on blocks of win or loss, with this mean and standard deviation."""
    rng = np.random.default_rng(7)
    return [run_to_verdict(SequentialTest(GAIN), mean, deviation, rng) for _ in range(tests)]


def run_to_verdict(test: SequentialTest, mean: float, deviation: float, rng: np.random.Generator) -> Look:
    while True:
        look = test.update(mean + deviation * rng.choice([-1.0, 1.0], size=LOOK_EVERY))
        if look.verdict:
            return look


def count_fixed_blocks(deviation: float) -> float:
    """Return the blocks that a test of fixed length needs to err one time in twenty either way."""
    return (2 * NormalDist().inv_cdf(0.95) * deviation / GAIN) ** 2


@pytest.mark.parametrize(("mean", "wrong"), [(0.0, "stronger"), (GAIN, "not stronger")])
def test_a_test_errs_about_as_seldom_as_asked_and_on_average_needs_fewer_blocks_than_a_fixed_one(mean, wrong):
    looks = verdicts(mean)
    assert 0 < np.mean([look.verdict == wrong for look in looks]) <= 0.08
    assert np.mean([look.blocks for look in looks]) < 0.75 * count_fixed_blocks(0.5)


@pytest.mark.parametrize(("mean", "verdict"), [(-GAIN, "not stronger"), (3 * GAIN, "stronger")])
def test_clear_cases_are_decided_rightly_and_soon(mean, verdict):
    looks = verdicts(mean, tests=50)
    assert {look.verdict for look in looks} == {verdict}
    assert np.mean([look.blocks for look in looks]) < 0.4 * count_fixed_blocks(0.5)


def test_the_ratio_is_that_of_the_formula_and_the_bounds_are_walds():
    differences = np.array([0.3, -0.1, 0.2, 0.25, -0.05, 0.0])
    look = SequentialTest(GAIN, alpha=0.01, beta=0.1).update(differences)
    variance = np.append(differences, [sqrt(0.5), -sqrt(0.5)]).var(ddof=1)
    expected = 6 * GAIN * (differences.mean() - GAIN / 2) / variance
    assert look.log_likelihood_ratio == pytest.approx(expected)
    assert (look.lower, look.upper) == pytest.approx((log(0.1 / 0.99), log(0.9 / 0.01)))
    assert (look.verdict, look.blocks) == (None, 6)


def test_nothing_is_decided_before_the_minimum_of_blocks():
    convincing = np.tile([0.9, 1.1], MINIMUM_BLOCKS)
    test = SequentialTest(GAIN)
    early = test.update(convincing[: MINIMUM_BLOCKS - 1])
    assert early.verdict is None
    assert early.log_likelihood_ratio > early.upper
    assert test.update(convincing[:1]).verdict == "stronger"
    assert SequentialTest(GAIN, minimum=40).update(convincing[:39]).verdict is None
    assert SequentialTest(GAIN, minimum=40).update(convincing).verdict == "stronger"


@pytest.mark.parametrize(("difference", "verdict"), [(-1.0, "not stronger"), (1.0, "stronger"), (GAIN / 2, None)])
def test_differences_that_are_all_equal_decide_by_their_side_of_half_the_gain(difference, verdict):
    assert SequentialTest(GAIN).update(np.full(MINIMUM_BLOCKS, difference)).verdict == verdict


@pytest.mark.parametrize("gain", [0.005, 0.02, 0.1])
def test_players_that_never_differ_are_not_stronger_after_two_and_a_half_over_the_gain(gain):
    test = SequentialTest(gain)
    while not (look := test.update(np.zeros(1))).verdict:
        pass
    assert look.verdict == "not stronger"
    assert look.blocks == pytest.approx(2.5 / gain, rel=0.05)


def test_rare_differences_do_not_mislead_the_test():
    rng, looks = np.random.default_rng(3), []
    for _ in range(200):
        test = SequentialTest(0.01)
        while not (look := test.update(0.5 * rng.choice([-1, 0, 1], p=[0.01, 0.96, 0.03], size=20))).verdict:
            pass  # the true mean is 0.01
        looks.append(look)
    assert np.mean([look.verdict == "not stronger" for look in looks]) < 0.08


def test_how_the_blocks_came_does_not_change_a_look():
    differences = 0.05 + np.random.default_rng(8).normal(size=100) / 2
    at_once = SequentialTest(GAIN, minimum=100).update(differences)
    for size in (1, 7, 50):
        test = SequentialTest(GAIN, minimum=100)
        looks = [test.update(differences[start : start + size]) for start in range(0, 100, size)]
        assert looks[-1] == at_once
        assert all(look.verdict is None for look in looks[:-1])


def test_a_look_without_new_blocks_says_the_same_again():
    test = SequentialTest(GAIN)
    assert test.update(np.empty(0)) == Look(None, 0.0, test.lower, test.upper, 0)
    assert test.update(np.array([0.1, 0.3])) == test.update(np.empty(0))


def test_a_verdict_is_final():
    test = SequentialTest(GAIN)
    assert test.update(np.ones(30)).verdict == "stronger"
    with pytest.raises(ValueError, match="decided after 30 blocks"):
        test.update(-np.ones(1000))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"gain": 0}, "gain must be a positive difference of means, not 0"),
        ({"gain": -0.1}, "gain .* not -0.1"),
        ({"gain": float("nan")}, "gain .* not nan"),
        ({"gain": inf}, "gain .* not inf"),
        ({"alpha": 0}, "alpha must be an error rate between 0 and 0.5, not 0"),
        ({"alpha": 0.5}, "alpha .* not 0.5"),
        ({"beta": -1}, "beta .* not -1"),
        ({"beta": 0.7}, "beta .* not 0.7"),
        ({"minimum": 1}, "minimum must be at least 2 blocks"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(arguments, fault):
    with pytest.raises(ValueError, match=fault):
        SequentialTest(**{"gain": GAIN, **arguments})
