"""Model card of the reference player: the parts that are generated from its files and from stored results."""

from collections.abc import Callable, Mapping
from typing import Any

from agents.arena.report import list_pairs, list_win_shares
from agents.mixture import REFERENCE, load_policy_player
from agents.tools.markdown import format_estimate, format_table
from experiments.pages.formats import NOT_MEASURED, STRANGERS, format_with_source, name_machine
from experiments.pages.source import format_source
from experiments.pages.strength_tables import read_exploits, render_exploits
from experiments.results import RESULTS, read_result
from felicity_env import OBS_SIZE

SHOWN_TARGETS = ("net", "net-1")  # targets of best responses that the card shows


def render_network() -> str:
    """Return text on the reference player's networks: number, layers, weights and the commits that trained them."""
    members = load_policy_player(REFERENCE).members
    layers = members[0].layers
    sizes = " x ".join(str(bias.size) for _, bias in layers[:-1])
    weights = sum(array.size for layer in layers for array in layer)
    commits = ", ".join(dict.fromkeys(member.metadata["commit"] for member in members))
    return (
        f"Networks: {len(members)}. Each has {OBS_SIZE} inputs, layers of {sizes} with {members[0].activation} between "
        f"them and {layers[-1][1].size} logits; {weights:,} weights of 32 bits. Made at commit {commits}."
    )


def render_cost() -> str:
    """Return a Markdown table of what the two training runs of the reference player took."""
    runs = {"first": read_result("reference_cpu"), "second": read_result("reference_averaging_cpu")}
    rows = [
        (
            name,
            f"{stored['results']['curve'][-1]['timesteps'] / 1e6:,.0f} million",
            f"{stored['results']['minutes'] / 60:.1f}",
            f"{name_machine(stored)} of {stored['machine']['processor']}",
            f"`{stored['command']}`",
            stored["commit"],
        )
        for name, stored in runs.items()
    ]
    return format_table(("run", "decisions", "hours", "machine", "command", "commit"), rows)


def render_strength(question: str) -> str:
    """Return Markdown tables of the reference player's win shares, one table for each stored result of a question.

    A row has two win shares: of the reference player alone against copies of the other player, and of the other alone
    against copies of the reference player. Without results, the text says that nothing is measured yet.
    """
    paths = sorted(RESULTS.glob(f"{question}_*.json"))
    return "\n\n".join(_render_setup(read_result(path.stem)) for path in paths) or NOT_MEASURED


def _render_setup(stored: Mapping[str, Any]) -> str:
    setup = stored["results"]["pairs"][0]["setup"]
    win_shares, net = list_win_shares(stored["results"], setup), stored["config"]["player"]
    rows = [
        (
            setup,
            f"`{pair['rest'].removeprefix(STRANGERS)}`",
            format_estimate(win_shares[net, pair["rest"]]),
            format_estimate(win_shares[pair["rest"], net]),
            f"{pair['par']:.3f}",
        )
        for pair in stored["results"]["pairs"]
        if pair["one"] == net
    ]
    formats = (f"`{net}` alone against copies of it", f"it alone against copies of `{net}`")
    return format_table(("setup", "the other", *formats, "par"), rows) + "\n\n" + format_source(stored)


def render_ladder() -> str:
    """Return a Markdown table of the win shares of the reference player against each player of the ladder.

    A row has the win share of each alone against copies of the other. It also has the mean profit from a sack, in
    points, of the reference player where it is alone, and of the others there.
    """
    stored = read_result("ladder")
    rows = [
        (pair["setup"], f"`{pair['rest']}`", *_describe_pair(stored["results"], pair))
        for setup in stored["results"]["ratings"]
        for pair in list_pairs(stored["results"], setup)
        if pair["one"] == "net"
    ]
    formats = ("`net` alone against copies of it", "it alone against copies of `net`")
    profits = ("profit of a sack that `net` buys, if it is alone", "that the others buy there")
    return format_with_source(("setup", "the other", *formats, "par", *profits), rows, stored)


def _describe_pair(results: dict[str, Any], pair: Mapping[str, Any]) -> tuple[str, ...]:
    """Return cells about a pair: two win shares, par, and the profits of a sack; "" if nobody buys."""
    reverse = list_win_shares(results, pair["setup"])[pair["rest"], pair["one"]]
    sides = pair["measures"], pair["measures_of_rest"]
    means = ({name: measured[name]["value"] for name in ("profit", "sacks")} for measured in sides)
    profits = (f"{mean['profit'] / mean['sacks']:+.1f}" if mean["sacks"] else "" for mean in means)
    return format_estimate(pair["measures"]["win_share"]), format_estimate(reverse), f"{pair['par']:.3f}", *profits


CARD_PARTS: dict[str, Callable[[], str]] = {
    "network": render_network,
    "cost": render_cost,
    "ladder": render_ladder,
    "strength": lambda: render_strength("reference_strength"),
    "strangers": lambda: render_strength("strangers"),
    "exploited": lambda: render_exploits([row for row in read_exploits() if row["config"]["target"] in SHOWN_TARGETS]),
}
