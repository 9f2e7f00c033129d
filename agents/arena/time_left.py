"""Time that matches still take, estimated from the parts that were played so far."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np

from agents.arena.parts import Match, Part

Report = Callable[[int, int, float | None], None]  # called with parts done, number of parts, seconds left
MORE = 1.05  # times as many matches must be measured before the next fit, because one more hardly changes it


class TimeLeft:
    """Estimator of the time left, from the seconds that the parts of each match took so far."""

    def __init__(self, missing: Sequence[Part], total: int, report: Report) -> None:
        self.deals_left: Counter[Match] = Counter()
        for part in missing:
            self.deals_left[part.match] += part.last - part.first
        self.deals_done: Counter[Match] = Counter()
        self.seconds: dict[Match, float] = defaultdict(float)  # that the parts done took, for each match
        self.estimates: dict[Match, float] = {}  # seconds per deal of each match
        self.needed, self.fitted = 0.0, 0  # seconds of all that is left; number of matches measured at the last fit
        self.total, self.done, self.report = total, total - len(missing), report
        report(self.done, total, None)

    def count(self, part: Part, seconds: float, workers: int) -> None:
        """Count a part as done, and report the number of parts done and the time left with that many workers.

        The time left is None while a cluster has no workers.
        """
        match, deals = part.match, part.last - part.first
        before = self.estimates.get(match, 0.0) * self.deals_left[match]
        self.deals_left[match] -= deals
        self.deals_done[match] += deals
        self.seconds[match] += seconds
        self.done += 1
        self.estimates[match] = self.seconds[match] / self.deals_done[match]
        self.needed = max(0.0, self.needed + self.estimates[match] * self.deals_left[match] - before)  # 0 at the end
        if len(self.deals_done) > MORE * self.fitted:
            self._fit()
        self.report(self.done, self.total, self.needed / workers if workers else None)

    def _fit(self) -> None:
        """Estimate all matches anew from those that were measured."""
        measured = {match: self.estimates[match] for match in self.deals_done}
        self.estimates, self.fitted = estimate_seconds(measured, self.deals_left), len(measured)
        self.needed = sum(deals * self.estimates[match] for match, deals in self.deals_left.items())


def estimate_seconds(measured: Mapping[Match, float], wanted: Iterable[Match]) -> dict[Match, float]:
    """Return the seconds per deal of the wanted matches, given those of the matches that were measured.

    A match that was not measured takes the sum over its seats of what the player there costs at a table of that size.
    The costs are fitted to the measured matches by non-negative least squares; an unknown one is the mean of the rest.
    """
    seats = {match: [(code, match.setup.seats) for code in match.codes] for match in (*wanted, *measured)}
    costs = _fit_costs([(seats[match], seconds) for match, seconds in measured.items()])
    mean = sum(costs.values()) / len(costs)
    return {match: sum(costs.get(player, mean) for player in seats[match]) for match in seats} | {**measured}


def _fit_costs(measured: Sequence[tuple[Sequence[Hashable], float]]) -> dict[Hashable, float]:
    """Return the cost of each player, given the players of each match, and the seconds of a deal of it."""
    from scipy.optimize import nnls  # imported late, because it takes a while

    players = list(dict.fromkeys(player for seats, _ in measured for player in seats))
    counts = np.array([[seats.count(player) for player in players] for seats, _ in measured], float)
    seconds = np.array([seconds for _, seconds in measured])
    try:
        costs = nnls(counts, seconds)[0]
    except RuntimeError:  # too many steps; a guess must not end the work that it is about
        costs = np.full(len(players), seconds.sum() / counts.sum())
    return dict(zip(players, costs.tolist(), strict=True))
