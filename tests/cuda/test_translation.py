"""Kernels as NVIDIA's compiler makes them: they fit all GPUs, and their translation to C does what they say."""

import re

import numpy as np
import pytest

from felicity_env import Batch
from tests.support.paths import ROOT

pytestmark = pytest.mark.compiler("compiles for GPUs, and C")


@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (10, 0)])
def test_kernels_need_no_memory_for_registers_and_no_constant_memory(capability):
    from experiments.cuda.compiled_kernels import compile_kernel, measure_resources
    from experiments.cuda.kernels import list_kernels

    for name, (kernel, arguments) in list_kernels(Batch(8, 4, record=True)).items():
        needs = measure_resources(compile_kernel(kernel, arguments, capability))
        assert needs.spills == needs.stack == 0, name
        assert needs.registers <= 168, name  # so that at least three blocks of 128 threads run on a multiprocessor
        assert needs.constants == 0, name  # it serves one thread of a warp at a time
        assert needs.instructions > 0, name


def test_the_comparison_notices_a_kernel_that_compiles_otherwise(monkeypatch):
    from experiments.cuda import chunk_digest, ptx_to_c, translated_gpu
    from felicity_env import cuda

    monkeypatch.setattr(chunk_digest, "STEPS", 30)
    expected = chunk_digest.digest_chunk(Batch, 1, 50)

    def play() -> dict[str, str]:
        monkeypatch.setattr(translated_gpu, "GPU", translated_gpu.TranslatedGpu())
        with translated_gpu.use_translated_gpu():
            return chunk_digest.digest_chunk(cuda.Batch, 1, 50)

    assert play() == expected
    monkeypatch.setitem(ptx_to_c._OPERATORS, "xor", "|")  # as if the compiler got an operator wrong
    assert play() != expected


def test_an_unknown_instruction_is_named():
    from experiments.cuda.ptx_to_c import translate

    with pytest.raises(ValueError, match="the translation does not know the instruction sin"):
        translate(".entry k(\n)\n{\n\tsin.approx.f32 \t%f1, %f2;\n}")


def test_a_warp_issues_what_its_threads_execute_together_and_its_stores_share_sectors():
    from experiments.cuda.traced_kernels import trace_kernel
    from felicity_env.cuda import kernels

    batch = Batch(64, 4)
    flat = trace_kernel(kernels.draw_seeds, 2, batch.buffers, batch._all, np.zeros(64, np.uint64))
    assert flat.issued == flat.instructions > 10  # all threads do the same
    assert flat.sectors == pytest.approx(0.25, abs=0.05)  # 8 bytes a thread, 32 a sector


def test_the_first_example_of_the_page_runs_as_written():
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "gpu.md").read_text(), re.DOTALL)
    exec(compile(examples[0], "gpu.md", "exec"), {"__name__": "__main__"})
