"""Command `python -m felicity_env`: prints the version, an example position and pointers to commands and documents."""

import sys
from collections.abc import Sequence

from felicity_env import RULES_VERSION, __version__, notation
from felicity_env.render.text import render_view

GAME = """\
felicity rules 1
players 4
deal start_seat 1
deal removed R 3 5 15

1: R R -5 d | 1 2 - - -
2: 15 -8 11 8 | 4 - 6 7
"""
NEXT = """\
Play from Python:    from felicity_env import felicity_v0; env = felicity_v0.env(num_players=4)
From a checkout:     python -m agents --help         measure players and explain their decisions
                     python -m train --help          train a player
                     python -m experiments --help    answer a question by measuring
Examples and rules:  README.md and felicity_env/RULES.md"""


HELP = f"""\
usage: python -m felicity_env

Print the version, an example position as the seat to act sees it, and pointers.
It has no options.

{NEXT}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the version, an example position and pointers to commands and documents.

    Returns the exit status of the process: 0, or 2 if any argument but --help is given.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in ("-h", "--help"):
        print(HELP)
        return 0
    if words:
        print(f"error: python -m felicity_env has no options, not {' '.join(words)}", file=sys.stderr)
        return 2
    state = notation.loads(GAME).final_states()[0]
    position = render_view(state, int(state.seat))
    # One write, so that a reader of the first lines, such as `head`, does not break the pipe.
    sys.stdout.write(f"felicity-env {__version__}, rules {RULES_VERSION}\n\n{position}\n\n{NEXT}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
