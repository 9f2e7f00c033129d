"""The notebooks as stored: whole, executed in order, without faults and without traces of a machine.

`python -m experiments notebooks --check` compares their outputs with those of an execution.
"""

import ast
import re
from dataclasses import replace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from agents.tools.files import UserError
from experiments.pages import notebooks

PATHS = sorted(notebooks.NOTEBOOKS.glob("*.ipynb"))
MACHINE = re.compile(
    r"""(?:^|[\s"'(=])(?:/(?:home|root|work|tmp|usr|opt|var|Users|builds?)/|[A-Z]:\\\\)""", re.MULTILINE
)


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def stored(request):
    return nbformat.read(request.param, as_version=4)


def code_cells(stored):
    return [cell for cell in stored.cells if cell.cell_type == "code"]


def shown(cell) -> list[str]:
    """Return the text that a cell shows; "<image/png>" stands for a figure."""
    lines = []
    for output in cell.outputs:
        data = output.get("data", {})
        lines += output.get("text", data.get("text/plain", "")).splitlines()
        lines += [f"<{kind}>" for kind in sorted(data) if kind.startswith("image/")]
    return lines


def shows_something(source: str) -> bool:
    """Return whether a cell prints, runs a command, writes a file, or ends in a value that no call returns."""
    if source.startswith("%%") or re.search("^!", source, re.MULTILINE):
        return True
    tree = ast.parse(re.sub(r"^%.*$", "", source, flags=re.MULTILINE))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(part) for function in functions for part in ast.walk(function)}
    prints = any(
        isinstance(node, ast.Name) and node.id == "print" and id(node) not in inside for node in ast.walk(tree)
    )
    last = tree.body[-1] if tree.body else None
    return prints or (isinstance(last, ast.Expr) and not isinstance(last.value, ast.Call))


def test_there_is_a_notebook_about_the_anatomy_of_the_game():
    assert "anatomy" in [path.stem for path in PATHS]


def test_every_cell_was_executed_in_order_and_none_failed(stored):
    cells = code_cells(stored)
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)


def test_every_cell_that_shows_something_has_its_output_stored(stored):
    for cell in code_cells(stored):
        assert cell.outputs or not shows_something(cell.source), cell.id


def test_cells_that_end_in_a_figure_have_one():
    cells = [cell for path in PATHS for cell in code_cells(nbformat.read(path, as_version=4))]
    drawing = [cell for cell in cells if "figure" in cell.source.splitlines()[-1]]
    assert len(drawing) > 5
    for cell in drawing:
        assert "<image/png>" in shown(cell)


def test_nothing_in_it_tells_of_the_machine_or_the_time_it_ran_on(stored):
    assert stored.metadata == notebooks.METADATA
    for cell in stored.cells:
        assert set(cell.metadata) <= {"tags"}
        assert not MACHINE.search(cell.source)
        for line in shown(cell) if cell.cell_type == "code" else []:
            assert not MACHINE.search(line)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_it_is_smaller_than_a_megabyte(path):
    assert path.stat().st_size < 1_000_000


def test_it_begins_with_words_and_explains_as_much_as_it_computes(stored):
    kinds = [cell.cell_type for cell in stored.cells]
    assert kinds[0] == "markdown"
    assert kinds.count("markdown") >= kinds.count("code") / 2


def create_notebook(text: str) -> nbformat.NotebookNode:
    """Return a notebook whose only code cell has printed `text`."""
    outputs = [new_output("stream", name="stdout", text=f"{text}\n")]
    return new_notebook(cells=[new_markdown_cell("text"), new_code_cell(f"print({text!r})", outputs=outputs)])


def test_cleaning_removes_versions_times_and_standard_error():
    fresh = create_notebook("a")
    fresh.metadata["language_info"] = {"name": "python", "version": "3.11.9"}
    fresh.cells[1].metadata["execution"] = {"iopub.status.busy": "2024-01-01"}
    fresh.cells[1].outputs.append(new_output("stream", name="stderr", text="compiling\n"))
    clean = notebooks.clean(fresh)
    assert clean.metadata == notebooks.METADATA
    assert not clean.cells[1].metadata
    fresh.cells[1].metadata["tags"] = ["nbval-ignore-output"]
    assert notebooks.clean(fresh).cells[1].metadata == {"tags": ["nbval-ignore-output"]}
    assert shown(clean.cells[1]) == ["a"]


def test_an_executed_notebook_passes_the_check_and_one_with_another_text_fails_it(tmp_path, capfd):
    path = tmp_path / "small.ipynb"
    nbformat.write(create_notebook("a"), path)
    config = notebooks.Config(folder=tmp_path)
    assert notebooks.main(config) == 0
    assert notebooks.main(replace(config, check=True)) == 0
    path.write_text(path.read_text().replace('"a\\n"', '"b\\n"'))
    assert notebooks.main(replace(config, check=True)) == 1
    assert "mismatch" in capfd.readouterr().out


def test_a_notebook_that_raises_is_named_and_stays(tmp_path):
    path = tmp_path / "broken.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"broken\.ipynb raises:(.|\n)*ZeroDivisionError"):
        notebooks.main(notebooks.Config(folder=tmp_path))
    assert path.read_bytes() == before


def test_a_folder_without_notebooks_is_reported(tmp_path):
    with pytest.raises(UserError, match="no notebook"):
        notebooks.main(notebooks.Config(folder=tmp_path))
