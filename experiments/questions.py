"""Table of the questions of `python -m experiments`, in groups.

A new question needs a module and an entry in this table.
"""

from agents.tools.command import Verb

GROUPS = {
    "questions": {
        "ladder": Verb("experiments.strength.ladder", "Which player of the ladder beats which?"),
        "budget": Verb("experiments.strength.budget", "What does a larger search budget buy, and what does it cost?"),
        "policy-search": Verb("experiments.strength.policy_search", "What does search add to the reference player?"),
        "exact": Verb("experiments.exact.question", "What do exact solutions of small games say?"),
        "exploit": Verb("experiments.strength.exploit", "How far can a player be exploited?"),
        "probe": Verb("experiments.strength.probe", "How much of an exploit does a short best response find?"),
        "reference-strength": Verb("experiments.strength.reference_strength", "How strong is the reference player?"),
        "strangers": Verb("experiments.strength.strangers", "How does the reference player do against strangers?"),
        "reference-style": Verb("experiments.strength.reference_style", "How does the reference player play?"),
        "ablation": Verb("experiments.training.ablation", "Which parts of the self-play trainer improve its policies?"),
        "encoding": Verb("experiments.training.encoding", "Do thermometers in the observation help a learner?"),
        "progress": Verb("experiments.training.progress", "How does training make a player harder to exploit?"),
        "first-player": Verb("experiments.training.first_player", "What does a default training run reach?"),
        "anatomy": Verb("experiments.game.anatomy", "What are a seat, a card and a mouse card worth?"),
        "speed": Verb("experiments.speed.environment", "How fast is the environment?"),
        "player-speed": Verb("experiments.speed.players", "How fast do the players decide?"),
        "pictures": Verb("experiments.speed.pictures", "How fast are pictures, replays and reviews?"),
        "dataset": Verb("experiments.speed.dataset", "How large is a dataset of games, and how fast is it?"),
        "data-parallel": Verb("experiments.speed.data_parallel", "Does data-parallel learning pay?"),
        "cluster": Verb("experiments.speed.cluster", "How much of the rate of its processors does a cluster reach?"),
        "gpu-kernels": Verb("experiments.cuda.kernels", "What do kernels for a GPU need, and what bounds them?"),
        "gpu-speed": Verb("experiments.speed.gpu", "How fast is a GPU?"),
        "training-speed": Verb("experiments.speed.training", "How much of its time does training spend in networks?"),
    },
    "release checks": {
        "invariants": Verb("experiments.checks.invariants", "Do the rules hold in random games?"),
        "leaks": Verb("experiments.checks.leaks", "Does a seat receive information that it may not have?"),
        "malformed": Verb("experiments.checks.malformed", "Are malformed actions refused, and nothing changed?"),
        "damage": Verb("experiments.checks.damage", "Are damaged games and files refused in one line?"),
        "endurance": Verb("experiments.checks.endurance", "Does memory stay flat over a billion decisions?"),
        "faults": Verb("experiments.checks.faults", "Does a cluster give the same results whatever fails in it?"),
        "gpu-equality": Verb("experiments.cuda.equality", "Does a GPU play the same games as a CPU?"),
        "kills": Verb("experiments.checks.kills", "Do training runs and tournaments survive being killed?"),
        "mutants": Verb("experiments.checks.mutants", "Do the tests notice a change of the code?"),
        "recipes": Verb("experiments.checks.recipes", "Does the game work in other libraries?"),
        "review-honesty": Verb("experiments.checks.review_honesty", "Are reviews of games honest?"),
        "soundness": Verb("experiments.checks.soundness", "Are the statistics of the arena correct?"),
    },
    "builds": {
        "reference": Verb("experiments.builds.reference", "Train the reference player from nothing."),
        "tune": Verb("experiments.builds.tune", "Which weights make the best `tuned` player?"),
    },
    "pages": {
        "pages": Verb("experiments.pages.render", "Render the tables of the README and the documentation."),
        "notebooks": Verb("experiments.pages.notebooks", "Execute the notebooks and store their outputs."),
        "site": Verb("experiments.pages.site", "Build the documentation as a web site and check its links."),
    },
}
QUESTIONS = {name: verb for group in GROUPS.values() for name, verb in group.items()}
