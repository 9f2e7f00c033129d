"""Command line of the experiments: `python -m experiments QUESTION [options]`. `README.md` lists the answers."""

from agents.tools.startup import begin_command

if __name__ == "__main__":
    begin_command()

import sys
from collections.abc import Sequence

from agents.tools.command import run_verb
from agents.tools.options import format_rows
from experiments.questions import GROUPS, QUESTIONS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment that the first argument names, or list all questions; return the exit status.

    arguments: words after `python -m experiments`; by default those of the command line.
    """
    return run_verb("experiments", QUESTIONS, arguments, help_text=list_questions)


def list_questions() -> str:
    """Return the help text of `python -m experiments`: a line for each question, in groups."""
    lines = ["usage: python -m experiments QUESTION [options]   (QUESTION --help lists them)"]
    width = max(map(len, QUESTIONS))
    for title, verbs in GROUPS.items():
        lines += ["", f"{title}:", format_rows((f"{name:{width}}", verb.help) for name, verb in verbs.items())]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
