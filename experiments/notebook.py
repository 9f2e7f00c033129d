"""Execute the research notebooks, so that what they show is what the code gives. `python -m experiments.notebook`

Each notebook in `experiments/notebooks` runs from its first cell to its last in a fresh kernel of this very Python, in
the repository's root, and is written back with the outputs of that run. With `--check` nothing is written: the command
fails if a cell raises, or shows another text than is stored, or a figure where none is stored or none where there is
one. (The figures themselves are not compared: fonts differ between machines.)
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

import nbformat
import tyro
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = Path(__file__).resolve().parent / "notebooks"
CELL_SECONDS = 600  # a cell that takes longer is stuck
METADATA = {  # all that is kept; the version of Python and the like would differ from machine to machine
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Config:
    """Execute the notebooks and store what they show."""

    check: bool = False
    """Change nothing; fail if a notebook raises or does not show what is stored in it."""
    folder: Path = NOTEBOOKS
    """Where the notebooks are."""


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook in a file; raises `ValueError` if it is none."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def executed(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with the outputs of a run in a fresh kernel; raises `CellExecutionError` if a cell does."""
    fresh = nbformat.from_dict(notebook)
    client = NotebookClient(
        fresh,
        kernel_manager_class=_ThisPython,
        extra_arguments=["--log-level=40"],  # errors
        timeout=CELL_SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(ROOT)}},
    )
    client.execute()
    return cleaned(fresh)


class _ThisPython(AsyncKernelManager):
    """Starts kernels by `sys.executable`, whatever is installed: with no folder to search, ipykernel gives its own."""

    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[])


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from run to run: versions, times, and stderr, on which the compiler reports."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in _code_cells(notebook):
        cell.metadata = nbformat.from_dict({})
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def _code_cells(notebook: nbformat.NotebookNode) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell: Any) -> list[str]:
    """What a cell shows, as lines of text; "<image/png>" stands for a figure."""
    lines = []
    for output in cell.outputs:
        data = output.get("data", {})
        lines += output.get("text", data.get("text/plain", "")).splitlines()
        lines += [f"<{kind}>" for kind in sorted(data) if kind.startswith("image/")]
    return lines


def differences(stored: nbformat.NotebookNode, fresh: nbformat.NotebookNode) -> Iterator[str]:
    """Lines that tell how what `fresh` shows differs from what `stored` shows."""
    for number, (before, after) in enumerate(zip(_code_cells(stored), _code_cells(fresh), strict=True), 1):
        yield from unified_diff(shown(before), shown(after), f"cell {number} stored", f"cell {number} now", lineterm="")


def run(path: Path, *, check: bool) -> bool:
    """Execute a notebook, then compare or write it; whether all is well."""
    stored = read(path)
    try:
        fresh = executed(stored)
    except (CellExecutionError, DeadKernelError) as error:
        print(f"{path.name} raises:\n{error}", file=sys.stderr)
        return False
    if not check:
        nbformat.write(fresh, path)
        print(f"written: {path.name}")
        return True
    faults = list(differences(stored, fresh))
    if faults:
        print(f"{path.name} is not as executed: run python -m experiments.notebook", *faults, sep="\n", file=sys.stderr)
    return not faults


def main(config: Config) -> int:
    """Execute all notebooks of the folder; the exit status."""
    paths = sorted(config.folder.glob("*.ipynb"))
    if not paths:
        raise SystemExit(f"there is no notebook in {config.folder}")
    results = [run(path, check=config.check) for path in paths]  # all of them, also after one that fails
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config)))
