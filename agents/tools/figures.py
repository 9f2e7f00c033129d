"""Safe writing of plots."""

from pathlib import Path
from typing import TYPE_CHECKING

from agents.tools.files import write_atomically

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.figure import Figure


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure to a file in the format of its suffix, such as `.png` or `.svg`, atomically.

    Raises `UserError` if that is impossible.
    """
    write_atomically(path, lambda part: figure.savefig(part, format=path.suffix[1:], dpi=110))
