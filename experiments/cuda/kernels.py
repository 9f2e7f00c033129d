"""Question: what do kernels for a GPU need, and what bounds them? `python -m experiments gpu-kernels`

All kernels are compiled for three generations of GPUs. None may spill registers into memory, or read constant memory,
which serves one thread of a warp at a time. What the threads of the engine's two kernels execute and store is counted,
and gives an upper bound of their rate on an H200 by the rate at which it issues instructions and writes memory. No GPU
is needed, and these bounds are no measurement. Needs the extra `cuda-compiler` and gcc.
"""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from agents.compiled import HEURISTICS
from agents.tools.files import UserError
from agents.tools.settings import check_at_least
from experiments.results import write_result
from felicity_env import Batch
from felicity_env.buffers import Buffers
from felicity_env.cuda import kernels as engine
from felicity_env.cuda.batch import BY_COLUMNS
from felicity_env.game import MAX_SEATS, NUM_ACTIONS
from felicity_env.learners import new_loop
from felicity_env.observation import PRIVILEGED_SIZE
from train import gpu_kernels

CAPABILITIES = ((8, 0), (9, 0), (10, 0))  # A100, H100 and H200, B200
PROCESSORS, ISSUED_A_CYCLE, HERTZ = 132, 4, 1.98e9  # multiprocessors of an H200, warp instructions of each, its clock
BYTES_A_SECOND = 4.3e12  # that a copy on an H200 reads and writes


@dataclass(frozen=True)
class Config:
    """Compile the kernels for GPUs, check what they need, and count what they do."""

    resumes: ClassVar[bool] = False
    warps: int = 64
    """Number of warps (groups of 32 games) whose work is counted."""

    def __post_init__(self) -> None:
        check_at_least(self, warps=1)


def store_by_columns(buffers: Buffers) -> Buffers:
    """Return buffers in the layout that they have on a GPU."""
    return buffers._replace(**{name: np.asfortranarray(getattr(buffers, name)) for name in BY_COLUMNS})


def list_kernels(batch: Batch) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return all kernels by name, each with arguments as at a launch."""
    b, games, settings, faults = store_by_columns(batch.buffers), batch._all, batch.settings, np.zeros(1, np.int64)
    seeds, truths, shape = np.zeros(len(games), np.uint64), np.zeros(len(games), np.bool_), (2, len(games))
    everything = np.zeros((len(games), PRIVILEGED_SIZE), np.float32, order="F")
    loop, floats = new_loop(batch)._replace(scratch=batch.states), np.zeros(len(games), np.float32)
    pool = gpu_kernels.Pool(np.ones(1 + len(HEURISTICS)), np.arange(1 + len(HEURISTICS)), 1)
    rewards, logits = np.zeros((*shape, MAX_SEATS), np.float32), np.zeros((len(games), NUM_ACTIONS), np.float32)
    history = rewards, np.zeros(shape, np.bool_), np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    workspace = np.zeros((len(games), 3, MAX_SEATS))
    return {
        "play": (engine.play, (b, games, games, settings, faults)),
        "play_random": (engine.play_random, (b, settings)),
        "show": (engine.show, (b, games, True)),
        "find_illegal": (engine.find_illegal, (b, games, games, faults)),
        "restart": (engine.restart, (b, games, settings.seed)),
        "begin": (engine.begin, (b, games)),
        "draw_seeds": (engine.draw_seeds, (b, games, seeds)),
        "redact": (engine.redact, (b, games, b.states)),
        "observe_states": (engine.observe_states, (b.states, games, True, b.observations)),
        "encode": (engine.encode, (b.states, True, b.observations, b.action_masks)),
        "observe_all": (engine.observe_all, (b.states, everything)),
        "training: seat_all": (gpu_kernels.seat_all, (b, loop, pool)),
        "training: begin": (gpu_kernels.begin, (b, settings, loop, pool)),
        "training: step": (
            gpu_kernels.step,
            (b, settings, loop, pool, games, faults, 1.0, rewards[0], truths),
        ),
        "training: draw_actions": (gpu_kernels.draw_actions, (b, logits, games, floats)),
        "training: compute_advantages": (
            gpu_kernels.compute_advantages,
            (*history, 1.0, 0.95, history[3], history[1], workspace),
        ),
    }


def main(config: Config) -> None:
    """Compile and count, store the result, and raise `UserError` if a kernel does not fit a GPU."""
    from experiments.cuda.compiled_kernels import compile_kernel, measure_resources

    started, console, resources, faults = time.monotonic(), Console(), {}, []
    for capability in CAPABILITIES:
        target = f"sm_{capability[0]}{capability[1]}"
        found = {
            name: measure_resources(compile_kernel(kernel, arguments, capability))._asdict()
            for name, (kernel, arguments) in list_kernels(Batch(8, 4, record=True)).items()
        }
        resources[target] = found
        console.print(f"{target}: at most {max(each['registers'] for each in found.values())} registers")
        faults += [f"{target}: {name} spills registers" for name, each in found.items() if each["spills"]]
        faults += [f"{target}: {name} reads constant memory" for name, each in found.items() if each["constants"]]
    model = estimate_rates(config, resources["sm_90"])
    write_result("gpu_kernels", config, {"resources": resources, "model": model}, started=started)
    if faults:
        raise UserError("; ".join(faults))


def estimate_rates(config: Config, resources: dict[str, Any]) -> list[dict[str, Any]]:
    """Count what the engine does for a decision, and bound its rate, with arrays stored by rows and by columns."""
    from experiments.cuda.compiled_kernels import CAPABILITY, compile_kernel, count_instructions
    from experiments.cuda.traced_kernels import SECTOR, WARP, trace_kernel

    rows = []
    for layout in ("rows", "columns"):
        batch = Batch(WARP * config.warps, 4, seed=0)
        batch.play_random(60)  # games are in all rounds
        b = batch.buffers if layout == "rows" else store_by_columns(batch.buffers)
        actions = batch.action_masks.argmax(axis=1)
        calls = {
            "show": (engine.show, (b, batch._all, False)),
            "play": (engine.play, (b, batch._all, actions, batch.settings, np.zeros(1, np.int64))),
        }
        for name, (kernel, arguments) in calls.items():
            trace = trace_kernel(kernel, config.warps, *arguments)
            ptx = count_instructions(compile_kernel(kernel, arguments, CAPABILITY))
            issued = trace.issued * resources[name]["instructions"] / ptx
            rows.append(
                {
                    "layout": layout,
                    "kernel": name,
                    **trace._asdict(),
                    "machine_instructions_issued": issued,
                    "seconds_to_issue": issued / WARP / (PROCESSORS * ISSUED_A_CYCLE * HERTZ),
                    "seconds_to_store": trace.sectors * SECTOR / BYTES_A_SECOND,
                }
            )
    return rows
