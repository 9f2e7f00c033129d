"""The report of a tournament: Markdown tables from its results, and the plots beside it."""

from pathlib import Path
from typing import Any

from experiments import tournament_plots
from experiments.matches import Played
from experiments.tables import estimate, table

PAIR_COLUMNS = {  # measures shown of the one, with their digits
    "win_share": 3,
    "margin": 1,
    "rank": 2,
    "mice": 1,
    "sacks": 2,
    "profit": 1,
}


def write(folder: Path, content: dict[str, Any], played: Played) -> None:
    """Write `report.md` and the plots of a tournament."""
    for draw in tournament_plots.ALL:
        draw(folder, content["results"], played)
    (folder / "report.md").write_text(markdown(content) + "\n")


def markdown(content: dict[str, Any]) -> str:
    """The report as text."""
    results, config = content["results"], content["config"]
    head = f"# Tournament of {', '.join(f'`{code}`' for code in codes_of(results))}"
    method = (
        f"One against copies of another: {config['deals']} deals a pair, each under all rotations of the seats; mixed "
        f"tables: {config['mixed_deals']} deals each. Seed {config['seed']}, commit {content['commit']}, "
        f"{content['seconds']:.0f} seconds. Intervals are 95 %, by bootstrap over deals."
    )
    parts = [head, method, *(_failure(f) for f in results["failures"])]
    for n, points in results["ratings"].items():
        parts += [f"## {n} players", ratings_table(points), cross_table(results, int(n)), pairs_table(results, int(n))]
        if results["mixed"][n]:
            parts += [mixed_table(results["mixed"][n], int(n))]
    parts += ["## The same deals, another player", paired_table(results)] if results["paired"] else []
    parts += ["## Plots", *(f"![{name}]({name}.png)" for name in tournament_plots.NAMES)]
    return "\n\n".join(parts)


def codes_of(results: dict[str, Any]) -> list[str]:
    """The players in the order they were named."""
    return list(dict.fromkeys(pair["one"] for pair in results["pairs"]))


def _failure(failure: dict[str, str]) -> str:
    return (
        f"`{failure['code']}` failed and is left out: {failure['reason']}; in the game\n\n```text\n{failure['game']}```"
    )


def ratings_table(points: dict[str, Any]) -> str:
    """Ratings, the best first."""
    ordered = sorted(points.items(), key=lambda item: -item[1]["value"])
    return table(("player", "rating (95 %)"), [(f"`{code}`", estimate(value, 0)) for code, value in ordered])


def cross_table(results: dict[str, Any], n: int) -> str:
    """Win share of the one (row) against copies of another (column)."""
    codes, shares = codes_of(results), shares_of(results, n)
    rows = [
        (f"`{one}`", *(f"{shares[one, rest]['value']:.3f}" if (one, rest) in shares else "" for rest in codes))
        for one in codes
    ]
    return table((f"one, below; {n - 1} x", *(f"`{code}`" for code in codes)), rows) + f"\n\nPar: {1 / n:.3f}."


def shares_of(results: dict[str, Any], n: int) -> dict[tuple[str, str], dict[str, float]]:
    """Win share of the one for every (one, rest)."""
    pairs = results["pairs"]
    return {(p["one"], p["rest"]): p["measures"]["win_share"] for p in pairs if p["num_players"] == n}


def pairs_table(results: dict[str, Any], n: int) -> str:
    """All measures of the one against the rest."""
    rows = [
        (f"`{p['one']}`", f"`{p['rest']}`", *(estimate(p["measures"][name], d) for name, d in PAIR_COLUMNS.items()))
        for p in results["pairs"]
        if p["num_players"] == n
    ]
    return table(("one", f"against {n - 1} x", *(name.replace("_", " ") for name in PAIR_COLUMNS)), rows)


def mixed_table(mixed: dict[str, Any], n: int) -> str:
    """Measures of each player over all mixed tables."""
    ordered = sorted(mixed.items(), key=lambda item: -item[1]["win_share"]["value"])
    rows = [(f"`{code}`", *(estimate(m[name], d) for name, d in PAIR_COLUMNS.items())) for code, m in ordered]
    return table((f"at mixed tables of {n}", *(name.replace("_", " ") for name in PAIR_COLUMNS)), rows)


def paired_table(results: dict[str, Any]) -> str:
    """Differences of neighbours on the ladder."""
    rows = [
        (
            p["num_players"],
            f"`{p['stronger']}` less `{p['weaker']}`",
            f"{p['num_players'] - 1} x `{p['rest']}`",
            estimate(p["difference"]),
            f"{p['variance_reduction']:.0%}",
        )
        for p in results["paired"]
    ]
    head = ("players", "difference of win shares", "against", "(95 %)", "variance that pairing took away")
    return table(head, rows)
