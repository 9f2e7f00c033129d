"""Tables about small games, from the stored result of the question `exact`; each `render_*` returns one as Markdown."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from agents.tools.markdown import format_table
from experiments.pages.source import format_source
from experiments.results import read_result


def render_equilibria() -> str:
    """Return a Markdown table of how close CFR+ comes to an equilibrium in each setup."""
    head = ("setup", "nodes", "information sets", "iterations", "NashConv", "NashConv if seats see the table only")
    rows = [
        (
            f"`{row['setup']}`",
            f"{row['nodes']:,}",
            f"{row['information_sets']:,}",
            f"{row['curve'][-1]['iterations']:,}",
            f"{row['curve'][-1]['nash_conv']:.4f}",
            f"{row['observation_curve'][-1]['nash_conv']:.4f}",
        )
        for row in read_result("exact")["results"]["equilibria"]
    ]
    return format_table(head, rows)


def choose_best_responses(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the stored row of the trained response that gains most, for each target. results: those of `exact`."""
    by_target = groupby(results["responses"], key=lambda row: row["target"])
    return [max(rows, key=lambda row: row["found_gain"]) for _, rows in by_target]


def render_exact_responses() -> str:
    """Return a Markdown table of what an exact best response gains, and what trained ones find of it."""
    head = ("target", "gain of an exact best response", "gain of the best trained one", "part found")
    rows = []
    for best in choose_best_responses(read_result("exact")["results"]):
        part = f"{best['found_gain'] / best['exact_gain']:.0%}"
        rows.append((f"`{best['target']}`", f"{best['exact_gain']:+.3f}", f"{best['found_gain']:+.3f}", part))
    return format_table(head, rows)


def render_exact_training() -> str:
    """Return a Markdown table of the NashConv of policies that are trained on a small setup."""
    head = ("recipe", "run", "training seed", "decisions", "NashConv of the last policy", "of the mixture")
    rows = []
    for trained in read_result("exact")["results"]["training"]:
        for run, points in groupby(trained["curve"], key=lambda point: point["run"]):
            *_, last = points
            figures = (f"{last[name]:.3f}" for name in ("nash_conv", "mixture_nash_conv"))
            rows.append((trained["recipe"], run + 1, trained["seed"], f"{last['timesteps']:,}", *figures))
    return format_table(head, rows)


def render_last_rounds() -> str:
    """Return a Markdown table of solved last rounds: the NashConv of the solutions and of players, and the source."""
    stored = read_result("exact")
    rounds: Sequence[dict[str, Any]] = stored["results"]["last_rounds"]
    players = list(rounds[0]["players"])
    rows = []
    for setup, group in groupby(rounds, key=lambda row: row["setup"]):
        listed = list(group)
        worst = max(row["nash_conv"] for row in listed)
        means = (f"{np.mean([row['players'][code] for row in listed]):.3f}" for code in players)
        rows.append((f"`{setup}`", len(listed), f"{worst:.5f}", *means))
    head = ("setup", "last rounds", "NashConv of the solutions, at most", *(f"of `{code}`, mean" for code in players))
    return format_table(head, rows) + "\n\n" + format_source(stored)


SOLVING_PARTS = {
    "equilibria": render_equilibria,
    "exact_training": render_exact_training,
    "exact_responses": render_exact_responses,
    "last_rounds": render_last_rounds,
}
