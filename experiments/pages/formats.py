"""Forms of numbers and tables in the pages: intervals in percent or with signs, and tables that name their source."""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.tools.markdown import format_estimate, format_table
from experiments.pages.source import format_source

NOT_MEASURED = "Not measured yet."  # of a question whose result is not stored yet
STRANGERS = "experiments.strength.stranger_players:"  # the module of the strangers, which a page leaves out


def format_percent(fraction: Mapping[str, float]) -> str:
    """Format a fraction with its 95 % interval in percent, as in `31.2 (29.8 to 32.6) %`."""
    return format_estimate({key: 100 * fraction[key] for key in ("value", "low", "high")}, 1) + " %"


def format_signed(gain: Mapping[str, float]) -> str:
    """Format a difference and its 95 % interval, each number with a plus or minus sign: `+0.012 (-0.003 to +0.027)`."""
    return f"{gain['value']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})"


def format_with_source(head: Sequence[str], rows: Sequence[Sequence[object]], stored: Mapping[str, Any]) -> str:
    """Format a Markdown table of a stored result, and below it the command, the commit and the machine."""
    return format_table(head, rows) + "\n\n" + format_source(stored)


def name_machine(stored: Mapping[str, Any]) -> str:
    """Return a few words for what a stored result was measured on: a GPU, or the number of cores of a machine."""
    machine, is_on_cpu = stored["machine"], stored["config"].get("device") == "cpu"
    return f"{machine['cores']} cores" if is_on_cpu or "gpu" not in machine else machine["gpu"]
