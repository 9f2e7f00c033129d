"""Text for Markdown pages: tables, and estimates with their intervals."""

from collections.abc import Iterable, Mapping


def format_table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Format rows of cells as a Markdown table with the column titles `head`."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def format_estimate(value: Mapping[str, float], digits: int = 3) -> str:
    """Format an estimate with its interval, as in "0.312 (0.298 to 0.326)"; what rounds to 0 has no sign."""
    return f"{value['value']:z,.{digits}f} ({value['low']:z,.{digits}f} to {value['high']:z,.{digits}f})"
