"""Mutation testing in a copy of the project: tests run on code with one small change each, called a mutant.

The outcomes are kept in files, one for each module of the project.
"""

import ast
import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from rich.progress import track

from agents.tools.files import UserError, write_json
from experiments.checks.mutations import Mutant, describe_change, mutate

SERVER = Path(__file__).with_name("fork_pytest.py")
LEFT_OUT = ("runs", "build", "dist", "__pycache__", ".*")  # of the project's folder
STATUSES = {"passed": "survived", "failed": "killed", "timed out": "timed out"}
LONGEST = (1.0, 10.0)  # CPU seconds at each stage: tests that usually take longer are left out
LAST = 1  # number of the last stage
OUTDATED = -1  # stage of a mutant that has survived only tests that have changed since
MEASURED = "measured.json"  # file of what the last run of tests measured
MANY = 10  # number of mutants from which on it pays to find out which tests call their functions
SECONDS = "seconds.json"  # file of the CPU seconds of tests


class Plan(NamedTuple):
    """Files of tests for the mutants of one module: quick files for all mutants, further files for the survivors.

    is_compiled: whether kernels are compiled in these tests; else they are plain Python, which tests more of them.
    """

    quick: tuple[str, ...]
    others: tuple[str, ...] = ()
    is_compiled: bool = False

    def files(self, number: int) -> tuple[str, ...]:
        """Return the files of tests for stage `number`: the quick files at stage 0, all files at stage 1."""
        return (*self.quick, *self.others) if number else self.quick


class Stage(NamedTuple):
    """Files of tests, the usual CPU seconds of each test, and a limit: tests that usually take longer are left out.

    failures: how often each test has failed so far. Tests that have often failed run early. callers: the tests that
    call each function of the module; functions that are called without a test, such as at import, are missing.
    is_compiled: whether kernels are compiled.
    """

    files: Sequence[str]
    seconds: Mapping[str, float]
    longest: float
    failures: Counter[str]
    callers: Mapping[str, Collection[str]] = {}
    is_compiled: bool = False


class Outcome(NamedTuple):
    """Result of testing a mutant: its place and changed line, and whether it was killed, timed out or survived.

    A mutant is killed if a test fails, and survives if all tests pass. `stage` is the number of the stage of tests.
    """

    operator: str
    occurrence: int
    function: str
    line: str
    becomes: str
    status: str
    stage: int


class TestRunner:
    """Copy of a project, with server processes that run its tests. The end of a `with` block stops the servers.

    folder: folder for the copy and the outcomes. libraries: modules that a server imports in advance. options:
    command-line options for pytest. may_skip: function of a module and an outcome that tells whether a mutant that has
    survived the quick tests need not be tested again.
    """

    __test__ = False  # no test, whatever its name looks like

    def __init__(
        self,
        project: Path,
        folder: Path,
        *,
        libraries: Sequence[str],
        options: Sequence[str] = (),
        may_skip: Callable[[str, Outcome], bool] = lambda module, outcome: False,
    ) -> None:
        self.folder, self.libraries, self.options, self.may_skip = folder, libraries, options, may_skip
        shutil.rmtree(folder / "copy", ignore_errors=True)
        shutil.copytree(project, folder / "copy", ignore=shutil.ignore_patterns(*LEFT_OUT))
        self._servers: dict[bool, subprocess.Popen[str]] = {}

    def __enter__(self) -> Self:
        """Return this `TestRunner`, as the target of a `with` statement."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the server processes that run the tests, and wait until they have ended."""
        for server in self._servers.values():
            server.__exit__(None, None, None)  # closes the pipes, at which the server ends, and waits for it

    def _find_server(self, is_compiled: bool) -> subprocess.Popen[str]:
        """Return the server process that runs tests with compiled or with plain kernels; start it if there is none."""
        if is_compiled not in self._servers:
            copy = self.folder / "copy"
            variables = {"NUMBA_DISABLE_JIT": str(int(not is_compiled)), "PYTHONPATH": str(copy.resolve())}
            self._servers[is_compiled] = subprocess.Popen(
                [sys.executable, "-P", str(SERVER), *self.libraries],
                cwd=copy,
                env=os.environ | variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._servers[is_compiled]

    def measure(self, files: Sequence[str], longest: float, module: str = "", *, is_compiled: bool = False) -> Stage:
        """Run files of tests on the unchanged code; return a `Stage` with the CPU seconds and the calls of each test.

        module: the module whose functions the tests may call, or "". To record the calls takes several times as long as
        the tests; with "" they are not recorded. longest: tests that usually take more CPU seconds than this are left
        out. is_compiled: whether kernels are compiled. Raises `UserError` if a test fails or takes too long.
        """
        stage = Stage(files, self._time_tests(files, is_compiled), longest, Counter(), is_compiled=is_compiled)
        if module:
            stage = stage._replace(callers=list_callers(self._run_unchanged(stage, module)["calls"]))
        self._run_unchanged(stage)  # as for a mutant
        return stage

    def _time_tests(self, files: Sequence[str], is_compiled: bool) -> dict[str, float]:
        """Return the CPU seconds of each test in some files. Only files that have changed are timed again."""
        stored = self.folder / SECONDS
        known: dict[str, Any] = json.loads(stored.read_text()) if stored.exists() else {}
        digests = {file: _digest_tests(self, [file], is_compiled) for file in files}
        if new := [file for file in files if known.get(file, {}).get("digest") != digests[file]]:
            measured = self._run_unchanged(Stage(new, {}, math.inf, Counter(), is_compiled=is_compiled))["seconds"]
            for file in new:
                own = {name: seconds for name, seconds in measured.items() if name.partition("::")[0] == file}
                known[file] = {"digest": digests[file], "seconds": own}
            write_json(stored, known)
        return {name: seconds for file in files for name, seconds in known[file]["seconds"].items()}

    def _run_unchanged(self, stage: Stage, traced: str = "") -> dict[str, Any]:
        """Run the tests of a stage on the unchanged code, and return what was measured; see `fork_pytest.run_in_fork`.

        traced: module whose calls are recorded, or "". Raises `UserError` if a test fails or takes too long.
        """
        if (status := self.run(stage, traced)) != "passed":
            raise UserError(f"without a mutant, {' '.join(stage.files)} {status}; see {self.folder / 'log.txt'}")
        return self._read_measured()

    def run(self, stage: Stage, traced: str = "") -> str:
        """Run the tests of a stage on the copy until one fails, and return "passed", "failed" or "timed out".

        traced: module whose calls are recorded, or "". The test that failed is counted in the failures of the stage.
        """
        request = {
            "files": stage.files,
            "seconds": stage.seconds,
            "longest": stage.longest,
            "failures": stage.failures,
            "traced": traced and str((self.folder / "copy" / traced).resolve()),
            "options": self.options,
            "log": str((self.folder / "log.txt").resolve()),
            "measured": str((self.folder / MEASURED).resolve()),
        }
        server = self._find_server(stage.is_compiled)
        assert server.stdin
        assert server.stdout
        print(json.dumps(request), file=server.stdin, flush=True)
        status = json.loads(server.stdout.readline())["status"]
        if status == "failed":
            stage.failures[self._read_measured()["failed"]] += 1
        return status

    def _read_measured(self) -> dict[str, Any]:
        return json.loads((self.folder / MEASURED).read_text())

    def test_mutant(self, module: str, mutant: Mutant, stage: Stage, number: int) -> Outcome:
        """Run a stage of tests on a mutant of a module, until one fails, and return the outcome.

        The mutant replaces the module in the copy of the project; afterwards the module is restored.
        """
        path = self.folder / "copy" / module
        source = path.read_text()
        changed = mutate(source, mutant)
        try:
            write_module(path, changed)
            status = STATUSES[self.run(choose_callers(stage, mutant.function))]
        finally:
            write_module(path, source)
        place = mutant.operator, mutant.occurrence, mutant.function
        return Outcome(*place, *describe_change(source, changed), status, number)


def write_module(path: Path, source: str) -> None:
    """Write the source of a module, and delete what was compiled from its former source.

    Python itself tells sources apart only by their length and the second in which they were written.
    """
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()
    path.write_text(source)


def run_mutants(runner: TestRunner, module: str, mutants: Sequence[Mutant], plan: Plan, number: int) -> None:
    """Test the mutants of a module at stage `number` of its plan, and append each outcome to the file of the module.

    A mutant is skipped if it has a stored outcome, unless it survived an earlier stage. The outcomes are deleted if the
    module has changed, and survivors are tested again if the tests have changed. Docstrings and comments do not count.
    """
    kept = read_outcomes(runner, module, plan)
    outcomes = [(mutant, kept.get((mutant.operator, mutant.occurrence))) for mutant in mutants]
    waiting = [mutant for mutant, outcome in outcomes if _is_waiting(runner, module, outcome, number)]
    if not waiting:
        return
    random.Random(0).shuffle(waiting)  # so that the outcomes so far are a fair sample
    traced = module if len(waiting) >= MANY else ""
    stage = runner.measure(plan.files(number), LONGEST[number], traced, is_compiled=plan.is_compiled)
    if number:
        stage = leave_out_quick(stage, plan)
    with _outcome_file(runner, module).open("a") as file:
        for mutant in track(waiting, f"{module}, stage {number + 1}"):
            print(json.dumps(runner.test_mutant(module, mutant, stage, number)), file=file, flush=True)


def list_callers(calls: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return {function: tests that call it}, given {test: functions that it calls}; the test "" stands for no test.

    Functions that are called without a test, such as at import, are left out, because they may matter to every test.
    """
    functions = {function for called in calls.values() for function in called} - set(calls[""])
    return {function: [test for test, called in calls.items() if function in called] for function in functions}


def choose_callers(stage: Stage, function: str) -> Stage:
    """Return a stage with only those of its tests that call a function, or with all if no test is known to call it."""
    callers = stage.callers.get(function, list(stage.seconds))
    return _leave_out(stage, [test for test in stage.seconds if test not in callers])


def leave_out_quick(stage: Stage, plan: Plan) -> Stage:
    """Return a later stage without the tests that all its mutants have survived: the fast ones of the quick files.

    A test whose time is near the limit of the first stage stays, because it may have been left out there.
    """
    known = [
        name
        for name, seconds in stage.seconds.items()
        if name.partition("::")[0] in plan.quick and seconds < LONGEST[0] / 2
    ]
    return _leave_out(stage, known)


def _leave_out(stage: Stage, tests: Sequence[str]) -> Stage:
    return stage._replace(seconds={**stage.seconds, **dict.fromkeys(tests, math.inf)})


def _is_waiting(runner: TestRunner, module: str, outcome: Outcome | None, number: int) -> bool:
    """Return whether a mutant must be tested at stage `number`: it has no outcome, or it survived an earlier stage.

    A survivor that the runner may skip does not wait.
    """
    if outcome is None:
        return True
    return outcome.status == "survived" and outcome.stage < number and not runner.may_skip(module, outcome)


def read_outcomes(runner: TestRunner, module: str, plan: Plan) -> dict[tuple[str, int], Outcome]:
    """Return the stored outcomes of a module's mutants, by operator and occurrence.

    The file of outcomes begins with digests of the module and of the tests. If the module has changed, the outcomes are
    deleted; if the tests have changed, the stage of each survivor becomes `OUTDATED`.
    """
    file = _outcome_file(runner, module)
    now = [_digest(runner, [module]), _digest_tests(runner, plan.files(LAST), plan.is_compiled)]
    lines: list[Any] = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else [["", ""]]
    (source, tests), outcomes = lines[0], [Outcome(*values) for values in lines[1:]]
    if source != now[0]:
        outcomes = []
    elif tests != now[1]:
        outcomes = [each._replace(stage=OUTDATED) if each.status == "survived" else each for each in outcomes]
    if [source, tests] != now:
        file.write_text("".join(f"{json.dumps(line)}\n" for line in [now, *outcomes]))
    return {(outcome.operator, outcome.occurrence): outcome for outcome in outcomes}


def _outcome_file(runner: TestRunner, module: str) -> Path:
    return runner.folder / f"{module.replace('/', '.').removesuffix('.py')}.jsonl"


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


def _digest(runner: TestRunner, files: Sequence[str]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 digest of the code in some files of the copied project.

    Docstrings and comments are left out, because a change of them changes no outcome.
    """
    digest = hashlib.sha256()
    for file in files:
        tree = _WithoutDocstrings().visit(ast.parse((runner.folder / "copy" / file).read_bytes()))
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()[:16]


def _digest_tests(runner: TestRunner, files: Sequence[str], is_compiled: bool) -> str:
    """Return a digest of files of tests and of the way in which they are run."""
    return _digest(runner, files) + (" compiled" if is_compiled else "")
