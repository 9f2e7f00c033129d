"""GPU that an experiment needs."""

from agents.tools.files import UserError


def require_gpu(option: str) -> None:
    """Raise `UserError` if no GPU can play games.

    option: what asks for a GPU, such as "--device cuda"; the message begins with it.
    """
    from felicity_env.cuda.device import Gpu, find_gpu

    try:
        gpu = find_gpu(0)
    except RuntimeError as error:
        raise UserError(f"{option}: {error}") from error
    if not isinstance(gpu, Gpu):
        raise UserError(f"{option} needs a GPU; unset NUMBA_ENABLE_CUDASIM, which asks for Numba's simulator")
