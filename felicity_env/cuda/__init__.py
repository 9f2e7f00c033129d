"""Batches of games on a GPU: the rules that run on a CPU, compiled for CUDA unchanged; needs the extra `cuda`.

    batch = Batch(65536, num_players=4, seed=0)
    batch.step(actions)    # a torch tensor on the GPU; so are batch.observations and batch.action_masks

With the environment variables NUMBA_ENABLE_CUDASIM=1 and NUMBA_DISABLE_JIT=1 everything runs in Numba's simulator, on a
CPU and slowly, so that a debugger can step through it.
"""

from importlib.util import find_spec

if find_spec("torch") is None:
    raise ImportError("felicity_env.cuda needs the extra `cuda`: pip install 'felicity-env[cuda]' (torch is missing)")

from felicity_env.cuda.batch import Batch

__all__ = ["Batch"]
