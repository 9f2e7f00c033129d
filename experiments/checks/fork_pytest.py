"""Server that runs pytest many times, each time in a fork of a process that has already imported the libraries.

It is a script, started in the folder of a project: `python -P fork_pytest.py LIBRARY...`. Each line of its input is a
request in JSON, and it answers each request with a line of JSON. The project is imported only in the fork, so the
tests always use the files as they are when the request arrives. A fork takes a tenth of the time of a new process.
"""

import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Generator, Mapping
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any

import pytest

REWRITTEN = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"  # the libraries are
OPTIONS = ("-x", "-q", "--tb=line", "--assert=plain", "-W", REWRITTEN, "-o", "addopts=")  # messages do not matter
PLUGINS = ("-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin")
STARTING = 30  # CPU seconds for imports and collection
FACTOR = 5  # a test may take this many times its usual CPU time, and in addition
SLACK = 20  # CPU seconds, for it may be the first to compute what it shares with others
WALL_FACTOR = 20  # a run may take this many times its usual CPU time, for it may wait or have little of the machine
MEMORY = 12 << 30  # bytes of address space
POLL = 0.005  # seconds between two looks at the fork
DIED = 99  # exit status of a fork that could not run pytest


class Stopwatch:
    """Pytest plugin that omits slow tests, limits the time of the others, and runs first those that are likely to fail.

    usual: usual CPU seconds of each test. longest: tests that usually take longer are omitted. failures: how often each
    test has failed before. is_limited: whether the time of the tests is limited. After the run `seconds` has the CPU
    seconds of each test, and `failed` the test that failed.
    """

    def __init__(
        self, usual: Mapping[str, float], longest: float, failures: Mapping[str, int], *, is_limited: bool
    ) -> None:
        self.usual, self.longest, self.failures, self.is_limited = usual, longest, failures, is_limited
        self.seconds: dict[str, float] = {}
        self.failed = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remove the tests that usually take longer than the limit `longest`, and sort the others.

        The first ones are fast or have often failed. A test whose usual time is unknown counts as taking no time.
        """
        kept = [item for item in items if self.usual.get(item.nodeid, 0) <= self.longest]
        items[:] = sorted(kept, key=self._cost)

    def _cost(self, item: pytest.Item) -> float:
        """Return about how many seconds of a test reveal one mutant: its usual time by its failures so far."""
        return self.usual.get(item.nodeid, 0) / (1 + self.failures.get(item.nodeid, 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the test that failed."""
        if report.failed:
            self.failed = report.nodeid

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run one test and record its CPU seconds; the system kills the process if the test exceeds its limit.

        The limit depends on the usual time of the test. A test whose usual time is unknown has no limit.
        """
        started = time.process_time()
        usual = self.usual.get(item.nodeid)
        limit = 0 if usual is None or not self.is_limited else FACTOR * usual + SLACK
        signal.setitimer(signal.ITIMER_PROF, limit)
        result = yield
        signal.setitimer(signal.ITIMER_PROF, STARTING)
        self.seconds[item.nodeid] = round(time.process_time() - started, 3)
        return result


class CallRecorder:
    """Pytest plugin that records which functions of the file `file` each test calls; "" stands for no test."""

    def __init__(self, file: str) -> None:
        self.file, self.test = file, ""
        self.calls: dict[str, set[str]] = {"": set()}

    def start(self) -> None:
        """Begin to record; what is called before the first test, such as by imports, is recorded too."""
        sys.setprofile(self._record)

    def _record(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename == self.file:
            names = frame.f_code.co_qualname.split(".")
            function = ".".join(name for name in names if not name.startswith("<"))  # "<locals>", "<lambda>"
            self.calls.setdefault(self.test, set()).add(function)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Run one test, and record its calls as those of this test."""
        self.test = item.nodeid
        result = yield
        self.test = ""
        return result


def run_in_fork(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run tests in a fork of this process, and return a dictionary whose `status` is passed, failed or timed out.

    The request has the `files` of the tests, the usual CPU `seconds` and the number of `failures` so far of each test
    by its name in pytest, the usual time `longest` above which a test is left out, further `options` for pytest, and
    the file `log` for the output. If `traced` is not "", it is the path of a module, the functions that each test calls
    there are recorded, and no time is limited, because the tests take longer. If the fork ends by itself, it writes the
    CPU `seconds` and the `calls` of each test and the name of the test that `failed` to the file `measured`.
    """
    pid = os.fork()
    if pid == 0:
        _run_tests(request)
    limit, waited, parent = _wall_seconds(request), 0.0, os.getppid()
    while not (ended := os.waitpid(pid, os.WNOHANG))[0] and waited < limit and os.getppid() == parent:
        time.sleep(POLL)
        waited += POLL  # not by the clock: the processes may be stopped for a while, and go on later
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # the fork, or processes that its tests have left
    code = os.waitstatus_to_exitcode(ended[1] if ended[0] else os.waitpid(pid, 0)[1])
    timed_out = not ended[0] or code == -signal.SIGPROF
    passed = code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)  # all tests may be left out
    return {"status": "timed out" if timed_out else "passed" if passed else "failed"}


def _wall_seconds(request: Mapping[str, Any]) -> float:
    """Return the limit in seconds of real time for all tests of a request, or infinity if no usual time is known.

    This limit stops tests that wait for something and use no processor time.
    """
    usual = [seconds for seconds in request["seconds"].values() if seconds <= request["longest"]]
    return WALL_FACTOR * (STARTING + sum(usual)) if usual and not request["traced"] else float("inf")


def _run_tests(request: Mapping[str, Any]) -> None:
    """Run the tests of a request in this process, then end the process with the exit status of pytest."""
    code: int = DIED
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for handle in (1, 2):
            os.dup2(log, handle)
        signal.setitimer(signal.ITIMER_PROF, STARTING)
        stopwatch = Stopwatch(
            request["seconds"], request["longest"], request["failures"], is_limited=not request["traced"]
        )
        recorder = CallRecorder(request["traced"])
        if request["traced"]:
            recorder.start()
        sys.dont_write_bytecode = bool(request["seconds"])  # else a changed file could be taken for the one before
        code = pytest.main([*OPTIONS, *PLUGINS, *request["options"], *request["files"]], plugins=[stopwatch, recorder])
        sys.setprofile(None)
        calls = {test: sorted(functions) for test, functions in recorder.calls.items()}
        with open(request["measured"], "w") as file:
            json.dump({"seconds": stopwatch.seconds, "failed": stopwatch.failed, "calls": calls}, file)
    except BaseException:  # the process must not go on as a server
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def main() -> None:
    """Import the libraries that the command line names, then answer requests to run tests until the input ends."""
    for library in sys.argv[1:]:
        with suppress(ImportError):
            import_module(library)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the plugins of other packages take a third of a second
    gc.freeze()  # else each fork would copy what it shares with this process
    for line in sys.stdin:
        print(json.dumps(run_in_fork(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
