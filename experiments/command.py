"""How a command begins and ends: settings from its words, errors that a user can mend as one line, Ctrl-C in peace."""

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import tyro
from rich.console import Console

from train.run_folder import RunError

GOES_ON = "the same command goes on from here"
NOTHING_STORED = "nothing was stored"


def run_command(name: str, config_class: type, main: Callable[[Any], int | None], *, interrupted: str) -> NoReturn:
    """`python -m experiments.NAME`. interrupted: what Ctrl-C leaves, for the message."""
    config = tyro.cli(config_class, prog=f"python -m experiments.{name}")
    sys.exit(exit_status(lambda: main(config), interrupted=interrupted))


def exit_status(work: Callable[[], int | None], *, interrupted: str = GOES_ON) -> int:
    """What `work` returns (0 for nothing); 2 after an error that its user can mend, 130 after Ctrl-C."""
    try:
        return work() or 0
    except (RunError, ValueError, OSError) as error:
        tell(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        tell(f"stopped; {interrupted}")
        return 130


def tell(text: str) -> None:
    """A message to standard error, as it is."""
    Console(stderr=True).print(text, highlight=False, markup=False, soft_wrap=True)
