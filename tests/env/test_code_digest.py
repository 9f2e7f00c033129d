"""Digests of code: results go stale when code that they depend on changes, and only then."""

from pathlib import Path

import pytest

from felicity_env import code_digest as digests
from felicity_env.code_digest import code_digest, list_imported_files

BOT = "bots/bot.py"


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files, given by their names, below a folder, and return the path of the bot among them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / BOT


def digest_anew(path: Path) -> str:
    """Return the digest that a new process would compute."""
    for function in (digests._read_module, digests._import_closure):
        function.cache_clear()
    return code_digest(path)


@pytest.mark.parametrize(
    ("import_line", "helper", "others"),
    [
        ("from helper import *", "bots/helper.py", ()),
        ("from .helper import *", "bots/helper.py", ()),
        ("from .helper import *", "bots/helper.py", ("bots/__init__.py",)),
        ("from . import *", "bots/__init__.py", ()),
        ("import helper", "bots/helper.py", ()),
        ("from lib import helper", "bots/lib/__init__.py", ("bots/lib/helper.py",)),
        ("from lib.inner.helper import f", "bots/lib/__init__.py", ("bots/lib/inner/helper.py",)),
        ("from lib.inner.helper import f", "bots/lib/inner/__init__.py", ("bots/lib/inner/helper.py",)),
        ("from lib.inner.helper import f", "bots/lib/inner/helper.py", ()),
        ("from .lib.helper import f", "bots/lib/__init__.py", ("bots/__init__.py", "bots/lib/helper.py")),
        ("from bots.helper import f", "bots/helper.py", ()),
        ("from ..shared import f", "shared.py", ()),
        ("import train.tables", "bots/train/tables.py", ()),
    ],
)
def test_an_edited_module_that_is_imported_changes_the_digest(import_line, helper, others, tmp_path):
    bot = write(tmp_path, {BOT: import_line, helper: "SIZE = 1"} | dict.fromkeys(others, ""))
    before = digest_anew(bot)
    assert digest_anew(bot) == before
    write(tmp_path, {helper: "SIZE = 2"})
    assert digest_anew(bot) != before


@pytest.mark.parametrize("import_line", ["from lib.other import f", "from .other import f", "import other_top"])
def test_imports_inside_a_folder_without_an_init_file_are_followed(import_line, tmp_path):
    bot = write(tmp_path, {BOT: "import lib.helper", "bots/lib/helper.py": import_line})
    others = {"bots/lib/other.py": "SIZE = 1", "bots/other_top.py": "SIZE = 1"}
    write(tmp_path, others)
    before = digest_anew(bot)
    write(tmp_path, dict.fromkeys(others, "SIZE = 2"))
    assert digest_anew(bot) != before


def test_a_module_that_is_not_imported_does_not_count(tmp_path):
    files = {"bots/other.py": "SIZE = 1", "bots/lib/other.py": "SIZE = 1", "helper/__init__.py": "SIZE = 1"}
    bot = write(tmp_path, {BOT: "import helper.inner, lib.helper, numpy"} | files)
    assert list_imported_files(bot) == sorted([bot, tmp_path / "helper" / "__init__.py"])
    in_package = write(tmp_path / "own", {BOT: "import helper, numpy", "bots/__init__.py": "", "helper.py": ""})
    assert list_imported_files(in_package) == [in_package]


def test_installed_libraries_do_not_count(tmp_path):
    site = tmp_path / "site-packages"
    bot = write(site, {BOT: "import library, bots.helper", "bots/helper.py": "", "library.py": ""})
    assert list_imported_files(bot) == [bot]
    write(site, {"bots/__init__.py": ""})
    digest_anew(bot)
    assert list_imported_files(bot) == [site / "bots" / "__init__.py", bot, site / "bots" / "helper.py"]


def test_the_code_of_this_project_counts_wherever_the_importing_file_lies(tmp_path):
    bot = write(tmp_path, {BOT: "from felicity_env.random_stream import mix"})
    package = Path(digests.__file__).parent
    assert package / "random_stream.py" in list_imported_files(bot)
    assert package / "__init__.py" not in list_imported_files(bot)  # else every digest would depend on everything
    bare = write(tmp_path / "bare", {BOT: "import felicity_env"})
    assert package / "__init__.py" in list_imported_files(bare)


CODE = '''"""A bot."""
class Bot:
    """Player."""

    wit = 1
    """How clever it is."""

    def act(self, view):
        """Decide."""
        return ask("You are a clever cat.", sizes="1 2 3".split(), error=f"{view} is a view")
'''


@pytest.mark.parametrize("prose", ["A bot.", "Player.", "How clever it is.", "Decide."])
def test_an_edited_docstring_does_not_change_the_digest(prose, tmp_path):
    before = digest_anew(write(tmp_path, {BOT: CODE}))
    edited = CODE.replace(prose, "Other prose, with blanks.")
    assert edited != CODE
    assert digest_anew(write(tmp_path, {BOT: "# A comment.\n\n" + edited})) == before


@pytest.mark.parametrize("text", ["You are a clever cat.", "1 2 3", " is a view", "wit = 1"])
def test_an_edited_text_changes_the_digest_also_if_it_contains_a_blank(text, tmp_path):
    before = digest_anew(write(tmp_path, {BOT: CODE}))
    edited = CODE.replace(text, text.replace("a", "the").replace("1", "7"))
    assert digest_anew(write(tmp_path, {BOT: edited})) != before


def test_the_digest_does_not_depend_on_where_the_files_lie(tmp_path, monkeypatch):
    write(tmp_path / "m", {"felicity_env/turn.py": "SIZE = 1"})
    monkeypatch.setattr(digests, "_OWN_ROOT", tmp_path / "m")
    before_it, after_it = (write(tmp_path / name, {BOT: "import felicity_env.turn"}) for name in "az")
    assert digest_anew(before_it) == digest_anew(after_it)
