"""Commands that measure players and show their games; `python -m agents --help` lists them and the codes of players."""

from agents.tools.startup import begin_command

if __name__ == "__main__":
    begin_command()

import sys

from agents.tools.command import Verb, list_verbs, run_verb

VERBS = {
    "tournament": Verb("agents.arena.tournament", "rank players: every one against copies of every other, and mixed"),
    "evaluate": Verb("agents.arena.evaluate", "measure one player against others, or test whether it is stronger"),
    "play": Verb("agents.play.play", "play a game yourself, in the browser or at the terminal"),
    "games": Verb("agents.play.games", "play games between players and save them in text notation"),
    "dataset": Verb("agents.data.dataset", "play many games and store them as data"),
    "export": Verb("agents.data.export", "write a dataset as JSON lines, Parquet or for Minari"),
    "replay": Verb("agents.play.replay", "make a page, a film or a picture of a stored game"),
    "review": Verb("agents.play.review", "find the decisions that cost a seat win share in a stored game"),
    "explain": Verb("agents.play.explain", "show what a policy considers at a decision of a stored game"),
}


def list_verbs_and_players() -> str:
    """Return the help text of `python -m agents`: the verbs, and the codes of players."""
    from agents.registry import help_text  # takes a second

    return f"{list_verbs('agents', VERBS)}\n\n{help_text()}"


if __name__ == "__main__":
    sys.exit(run_verb("agents", VERBS, help_text=list_verbs_and_players))
