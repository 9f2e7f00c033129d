"""Command line of `agents`, `train` and `experiments`: verbs, their settings, and short messages for errors.

A verb is a module with a dataclass `Config`, whose docstrings are the help, and a function `main(config)`. A module is
imported only when its verb is run, so that the list of verbs appears at once. Ctrl-C ends a verb without a traceback.
"""

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from agents.tools.files import UserError, describe_error, shorten_path
from agents.tools.options import format_rows, read_settings
from agents.tools.startup import INTERRUPTED, raise_at_ctrl_c

USAGE_ERROR = 2  # exit status


class Verb(NamedTuple):
    """Verb of a command, such as `tournament`: the module that executes it, and a line of help."""

    module: str
    help: str


def run_verb(
    program: str,
    verbs: Mapping[str, Verb],
    arguments: Sequence[str] | None = None,
    *,
    help_text: Callable[[], str] | None = None,
) -> int:
    """Run the verb that the first argument names, or print `help_text()`; return the exit status.

    program: package of the command, such as "agents". arguments: by default those of the command line. help_text: by
    default `list_verbs` of the verbs.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(help_text() if help_text else list_verbs(program, verbs))
        return 0 if words else USAGE_ERROR
    if words[0] not in verbs:
        print_error(f"error: there is no {words[0]!r}; python -m {program} has {', '.join(verbs)}")
        return USAGE_ERROR
    return run_module(verbs[words[0]].module, f"python -m {program} {words[0]}", words[1:])


def run_module(module_name: str, prog: str, arguments: Sequence[str]) -> int:
    """Read a module's settings (`Config`) from command-line arguments, call its `main`, and return the exit status."""
    config: Any = None

    def work() -> int | None:
        nonlocal config
        from agents.tools.threads import use_one_blas_thread

        use_one_blas_thread()
        module = import_module(module_name)
        config = read_settings(module.Config, prog, arguments)
        raise_at_ctrl_c()
        return module.main(config)

    return exit_status(work, interrupted=lambda: _advice(config))


def exit_status(work: Callable[[], int | None], *, interrupted: Callable[[], str]) -> int:
    """Call `work()` and return the exit status of the command: its result, 2 after an error, 130 after Ctrl-C.

    A `UserError`, `ValueError` or `OSError` is printed as one message. After Ctrl-C the text of the exception is
    printed, or, if it has none, the text that `interrupted()` returns. In Python's development mode (`python -X dev -m
    ...`) errors are raised instead, to show where they come from.
    """
    try:
        return work() or 0
    except (UserError, ValueError, OSError) as error:
        if sys.flags.dev_mode:
            raise
        print_error(f"error: {describe_error(error)}")
        return USAGE_ERROR
    except KeyboardInterrupt as stop:
        print_error(f"stopped; {str(stop) or interrupted()}")
        return INTERRUPTED


def python_command(module: str) -> str:
    """Return the beginning of a command for this project that can be pasted into a shell, such as `python -m train`.

    If the shell's `python` is not the running interpreter, the command has the path of the interpreter, relative if
    that is below the current folder.
    """
    running = Path(sys.executable)
    if (first := shutil.which("python")) and Path(first).absolute() == running:
        return f"python -m {module}"
    return f"{shlex.quote(str(shorten_path(running)))} -m {module}"


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this project, such as `play`, for the running Python."""
    return f"{python_command('pip')} install -c constraints.txt -e '.[{extra}]'"


@contextmanager
def explain_missing_extra(what: str, extra: str) -> Iterator[None]:
    """Turn an `ImportError` inside this context into a `UserError` that says how to install the extra for `what`."""
    try:
        yield
    except ImportError as error:
        raise UserError(f"{what} needs the extra `{extra}`: {install_command(extra)} ({error})") from error


def print_error(text: str) -> None:
    """Print a message to standard error, without line breaks or colours added."""
    print(text, file=sys.stderr, flush=True)


def _advice(config: Any) -> str:
    """Return the message after Ctrl-C: whether the same command continues the work, which `config.resumes` tells."""
    if not getattr(config, "resumes", False):
        return "nothing was stored"
    return f"the same command{' without --fresh' if getattr(config, 'fresh', False) else ''} goes on from here"


def list_verbs(program: str, verbs: Mapping[str, Verb]) -> str:
    """Return the help text of a command: its usage, and a line for each verb."""
    rows = format_rows((name, verb.help) for name, verb in verbs.items())
    return f"usage: python -m {program} VERB [options]   (VERB --help lists them)\n\n{rows}"
