"""Solve a small setup with OpenSpiel: its checks by random play, CFR+, and the exploitability of what it found."""

import json
import time

import pyspiel
from open_spiel.python.algorithms import cfr, exploitability

import felicity_env.openspiel  # noqa: F401 - registers python_felicity

ITERATIONS = 60


def load_game(setup: str) -> pyspiel.Game:
    """Return the game of a setup."""
    return pyspiel.load_game(f"python_felicity(setup={setup})")


def main() -> None:
    """Check every setup by random games, and solve the smallest; exploitability is the mean over the seats."""
    started = time.monotonic()
    for setup in ("standard-3", "standard-4", "standard-5", "small-2", "small-3"):
        pyspiel.random_sim_test(load_game(setup), num_sims=2, serialize=False, verbose=False)
    game = load_game("tiny-2")
    solver = cfr.CFRPlusSolver(game)
    before = exploitability.exploitability(game, solver.average_policy())
    for _ in range(ITERATIONS):
        solver.evaluate_and_update_policy()
    after = exploitability.exploitability(game, solver.average_policy())
    result = {"exploitability_before": round(before, 4), "exploitability_after": round(after, 4)}
    print(json.dumps(result | {"iterations": ITERATIONS, "seconds": round(time.monotonic() - started)}))


if __name__ == "__main__":
    main()
