"""Table about the game itself, from a stored result."""

from collections.abc import Mapping, Sequence

from agents.tools.markdown import format_estimate
from experiments.pages.formats import format_percent, format_with_source
from experiments.results import read_result


def format_by_position(gains: Sequence[Mapping[str, float]]) -> str:
    """Format differences with the half-width of their widest 95 % interval, as in `+0.021 / -0.018 (± 0.010)`."""
    width = max(gain["high"] - gain["low"] for gain in gains) / 2
    values = (f"{gain['value']:+.3f}" for gain in gains)
    return f"{' / '.join(values)} (± {width:.3f})"


def render_anatomy() -> str:
    """Return a Markdown table about games among copies of each player: value of a seat, dry and void rounds, prices."""
    stored = read_result("anatomy")
    rows = [
        (
            row["setup"],
            f"`{row['player']}`",
            format_by_position(row["win_share"]),
            *(format_percent(row[name]) for name in ("dry", "void", "victories_without_buying")),
            *(format_estimate(row[name], 1) for name in ("price", "sack_bought")),
            " / ".join(f"{gain['value']:.1f}" for gain in row["gain_first_round"]),
        )
        for row in stored["results"]["tables"]
    ]
    columns = ("dry rounds", "void rounds", "victories without buying", "price", "value of a sack bought")
    effect = "win share over par by position in the first round, the start player first"
    head = ("setup", "copies of", effect, *columns, "points gained in the first round by position in it")
    said = f"Each player places a random card with probability {stored['config']['tremble']}; otherwise copies of a "
    said += "player without randomness would all play alike."
    return f"{said}\n\n{format_with_source(head, rows, stored)}"
