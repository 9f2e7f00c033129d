"""Tasks on pools of workers: all results, each once, whatever workers do."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import threadpoolctl

from agents.tasks.pool import Done, Lost
from agents.tasks.processes import ProcessPool, ThisProcess
from agents.tasks.run import Tasks, run_tasks
from agents.tools.files import UserError
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


def square(number: int) -> int:
    return number * number


def die_once(path: Path) -> str:
    """End this process at the first call, and return a text at the second."""
    if not path.exists():
        path.touch()
        os._exit(1)
    return "done"


def die_at_13(number: int) -> int:
    if number == 13:
        os._exit(1)
    return number


def count_blas_threads(_: int) -> int:
    return max(entry["num_threads"] for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas")


def is_ctrl_c_held(_: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def return_much(_: int) -> bytes:
    return bytes(200_000_000)


def cancel_while_results_arrive() -> None:
    """End pools at various moments of a task whose result takes long to arrive."""
    for k in range(8):
        pool = ProcessPool(1)
        pool.submit(0, square, 1)
        pool.wait()  # the process has started
        pool.submit(1, return_much, 0)
        time.sleep(0.06 + 0.03 * k)
        pool.close(cancel=True)


def fail_at_3(number: int) -> int:
    if number == 3:
        raise UserError("three is too much")
    return number


class Fake:
    """Pool that answers as a list of rounds says: in each round, results by number of the task."""

    size = capacity = 4

    def __init__(self, *rounds):
        self.rounds, self.submitted = list(rounds), []

    def share(self, value):
        return value

    def submit(self, number, function, *arguments):
        self.submitted.append((number, *arguments))

    def wait(self):
        return self.rounds.pop(0)

    def close(self, *, cancel):
        pass


def wait_for_values(pool):
    return [(number, result.value) for number, result in pool.wait() if isinstance(result, Done)]


def run_on(pool, count):
    tasks = Tasks(pool, square)
    for number in range(count):
        tasks.submit(number)
    outcomes = []
    while len(tasks):
        outcomes += tasks.wait()
    return [(outcome.task, outcome.value, outcome.reason) for outcome in outcomes]


# --- pools of this machine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_has_one_outcome(workers):
    outcomes = list(run_tasks(square, range(20), workers=workers))
    assert sorted((outcome.task, outcome.value) for outcome in outcomes) == [(n, n * n) for n in range(20)]
    assert all(outcome.workers == workers and outcome.seconds >= 0 and not outcome.reason for outcome in outcomes)


def test_an_outcome_may_decide_about_later_tasks():
    wanted = {0}
    outcomes = []
    for outcome in run_tasks(square, (number for number in range(9) if number in wanted), workers=1):
        outcomes.append(outcome.value)
        wanted.add(outcome.task + 2)
    assert outcomes == [0, 4, 16, 36, 64]


def test_what_a_dead_worker_did_is_done_again(tmp_path):
    paths = [tmp_path / str(number) for number in range(3)]
    outcomes = list(run_tasks(die_once, paths, workers=2))
    assert sorted((outcome.task, outcome.value) for outcome in outcomes) == [(path, "done") for path in paths]


def test_a_process_that_dies_between_two_tasks_is_replaced():
    pool, before = ProcessPool(1), set(multiprocessing.active_children())
    pool.submit(0, square, 2)
    assert wait_for_values(pool) == [(0, 4)]
    (process,) = set(multiprocessing.active_children()) - before
    process.kill()
    wait_until(lambda: bool(pool._executors[0]._broken))
    pool.submit(1, square, 3)
    assert wait_for_values(pool) == [(1, 9)]
    pool.close(cancel=False)


def test_tasks_in_the_queue_of_a_process_that_has_died_are_lost_when_it_is_replaced():
    pool = ProcessPool(1)
    for number in range(2):
        pool.submit(number, die_at_13, 13)
    wait_until(lambda: bool(pool._executors[0]._broken))
    pool.submit(2, square, 3)
    assert pool.wait() == [(0, Lost("its process ended", True)), (1, Lost("its process ended", False))]
    assert wait_for_values(pool) == [(2, 9)]
    pool.close(cancel=False)


def test_a_worker_uses_one_thread_for_matrix_products(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    assert [outcome.value for outcome in run_tasks(count_blas_threads, range(3), workers=2)] == [1, 1, 1]


@pytest.mark.linux("only POSIX systems can hold signals")
def test_workers_hear_no_ctrl_c_from_their_first_moment_but_the_process_that_waits_for_them_does():
    held = []
    for outcome in run_tasks(is_ctrl_c_held, range(4), workers=2):
        held.append(outcome.value)
        assert not is_ctrl_c_held(0)
    assert held == [True] * 4


def test_the_limit_of_threads_holds_although_numpy_is_imported_later():
    code = """
from agents.tools.threads import use_one_blas_thread
use_one_blas_thread()
import numpy, threadpoolctl
print([entry["num_threads"] for entry in threadpoolctl.threadpool_info() if entry["user_api"] == "blas"])
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    assert subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).strip() == "[1]"


def test_a_task_that_ends_its_worker_three_times_is_given_up_and_the_others_are_done():
    outcomes = {outcome.task: outcome for outcome in run_tasks(die_at_13, range(10, 16), workers=2)}
    assert {number: outcome.value for number, outcome in outcomes.items()} == {
        **{n: n for n in range(10, 16)},
        13: None,
    }
    assert outcomes[13].reason == "its process ended, 3 times"


@pytest.mark.parametrize("workers", [1, 2])
def test_the_exception_of_a_function_ends_everything(workers):
    with pytest.raises(UserError, match="three is too much"):
        list(run_tasks(fail_at_3, range(6), workers=workers))


def test_a_program_ends_although_its_workers_are_ended_while_they_send_results():
    script = "from tests.agents.test_tasks import cancel_while_results_arrive as cancel; cancel()"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=120, check=True)


def test_no_thread_is_left_of_a_pool_that_is_ended_while_tasks_run():
    before, pool = threading.enumerate(), ProcessPool(2)
    for number in range(2):
        pool.submit(number, time.sleep, 60)
    pool.close(cancel=True)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


@pytest.mark.parametrize("make_pool", [ThisProcess, lambda: ProcessPool(2)], ids=["this process", "two processes"])
def test_no_process_is_left(make_pool):
    before, pool = set(multiprocessing.active_children()), make_pool()
    assert sorted(run_on(pool, 3)) == [(0, 0, ""), (1, 1, ""), (2, 4, "")]
    assert len(set(multiprocessing.active_children()) - before) == (pool.size if isinstance(pool, ProcessPool) else 0)
    pool.close(cancel=False)
    assert set(multiprocessing.active_children()) <= before


# --- what a cluster may do --------------------------------------------------------------------------------------------


def test_a_lost_task_runs_again_and_its_late_result_counts_once():
    lost = Lost("its node died", at_fault=False)
    pool = Fake([(0, lost), (1, Done(1, 0.0))], [(0, Done(0, 0.0)), (0, Done(0, 0.0)), (1, Done(1, 0.0))])
    assert run_on(pool, 2) == [(1, 1, ""), (0, 0, "")]
    assert pool.submitted == [(0, 0), (1, 1), (0, 0)]


def test_a_task_may_lose_many_nodes_but_end_only_three_workers():
    died, ended = Lost("its node died", at_fault=False), Lost("its process ended", at_fault=True)
    pool = Fake(*([(0, died)] for _ in range(9)), [(0, ended)], [(0, died)], [(0, ended)], [(0, ended)])
    assert run_on(pool, 1) == [(0, None, "its process ended, 3 times")]


def test_without_ray_the_option_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "agents.tasks.ray_cluster", raising=False)
    needed = r"--ray needs the extra `dist`: .*pip install -c constraints.txt -e '.\[dist\]'"
    with pytest.raises(UserError, match=needed):
        list(run_tasks(square, [1], workers=1, ray="local"))
