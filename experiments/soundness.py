"""Can the arena be believed? `python -m experiments.soundness`

Its statistics are tried on games whose outcome is known: from a hundred times as many other deals, or by symmetry.

- coverage: how many of the 95 % intervals for a win share hold the true win share?
- sequential: how often does the sequential test err, and how many blocks does it save?
- paired: how much closer is a comparison of two players on the same deals than one on different deals?
- copies: does a player without chance win exactly its share against copies of itself?

That the games are those of the AEC face is for tests/test_arena.py. The command fails if the statistics do (`faults`).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from rich.progress import track

import agents
from agents.arena import Blocks, bootstrap, paired_difference, play_blocks
from agents.estimates import INTERVAL, Look, SequentialTest
from experiments.command import NOTHING_STORED, run_command
from experiments.evaluate import BLOCKS_A_LOOK
from experiments.game.columns import estimate_of, resampled_means
from experiments.results import write_result
from felicity_env import SETUPS, game_seed

COVERAGE = (("anchor", "tuned", 4), ("tuned", "anchor", 3))  # one, the rest, players
SEQUENTIAL = (("anchor", "anchor"), ("anchor", "greedy"), ("ev", "anchor"))  # equal, a bit stronger, much stronger
PAIRED = (  # one, other, the rest
    ("tuned", "ev", "anchor"),
    ("ev", "greedy", "anchor"),
    ("bluffer", "ev", "anchor"),
    ("anchor", "greedy", "ev"),
)
DETERMINISTIC = "ev"

GAIN = 0.03  # in win share, that the sequential test asks about
ERROR = 0.05  # its alpha and its beta
COVERED = (0.925, 0.97)  # of intervals at 95 %
ROUNDING = 1e-12
PIECE = 2000  # blocks played at once, which bounds the memory


@dataclass(frozen=True)
class Config:
    """Try the statistics of the arena on games whose outcome is known."""

    truth_blocks: int = 50_000
    """Deals that a true value is taken from."""
    intervals: int = 1000
    """Intervals whose coverage is counted."""
    interval_blocks: int = 200
    """Deals for each of them."""
    tests: int = 1000
    """Sequential tests of each pair of players."""
    pair_blocks: int = 4000
    """Deals for each paired difference, and for each table of copies."""
    seed: int = 2**58
    """Of the deals; apart from anatomy (2**59), tune (2**60), the ladder (2**61) and evaluation (2**62)."""


def win_shares(codes: Sequence[str], blocks: range, seed: int) -> np.ndarray:
    """Mean win share of every player in each block, [blocks, players]; played in pieces, for the memory."""
    players = [agents.make(code) for code in codes]
    pieces = [blocks[k : k + PIECE] for k in range(0, len(blocks), PIECE)]
    return np.concatenate([_shares_of(play_blocks(players, num_blocks=piece, seed=seed)) for piece in pieces])


def _shares_of(blocks: Blocks) -> np.ndarray:
    return blocks.measures["win_share"].mean(axis=1)


def rate(hits: Sequence[bool]) -> dict[str, Any]:
    """The share of hits with its 95 % interval (Wilson 1927)."""
    trials, share, z = len(hits), float(np.mean(hits)), NormalDist().inv_cdf(INTERVAL[1] / 100)
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z * sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2) / (1 + z * z / trials)
    return {"value": share, "low": centre - reach, "high": centre + reach, "trials": trials}


# --- coverage ---------------------------------------------------------------------------------------------------------


def coverage(one: str, rest: str, num_players: int, *, config: Config, seed: int) -> dict[str, Any]:
    """How many intervals, each from blocks of its own, hold the win share of `one` in the blocks after them all."""
    codes, used = (one, *[rest] * (num_players - 1)), config.intervals * config.interval_blocks
    shares = win_shares(codes, range(used), seed)[:, 0]
    truth = bootstrap(win_shares(codes, range(used, used + config.truth_blocks), seed)[:, 0])
    made = [bootstrap(part) for part in np.split(shares, config.intervals)]
    return {
        "one": one,
        "rest": rest,
        "num_players": num_players,
        "truth": asdict(truth),
        "mean_width": float(np.mean([estimate.high - estimate.low for estimate in made])),
        "covered": rate([estimate.low <= truth.value <= estimate.high for estimate in made]),
    }


# --- the sequential test ----------------------------------------------------------------------------------------------


def differences(one: str, other: str, blocks: range, seed: int) -> np.ndarray:
    """Win share of `one` less that of `other`, two of each at one table, [blocks]: its mean is 0 for copies."""
    shares = win_shares((one, other, one, other), blocks, seed)
    return (shares[:, 0] - shares[:, 1] + shares[:, 2] - shares[:, 3]) / 2


def run_to_verdict(looks: Iterator[np.ndarray]) -> Look:
    """A test on fresh differences, some at each look."""
    test = SequentialTest(GAIN, alpha=ERROR, beta=ERROR)
    while not (look := test.update(next(looks))).verdict:
        pass
    return look


def sequential(one: str, other: str, *, config: Config, seed: int) -> dict[str, Any]:
    """Verdicts of many tests, one after the other, on blocks after those of the truth."""
    known = differences(one, other, range(config.truth_blocks), seed)
    starts = count(config.truth_blocks, BLOCKS_A_LOOK)
    looks = (differences(one, other, range(start, start + BLOCKS_A_LOOK), seed) for start in starts)
    ends = [run_to_verdict(looks) for _ in range(config.tests)]
    return {
        "one": one,
        "other": other,
        "gain": GAIN,
        "truth": asdict(bootstrap(known)),
        "stronger": rate([end.verdict == "stronger" for end in ends]),
        "mean_blocks": asdict(bootstrap(np.array([end.blocks for end in ends]))),
        "fixed_blocks": (2 * NormalDist().inv_cdf(1 - ERROR) * float(known.std()) / GAIN) ** 2,
    }


# --- paired differences -----------------------------------------------------------------------------------------------


def paired(one: str, other: str, rest: str, *, config: Config, seed: int) -> dict[str, Any]:
    """`one` less `other`, each against three copies of `rest` on the same deals; what it would take on different ones.

    `variance_reduction` has an interval, `unpaired_blocks` are for a difference as close from different deals.
    """
    blocks = range(config.pair_blocks)
    first, second = (win_shares((code, rest, rest, rest), blocks, seed)[:, 0] for code in (one, other))
    made = paired_difference(first, second)
    return {
        "one": one,
        "other": other,
        "rest": rest,
        "difference": asdict(made.difference),
        "variance_reduction": _reduction_estimate(first, second, made.variance_reduction),
        "unpaired_blocks": len(first) / (1 - made.variance_reduction),
    }


def _reduction_estimate(first: np.ndarray, second: np.ndarray, value: float) -> dict[str, Any] | None:
    """The reduction, 2 Cov / (Var + Var), with its bootstrap interval over blocks; None if nothing varies."""
    moments = resampled_means(np.column_stack([first, second, first**2 + second**2, first * second]))
    x, y, squares, product = moments.T
    with np.errstate(invalid="ignore"):
        reductions = 2 * (product - x * y) / (squares - x**2 - y**2)
    return estimate_of(value, *np.percentile(reductions, INTERVAL), blocks=len(first))


# --- copies -----------------------------------------------------------------------------------------------------------


def copies(num_players: int, *, config: Config, seed: int) -> dict[str, Any]:
    """Win shares of copies of a player without chance: how far from par in any block, and the width of the interval."""
    shares = win_shares([DETERMINISTIC] * num_players, range(config.pair_blocks), seed)
    made = [bootstrap(column) for column in shares.T]
    return {
        "player": DETERMINISTIC,
        "num_players": num_players,
        "blocks": len(shares),
        "furthest_from_par": float(np.abs(shares - 1 / num_players).max()),
        "width": max(estimate.high - estimate.low for estimate in made),
    }


# --- all of it --------------------------------------------------------------------------------------------------------


def measure(config: Config) -> dict[str, list[dict[str, Any]]]:
    """Every result by question; each has deals of its own."""
    jobs: list[tuple[str, Callable[..., dict[str, Any]]]] = [
        *[("coverage", partial(coverage, *table)) for table in COVERAGE],
        *[("sequential", partial(sequential, *pair)) for pair in SEQUENTIAL],
        *[("paired", partial(paired, *players)) for players in PAIRED],
        *[("copies", partial(copies, num_players)) for num_players in SETUPS],
    ]
    results: dict[str, list[dict[str, Any]]] = {question: [] for question, _ in jobs}
    for number, (question, job) in track(list(enumerate(jobs)), "questions"):
        results[question].append(job(config=config, seed=game_seed(config.seed, number, 0)))
    return results


def faults(results: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """What does not hold of the results, a line each."""
    for row in results["coverage"]:
        if not COVERED[0] <= row["covered"]["value"] <= COVERED[1]:
            yield f"{row['covered']['value']:.1%} of the intervals of {row['one']} against {row['rest']} hold the truth"
    for row in results["sequential"]:
        equal, share = row["one"] == row["other"], row["stronger"]
        if equal and share["low"] > ERROR:
            yield f"a copy of {row['one']} is found stronger in {share['value']:.1%} of the tests"
        if not equal and share["high"] < 1 - ERROR:
            yield f"{row['one']} is found stronger than {row['other']} in {share['value']:.1%} of the tests only"
        if not equal and row["truth"]["value"] < GAIN:
            yield f"{row['one']} is stronger than {row['other']} by less than {GAIN}: choose other players to test with"
    for row in results["copies"]:
        if max(row["furthest_from_par"], row["width"]) > ROUNDING:
            yield f"copies of {row['player']} at a table of {row['num_players']} do not win exactly par"


def main(config: Config) -> None:
    """Measure and store; then fail if something does not hold."""
    started = time.monotonic()
    results = measure(config)
    write_result("soundness", config, results, started=started)
    if found := list(faults(results)):
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    run_command("soundness", Config, main, interrupted=NOTHING_STORED)
