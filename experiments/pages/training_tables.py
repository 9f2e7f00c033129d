"""Tables about training, from stored results; each function `render_*` returns one as Markdown."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from agents.tools.markdown import format_estimate
from agents.tools.settings import OneSetup
from experiments.pages.formats import NOT_MEASURED, format_signed, format_with_source
from experiments.results import RESULTS, read_result
from experiments.strength.ladder import read_win_shares
from felicity_env.setups import setup_name

GOAL = ("ev", 0.7)  # opponent and win share that the tables of training runs give the time to


def render_first_player(algorithm: str) -> str:
    """Return a Markdown table of the win shares that default training runs reach, with a row for each training seed.

    It also has the decisions and seconds after which a run reaches `GOAL`.
    """
    stored = read_result(f"first_player_{algorithm}")
    runs, chosen = stored["results"]["runs"], {name: stored["config"][name] for name in ("num_players", "setup")}
    setup = OneSetup(**chosen).chosen_setup
    codes, ev = list(runs[0]["results"][0]["win_share"]), read_win_shares("ev", setup_name(setup))
    rows: list[tuple[object, ...]] = []
    for run in runs:
        win_shares = run["results"][0]["win_share"].values()
        rows.append((run["seed"], *map(format_estimate, win_shares), _describe_goal(run), f"{run['minutes']:.1f}"))
    rows.append(("`ev` instead", *(format_estimate(ev[code]) if code in ev else "" for code in codes), "", ""))
    others = setup.seats - 1
    goal = f"{GOAL[1]:.2f} against {others} x `{GOAL[0]}` after"
    head = ("seed", *(f"against {others} x `{code}`" for code in codes), goal, "minutes")
    return format_with_source(head, rows, stored)


def _describe_goal(run: Mapping[str, Any]) -> str:
    """Return text on the decisions and seconds after which a training run reaches `GOAL`; "" if it never does."""
    found = find_goal(run["curve"])
    return f"{found[0] / 1e6:.1f} million decisions, {found[1]:.0f} s" if found else ""


def find_goal(curve: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Return the decisions and seconds after which a learning curve first reaches `GOAL`; None if it never does.

    Between two points of the curve both are interpolated linearly.
    """
    opponent, goal = GOAL
    for before, after in pairwise(curve):
        low, high = (point["results"][0]["win_share"][opponent]["value"] for point in (before, after))
        if low < goal <= high:
            part = (goal - low) / (high - low)
            timesteps, seconds = (
                before[name] + part * (after[name] - before[name]) for name in ("timesteps", "seconds")
            )
            return timesteps, seconds
    return None


def render_ablation(recipe: str) -> str:
    """Return a Markdown table of the gain in win share when one setting of a recipe of the trainer is changed."""
    if not (RESULTS / f"ablation_{recipe}.json").exists():
        return NOT_MEASURED
    stored = read_result(f"ablation_{recipe}")
    others = stored["config"]["num_players"] - 1
    compared = {variant: _list_comparisons(found, others) for variant, found in stored["results"].items()}
    base = compared.pop("base")
    rows = [("base: win share", *(format_estimate(each["win_share"]) for each in base.values()))]
    for variant, found in compared.items():
        rows.append((f"{variant}: more than base", *(format_signed(each["gain"]) for each in found.values())))
    return format_with_source(("variant", *base), rows, stored)


def _list_comparisons(found: Mapping[str, Any], others: int) -> dict[str, Any]:
    """Return the comparisons of a variant with the base, {head of the column: win share and gain}."""
    compared = {f"against {others} x `{kind}`": each for kind, each in found["opponents"].items()}
    return compared | ({"a short best response to it": found["response"]} if "response" in found else {})


def render_progress(name: str) -> str:
    """Return a Markdown table of the gains of short best responses, with a row for each point of the training.

    name: name of the stored result.
    """
    if not (RESULTS / f"{name}.json").exists():
        return NOT_MEASURED
    stored = read_result(name)
    curves = stored["results"]["curves"]
    rows = []
    for points in zip(*curves.values(), strict=True):
        decisions = fmean(point["timesteps"] for point in points)
        gains = [point["gain"] for point in points]
        mean = (f"{fmean(gain['value'] for gain in gains):+.3f}",) if len(gains) > 1 else ()
        rows.append((f"{decisions / 1e6:,.0f} million", *map(format_signed, gains), *mean))
    head = ("decisions", *curves, *(("mean",) if len(curves) > 1 else ()))
    return format_with_source(head, rows, stored)


def render_extrapolation() -> str:
    """Return text on what ten times the decisions would leave to exploit, if gains went on falling by a power law."""
    three_seeds = read_result("progress")["results"]["curves"].values()
    points = [point for curve in three_seeds for point in curve]
    start = read_result("reference_cpu")["results"]["curve"][-1]["timesteps"]
    (reference,) = read_result("progress_reference")["results"]["curves"].values()
    second = [{**point, "timesteps": point["timesteps"] - start} for point in reference if point["timesteps"] > start]
    long = read_result("exploit_net_standard-4")["results"]["gain"]["value"]
    part = 10 ** fit_power_law(second)
    return (
        f"A power law through the points of the second run has the exponent {fit_power_law(second):.2f}. Ten times its "
        f"decisions would leave {part:.2f} of the gain of short responses; if the gain of long ones fell alike, "
        f"{long:+.3f} would become {long * part:+.3f}. Through the points of the three runs with up to "
        f"{points[-1]['timesteps'] / 1e6:.0f} million decisions the exponent is {fit_power_law(points):.2f}, and a run "
        f"of ten times that length would leave {10 ** fit_power_law(points):.2f} of the gain."
    )


def fit_power_law(points: Sequence[Mapping[str, Any]]) -> float:
    """Return the exponent of the power law of the decisions that fits the gains of some points best (least squares)."""
    timesteps = [point["timesteps"] for point in points]
    gains = [point["gain"]["value"] for point in points]
    exponent, _ = np.polyfit(np.log(timesteps), np.log(gains), 1)
    return float(exponent)


def render_encoding() -> str:
    """Return a Markdown table of win shares after training with and without thermometer encoding of the inputs."""
    stored = read_result("encoding")
    codes = list(next(iter(stored["results"].values()))["win_share"])
    rows = [
        (name, *(format_estimate(result["win_share"][code]) for code in codes))
        for name, result in stored["results"].items()
    ]
    return format_with_source(("amounts as", *(f"against 3 x `{code}`" for code in codes)), rows, stored)


def render_recipes() -> str:
    """Return a Markdown table of what each recipe of another library reaches."""
    if not (RESULTS / "recipes.json").exists():
        return NOT_MEASURED
    stored = read_result("recipes")
    rows = [
        (
            f"[`{row['recipe']}`](recipes/{row['recipe']}.py)",
            ", ".join(f"`{need}`" for need in row["needs"]),
            _describe_recipe(row),
            f"{row['decisions']:,}" if "decisions" in row else "",
            str(row["seconds"]),
        )
        for row in stored["results"]["recipes"]
    ]
    heads = ("recipe", "needs", "win share against three `random` (par 0.25)", "decisions", "seconds")
    return format_with_source(heads, rows, stored)


def _describe_recipe(row: Mapping[str, Any]) -> str:
    if "win_share" in row:
        return f"{row['win_share']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
    if "games" in row:
        return f"does not learn; plays {row['games']} games"
    change = f"from {row['exploitability_before']:.3f} to {row['exploitability_after']:.3f}"
    return f"solves `tiny-2`: exploitability {change}"
