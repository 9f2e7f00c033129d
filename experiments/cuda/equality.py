"""Question: does a GPU play the same games as a CPU? `python -m experiments gpu-equality`

Games with random actions are played on the CPU and on a GPU: with three, four and five seats, with setups that are not
standard, and with all rewards. After each step every buffer must be the same, byte for byte. Without a GPU, kernels
run as NVIDIA's compiler has optimised them, translated to C; fewer games run in Numba's simulator.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from agents.tools.settings import check_at_least
from experiments.checks.chunks import Outcome, count_chunks, run_check
from experiments.cuda.chunk_digest import STEPS, digest_chunk, digest_in_simulator
from experiments.gpu import require_gpu
from felicity_env import Batch

GAMES, SIMULATED_GAMES = 500, 42  # of a chunk


@dataclass(frozen=True)
class Config:
    """Play the same random games on a CPU and on a GPU, and compare every buffer after each step."""

    resumes: ClassVar[bool] = True
    gpu: Literal["translated", "device"] = "translated"
    """Device of the kernels: translated, for C code on the CPU (needs the extra `cuda-compiler` and gcc), or device,
    for a GPU."""
    decisions: int = 10_000_000
    """Number of decisions of these games."""
    simulated: int = 100_000
    """Number of decisions of the games in Numba's simulator, which plays about a thousand a second."""
    out: Path = Path("runs/gpu-equality")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_at_least(self, decisions=1, simulated=0)


def compare(k: int, num_games: int, where: str, digests: dict[str, str]) -> Outcome:
    """Compare the digests of chunk k with those of the CPU; each buffer that differs is a fault."""
    expected = digest_chunk(Batch, k, num_games)
    faults = {f"{where}: {name} differs": int(digests[name] != digest) for name, digest in expected.items()}
    decisions = f"{'simulated' if where == 'simulator' else 'compiled'} decisions"
    return Outcome({decisions: STEPS * num_games, "buffers": len(expected)}, faults)


def play_on_gpu(config: Config, k: int) -> dict[str, str]:
    """Play chunk k on the GPU of the settings, and return the digests of its buffers."""
    from felicity_env import cuda

    if config.gpu == "device":
        return digest_chunk(cuda.Batch, k, GAMES)
    from experiments.cuda.translated_gpu import use_translated_gpu

    with use_translated_gpu():
        return digest_chunk(cuda.Batch, k, GAMES)


def main(config: Config) -> None:
    """Compare all games, store the counts, and raise `UserError` if a buffer differs."""
    if config.gpu == "device":
        require_gpu("--gpu device")
    on_gpu = count_chunks(config.decisions, STEPS * GAMES)
    simulated = count_chunks(config.simulated, STEPS * SIMULATED_GAMES)

    def compare_chunk(k: int) -> Outcome:
        if k < on_gpu:
            return compare(k, GAMES, config.gpu, play_on_gpu(config, k))
        return compare(k, SIMULATED_GAMES, "simulator", digest_in_simulator(k, SIMULATED_GAMES))

    run_check(
        f"gpu_equality_{config.gpu}",
        config,
        compare_chunk,
        on_gpu + simulated,
        source=__file__,
        question="gpu-equality",
    )
