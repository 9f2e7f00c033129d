"""Question: are the statistics of the arena correct? `python -m experiments soundness`

The statistics are applied to games whose true win shares are known, either from many more deals or by symmetry:

- coverage: how many of the 95 % intervals of a win share contain the true win share?
- sequential: how often does the sequential test err, and how many blocks does it save?
- paired: how much variance does a comparison of two players on the same deals remove?
- copies: does a player without randomness win exactly par (1 / number of players) against copies of itself?

tests/arena checks that the arena plays the games of the PettingZoo environment. The command fails if a statistic is
wrong (`find_faults`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from math import sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

import agents
from agents.arena.blocks import play_blocks
from agents.arena.estimates import (
    INTERVAL,
    Look,
    SequentialTest,
    compare_paired,
    estimate_mean,
    estimate_share,
    resample_means,
)
from agents.arena.evaluate import BLOCKS_PER_LOOK
from agents.tasks.options import Workers
from agents.tools.files import UserError
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.game.columns import round_estimate
from experiments.parts import Measured, Part, measure_tables
from experiments.results import write_result
from felicity_env import game_seed
from felicity_env.setups import STANDARD_PLAYERS, describe_setup, standard_setup

COVERAGE = (  # one seat, all other seats, number of players
    ("anchor", "tuned", 4),
    ("tuned", "anchor", 3),
    ("ev", "anchor", 5),
    ("random", "anchor", 4),  # wins rarely
)
SEQUENTIAL = (("anchor", "anchor"), ("anchor", "greedy"), ("ev", "anchor"))  # equal, slightly, much stronger
PAIRED = (  # two players to compare, player in all other seats
    ("tuned", "ev", "anchor"),
    ("ev", "greedy", "anchor"),
    ("bluffer", "ev", "anchor"),
    ("anchor", "greedy", "ev"),
)
DETERMINISTIC = "ev"

GAIN = 0.03  # gain in win share that the sequential test looks for
ERROR = 0.05  # alpha and beta, the error rates of the sequential test
COVERED = (0.94, 0.96)  # accepted range for the fraction of 95 % intervals that contain the truth
ROUNDING = 1e-12
PIECE = 2000  # number of blocks played at once, to limit memory


@dataclass(frozen=True)
class Config(Workers):
    """Check the intervals and tests of the arena on games in standard setups whose true win shares are known."""

    resumes: ClassVar[bool] = True
    truth_deals: int = 200_000
    """Number of deals from which each true value is computed; keep it many times as large as --interval-deals."""
    intervals: int = 20_000
    """Number of 95 % intervals in each match; the check counts how many of them contain the true value."""
    interval_deals: int = 200
    """Number of deals from which each 95 % interval is computed."""
    tests: int = 1000
    """Number of sequential tests for each pair of players."""
    pair_deals: int = 4000
    """Number of deals for each comparison of two players, and for each match among copies of one player."""
    seed: int = SEEDS["soundness"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""
    out: Path = Path("runs/soundness")
    """Folder in which finished parts are saved; the same command, given again, continues from them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self, truth_deals=2, intervals=1, interval_deals=2, tests=2, pair_deals=2, seed=0)


def compute_win_shares(codes: Sequence[str], blocks: range, seed: int) -> np.ndarray:
    """Return the mean win share of each player in each block (deal under all rotations of seats), [blocks, players]."""
    players = [agents.make(code) for code in codes]
    pieces = [blocks[k : k + PIECE] for k in range(0, len(blocks), PIECE)]
    results = (play_blocks(players, num_deals=piece, seed=seed) for piece in pieces)
    return np.concatenate([blocks.measures["win_share"].mean(axis=1) for blocks in results])


def estimate_rate(hits: Sequence[bool]) -> dict[str, Any]:
    """Estimate the fraction of `hits` that are true, with its 95 % interval (Wilson 1927)."""
    trials, fraction, z = len(hits), float(np.mean(hits)), NormalDist().inv_cdf(INTERVAL[1] / 100)
    centre = (fraction + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z * sqrt(fraction * (1 - fraction) / trials + (z / (2 * trials)) ** 2) / (1 + z * z / trials)
    return {"value": fraction, "low": centre - reach, "high": centre + reach, "trials": trials}


def measure_coverage(one: str, rest: str, num_players: int, *, config: Config, seed: int) -> dict[str, Any]:
    """Measure how many 95 % intervals contain the true win share of player `one` against copies of `rest`.

    Each interval comes from different blocks (deals). The true win share comes from many blocks after them.
    """
    codes, used = (one, *[rest] * (num_players - 1)), config.intervals * config.interval_deals
    win_shares = compute_win_shares(codes, range(used), seed)[:, 0]
    truth = estimate_share(compute_win_shares(codes, range(used, used + config.truth_deals), seed)[:, 0])
    estimates = [estimate_share(part) for part in np.split(win_shares, config.intervals)]
    return {
        "one": one,
        "rest": rest,
        **describe_setup(standard_setup(num_players)),
        "truth": asdict(truth),
        "mean_width": float(np.mean([estimate.high - estimate.low for estimate in estimates])),
        "covered": estimate_rate([estimate.low <= truth.value <= estimate.high for estimate in estimates]),
    }


def compute_differences(one: str, other: str, blocks: range, seed: int) -> np.ndarray:
    """Return the win share of `one` minus that of `other` in games with two seats each, for each block, [blocks].

    The mean is 0 if the two are copies of the same player.
    """
    win_shares = compute_win_shares((one, other, one, other), blocks, seed)
    return (win_shares[:, 0] - win_shares[:, 1] + win_shares[:, 2] - win_shares[:, 3]) / 2


def run_to_verdict(batches: Iterator[np.ndarray]) -> Look:
    """Run a sequential test until it has a verdict; each look at the data adds the next batch of differences."""
    test = SequentialTest(GAIN, alpha=ERROR, beta=ERROR)
    while not (look := test.update(next(batches))).verdict:
        pass
    return look


def measure_sequential(one: str, other: str, *, config: Config, seed: int) -> dict[str, Any]:
    """Measure how often sequential tests call `one` stronger than `other`, and how many blocks (deals) they need.

    The tests use blocks after those from which the true difference is computed. `fixed_blocks` is the number of blocks
    that a test of fixed size with the same error rates needs.
    """
    known = compute_differences(one, other, range(config.truth_deals), seed)
    starts = count(config.truth_deals, BLOCKS_PER_LOOK)
    batches = (compute_differences(one, other, range(start, start + BLOCKS_PER_LOOK), seed) for start in starts)
    looks = [run_to_verdict(batches) for _ in range(config.tests)]
    return {
        "one": one,
        "other": other,
        "gain": GAIN,
        "truth": asdict(estimate_mean(known)),
        "stronger": estimate_rate([look.verdict == "stronger" for look in looks]),
        "mean_blocks": asdict(estimate_mean(np.array([look.blocks for look in looks]))),
        "fixed_blocks": (2 * NormalDist().inv_cdf(1 - ERROR) * float(known.std()) / GAIN) ** 2,
    }


def measure_paired(one: str, other: str, rest: str, *, config: Config, seed: int) -> dict[str, Any]:
    """Compare two players on the same deals, each alone against three copies of `rest`.

    `unpaired_blocks` is the number of different deals that would give an interval of the same width.
    """
    blocks = range(config.pair_deals)
    first, second = (compute_win_shares((code, rest, rest, rest), blocks, seed)[:, 0] for code in (one, other))
    paired = compare_paired(first, second)
    return {
        "one": one,
        "other": other,
        "rest": rest,
        "difference": asdict(paired.difference),
        "variance_reduction": _estimate_reduction(first, second, paired.variance_reduction),
        "unpaired_blocks": len(first) / (1 - paired.variance_reduction),
    }


def _estimate_reduction(first: np.ndarray, second: np.ndarray, value: float) -> dict[str, Any] | None:
    """Estimate by which fraction pairing reduces the variance of a difference of means, with its 95 % interval.

    The fraction is 2 Cov / (Var + Var) of `first` and `second` [blocks], and `value` is its point estimate. The
    interval is bootstrapped over blocks. Returns None if nothing varies.
    """
    moments = resample_means(np.column_stack([first, second, first**2 + second**2, first * second]))
    x, y, squares, product = moments.T
    with np.errstate(invalid="ignore"):
        reductions = 2 * (product - x * y) / (squares - x**2 - y**2)
    return round_estimate(value, *np.percentile(reductions, INTERVAL), blocks=len(first))


def measure_copies(num_players: int, *, config: Config, seed: int) -> dict[str, Any]:
    """Measure how far the win share of copies of a player without randomness is from par (1 / number of players).

    Returns the largest distance in any block (deal under all rotations of the seats) and the width of the widest 95 %
    interval; both should be 0.
    """
    win_shares = compute_win_shares([DETERMINISTIC] * num_players, range(config.pair_deals), seed)
    estimates = [estimate_share(column) for column in win_shares.T]
    return {
        "player": DETERMINISTIC,
        **describe_setup(standard_setup(num_players)),
        "blocks": len(win_shares),
        "furthest_from_par": float(np.abs(win_shares - 1 / num_players).max()),
        "width": max(estimate.high - estimate.low for estimate in estimates),
    }


def list_parts(config: Config) -> dict[str, list[Part]]:
    """Return all checks of the arena's statistics, each on different deals, {name of the check: parts}."""
    jobs: list[tuple[str, Callable[..., dict[str, Any]]]] = [
        *[("coverage", partial(measure_coverage, *match)) for match in COVERAGE],
        *[("sequential", partial(measure_sequential, *pair)) for pair in SEQUENTIAL],
        *[("paired", partial(measure_paired, *players)) for players in PAIRED],
        *[("copies", partial(measure_copies, num_players)) for num_players in STANDARD_PLAYERS],
    ]
    tables: dict[str, list[Part]] = {check: [] for check, _ in jobs}
    for number, (check, job) in enumerate(jobs):
        run = partial(job, config=config, seed=game_seed(config.seed, number, 0))
        tables[check].append(Part(f"check {number + 1} ({check})", run))
    return tables


def measure(config: Config, console: Console) -> Measured:
    """Run all checks of the arena's statistics; return their results by name of the check, and print which are done."""

    def report(name: str, result: Any) -> None:
        console.print(f"{name}: done", highlight=False)

    return measure_tables(list_parts(config), config, source=__file__, report=report, console=console)


def find_faults(results: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield a message for each statistic of the arena that is wrong."""
    for row in results["coverage"]:
        if not COVERED[0] <= row["covered"]["value"] <= COVERED[1]:
            match = f"{row['one']} against {row['rest']}"
            yield f"{row['covered']['value']:.1%} of the intervals of {match} contain the true win share"
    for row in results["sequential"]:
        is_equal, rate = row["one"] == row["other"], row["stronger"]
        if is_equal and rate["low"] > ERROR:
            yield f"a copy of {row['one']} is called stronger in {rate['value']:.1%} of the tests"
        if not is_equal and rate["high"] < 1 - ERROR:
            yield f"{row['one']} is called stronger than {row['other']} in only {rate['value']:.1%} of the tests"
        if not is_equal and row["truth"]["value"] < GAIN:
            yield f"{row['one']} is stronger than {row['other']} by less than {GAIN}: choose other players to test with"
    for row in results["copies"]:
        if max(row["furthest_from_par"], row["width"]) > ROUNDING:
            yield f"{row['num_players']} copies of {row['player']} do not win exactly par"


def main(config: Config) -> None:
    """Check the statistics of the arena and store the results; then raise `UserError` if a statistic is wrong."""
    results, seconds = measure(config, Console())
    write_result("soundness", config, results, started=time.monotonic() - seconds)
    if faults := list(find_faults(results)):
        raise UserError("\n".join(faults))
