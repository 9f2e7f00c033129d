"""Ratings: they find the strengths that games were drawn from, in any order of games, with correct intervals."""

from math import exp, log
from typing import NamedTuple

import numpy as np
import pytest

from agents.arena import ratings
from agents.arena.estimates import Estimate
from agents.arena.ratings import POINTS, PRIOR_DEVIATION, fit_ratings

NAMES = ("anchor", "random", "ev", "belief", "self-play")
LOGS = np.array([0.0, -1.5, 0.3, 0.8, 1.2])  # log strengths of NAMES


class Games(NamedTuple):
    players: np.ndarray  # [G, 5], -1 where a place is lacking
    ranks: np.ndarray
    blocks: np.ndarray  # [G]


def draw_games(rng: np.random.Generator, *, games: int, seats: int = 5, tick: float = 0.0, block: int = 4) -> Games:
    """Draw games of players drawn with replacement from the pool, in blocks of `block` games.

    Each place is finished after an exponential time whose rate is the player's strength, so the order is Plackett-Luce.
    Times are read on a clock that ticks every `tick`, so that some places tie.
    """
    players = np.full((games, 5), -1)
    players[:, :seats] = rng.integers(len(NAMES), size=(games, seats))
    times = rng.exponential(size=(games, seats)) / np.exp(LOGS)[players[:, :seats]]
    if tick:
        times = np.floor(times / tick)
    ranks = np.zeros((games, 5), int)
    ranks[:, :seats] = 1 + (times[:, None, :] < times[:, :, None]).sum(axis=2)
    return Games(players, ranks, np.arange(games) // block)


def join_games(parts: list[Games]) -> Games:
    return Games(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def draw_mixed_games(rng: np.random.Generator, games: int) -> Games:
    """Draw games of two to five places, with ties."""
    return join_games([draw_games(rng, games=games, seats=seats, tick=0.1) for seats in (2, 3, 4, 5)])


def rate(games: Games, *, names: tuple[str, ...] = NAMES, anchor: str | None = None, resamples: int = 2):
    return fit_ratings(
        names, games.players, ranks=games.ranks, blocks=games.blocks, anchor=anchor, resamples=resamples, seed=0
    )


def values(rated: dict[str, Estimate]) -> dict[str, float]:
    return {name: estimate.value for name, estimate in rated.items()}


def duels(*results: tuple[int, int], times: int = 1) -> Games:
    """Return games of player 0 against player 1 with these ranks, each in its own block."""
    ranks = np.array(results * times)
    return Games(np.tile([0, 1], (len(ranks), 1)), ranks, np.arange(len(ranks)))


@pytest.mark.parametrize("seats", [2, 3, 5])
@pytest.mark.parametrize(("tick", "error"), [(0.0, 12), (0.05, 25)])  # ties shrink differences a little
def test_the_strengths_that_games_were_drawn_from_are_found(seats, tick, error):
    games = draw_games(np.random.default_rng(seats), games=20_000, seats=seats, tick=tick)
    assert fraction_with_copies(games.players[:, :seats]) > 0.2
    assert (fraction_with_copies(games.ranks[:, :seats]) > 0.03) == (tick > 0)
    assert values(rate(games)) == pytest.approx(dict(zip(NAMES, POINTS * LOGS, strict=True)), abs=error)


def fraction_with_copies(numbers: np.ndarray) -> float:
    """Return the fraction of games in which a number occurs more than once."""
    return float(np.mean((np.diff(np.sort(numbers, axis=1), axis=1) == 0).any(axis=1)))


def test_the_strengths_are_found_across_games_of_different_sizes():
    found = values(rate(draw_mixed_games(np.random.default_rng(1), 5000)))
    assert found == pytest.approx(dict(zip(NAMES, POINTS * LOGS, strict=True)), abs=15)


def log_likelihood(log_strengths: np.ndarray, games: Games) -> float:
    """Return the log likelihood, factor by factor: each group of players who tie, and each turn among them."""
    total, logs = 0.0, log_strengths.tolist()
    for players, ranks in zip(games.players, games.ranks, strict=True):
        placed = [(rank, logs[player]) for player, rank in zip(players, ranks, strict=True) if player >= 0]
        for best in {rank for rank, _ in placed}:
            tied = [value for rank, value in placed if rank == best]
            later = sum(exp(value) for rank, value in placed if rank > best)
            for turn in range(len(tied)):
                weight = 1 - turn / len(tied)
                total += tied[turn] - log(later + weight * sum(exp(value) for value in tied))
    return total


def compute_slopes(log_strengths: np.ndarray, games: Games) -> list[float]:
    """Return the slopes of the log posterior density in the direction of each player."""

    def density(log_strengths: np.ndarray) -> float:
        return log_likelihood(log_strengths, games) - (log_strengths**2).sum() / (2 * PRIOR_DEVIATION**2)

    small = 1e-4 * np.eye(len(log_strengths))
    return [(density(log_strengths + step) - density(log_strengths - step)) / 2e-4 for step in small]


def test_the_ratings_are_the_summit_of_the_likelihood_that_a_plain_loop_computes():
    games = draw_mixed_games(np.random.default_rng(2), 60)
    found = rate(games, names=("a", "b", "c", "d", "e"))
    log_strengths = np.array(list(values(found).values())) / POINTS
    assert log_strengths.sum() == pytest.approx(0, abs=1e-9)
    assert compute_slopes(log_strengths, games) == pytest.approx([0] * 5, abs=1e-4)
    assert min(np.abs(compute_slopes(log_strengths + 0.1 * unit, games)).max() for unit in np.eye(5)) > 1


@pytest.mark.parametrize(("won", "lost", "tied"), [(300, 200, 0), (280, 220, 100), (400, 100, 0), (10, 10, 480)])
def test_of_two_players_the_points_are_the_log_odds_of_wins_a_tie_being_one_win_each(won, lost, tied):
    games = join_games([duels((1, 2), times=won), duels((2, 1), times=lost), duels((1, 1), times=tied + 1)])
    games = Games(games.players, games.ranks, np.arange(len(games.ranks)))
    found = rate(games, names=("one", "other"), anchor="other")["one"].value
    assert found == pytest.approx(400 * np.log10((won + tied + 1) / (lost + tied + 1)), abs=0.5)


def test_with_hundreds_of_games_the_prior_is_negligible(monkeypatch):
    games = draw_games(np.random.default_rng(3), games=400, seats=4)
    found = rate(games, resamples=200)
    monkeypatch.setattr(ratings, "PRIOR_DEVIATION", 1e4)
    unbiased = rate(games)
    for name, estimate in found.items():
        assert abs(estimate.value - unbiased[name].value) <= 0.02 * (estimate.high - estimate.low)


def test_who_always_wins_stays_finite_and_above_those_who_lost_to_him():
    games = duels((1, 2), times=300)
    found = values(rate(games, names=("winner", "loser")))
    assert found["winner"] == pytest.approx(-found["loser"])
    assert 1200 < found["winner"] - found["loser"] < 1400


def test_a_fit_reaches_the_summit_where_full_newton_steps_run_away():
    pairs, times = [[4, 1], [1, 0], [0, 3], [3, 2], [4, 2]], [101, 1000, 1, 1000, 1000]  # the first always won
    players = np.repeat(pairs, times, axis=0)
    games = Games(players, np.tile([1, 2], (len(players), 1)), np.arange(len(players)))
    found = rate(games, names=("a", "b", "c", "d", "e"))
    assert compute_slopes(np.array(list(values(found).values())) / POINTS, games) == pytest.approx([0] * 5, abs=1e-3)


def test_the_order_of_games_places_and_names_changes_nothing():
    rng = np.random.default_rng(4)
    games = draw_mixed_games(rng, 50)
    expected = rate(games, resamples=50)
    shuffled = rng.permutation(len(games.blocks))
    places = rng.permuted(np.tile(np.arange(5), (len(games.blocks), 1)), axis=1)
    players, ranks = (np.take_along_axis(array, places, axis=1) for array in games[:2])
    turned = Games(players, ranks, games.blocks)
    renamed = Games(np.where(games.players < 0, -1, (games.players + 2) % 5), games.ranks, games.blocks)
    same = [
        rate(Games(*(array[shuffled] for array in games)), resamples=50),
        rate(turned, resamples=50),
        rate(renamed, names=(*NAMES[3:], *NAMES[:3]), resamples=50),
    ]
    for found in same:
        for name, estimate in expected.items():
            assert vars(found[name]) == pytest.approx(vars(estimate), abs=1e-3)


def test_only_the_order_of_ranks_counts_and_lacking_places_may_hold_any():
    games = draw_mixed_games(np.random.default_rng(5), 50)
    lacking = games.players < 0
    expected = rate(games)
    for spread, filler in ((1, -1), (3, 0), (10, 99)):
        ranks = np.where(lacking, filler, games.ranks * spread)
        assert rate(games._replace(ranks=ranks)) == expected


def test_integers_of_any_size_give_the_same():
    games = draw_mixed_games(np.random.default_rng(6), 10)
    assert rate(Games(*(array.astype(np.int8) for array in games))) == rate(games)


def test_a_game_among_copies_of_one_player_says_nothing():
    games = draw_games(np.random.default_rng(7), games=200)
    mirror = Games(np.full((50, 5), 2), np.tile([1, 2, 3, 3, 5], (50, 1)), games.blocks[:50])
    assert values(rate(join_games([games, mirror]))) == pytest.approx(values(rate(games)))


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng, covered = np.random.default_rng(8), []
    for _ in range(60):
        found = rate(draw_games(rng, games=240, seats=4), resamples=100)
        covered += [found[name].low <= POINTS * LOGS[k] <= found[name].high for k, name in enumerate(NAMES) if k]
    assert 0.88 <= np.mean(covered) <= 0.99


def mean_width(rated: dict[str, Estimate]) -> float:
    return sum(estimate.high - estimate.low for estimate in rated.values()) / len(rated)


def test_games_of_one_block_count_as_one_observation_with_whatever_number_of_players():
    games = draw_games(np.random.default_rng(9), games=300, seats=4, block=1)
    fourfold = join_games([games] * 4)
    apart = fourfold._replace(blocks=np.arange(1200))
    once = rate(games, resamples=200)
    assert mean_width(rate(fourfold, resamples=200)) == pytest.approx(mean_width(once), rel=0.02)
    assert mean_width(rate(apart, resamples=200)) == pytest.approx(mean_width(once) / 2, rel=0.15)
    assert {estimate.blocks for estimate in rate(fourfold).values()} == {300}


def test_the_interval_is_the_same_every_time_and_another_with_another_seed():
    games = draw_games(np.random.default_rng(10), games=100)
    first, again, other = (
        fit_ratings(NAMES, games.players, ranks=games.ranks, blocks=games.blocks, resamples=20, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert values(first) == values(other)


def test_the_anchor_has_no_points_and_no_doubt_and_all_others_move_with_it():
    games = draw_games(np.random.default_rng(11), games=200)
    by_name, chosen = rate(games, resamples=20), rate(games, anchor="ev", resamples=20)
    assert by_name["anchor"] == chosen["ev"] == Estimate(0, 0, 0, 50)
    shifted = {name: value - by_name["ev"].value for name, value in values(by_name).items()}
    assert values(chosen) == pytest.approx(shifted)


def test_without_an_anchor_the_mean_of_the_pool_is_zero():
    found = rate(draw_games(np.random.default_rng(12), games=200), names=("a", "b", "c", "d", "e"))
    assert sum(values(found).values()) == pytest.approx(0, abs=1e-9)


def test_an_anchor_outside_the_pool_is_refused():
    with pytest.raises(ValueError, match="the anchor 'expert' is not one of anchor, random"):
        rate(draw_games(np.random.default_rng(0), games=100), anchor="expert")


def test_players_that_no_games_connect_are_named_group_by_group():
    players = np.array([[0, 2], [2, 0], [1, 3], [1, 1], [4, 4]])
    games = Games(players, np.tile([1, 2], (5, 1)), np.arange(5))
    with pytest.raises(ValueError, match="connect these groups: anchor, ev; random, belief; self-play"):
        rate(games)
    with pytest.raises(ValueError, match="connect these groups: one, other; idle"):
        rate(duels((1, 2), (2, 1)), names=("one", "other", "idle"))


def test_players_connected_only_through_a_chain_of_others_are_rated():
    players = np.array([[k, k + 1] for k in range(40)] * 2)
    ranks = np.repeat([[1, 2], [2, 1]], 40, axis=0)
    found = rate(Games(players, ranks, np.arange(80)), names=tuple(f"player {k}" for k in range(41)))
    assert list(values(found).values()) == pytest.approx([0] * 41, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"blocks": np.zeros(4, int)}, "at least 2 blocks, not 1"),
        ({"blocks": np.arange(3)}, r"shapes \(\(4, 2\), \(4, 2\), \(3,\)\)"),
        ({"ranks": np.ones((4, 3), int)}, r"shapes \(\(4, 2\), \(4, 3\), \(4,\)\)"),
        ({"ranks": np.ones((4, 2))}, "ranks must be integers, not float64"),
        ({"ranks": np.array([[1, 2], [1, 2], [0, 2], [1, 2]])}, "a rank must be 1 or more; game 2 breaks this"),
        ({"players": np.array([[0, 1], [0, 2], [0, 1], [0, 1]])}, "an index of names; game 1 breaks this"),
        ({"players": np.array([[0, 1], [0, 1], [0, 1], [0, -2]])}, "a player must be -1 or .*; game 3 breaks this"),
        ({"players": np.array([[-1, 1], [0, 1], [0, 1], [0, 1]])}, "two players or more; game 0 breaks this"),
    ],
)
def test_arrays_that_are_no_games_are_refused(change, fault):
    with pytest.raises(ValueError, match=fault):
        rate(duels((1, 2), (2, 1), times=2)._replace(**change), names=("one", "other"))


def test_names_that_are_not_unique_are_refused():
    with pytest.raises(ValueError, match="names must differ: ev, ev"):
        rate(duels((1, 2), (2, 1)), names=("ev", "ev"))


def test_no_games_at_all_are_refused():
    empty = Games(np.empty((0, 2), int), np.empty((0, 2), int), np.empty(0, int))
    with pytest.raises(ValueError, match="at least 2 blocks, not 0"):
        rate(empty)
