"""Seeds of all measurements in one table, so that no measurement uses the games of another or of training.

Training derives its games from `--seed`, which is at most `MAX_TRAINING_SEED`. Every measurement has another seed above
that, from which `felicity_env.game_seed` derives the seeds of its games.
"""

MAX_TRAINING_SEED = 2**32 - 1
SEEDS = {
    "ablation": 2**57,
    "exploit, selection": 2**57 + 1,
    "exploit, report": 2**57 + 2,
    "soundness": 2**58,
    "reference strength": 2**58 + 1,
    "reference style": 2**58 + 2,
    "strangers": 2**58 + 3,
    "anatomy": 2**59,
    "tune": 2**60,
    "ladder": 2**61,
    "budget": 2**61 + 1,
    "policy search": 2**61 + 2,
    "evaluation": 2**62,
    "encoding": 2**62 + 1,
    "invariants": 2**62 + 2,
    "leaks": 2**62 + 3,
    "malformed": 2**62 + 4,
    "damage": 2**62 + 5,
    "endurance": 2**62 + 6,
    "kills": 2**62 + 7,
    "review-honesty": 2**62 + 8,
    "faults": 2**62 + 9,
    "cluster": 2**62 + 10,
    "gpu": 2**62 + 11,
}
