"""Work on a Ray cluster of several nodes on this machine: the same results as without, whatever happens to nodes."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.arena import matches
from agents.arena.blocks import Blocks
from agents.arena.parts import Match
from agents.tasks.run import run_tasks
from agents.tools.files import UserError
from experiments.checks.faults import add_node, kill_node
from felicity_env.setups import standard_setup

pytestmark = pytest.mark.cluster("a Ray cluster on this machine")
SETUP = standard_setup(3)
MATCHES = {Match.one_against(*pair, SETUP): 40 for pair in (("ev", "random"), ("net", "tuned"), ("tuned", "net"))}


def play(folder: Path, *, during: Any = None, **where: Any) -> dict[Match, Blocks]:
    """Play the matches, and call `during` with the number of parts done whenever one is."""
    report = lambda done, total, seconds: during(done) if during else None  # noqa: E731
    results = matches.play_matches(MATCHES, seed=3, folder=folder, deals_per_part=4, report=report, **where)
    return results.blocks


def assert_same(one: dict[Match, Blocks], two: dict[Match, Blocks]) -> None:
    for match in MATCHES:
        for name, values in one[match].measures.items():
            np.testing.assert_array_equal(values, two[match].measures[name])
        np.testing.assert_array_equal(one[match].rounds, two[match].rounds)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_a_cluster_gives_the_results_of_this_machine(cluster, tmp_path, nodes):
    for _ in range(nodes):
        add_node(cluster)
    there = play(tmp_path / "there", workers=1, ray=cluster.address)
    assert_same(there, play(tmp_path / "here", workers=2))


def test_a_node_that_dies_and_one_that_joins_change_nothing(cluster, tmp_path):
    for _ in range(2):
        add_node(cluster)

    def change(done: int) -> None:
        if done == 5:
            kill_node(cluster)
        if done == 8:
            add_node(cluster)

    there = play(tmp_path / "there", during=change, workers=1, ray=cluster.address)
    assert_same(there, play(tmp_path / "here", workers=2))


def die_once(path: str) -> str:
    if not Path(path).exists():
        Path(path).touch()
        os._exit(1)
    return "done"


def die(number: int) -> int:
    if number == 2:
        os._exit(1)
    return number


def test_a_worker_that_ends_is_replaced_and_a_task_that_ends_three_is_given_up(cluster, tmp_path):
    add_node(cluster, num_cpus=2)
    paths = [str(tmp_path / str(number)) for number in range(3)]
    assert {outcome.value for outcome in run_tasks(die_once, paths, workers=1, ray=cluster.address)} == {"done"}
    outcomes = {outcome.task: outcome for outcome in run_tasks(die, range(4), workers=1, ray=cluster.address)}
    assert [outcomes[number].value for number in range(4)] == [0, 1, None, 3]
    assert outcomes[2].reason == "its process ended (WorkerCrashedError), 3 times"


def fail(number: int) -> int:
    raise UserError("it is too much")


def test_the_exception_of_a_function_is_the_same_as_on_this_machine(cluster):
    add_node(cluster)
    with pytest.raises(UserError, match=r"^it is too much$"):
        list(run_tasks(fail, [1], workers=1, ray=cluster.address))


def wait_a_little(number: int) -> int:
    time.sleep(0.3)
    return number


def test_a_node_that_computes_otherwise_gets_no_work_and_is_named(cluster, monkeypatch, capfd):
    from agents.tasks import ray_cluster

    same = {name: value for name, value in ray_cluster.PORTABLE.items() if name != "OPENBLAS_CORETYPE"}
    monkeypatch.setattr(ray_cluster, "PORTABLE", same)  # so that each node has its own
    for kind in ("Haswell", "Sandybridge"):
        add_node(cluster, env_vars={"OPENBLAS_CORETYPE": kind})
    outcomes = list(run_tasks(wait_a_little, range(8), workers=1, ray=cluster.address))
    assert {outcome.value for outcome in outcomes} == set(range(8))
    assert "gets no work: its matrix products" in capfd.readouterr().err
    assert outcomes[-1].workers == 1


def test_all_nodes_that_compute_otherwise_are_an_error(cluster, monkeypatch):
    from agents.tasks import ray_cluster

    monkeypatch.setattr(ray_cluster, "probe_portable", lambda **_: {"games": "00000000"})
    add_node(cluster)
    with pytest.raises(UserError, match="all nodes of the cluster compute otherwise"):
        list(run_tasks(wait_a_little, [1], workers=1, ray=cluster.address))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "there is no Ray cluster at 127.0.0.1:1: ray start --head starts one"),
        ("nowhere", "--ray must be auto, local or HOST:PORT, not nowhere"),
        ("", "--ray must be auto, local or HOST:PORT, not $"),
    ],
)
def test_an_address_without_a_cluster_is_an_error(address, message):
    with pytest.raises(UserError, match=message):
        list(run_tasks(wait_a_little, [1], workers=1, ray=address))


def test_files_that_a_player_needs_are_below_the_current_folder(cluster, tmp_path):
    add_node(cluster)
    with pytest.raises(UserError, match="its path must be relative, below the current folder"):
        list(run_tasks(wait_a_little, [1], workers=1, ray=cluster.address, files=[tmp_path / "policy"]))
