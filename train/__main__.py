"""Command line of training: `python -m train [ALGORITHM]` trains, evaluates and stores a player in a run folder."""

from agents.tools.startup import begin_command

if __name__ == "__main__":
    begin_command()

import sys
from collections.abc import Sequence

from agents.tools.command import exit_status, run_module
from agents.tools.options import format_rows
from agents.tools.startup import raise_at_ctrl_c
from train.algorithms import ALGORITHMS, DEFAULT

CURVES = "curves"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m train` with the given arguments (default: those of the command line); return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & set(words) and words[0] not in (*ALGORITHMS, CURVES):
        print(_usage())
        return 0
    if words[:1] == [CURVES]:
        return run_module("train.curves", f"python -m train {CURVES}", words[1:])
    return exit_status(lambda: _train(words), interrupted=lambda: "nothing was stored")


def _train(words: Sequence[str]) -> int:
    from train.command import read_arguments, train  # imported late, because it takes seconds

    config, named = read_arguments(words)
    raise_at_ctrl_c()
    return train(config, named)


def _usage() -> str:
    rows = [
        ("python -m train [ALGORITHM] [options]", "train a player; ALGORITHM --help lists them"),
        ("python -m train --resume RUN", "continue a stopped run; --total-timesteps N extends one"),
        (f"python -m train {CURVES} RUN [RUN ...]", "compare the learning curves of runs in one picture"),
    ]
    algorithms = [
        (name, f"{algorithm.help}{' (default)' if name == DEFAULT else ''}") for name, algorithm in ALGORITHMS.items()
    ]
    return f"usage:\n\n{format_rows(rows)}\n\nalgorithms:\n\n{format_rows(algorithms)}"


if __name__ == "__main__":
    sys.exit(main())
