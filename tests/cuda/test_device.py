"""What only a GPU can show: CUDA graphs, networks on the GPU, and that nothing waits for it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.support.paths import ROOT
from tests.support.selfplay_runs import create_trainer

torch = pytest.importorskip("torch")
cuda = pytest.importorskip("felicity_env.cuda")
pytestmark = pytest.mark.device("a GPU")

SMALL = {"num_envs": 256, "num_steps": 16, "batch_size": 512, "device": "cuda", "precision": "float32"}
SMALL |= {"torch_compile": "no"}


@contextmanager
def refuse_to_wait() -> Iterator[None]:
    """Make every function of torch that waits for the GPU raise an error."""
    try:
        torch.cuda.set_sync_debug_mode("error")
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def assert_same_weights(one, two) -> None:
    for first, second in zip(one.layers(), two.layers(), strict=True):
        for mine, other in zip(first, second, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)


def test_a_graphed_function_gives_what_the_function_gives():
    from train.cuda_graphs import GraphedFunction

    total = torch.zeros(1, device="cuda")

    def add(numbers, factors):
        total.add_(numbers["x"].sum() * factors["y"])
        return {"double": 2 * numbers["x"], "total": total}

    graphed, sums = GraphedFunction(add), []
    for value in (1.0, 2.0, 3.0, 4.0):
        x, y = torch.full((3,), value, device="cuda"), torch.tensor(10 * value, device="cuda")
        outputs = graphed({"x": x}, {"y": y})
        assert outputs["double"].tolist() == [2 * value] * 3
        sums.append(outputs["total"])
    assert [each.item() for each in sums] == [30, 150, 420, 900]


def test_a_step_of_a_batch_can_be_recorded_as_a_cuda_graph():
    eager, graphed = (cuda.Batch(300, 4, seed=3, check="later") for _ in range(2))
    graphed.play_random(1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        graphed.play_random(1)
    for _ in range(40):
        graph.replay()
    eager.play_random(41)
    for name, tensor in eager.buffers._asdict().items():
        assert torch.equal(tensor, getattr(graphed.buffers, name)), name


def test_the_examples_of_the_page_run_as_written():
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "gpu.md").read_text(), re.DOTALL)
    assert len(examples) == 2
    names: dict = {"__name__": "__main__"}
    exec(compile("\n".join(examples), "gpu.md", "exec"), names)
    assert names["batch"].episodes.any()  # games have ended


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype feature")
def test_neither_a_step_of_a_batch_nor_an_update_waits_for_the_gpu(tmp_path):
    batch = cuda.Batch(300, 4, seed=0, check="later")
    actions = batch.action_masks.to(torch.int64).argmax(dim=1)
    trainer = create_trainer(tmp_path / "run", **SMALL)
    for _ in range(2):
        trainer.run_iteration()
    data = trainer.prepare_data()
    schedule = {name: torch.tensor(0.1, device="cuda") for name in trainer.config.compute_schedule(0)}
    with pytest.raises(RuntimeError, match="called a synchronizing CUDA operation"), refuse_to_wait():
        actions.max().item()
    with refuse_to_wait():
        batch.step(actions)
        trainer.games._graphed_rollout()
        for minibatch in trainer.split_minibatches(data):
            trainer._take_step(minibatch, schedule)
    batch.check()


@pytest.mark.parametrize("games", ["cpu", "cuda"])
def test_training_with_cuda_graphs_learns_what_it_learns_without(tmp_path, games):
    graphed, eager = (create_trainer(tmp_path / name, games=games, **SMALL) for name in ("graphed", "eager"))
    eager._take_step = eager.optimize_minibatch
    if games == "cuda":
        eager.games.uses_graphs = False
    for _ in range(3):
        for trainer in (graphed, eager):
            trainer.run_iteration()
    assert graphed.timesteps == eager.timesteps
    assert graphed.timesteps % SMALL["batch_size"] == 0
    assert_same_weights(graphed, eager)


def test_fewer_decisions_than_a_minibatch_are_learned_from(tmp_path):
    trainer = create_trainer(tmp_path / "run", games="cuda", **SMALL | {"batch_size": 256 * 16})
    for _ in range(3):
        before = trainer.timesteps
        trainer.run_iteration()
        assert 0 < trainer.timesteps - before < 256 * 16


def test_a_resumed_run_on_a_gpu_goes_on_as_if_it_had_not_stopped(tmp_path):
    whole = create_trainer(tmp_path / "run", games="cuda", **SMALL)
    for _ in range(3):
        whole.run_iteration()
    whole.save()
    resumed = create_trainer(tmp_path / "run", games="cuda", **SMALL)
    resumed.restore(print)
    for trainer in (whole, resumed):
        for _ in range(3):
            trainer.run_iteration()
    assert_same_weights(whole, resumed)


@pytest.mark.filterwarnings("default:`torch.jit.script_method` is deprecated")
@pytest.mark.filterwarnings("default:TensorFloat32 tensor cores")
def test_training_can_be_compiled(tmp_path):
    compiled, plain = (
        create_trainer(tmp_path / torch_compile, **SMALL | {"torch_compile": torch_compile})
        for torch_compile in ("yes", "no")
    )
    for trainer in (compiled, plain):
        for _ in range(3):
            trainer.run_iteration()
    assert compiled.timesteps == plain.timesteps
    for first, second in zip(compiled.layers(), plain.layers(), strict=True):
        np.testing.assert_allclose(first[0], second[0], rtol=1e-2, atol=1e-3)
