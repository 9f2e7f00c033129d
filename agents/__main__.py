"""Commands that measure players; `python -m agents --help` lists them and the codes of players."""

import sys

from agents.registry import help_text
from agents.tools.command import Verb, run_verb

VERBS = {
    "tournament": Verb("agents.arena.tournament", "rank players: every one against copies of every other, and mixed"),
    "evaluate": Verb("agents.arena.evaluate", "measure one player against others, or test whether it is stronger"),
    "explain": Verb("agents.arena.explain", "show what a policy considers at a decision of a stored game"),
}

if __name__ == "__main__":
    sys.exit(run_verb("agents", VERBS, footer=help_text()))
