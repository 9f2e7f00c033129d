"""Question: are the statistics of the arena correct? `python -m experiments soundness`

The statistics are applied to games whose outcome is known, from a hundred times as many other deals or by symmetry:

- coverage: how many of the 95 % intervals of a win share contain the true win share?
- sequential: how often does the sequential test err, and how many blocks does it save?
- paired: how much variance does a comparison of two players on the same deals remove?
- copies: does a player without randomness win exactly par against copies of itself?

tests/arena checks that the arena plays the games of the PettingZoo environment. The command fails if a statistic does
not hold (`find_faults`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from math import sqrt
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from rich.progress import track

import agents
from agents.arena.blocks import play_blocks
from agents.arena.estimates import INTERVAL, Look, SequentialTest, bootstrap, compare_paired
from agents.arena.evaluate import BLOCKS_PER_LOOK
from agents.tools.files import UserError
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.game.columns import resample_means, round_estimate
from experiments.results import write_result
from felicity_env import Setup, game_seed
from felicity_env.setups import STANDARD_PLAYERS, setup_name, standard_setup

COVERAGE = (("anchor", "tuned", 4), ("tuned", "anchor", 3))  # one, the rest, number of players
SEQUENTIAL = (("anchor", "anchor"), ("anchor", "greedy"), ("ev", "anchor"))  # equal, slightly and much stronger
PAIRED = (  # one, other, the rest
    ("tuned", "ev", "anchor"),
    ("ev", "greedy", "anchor"),
    ("bluffer", "ev", "anchor"),
    ("anchor", "greedy", "ev"),
)
DETERMINISTIC = "ev"

GAIN = 0.03  # gain in win share that the sequential test looks for
ERROR = 0.05  # its alpha and its beta
COVERED = (0.925, 0.97)  # accepted coverage of intervals at 95 %
ROUNDING = 1e-12
PIECE = 2000  # blocks played at once, which bounds the memory


@dataclass(frozen=True)
class Config:
    """Apply the statistics of the arena to games whose outcome is known."""

    resumes: ClassVar[bool] = False
    truth_deals: int = 50_000
    """Deals for each true value; keep them many times those of an interval."""
    intervals: int = 1000
    """Number of intervals whose coverage is counted."""
    interval_deals: int = 200
    """Deals for each of these intervals."""
    tests: int = 1000
    """Number of sequential tests of each pair of players."""
    pair_deals: int = 4000
    """Deals for each paired difference, and for each game among copies."""
    seed: int = SEEDS["soundness"]
    """Seed of the deals and random streams; keep it apart from the seeds of other measurements."""

    def __post_init__(self) -> None:
        check_at_least(self, truth_deals=2, intervals=1, interval_deals=2, tests=2, pair_deals=2, seed=0)


def compute_win_shares(codes: Sequence[str], blocks: range, seed: int) -> np.ndarray:
    """Return the mean win share of every player in each block, [blocks, players]; pieces bound the memory."""
    players = [agents.make(code) for code in codes]
    pieces = [blocks[k : k + PIECE] for k in range(0, len(blocks), PIECE)]
    results = (play_blocks(players, num_deals=piece, seed=seed) for piece in pieces)
    return np.concatenate([blocks.measures["win_share"].mean(axis=1) for blocks in results])


def estimate_rate(hits: Sequence[bool]) -> dict[str, Any]:
    """Return the fraction of hits with its 95 % interval (Wilson 1927)."""
    trials, fraction, z = len(hits), float(np.mean(hits)), NormalDist().inv_cdf(INTERVAL[1] / 100)
    centre = (fraction + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z * sqrt(fraction * (1 - fraction) / trials + (z / (2 * trials)) ** 2) / (1 + z * z / trials)
    return {"value": fraction, "low": centre - reach, "high": centre + reach, "trials": trials}


def _name_setup(setup: Setup) -> dict[str, Any]:
    return {"setup": setup_name(setup), "num_players": setup.seats}


# --- coverage ---------------------------------------------------------------------------------------------------------


def measure_coverage(one: str, rest: str, num_players: int, *, config: Config, seed: int) -> dict[str, Any]:
    """Count the intervals, each from its own blocks, that contain the win share of `one` in the blocks after them."""
    codes, used = (one, *[rest] * (num_players - 1)), config.intervals * config.interval_deals
    win_shares = compute_win_shares(codes, range(used), seed)[:, 0]
    truth = bootstrap(compute_win_shares(codes, range(used, used + config.truth_deals), seed)[:, 0])
    estimates = [bootstrap(part) for part in np.split(win_shares, config.intervals)]
    return {
        "one": one,
        "rest": rest,
        **_name_setup(standard_setup(num_players)),
        "truth": asdict(truth),
        "mean_width": float(np.mean([estimate.high - estimate.low for estimate in estimates])),
        "covered": estimate_rate([estimate.low <= truth.value <= estimate.high for estimate in estimates]),
    }


# --- sequential test --------------------------------------------------------------------------------------------------


def compute_differences(one: str, other: str, blocks: range, seed: int) -> np.ndarray:
    """Return the win share of `one` minus that of `other`, two of each in one game, [blocks]; copies have mean 0."""
    win_shares = compute_win_shares((one, other, one, other), blocks, seed)
    return (win_shares[:, 0] - win_shares[:, 1] + win_shares[:, 2] - win_shares[:, 3]) / 2


def run_to_verdict(batches: Iterator[np.ndarray]) -> Look:
    """Run a test to its verdict; each look uses the next batch of differences."""
    test = SequentialTest(GAIN, alpha=ERROR, beta=ERROR)
    while not (look := test.update(next(batches))).verdict:
        pass
    return look


def measure_sequential(one: str, other: str, *, config: Config, seed: int) -> dict[str, Any]:
    """Count the verdicts of many tests, one after the other, on blocks after those of the true difference."""
    known = compute_differences(one, other, range(config.truth_deals), seed)
    starts = count(config.truth_deals, BLOCKS_PER_LOOK)
    batches = (compute_differences(one, other, range(start, start + BLOCKS_PER_LOOK), seed) for start in starts)
    looks = [run_to_verdict(batches) for _ in range(config.tests)]
    return {
        "one": one,
        "other": other,
        "gain": GAIN,
        "truth": asdict(bootstrap(known)),
        "stronger": estimate_rate([look.verdict == "stronger" for look in looks]),
        "mean_blocks": asdict(bootstrap(np.array([look.blocks for look in looks]))),
        "fixed_blocks": (2 * NormalDist().inv_cdf(1 - ERROR) * float(known.std()) / GAIN) ** 2,
    }


# --- paired differences -----------------------------------------------------------------------------------------------


def measure_paired(one: str, other: str, rest: str, *, config: Config, seed: int) -> dict[str, Any]:
    """Compare two players, each against three copies of `rest`, on the same deals.

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
    """Return the reduction, 2 Cov / (Var + Var), with its bootstrap interval over blocks; None if nothing varies."""
    moments = resample_means(np.column_stack([first, second, first**2 + second**2, first * second]))
    x, y, squares, product = moments.T
    with np.errstate(invalid="ignore"):
        reductions = 2 * (product - x * y) / (squares - x**2 - y**2)
    return round_estimate(value, *np.percentile(reductions, INTERVAL), blocks=len(first))


# --- copies -----------------------------------------------------------------------------------------------------------


def measure_copies(num_players: int, *, config: Config, seed: int) -> dict[str, Any]:
    """Return how far copies of a player without randomness are from par in any block, and the widest interval."""
    win_shares = compute_win_shares([DETERMINISTIC] * num_players, range(config.pair_deals), seed)
    estimates = [bootstrap(column) for column in win_shares.T]
    return {
        "player": DETERMINISTIC,
        **_name_setup(standard_setup(num_players)),
        "blocks": len(win_shares),
        "furthest_from_par": float(np.abs(win_shares - 1 / num_players).max()),
        "width": max(estimate.high - estimate.low for estimate in estimates),
    }


# --- all checks -------------------------------------------------------------------------------------------------------


def measure(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Return every result by check; each has its own deals."""
    jobs: list[tuple[str, Callable[..., dict[str, Any]]]] = [
        *[("coverage", partial(measure_coverage, *match)) for match in COVERAGE],
        *[("sequential", partial(measure_sequential, *pair)) for pair in SEQUENTIAL],
        *[("paired", partial(measure_paired, *players)) for players in PAIRED],
        *[("copies", partial(measure_copies, num_players)) for num_players in STANDARD_PLAYERS],
    ]
    results: dict[str, list[dict[str, Any]]] = {check: [] for check, _ in jobs}
    for number, (check, job) in track(list(enumerate(jobs)), "checks"):
        results[check].append(job(config=config, seed=game_seed(config.seed, number, 0)))
    return results


def find_faults(results: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Yield a line for each result that does not hold."""
    for row in results["coverage"]:
        if not COVERED[0] <= row["covered"]["value"] <= COVERED[1]:
            yield f"{row['covered']['value']:.1%} of the intervals of {row['one']} against {row['rest']} hold the truth"
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
    """Measure and store; then raise `UserError` if something does not hold."""
    started = time.monotonic()
    results = measure(config)
    write_result("soundness", config, results, started=started)
    if faults := list(find_faults(results)):
        raise UserError("\n".join(faults))
