"""Command line of the experiments: `python -m experiments QUESTION [options]`. `README.md` lists the answers."""

import sys
from collections.abc import Sequence

from agents.tools.command import Verb, run_verb

GROUPS = {
    "questions": {
        "ladder": Verb("experiments.strength.ladder", "Which player of the ladder beats which?"),
        "budget": Verb("experiments.strength.budget", "What does a larger search budget buy, and what does it cost?"),
        "exploit": Verb("experiments.strength.exploit", "How far can a player be exploited?"),
        "reference-strength": Verb("experiments.strength.reference_strength", "How strong is the reference player?"),
        "reference-style": Verb("experiments.strength.reference_style", "How does the reference player play?"),
        "ablation": Verb("experiments.training.ablation", "Which parts of the self-play trainer pay?"),
        "encoding": Verb("experiments.training.encoding", "Do thermometers in the observation help a learner?"),
        "first-player": Verb("experiments.training.first_player", "What does a default training run reach?"),
        "anatomy": Verb("experiments.game.anatomy", "What is the value of a seat, a card and a mouse card?"),
        "speed": Verb("experiments.speed.environment", "How fast is the environment?"),
        "player-speed": Verb("experiments.speed.players", "How fast do the players decide?"),
        "training-speed": Verb("experiments.speed.training", "How much of its time does training spend in networks?"),
    },
    "release checks": {
        "kills": Verb("experiments.checks.kills", "Does a training run survive being killed at any moment?"),
        "soundness": Verb("experiments.checks.soundness", "Are the statistics of the arena correct?"),
    },
    "builds": {
        "tune": Verb("experiments.recipes.tune", "Which weights make the best `tuned` player?"),
    },
    "pages": {
        "readme": Verb("experiments.pages.readme", "Render the tables of the READMEs and the model card."),
        "notebooks": Verb("experiments.pages.notebooks", "Execute the notebooks and store their outputs."),
    },
}
QUESTIONS = {name: verb for group in GROUPS.values() for name, verb in group.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiment for the question that the first argument names, or list all; return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] in (["-h"], ["--help"]):
        print(list_questions())
        return 0
    return run_verb("experiments", QUESTIONS, words)


def list_questions() -> str:
    """Return the help text of `python -m experiments`: a line for each question, in groups."""
    width = max(map(len, QUESTIONS))
    lines = ["usage: python -m experiments QUESTION [options]   (QUESTION --help lists its options)"]
    for title, verbs in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:{width}}  {verb.help}" for name, verb in verbs.items())]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
