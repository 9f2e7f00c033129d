"""Games and training on a GPU, in Numba's simulator; and what they say where there is no GPU."""

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1", "FELICITY_GPU": "simulator"}


def run_python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **variables}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_tests_of_games_and_training_on_a_gpu_pass_in_the_simulator():
    done = run_python("-m", "pytest", "tests/cuda", "-m", "gpu", "-n", "0", "-p", "no:cacheprovider", **SIMULATOR)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        ("cuda = None", "felicity_env.cuda needs torch with CUDA, and this torch is a build for CPUs only"),
        (
            "cuda = '13.0'; torch.cuda.device_count = lambda: 0",
            "felicity_env.cuda cannot use device 0: torch finds no CUDA device here",
        ),
    ],
)
def test_what_is_missing_is_said_in_a_line(prepare, message):
    code = f"import torch; torch.version.{prepare}; from felicity_env.cuda import Batch; Batch(4)"
    last = run_python("-c", code).stderr.splitlines()[-1]
    assert message in last


def test_a_check_on_a_gpu_that_is_not_there_ends_with_a_line(tmp_path):
    code = "import torch; torch.version.cuda = None; from experiments.__main__ import main; raise SystemExit(main())"
    done = run_python("-c", code, "gpu-equality", "--gpu", "device", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert done.stderr == (
        "error: --gpu device: felicity_env.cuda needs torch with CUDA, and this torch is a build for CPUs only\n"
    )


def test_a_missing_extra_is_named():
    code = "import sys; sys.modules['torch'] = None; import felicity_env.cuda"
    last = run_python("-c", code).stderr.splitlines()[-1]
    assert "felicity_env.cuda needs the extra `cuda`: pip install 'felicity-env[cuda]'" in last


def test_the_simulator_asks_for_plain_python():
    done = run_python(
        "-c", "from felicity_env.cuda import Batch; Batch(4)", NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="0"
    )
    assert "set NUMBA_DISABLE_JIT=1, too" in done.stderr.splitlines()[-1]
