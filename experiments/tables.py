"""Results as Markdown."""

from collections.abc import Iterable, Mapping


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def estimate(value: Mapping[str, float], digits: int = 3) -> str:
    """A value with its interval."""
    return f"{value['value']:,.{digits}f} ({value['low']:,.{digits}f} to {value['high']:,.{digits}f})"
