"""The command line of `agents`, `train` and `experiments`: verbs, settings, errors in one line, Ctrl-C without a trace.

A verb is a module with a dataclass `Config`, whose docstrings are the help, and a function `main(config)`. A module is
imported only when its verb is run, so that the list of verbs appears at once.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, NamedTuple

from agents.tools.files import UserError

USAGE_ERROR, INTERRUPTED = 2, 130  # exit statuses


class Verb(NamedTuple):
    """A verb of a command: the module that does it, and what it does in a line."""

    module: str
    help: str


def run_verb(program: str, verbs: Mapping[str, Verb], arguments: Sequence[str] | None = None) -> int:
    """Run the verb that the first argument names, or list the verbs; return the exit status.

    program: such as "agents". arguments: those of the command line by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(_usage(program, verbs))
        return 0 if words else USAGE_ERROR
    if words[0] not in verbs:
        print_error(f"error: there is no {words[0]!r}; python -m {program} has {', '.join(verbs)}")
        return USAGE_ERROR
    return run_module(verbs[words[0]].module, f"python -m {program} {words[0]}", words[1:])


def run_module(module_name: str, prog: str, arguments: Sequence[str]) -> int:
    """Read the settings of a module's `Config` from arguments and call its `main`; return the exit status."""
    import tyro  # takes a while, and a list of verbs does not need it

    from agents.tools.threads import use_one_blas_thread

    use_one_blas_thread()
    module = import_module(module_name)
    config: Any = None

    def work() -> int | None:
        nonlocal config
        unchecked = tyro.cli(_without_checks(module.Config), prog=prog, args=list(arguments))
        config = module.Config(**{field.name: getattr(unchecked, field.name) for field in fields(module.Config)})
        return module.main(config)

    return exit_status(work, interrupted=lambda: _advice(config))


def _without_checks(config_class: type) -> type:
    """Return the same settings without `__post_init__`, whose errors tyro would wrap in a box of its own."""
    return type(
        config_class.__name__, (config_class,), {"__post_init__": lambda self: None, "__doc__": config_class.__doc__}
    )


def exit_status(work: Callable[[], int | None], *, interrupted: Callable[[], str]) -> int:
    """Return what `work` returns (0 for None), 2 after an error that the user can mend, 130 after Ctrl-C.

    interrupted: returns what to say after Ctrl-C.
    """
    try:
        return work() or 0
    except (UserError, ValueError, OSError) as error:
        print_error(f"error: {error}")
        return USAGE_ERROR
    except KeyboardInterrupt:
        print_error(f"stopped; {interrupted()}")
        return INTERRUPTED


def print_error(text: str) -> None:
    """Print a message to standard error, unchanged and unwrapped."""
    print(text, file=sys.stderr, flush=True)


def _advice(config: Any) -> str:
    """Return what Ctrl-C has left; settings whose `resumes` is true belong to a command that can go on."""
    return "the same command goes on from here" if getattr(config, "resumes", False) else "nothing was stored"


def _usage(program: str, verbs: Mapping[str, Verb]) -> str:
    width = max(map(len, verbs))
    lines = [f"  {name:{width}}  {verb.help}" for name, verb in verbs.items()]
    return "\n".join([f"usage: python -m {program} VERB [options]   (VERB --help lists its options)", "", *lines])
