"""The notebooks as stored: whole, executed in order, without faults and without traces of a machine.

That their outputs are what an execution gives is checked by `python -m experiments.notebook --check`.
"""

import ast
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from experiments import notebook

PATHS = sorted(notebook.NOTEBOOKS.glob("*.ipynb"))
MACHINE = re.compile(
    r"""(?:^|[\s"'(=])(?:/(?:home|root|work|tmp|usr|opt|var|Users|builds?)/|[A-Z]:\\\\)""", re.MULTILINE
)


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def stored(request):
    return notebook.read(request.param)


def code_cells(stored):
    return [cell for cell in stored.cells if cell.cell_type == "code"]


def shows_something(source: str) -> bool:
    """Whether a cell prints or ends in an expression."""
    tree = ast.parse(re.sub(r"^%.*$", "", source, flags=re.MULTILINE))
    prints = any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))
    return prints or (bool(tree.body) and isinstance(tree.body[-1], ast.Expr))


def test_there_is_a_notebook_about_the_anatomy_of_the_game():
    assert "anatomy" in [path.stem for path in PATHS]


def test_every_cell_was_executed_in_order_and_none_failed(stored):
    cells = code_cells(stored)
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)


def test_every_cell_that_shows_something_has_its_output_stored(stored):
    for cell in code_cells(stored):
        assert bool(cell.outputs) == shows_something(cell.source), cell.id


def test_cells_that_end_in_a_figure_have_one(stored):
    cells = [cell for cell in code_cells(stored) if "figure" in cell.source.splitlines()[-1]]
    assert cells
    for cell in cells:
        assert "<image/png>" in notebook.shown(cell)


def test_nothing_in_it_tells_of_the_machine_or_the_time_it_ran_on(stored):
    assert stored.metadata == notebook.METADATA
    for cell in stored.cells:
        assert not cell.metadata
        assert not MACHINE.search(cell.source)
        for line in notebook.shown(cell) if cell.cell_type == "code" else []:
            assert not MACHINE.search(line)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_is_smaller_than_a_megabyte(path):
    assert path.stat().st_size < 1_000_000


def test_it_begins_with_the_environment_and_explains_as_much_as_it_computes(stored):
    assert code_cells(stored)[0].source.startswith("from felicity_env import")
    kinds = [cell.cell_type for cell in stored.cells]
    assert kinds[0] == "markdown"
    assert kinds.count("markdown") >= kinds.count("code") / 2


def ran(text: str, *, image: str = "") -> nbformat.NotebookNode:
    """A notebook whose only code cell printed `text`, and showed an image if there is one."""
    outputs = [new_output("stream", name="stdout", text=text)]
    if image:
        outputs.append(new_output("display_data", data={"image/png": image, "text/plain": "<Figure>"}))
    return new_notebook(cells=[new_markdown_cell("text"), new_code_cell("print()", outputs=outputs)])


def test_another_text_is_a_difference_and_another_picture_is_none():
    assert not list(notebook.differences(ran("a\n", image="x"), ran("a\n", image="y")))
    assert "-a" in list(notebook.differences(ran("a\n"), ran("b\n")))


def test_a_figure_that_is_missing_or_new_is_a_difference():
    assert list(notebook.differences(ran("a\n", image="x"), ran("a\n")))
    assert list(notebook.differences(ran("a\n"), ran("a\n", image="x")))


def test_cleaning_takes_away_versions_times_and_what_the_compiler_says():
    fresh = ran("a\n")
    fresh.metadata["language_info"] = {"name": "python", "version": "3.11.9"}
    fresh.cells[1].metadata["execution"] = {"iopub.status.busy": "2024-01-01"}
    fresh.cells[1].outputs.append(new_output("stream", name="stderr", text="compiling\n"))
    clean = notebook.cleaned(fresh)
    assert clean.metadata == notebook.METADATA
    assert not clean.cells[1].metadata
    assert notebook.shown(clean.cells[1]) == ["a"]


def test_a_folder_without_notebooks_is_told(tmp_path):
    with pytest.raises(SystemExit, match="no notebook"):
        notebook.main(notebook.Config(folder=tmp_path))
