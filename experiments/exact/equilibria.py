"""Equilibria of small games by CFR+, and of last rounds of real games, with their NashConv."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import agents
from experiments.exact.cfr import solve
from experiments.exact.last_round import believe_uniformly, build_last_round, draw_last_rounds
from experiments.exact.policies import observe_sets, tabulate
from experiments.exact.tree import GameTree
from experiments.exact.values import compute_gains, compute_values
from felicity_env.game_record import card_text
from felicity_env.setups import find_setup


def solve_setup(setup: str, num_iterations: int) -> dict[str, Any]:
    """Solve a small setup by CFR+; return the size of its tree and the NashConv after 1, 2, 4, ... iterations.

    There are two curves: of policies that remember all that their seat has seen, and of policies that depend on the
    observation alone. Best responses remember all in both. The last entry of a curve is that after all iterations.
    """
    started, game = time.monotonic(), GameTree.from_setup(find_setup(setup))
    merged, entries = game.merge_sets(observe_sets(game))
    sizes = {"nodes": len(game.tree.seats), "information_sets": game.num_sets, "observations": merged.num_sets}
    curves = {
        "curve": [_measure(game, policy, number) for number, policy in _solve_in_steps(game, num_iterations)],
        "observation_curve": [
            _measure(game, policy[entries], number) for number, policy in _solve_in_steps(merged, num_iterations)
        ],
    }
    return {"setup": setup, **sizes, **curves, "seconds": round(time.monotonic() - started, 1)}


def _solve_in_steps(game: GameTree, num_iterations: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield number and policy of the iterations 1, 2, 4, ... of CFR+, and of the last one."""
    for number, policy in enumerate(solve(game, num_iterations), 1):
        if number & (number - 1) == 0 or number == num_iterations:
            yield number, policy


def _measure(game: GameTree, policy: np.ndarray, number: int) -> dict[str, Any]:
    return {"iterations": number, "nash_conv": float(compute_gains(game, policy).sum())}


def solve_last_rounds(
    setup: str, *, count: int, most_mice: int, num_iterations: int, players: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    """Solve last rounds of games among copies of `net`; return what each seat wins, and what it could gain.

    Each row has the position, the win shares of the seats in the equilibrium found, the NashConv of this equilibrium,
    and the NashConv of the given players. The last cards are believed to be either unseen card with equal probability.
    """
    starts = draw_last_rounds(find_setup(setup), agents.make("net"), count=count, most_mice=most_mice, seed=seed)
    return [{"setup": setup, **_solve_last_round(start, num_iterations, players)} for start in starts]


def _solve_last_round(start: np.ndarray, num_iterations: int, players: Sequence[str]) -> dict[str, Any]:
    state, beliefs = start[0], believe_uniformly(start[0])
    game = build_last_round(start, beliefs)
    *_, policy = solve(game, num_iterations)
    policies = {code: tabulate(game, agents.make(code)) for code in players}
    return {
        "mice": state.mice[: state.num_seats].tolist(),
        "cat_points": state.cat_points[: state.num_seats].tolist(),
        "unseen": [" ".join(card_text(card) for card in belief) for belief in beliefs],
        "nodes": len(game.tree.seats),
        "win_shares": compute_values(game, policy).tolist(),
        "nash_conv": float(compute_gains(game, policy).sum()),
        "players": {code: float(compute_gains(game, each).sum()) for code, each in policies.items()},
    }
