"""Tables about the strength of players, from stored results; each function `render_*` returns one as Markdown."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from agents.arena.report import list_win_shares
from agents.tools.markdown import format_estimate, format_table
from experiments.pages.formats import NOT_MEASURED, format_percent, format_signed, format_with_source
from experiments.pages.source import format_source
from experiments.results import RESULTS, read_result
from experiments.strength.ladder import LADDER, REFERENCE, read_win_shares
from experiments.strength.probe import is_comparable


def compare_neighbours(stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare each player of the ladder (players in order of strength) with the next weaker one.

    Returns a row for each pair in each setup. up: win share of the stronger player alone against copies of the weaker.
    down: win share of the weaker player alone against copies of the stronger. formats: "both", "one" or "neither", for
    how many of these two win shares show clearly that the stronger player is stronger. `up` does so if its whole 95 %
    interval is above par, `down` if its whole interval is below par.
    """
    rows = []
    for setup in stored["results"]["ratings"]:
        win_shares = list_win_shares(stored["results"], setup)
        par = next(pair["par"] for pair in stored["results"]["pairs"] if pair["setup"] == setup)
        for weaker, stronger in pairwise(code for code in stored["config"]["players"] if code in LADDER):
            up, down = win_shares[stronger, weaker], win_shares[weaker, stronger]
            formats = ("neither", "one", "both")[(up["low"] > par) + (down["high"] < par)]
            names = {"setup": setup, "stronger": stronger, "weaker": weaker}
            rows.append(names | {"up": up, "down": down, "par": par, "formats": formats})
    return rows


def render_ladder() -> str:
    """Return a Markdown table of neighbours on the ladder: the win share of each alone against copies of the other."""
    stored = read_result("ladder")
    rows = [
        (
            row["setup"],
            f"`{row['stronger']}` over `{row['weaker']}`",
            format_estimate(row["up"]),
            format_estimate(row["down"]),
            f"{row['par']:.3f}",
            row["formats"],
        )
        for row in compare_neighbours(stored)
    ]
    alone = "stronger player alone", "weaker player alone"
    return format_with_source(("setup", "pair", *alone, "par", "formats in which it is clearly ahead"), rows, stored)


def render_ratings() -> str:
    """Return a Markdown table of the Plackett-Luce ratings of the ladder's players, with a column for each setup."""
    stored = read_result("ladder")
    ratings = stored["results"]["ratings"]
    codes = [code for code in stored["config"]["players"] if code in next(iter(ratings.values()))]
    rows = [
        (f"`{code}`", *(format_estimate(points[code], 0) for points in ratings.values())) for code in reversed(codes)
    ]
    return format_with_source(("player", *ratings), rows, stored)


def render_standings() -> str:
    """Return a Markdown table with the ratings, `net`'s win share and the exploitability of each player.

    The win share is that of `net` alone against copies of the player. Exploitability is the gain over par of the best
    trained response to the player, and of search on top of that response. All are for the standard setup with four
    seats. What is not measured stays empty.
    """
    ladder = read_result("ladder")
    ratings, against = ladder["results"]["ratings"], read_win_shares("net", "standard-4")
    exploited = {
        stored["config"]["target"]: stored["results"]
        for stored in read_exploits()
        if stored["results"]["setup"] == "standard-4" and stored["config"]["num_learners"] == 1
    }
    rated = [code for code in ladder["config"]["players"] if code in ratings["standard-4"]]
    rows = [
        (
            f"`{code}`",
            *(format_estimate(points[code], 0) if code in points else "" for points in ratings.values()),
            format_estimate(against[code]) if code in against else "",
            format_signed(exploited[code]["gain"]) if code in exploited else "",
            _gain_of_search(exploited[code], "response") if code in exploited else "",
        )
        for code in dict.fromkeys((*reversed(REFERENCE), *reversed(rated)))
    ]
    shares = "`net` alone against 3 copies, par 0.25"
    head = ("player", *(f"rating, {setup}" for setup in ratings), shares, "exploited", "exploited with search on top")
    return format_table(head, rows)


def render_budget() -> str:
    """Return a Markdown table of the search players: win share and time of a decision for each number of playouts."""
    return _render_budgets("budget")


def render_policy_search() -> str:
    """Return a Markdown table of search on top of the reference player: its win share and the time of a decision."""
    return _render_budgets("policy_search") if (RESULTS / "policy_search.json").exists() else NOT_MEASURED


def _render_budgets(name: str) -> str:
    stored = read_result(name)
    rows = [
        (
            row["setup"],
            f"`{row['kind']}:{row['playouts']}`",
            f"{row['milliseconds']['value']:.1f}",
            f"`{row['rest']}`",
            format_estimate(row["win_share"]),
            f"{row['par']:.3f}",
        )
        for row in stored["results"]
    ]
    head = ("setup", "one", "ms a decision, one core", "all others", "win share of the one (95 %)", "par")
    return format_with_source(head, rows, stored)


def read_exploits() -> list[dict[str, Any]]:
    """Return the stored results of the question `exploit`, the largest gain first.

    There is one for each player, setup and number of responses at a table.
    """
    results = [read_result(path.stem) for path in RESULTS.glob("exploit_*.json")]
    return sorted(results, key=lambda stored: -stored["results"]["gain"]["value"])


def render_exploits(stored: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table of the win shares of best responses, which were trained to beat one player each."""
    head = ("setup", "target", "responses at a table", "their win share", "gain over par", "started from", "runs")
    head += ("gain with search on top", "gain of search without training")
    return format_table(head, map(_exploit_row, stored)) + "\n\n" + "\n\n".join(map(format_source, stored))


def _exploit_row(stored: Mapping[str, Any]) -> tuple[Any, ...]:
    config, results = stored["config"], stored["results"]
    decisions = f"{len(results['responses'])} x {config['total_timesteps'] / 1e6:.0f} million decisions"
    values = format_estimate(results["win_share"]), format_signed(results["gain"])
    target = f"`{config['target']}`"
    row = results["setup"], target, config["num_learners"], *values, results["best"]["start"], decisions
    return *row, *(_gain_of_search(results, policy) for policy in ("response", "target"))


def _gain_of_search(results: Mapping[str, Any], policy: str) -> str:
    """Format the gain over par of a search on top of the response, or of the target's policy; "" if not measured."""
    gains = list_search_gains(results)
    return format_signed(gains[policy]) if policy in gains else ""


def list_search_gains(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the measured gains over par of searches, {policy that they are on top of: gain with its interval}.

    results: those of the question `exploit`. The policies are named "response" and "target".
    """
    names, par = ("value", "low", "high"), results["par"]
    measured = {policy: found for policy, found in results["searches"].items() if found}
    return {policy: {name: found[name] - par for name in names} for policy, found in measured.items()}


def compare_probe(stored: Mapping[str, Any]) -> list[tuple[str, Mapping[str, float], Mapping[str, float] | None]]:
    """Return each player of a stored `probe`, the gain of its short best response, and the stored gain of long ones.

    The last is None if there is no result with which the gain can be compared.
    """
    setup, timesteps = stored["results"]["setup"], stored["config"]["total_timesteps"]
    exploits = [long for long in read_exploits() if long["results"]["setup"] == setup]
    compared = []
    for row in stored["results"]["rows"]:
        gains = (long["results"]["gain"] for long in exploits if is_comparable(row, timesteps, long))
        compared.append((row["target"], row["probe"], next(gains, None)))
    return compared


def render_probe() -> str:
    """Return a Markdown table of what a short best response to each player gains, and what the long ones gain."""
    if not (RESULTS / "probe.json").exists():
        return NOT_MEASURED
    stored = read_result("probe")
    rows = [
        (f"`{target}`", format_signed(short), *(_compare_gains(short, long) if long else ("", "")))
        for target, short, long in compare_probe(stored)
    ]
    decisions = f"{stored['config']['total_timesteps'] / 1e6:.0f} million decisions"
    heads = ("target", f"gain of one response, {decisions}", "gain of the best of the long ones", "part found")
    return format_with_source(heads, rows, stored)


def _compare_gains(short: Mapping[str, float], long: Mapping[str, float]) -> tuple[str, str]:
    """Return two cells of a table: the gain of long responses, and which part of it a short response found."""
    return format_signed(long), f"{short['value'] / long['value']:.0%}"


def render_soundness() -> str:
    """Return Markdown tables that show how often the arena's intervals and tests are right, for known win shares."""
    stored = read_result("soundness")
    tables = {_render_coverage: "coverage", _render_sequential: "sequential", _render_copies: "copies"}
    parts = [render(stored["results"][name]) for render, name in tables.items()]
    return "\n\n".join([*parts, format_source(stored)])


def _render_coverage(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table of how often intervals contain the true win share."""
    cells = [
        (
            f"one `{row['one']}` against {row['num_players'] - 1} x `{row['rest']}`",
            format_estimate(row["truth"], 4),
            format_percent(row["covered"]),
        )
        for row in rows
    ]
    return format_table(("95 % intervals", "true win share", "contain the true win share"), cells)


def _render_sequential(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table of how often a sequential test finds the first of two players stronger."""
    cells = [
        (
            f"`{row['one']}`",
            f"`{row['other']}`",
            format_estimate(row["truth"]),
            format_percent(row["stronger"]),
            format_estimate(row["mean_blocks"], 0),
            f"{row['fixed_blocks']:,.0f}",
        )
        for row in rows
    ]
    stronger = f"the first is declared stronger (a lead of {rows[0]['gain']} against none)"
    return format_table(
        ("first", "second", "true difference", stronger, "mean deals", "deals of a test of fixed size"), cells
    )


def _render_copies(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table of how far the measured win shares of copies of one player are from par."""
    cells = [
        (
            f"{row['num_players']} x `{row['player']}`",
            f"{row['blocks']:,}",
            *(f"{row[name]:.1g}" for name in ("furthest_from_par", "width")),
        )
        for row in rows
    ]
    return format_table(("copies", "deals", "furthest from par", "width of the interval"), cells)
