"""Report of a tournament in Markdown: tables of its results, and links to its plots in the same folder."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from agents.arena.matches import MatchResults
from agents.player_names import name_player, shorten_codes
from agents.tools.command import print_error
from agents.tools.files import write_text
from agents.tools.markdown import format_estimate, format_table
from felicity_env.setups import is_setup_name

MAX_COLUMNS = 8  # more players do not fit into a cross table of 80 columns
DIGITS = {"win_share": 3, "margin": 1, "rank": 2, "mice": 1, "sacks": 2, "profit": 1}  # decimals in the tables
_COLUMNS = [name.replace("_", " ") for name in DIGITS]


def write_report(folder: Path, content: dict[str, Any], results: MatchResults) -> None:
    """Write `report.md` and the plots of a tournament into `folder`; if no match was completed, there are no plots."""
    from agents.arena.plots import PLOTS  # imported late, because matplotlib takes a second

    names = shorten_codes({code for match in results.blocks for code in match.codes})
    content = content | {"results": _rename(_name_failures(content["results"]), names)}
    blocks = {
        replace(match, codes=tuple(names[code] for code in match.codes)): b for match, b in results.blocks.items()
    }
    for name, draw in PLOTS.items() if blocks else ():
        draw(folder / f"{name}.png", content["results"], MatchResults(blocks, results.failures))
    write_text(folder / "report.md", render_report(content, plots=list(PLOTS) if blocks else []) + "\n")


def _name_failures(results: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a tournament with full names, for the report, in the place of the codes of failures."""
    return results | {
        key: [entry | {"code": f"`{name_player(entry['code'])}`"} for entry in results[key]]
        for key in ("failures", "forfeits")
    }


def _rename(values: Any, names: Mapping[str, str]) -> Any:
    """Return the values of a JSON file with every player code replaced by its short name."""
    if isinstance(values, dict):
        return {names.get(key, key): _rename(value, names) for key, value in values.items()}
    if isinstance(values, list):
        return [_rename(value, names) for value in values]
    return names.get(values, values) if isinstance(values, str) else values


def build_tournament_tables(results: dict[str, Any]) -> Iterator[Table | str]:
    """Yield titles and tables for the terminal: the ratings and the cross table of win shares in each setup.

    If there are more than MAX_COLUMNS players, a sentence says where the cross table is.
    """
    for setup, points in results["ratings"].items():
        names = shorten_codes(points)
        yield f"Ratings, {setup}, 95 % intervals; {describe_zero(points)}"
        ratings = Table(box=SIMPLE_HEAD, pad_edge=False)
        ratings.add_column("player")
        ratings.add_column("rating", justify="right")
        for code, estimate in sorted(points.items(), key=lambda item: -item[1]["value"]):
            ratings.add_row(names[code], format_estimate(estimate, 0))
        yield ratings
        if len(names) > MAX_COLUMNS:
            yield f"The cross table of these {len(names)} players is in report.md."
        else:
            pair = list_pairs(results, setup)[0]
            copies = f"{pair['num_players'] - 1} copies of another (column)"
            yield f"Win share of one (row) against {copies}, par {pair['par']:.3f}"
            yield _build_cross_table(results, setup, names)


def _build_cross_table(results: dict[str, Any], setup: str, names: Mapping[str, str]) -> Table:
    """Build the table of the win share of each player (row) alone against copies of each other player (column).

    If the names do not fit into 80 columns as headings, the players are numbered.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    win_shares, codes = list_win_shares(results, setup), list_players(list_pairs(results, setup))
    headings = [names[code] for code in codes]
    is_wide = max(map(len, headings)) + sum(max(len(name), 5) + 2 for name in headings) > 78
    rows = [f"{k}  {name}" if is_wide else name for k, name in enumerate(headings, 1)]
    table.add_column("", no_wrap=True)
    for k, name in enumerate(headings, 1):
        table.add_column(str(k) if is_wide else name, justify="right")
    for label, one in zip(rows, codes, strict=True):
        row = [f"{win_shares[one, rest]['value']:.3f}" if (one, rest) in win_shares else "" for rest in codes]
        table.add_row(label, *row)
    return table


def build_pair_tables(pairs: Sequence[dict[str, Any]]) -> Group:
    """Build a table for the terminal for each setup: win share (and margin) of one player against copies of another.

    They fit into 80 columns; long codes of players are shortened.
    """
    names = shorten_codes({code for pair in pairs for code in (pair["one"], pair["rest"])})
    setups = dict.fromkeys(pair["setup"] for pair in pairs)
    return Group(*(_build_pair_table([pair for pair in pairs if pair["setup"] == setup], names) for setup in setups))


def _build_pair_table(pairs: Sequence[dict[str, Any]], names: Mapping[str, str]) -> Table:
    """Build the table of the win shares in one setup. names: short name of each player, {code: name}."""
    deals = " or ".join(map(str, sorted({pair["measures"]["win_share"]["blocks"] for pair in pairs})))
    title = f"Win share of one against the rest, 95 % interval, {deals} deals, {pairs[0]['setup']}"
    has_margin = all("margin" in pair["measures"] for pair in pairs)
    style: dict[str, Any] = {"box": SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0)}
    table = Table(title=title, title_justify="left", min_width=min(len(title), 80), **style)
    for column in ["one", "the rest", "win share", "interval", "par", *(["margin"] if has_margin else [])]:
        is_name = column in ("one", "the rest")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=not is_name, overflow="fold")
    for pair in pairs:
        rest = f"{pair['num_players'] - 1} x {names[pair['rest']]}"
        win_share = pair["measures"]["win_share"]
        figures = [f"{win_share['value']:.3f}", f"{win_share['low']:.3f}-{win_share['high']:.3f}", f"{pair['par']:.3f}"]
        margin = [f"{pair['measures']['margin']['value']:+.1f}"] if has_margin else []
        table.add_row(names[pair["one"]], rest, *figures, *margin)
    return table


def render_report(content: dict[str, Any], *, plots: Collection[str] = ()) -> str:
    """Return the report of a tournament as Markdown; `content` is the content of its `result.json`.

    plots: names of the plots in the same folder, without ".png".
    """
    results, config = content["results"], content["config"]
    head = f"# Tournament of {', '.join(f'`{code}`' for code in list_players(results['pairs']))}"
    slow = "" if config["search_deals"] is None else f" ({config['search_deals']} with a search or a language model)"
    method = (
        f"One player against copies of another: {config['num_deals']} deals for each pair{slow}, each under all "
        f"rotations of the seats; mixed tables: {config['mixed_deals']} deals each. Seed {config['seed']}, commit "
        f"{content['commit']}. Intervals are 95 %, over deals."
    )
    parts = [head, method, *map(_render_failure, results["failures"])]
    parts += [_quote_game(sentence) for sentence in describe_forfeits(results["forfeits"])]
    for setup, points in results["ratings"].items():
        num_players = list_pairs(results, setup)[0]["num_players"]
        parts += [f"## {setup} ({num_players} players)", *_define_setup(setup, content)]
        parts += [render_ratings(points), f"Ratings: {describe_zero(points)}."]
        parts += [render_cross_table(results, setup)]
        if results["mixed"][setup]:
            parts += [render_mixed(results["mixed"][setup], num_players)]
    parts += ["## Differences on the same deals", render_paired(results["paired"])] if results["paired"] else []
    parts += ["## Plots", *(f"![{name}]({name}.png)" for name in plots)] if plots else []
    parts += ["## All pairs", *(render_pairs(results, setup) for setup in results["ratings"])]
    return "\n\n".join(parts)


def _define_setup(name: str, content: dict[str, Any]) -> list[str]:
    """Return the fields of a setup that is in no table, as Markdown, in a list; for other setups an empty list."""
    return [] if is_setup_name(name) else [f"Setup: `{json.dumps(content['setups'][name])}`"]


def _render_failure(failure: dict[str, str]) -> str:
    text = f"{failure['code']} failed and is left out: {failure['reason']}"
    return f"{text}; in the game\n\n```text\n{failure['game']}```" if failure["game"] else text


def _quote_game(sentence: str) -> str:
    """Put the game after the first line of a sentence into a block of text."""
    line, _, game = sentence.partition("\n")
    return f"{line}\n\n```text\n{game}```"


def _format_measures(measures: dict[str, Any]) -> list[str]:
    return [format_estimate(measures[name], digits) for name, digits in DIGITS.items()]


def render_ratings(points: dict[str, Any]) -> str:
    """Return a Markdown table of the players' ratings with their intervals, the best player first."""
    ordered = sorted(points.items(), key=lambda item: -item[1]["value"])
    return format_table(("player", "rating (95 %)"), [(f"`{code}`", format_estimate(p, 0)) for code, p in ordered])


def describe_zero(points: Collection[str]) -> str:
    """Return which rating is 0, given the players that are rated; see `ratings.fit_ratings`."""
    return "anchor has 0" if "anchor" in points else "the mean of all players is 0, because anchor is not among them"


def list_pairs(results: dict[str, Any], setup: str) -> list[dict[str, Any]]:
    """List the results of one player alone against copies of another in a setup, given by its name."""
    return [pair for pair in results["pairs"] if pair["setup"] == setup]


def list_players(pairs: Sequence[dict[str, Any]]) -> list[str]:
    """List the players that are alone in the given results, in their order, each once."""
    return list(dict.fromkeys(pair["one"] for pair in pairs))


def list_win_shares(results: dict[str, Any], setup: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return the win share of each player alone against copies of another, as {(player, other): win share}."""
    return {(pair["one"], pair["rest"]): pair["measures"]["win_share"] for pair in list_pairs(results, setup)}


def render_cross_table(results: dict[str, Any], setup: str) -> str:
    """Return a Markdown table: win share of each player (row) alone against copies of each other player (column)."""
    pairs = list_pairs(results, setup)
    codes, win_shares = list_players(pairs), list_win_shares(results, setup)
    cells = {pair: f"{win_share['value']:.3f}" for pair, win_share in win_shares.items()}
    rows = [(f"`{one}`", *(cells.get((one, rest), "") for rest in codes)) for one in codes]
    head = (f"player (row) against {pairs[0]['num_players'] - 1} copies of (column)", *(f"`{code}`" for code in codes))
    return format_table(head, rows) + f"\n\nPar: {pairs[0]['par']:.3f}."


def render_pairs(results: dict[str, Any], setup: str) -> str:
    """Return a Markdown table of all measures of each player alone against copies of each other player."""
    pairs = list_pairs(results, setup)
    rows = [(f"`{pair['one']}`", f"`{pair['rest']}`", *_format_measures(pair["measures"])) for pair in pairs]
    return format_table((setup, f"against {pairs[0]['num_players'] - 1} copies of", *_COLUMNS), rows)


def render_mixed(mixed: dict[str, Any], num_players: int) -> str:
    """Return a Markdown table of each player's measures over the tables at which all players differ."""
    ordered = sorted(mixed.items(), key=lambda item: -item[1]["win_share"]["value"])
    rows = [(f"`{code}`", *_format_measures(measures)) for code, measures in ordered]
    return format_table((f"at mixed tables of {num_players}", *_COLUMNS), rows)


def render_paired(paired: list[dict[str, Any]]) -> str:
    """Return a Markdown table of the difference in win share between each player and the one rated next below it."""
    rows = [
        (
            row["setup"],
            f"`{row['stronger']}` minus `{row['weaker']}`",
            f"{row['num_players'] - 1} x `{row['rest']}`",
            format_estimate(row["difference"]),
            f"{row['variance_reduction']:.0%}",
        )
        for row in paired
    ]
    return format_table(("setup", "difference of win shares", "against", "(95 %)", "variance removed by pairing"), rows)


def describe_forfeits(forfeits: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence for each player and reason for which it forfeited games: how many, and the first of them.

    forfeits: entries as `MatchResults.list_forfeits` returns them, whose `code` is the text that names the player.
    """
    return [
        f"{entry['code']} forfeited {entry['games']} of its {entry['of']} games by {entry['reason']}; the first:\n"
        f"{entry['first']}"
        for entry in forfeits
    ]


def print_failures(failures: Sequence[dict[str, Any]], forfeits: Sequence[dict[str, Any]]) -> int:
    """Print which players failed or forfeited games, each with a game; return 1 if a player failed, else 0."""
    for sentence in describe_forfeits([entry | {"code": name_player(entry["code"])} for entry in forfeits]):
        print_error(sentence)
    for failure in failures:
        game = f"\nin the game\n{failure['game']}" if failure["game"] else ""
        print_error(f"{name_player(failure['code'])} failed and is left out: {failure['reason']}{game}")
    return 1 if failures else 0
