"""Code of users: helpers of the same name in two folders stay apart, however they are imported."""

import sys

import pytest

from agents.own_code import call_own, import_own, load_own

ABSOLUTE = "from strategy import NAME\ndef make():\n    return NAME\n"
LATE = "def make():\n    from strategy import NAME\n    return NAME\n"
ADDED = "import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent))\n"


@pytest.fixture(autouse=True)
def _leave_python_as_it_was(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield
    for name in sys.modules.keys() - before:
        del sys.modules[name]


@pytest.mark.parametrize("file", ["bot.py", "__init__.py"])
@pytest.mark.parametrize("text", [ABSOLUTE, LATE, ADDED + ABSOLUTE, ADDED + LATE])
def test_each_file_gets_the_helpers_of_its_own_folder(tmp_path, file, text):
    if file == "__init__.py" and ADDED not in text:
        text = ADDED + text
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
        (tmp_path / name / "strategy.py").write_text(f"NAME = {name!r}")
    codes = [f"{tmp_path}/{name}/{file}:make" for name in ("one", "two")]
    assert [call_own(code) for code in (*codes, *codes)] == ["one", "two", "one", "two"]


def test_a_helper_beside_a_file_in_another_folder_is_not_found(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one/bot.py").write_text(ABSOLUTE)
    (tmp_path / "one/strategy.py").write_text("NAME = 1")
    (tmp_path / "two").mkdir()
    (tmp_path / "two/bot.py").write_text(ABSOLUTE)
    assert call_own(f"{tmp_path}/one/bot.py:make") == 1
    with pytest.raises(ModuleNotFoundError, match="strategy"):
        call_own(f"{tmp_path}/two/bot.py:make")


def test_a_file_of_the_name_of_a_library_does_not_take_its_place(tmp_path):
    (tmp_path / "bot.py").write_text("import csv\ndef make():\n    return csv.reader\n")
    (tmp_path / "csv.py").write_text("1 / 0")
    assert call_own(f"{tmp_path}/bot.py:make").__module__ == "_csv"


def test_helpers_that_files_of_one_folder_share_are_imported_once(tmp_path):
    (tmp_path / "_helpers.py").write_text("COUNT = []")
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("from _helpers import COUNT\ndef make():\n    return COUNT\n")
    assert call_own(f"{tmp_path}/one.py:make") is call_own(f"{tmp_path}/two.py:make")


def test_a_file_that_fails_is_imported_again_when_it_is_mended(tmp_path):
    file = tmp_path / "bot.py"
    file.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        import_own(str(file))
    file.write_text("make = list")
    assert load_own(f"{file}:make") is list
