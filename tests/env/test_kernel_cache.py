"""Cache of compiled code: private to its user, made anew where damaged, and not needed to play."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from felicity_env import kernel as kernel_module

MODULE = """
from felicity_env.kernel import kernel

@kernel
def double(x):
    return 2 * x

print(double(21), sum(double.stats.cache_hits.values()))
"""


def run_module(folder: Path, cache: Path) -> tuple[list[str], str]:
    """Run a module with one kernel; return what it prints (the result and the hits of the cache), and its messages."""
    (folder / "tiny.py").write_text(MODULE)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "tiny.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split(), done.stderr


@pytest.fixture(autouse=True)
def _fresh_root():
    kernel_module._cache_root.cache_clear()
    yield
    kernel_module._cache_root.cache_clear()


@pytest.mark.compiled("plain Python has no cache of machine code")
def test_damaged_files_of_the_cache_are_made_anew(tmp_path):
    cache = tmp_path / "cache"
    assert run_module(tmp_path, cache)[0] == ["42", "0"]
    assert run_module(tmp_path, cache)[0] == ["42", "1"]
    damaged = [path for path in (cache / "felicity_env").rglob("*") if path.suffix in (".nbi", ".nbc")]
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:20])
    printed, messages = run_module(tmp_path, cache)
    assert printed == ["42", "0"]
    assert "is damaged and is made anew" in messages
    printed, messages = run_module(tmp_path, cache)
    assert printed == ["42", "1"]
    assert not messages


@pytest.mark.compiled("plain Python has no cache of machine code")
def test_a_copy_in_another_place_uses_the_same_machine_code(tmp_path):
    one, two = tmp_path / "one" / "games", tmp_path / "two" / "games"
    for folder in (one, two):
        folder.mkdir(parents=True)
    assert run_module(one, tmp_path / "cache")[0] == ["42", "0"]
    assert run_module(two, tmp_path / "cache")[0] == ["42", "1"]


@pytest.mark.compiled("plain Python has no cache of machine code")
@pytest.mark.linux("permissions are those of POSIX")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    cache = tmp_path / "cache"
    (cache / "felicity_env").mkdir(parents=True)
    (cache / "felicity_env").chmod(0o777)
    printed, messages = run_module(tmp_path, cache)
    assert printed == ["42", "0"]
    assert "code is compiled in every process" in messages
    assert not list((cache / "felicity_env").iterdir())


@pytest.mark.linux("permissions are those of POSIX")
def test_a_folder_of_another_user_is_not_private(tmp_path, monkeypatch):
    assert kernel_module._is_private(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert not kernel_module._is_private(tmp_path)


def test_without_a_home_folder_the_cache_is_a_private_temporary_folder(tmp_path, monkeypatch):
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", fail)
    root = kernel_module._cache_root()
    assert root.is_dir()
    assert root.name.startswith("felicity_env-")
    if os.name == "posix":
        assert root.stat().st_mode & 0o777 == 0o700


def test_the_named_folder_comes_before_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    assert kernel_module._cache_root() == tmp_path / "named" / "felicity_env"


@pytest.mark.compiled("plain Python has no cache of machine code")
def test_code_plays_on_where_it_cannot_be_kept(monkeypatch, capsys):
    def fail(*_) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel_module.numba.core.caching.FunctionCache, "_save_overload", fail)
    kernel_module._print_once.cache_clear()

    @kernel_module.kernel
    def triple(x):
        return 3 * x

    assert triple(14) == 42
    assert "No space left" in capsys.readouterr().err


@pytest.mark.compiled("plain Python has no cache of machine code")
def test_code_plays_on_where_not_even_a_temporary_folder_can_be_made(tmp_path, monkeypatch, capsys):
    def fail(**_) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(kernel_module.tempfile, "mkdtemp", fail)
    for function in (kernel_module._print_once, kernel_module._cache_folder):
        function.cache_clear()

    @kernel_module.kernel
    def quadruple(x):
        return 4 * x

    assert quadruple(11) == 44
    assert capsys.readouterr().err.count("so code is compiled in every process") == 1


@pytest.mark.compiled("plain Python compiles nothing")
def test_compilation_is_announced_when_it_begins_and_not_by_an_import(tmp_path):
    assert "tiny.py: compiling" in run_module(tmp_path, tmp_path / "cache")[1]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "other")}
    command = [sys.executable, "-c", "import agents.registry"]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr == ""


def test_the_message_about_compilation_can_be_hidden(monkeypatch, capsys):
    source = Path(kernel_module.__file__).resolve()
    kernel_module._print_once.cache_clear()
    monkeypatch.setenv("FELICITY_QUIET", "1")
    kernel_module._announce_compilation(source)
    assert capsys.readouterr().err == ""
    monkeypatch.delenv("FELICITY_QUIET")
    kernel_module._announce_compilation(source)
    assert "felicity_env: compiling for this machine" in capsys.readouterr().err
