"""`python -m train [ALGORITHM]`: train a player, evaluate it, and store everything in a run folder."""

import sys
from collections.abc import Sequence

from agents.tools.command import exit_status
from train.algorithms import ALGORITHMS, DEFAULT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `python -m train` with the given arguments (default: those of the command line); return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if {"-h", "--help"} & set(words) and words[0] not in ALGORITHMS:
        print(_usage())
        return 0
    advice = "--resume RUN continues from the run's last checkpoint, if it has one"
    return exit_status(lambda: _train(words), interrupted=lambda: advice)


def _train(words: Sequence[str]) -> int:
    from train.command import read_arguments, train  # imported late, because it takes seconds

    return train(*read_arguments(words))


def _usage() -> str:
    width = max(map(len, ALGORITHMS))
    lines = [
        f"  {name:{width}}  {algorithm.help}{' (default)' if name == DEFAULT else ''}"
        for name, algorithm in ALGORITHMS.items()
    ]
    start = "usage: python -m train [ALGORITHM] [options]   (ALGORITHM --help lists its options)"
    resume = "       python -m train --resume RUN            (continues a stopped run; --total-timesteps N extends one)"
    return "\n".join([start, resume, "", *lines])


if __name__ == "__main__":
    sys.exit(main())
