"""Plain numbers along logarithmic axes, and safe writing of plots."""

from pathlib import Path
from typing import TYPE_CHECKING

from agents.tools.files import write_atomically

if TYPE_CHECKING:  # matplotlib takes a second to import
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def show_plain_numbers(axis: "Axis") -> None:
    """Show plain numbers such as 0.5, 1, 2, 5 and 10 along a logarithmic axis, instead of powers of ten."""
    from matplotlib.ticker import LogLocator

    axis.set(major_locator=LogLocator(subs=(1, 2, 5)), major_formatter="{x:g}", minor_formatter="")


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure to a file in the format of its suffix, such as `.png` or `.svg`, atomically.

    Raises `UserError` if that is impossible.
    """
    write_atomically(path, lambda part: figure.savefig(part, format=path.suffix[1:], dpi=110))
