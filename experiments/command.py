"""How a command ends: errors that a user can mend as one line, Ctrl-C with what to do next."""

from collections.abc import Callable

from rich.console import Console

from train.run_folder import RunError


def exit_status(work: Callable[[], int], *, interrupted: str = "the same command goes on from here") -> int:
    """What `work` returns; 2 after an error that its user can mend, 130 after Ctrl-C."""
    try:
        return work()
    except (RunError, ValueError, OSError) as error:
        tell(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        tell(f"stopped; {interrupted}")
        return 130


def tell(text: str) -> None:
    """A message to standard error, as it is."""
    Console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)
