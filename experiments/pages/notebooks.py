"""Command that executes the notebooks and stores their outputs: `python -m experiments notebooks [--check]`.

Each notebook in `docs/tutorials` runs from its first cell to its last in a new kernel of the Python that runs this
command. With `--check` nothing is written: nbval executes the notebooks and fails if a cell raises an error or shows
text that differs from the stored text. Two things are not compared: the pixels of figures, because fonts differ between
machines, and the text of cells with the tag `nbval-ignore-output`, which differs between two executions.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from agents.tools.files import UserError

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
CELL_SECONDS = 600  # time limit; a cell that takes longer is stopped as hanging
METADATA = {  # all metadata that are stored; versions of Python would differ between machines
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


@dataclass(frozen=True)
class Config:
    """Execute the Jupyter notebooks of a folder and store their outputs in them."""

    resumes: ClassVar[bool] = False
    check: bool = False
    """Write nothing; fail if a notebook raises an error, or if its text outputs differ from the stored ones."""
    folder: Path = NOTEBOOKS
    """Folder of the notebooks to execute."""


class _ThisPython(AsyncKernelManager):
    """Manager of notebook kernels that finds only the Python of this process, because it has no folders to search."""

    def _kernel_spec_manager_default(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[])


def list_variables() -> dict[str, str]:
    """Return the environment variables for notebooks and for the commands that their cells run.

    The command `python` is the Python of this process. Commands print plain text, and no messages about compilation.
    """
    folders = str(Path(sys.executable).parent), os.environ["PATH"]
    return {**os.environ, "PATH": os.pathsep.join(folders), "TERM": "dumb", "FELICITY_QUIET": "1"}


def execute(path: Path) -> None:
    """Execute a notebook and save it with its new outputs; raise `UserError` if a cell raises an error."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_manager_class=_ThisPython,
        extra_arguments=["--log-level=40"],  # log errors only
        timeout=CELL_SECONDS,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute(env=list_variables())
    except (CellExecutionError, DeadKernelError) as error:
        raise UserError(f"{path.name} raises:\n{error}") from error
    nbformat.write(clean(notebook), path)
    print(f"written: {path.name}")


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Remove the versions and the output to standard error from a notebook, in place, and return the notebook."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({"tags": tags} if (tags := cell.metadata.get("tags")) else {})
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def check(paths: list[Path]) -> int:
    """Compare the stored outputs of notebooks with those of a new execution; return the exit status of pytest."""
    options = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_SECONDS}"]
    settings = ["-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=default"]
    command = [sys.executable, "-m", "pytest", "-q", *settings, *options, *map(str, paths)]
    return subprocess.run(command, env=list_variables(), check=False).returncode


def main(config: Config) -> int:
    """Execute all notebooks of the folder, or check their stored outputs; return the exit status."""
    paths = sorted(config.folder.glob("*.ipynb"))
    if not paths:
        raise UserError(f"there is no notebook in {config.folder}")
    if config.check:
        return check(paths)
    for path in paths:
        execute(path)
    return 0
