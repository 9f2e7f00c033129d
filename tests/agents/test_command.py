"""The command line: verbs are listed without importing them, errors are one line, Ctrl-C leaves no trace."""

import os
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import pytest

import agents
from agents.__main__ import VERBS
from agents.registry import PLAYERS
from agents.tools.command import Verb, run_verb
from agents.tools.files import UserError
from agents.tools.startup import INTERRUPTED
from tests.support.paths import ROOT

HEAVY = ("torch", "matplotlib", "tyro", "rich")
LIST_VERBS = f"""
import runpy, sys
sys.argv = ["agents", "--help"]
try:
    runpy.run_module("agents", run_name="__main__")
except SystemExit as status:
    print(status.code, [name for name in {HEAVY} if name in sys.modules])
"""


def test_help_lists_the_verbs_and_imports_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", LIST_VERBS], capture_output=True, text=True, check=True)
    for name, verb in VERBS.items():
        assert f"  {name}" in done.stdout
        assert verb.help in done.stdout
    assert "codes of players:" in done.stdout
    assert all(f"\n  {name} " in done.stdout for name in PLAYERS)
    assert done.stdout.splitlines()[-1] == "0 []"


INTERRUPT = """
import os, runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets processes in the background ignore it

class Finder:
    def find_spec(name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
sys.argv = {words}
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("words", ["agents tournament", "train", "experiments ladder"])
@pytest.mark.parametrize("module", ["agents.tools.command", "filelock", "numpy", "numba", "felicity_env.game", "tyro"])
def test_ctrl_c_while_a_command_starts_is_one_line(words, module):
    script = INTERRUPT.format(module=module, words=words.split())
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "stopped; nothing was stored\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((), "nobody reads the output any more; the command goes on without it\n"), (("--help",), "")],
)
def test_a_command_goes_on_without_a_reader_of_its_output(arguments, said, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    code = "import sys; from agents.tools.startup import begin_command; begin_command()"
    code += '; [print(k, flush=True) for k in range(2)]; open(sys.argv[1], "w").close()'
    command = [sys.executable, "-c", code, str(tmp_path / "done"), *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, said)
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize(("key", "default", "other"), [("WAIT_POLICY", "passive", "active"), ("NUM_THREADS", "1", "2")])
def test_libraries_use_one_thread_and_waiting_ones_sleep_unless_the_user_decides(key, default, other, monkeypatch):
    monkeypatch.delenv(f"OMP_{key}", raising=False)
    code = f"import os; from agents.tools.startup import begin_command as b; b(); print(os.environ['OMP_{key}'])"
    for before, after in (({}, default), ({f"OMP_{key}": other}, other)):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | before)
        assert done.stdout.split() == [after]


def test_the_package_gives_its_names_without_importing_them_before():
    code = (
        "import agents, sys; print('numba' in sys.modules, agents.make('ev').act, {*dir(agents)} >= {*agents.__all__})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"
    assert done.stdout.split()[-1] == "True"
    with pytest.raises(AttributeError, match="module 'agents' has no attribute 'mak'"):
        _ = agents.mak  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Config:
    """Settings of a command that fails in the given way."""

    fault: str = ""
    """Name of the exception."""
    count: int = 1
    """A number from 1."""
    fresh: bool = False
    """Begin again."""
    resumes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"--count must be at least 1, not {self.count}" + " and a long explanation" * 9)


def fail(config: Config) -> int:
    faults = {"user": UserError("mend it"), "value": ValueError("a bad value"), "stop": KeyboardInterrupt()}
    faults["told"] = KeyboardInterrupt("continue: so")
    faults["file"] = FileNotFoundError(2, "No such file or directory", "nofile")
    if config.fault:
        raise faults[config.fault]
    return 3


@pytest.fixture
def verbs(monkeypatch) -> dict[str, Verb]:
    module = ModuleType("a_command")
    module.Config, module.main = Config, fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_command", module)
    return {"fail": Verb("a_command", "fail as set")}


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["fail"], 3, ""),
        (["fail", "--fault", "user"], 2, "error: mend it\n"),
        (["fail", "--fault", "value"], 2, "error: a bad value\n"),
        (["fail", "--fault", "file"], 2, "error: there is no file nofile\n"),
        (["fail", "--fault", "stop"], 130, "stopped; the same command goes on from here\n"),
        (["fail", "--fault", "stop", "--fresh"], 130, "stopped; the same command without --fresh goes on from here\n"),
        (["fail", "--fault", "told"], 130, "stopped; continue: so\n"),
        (["fail", "--count", "0"], 2, f"error: --count must be at least 1, not 0{' and a long explanation' * 9}\n"),
        (["nothing"], 2, "error: there is no 'nothing'; python -m program has fail\n"),
    ],
)
def test_the_exit_status_and_the_message_tell_what_happened(verbs, words, status, message, capsys):
    assert run_verb("program", verbs, words) == status
    assert capsys.readouterr().err == message


def test_ctrl_c_while_a_verb_is_imported_is_one_line(monkeypatch, capsys):
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agents.tools.command.import_module", interrupt)
    assert run_verb("program", {"fail": Verb("a_command", "fail")}, ["fail"]) == 130
    assert capsys.readouterr().err == "stopped; nothing was stored\n"


def test_without_a_verb_the_verbs_are_listed(verbs, capsys):
    assert run_verb("program", verbs, []) == 2
    assert "fail as set" in capsys.readouterr().out


def test_no_command_parses_its_own_arguments():
    root = ROOT / "agents"
    sources = [path for path in root.rglob("*.py") if path.name != "__main__.py"]
    assert [path for path in sources if "__main__" in path.read_text() or "argparse" in path.read_text()] == []
