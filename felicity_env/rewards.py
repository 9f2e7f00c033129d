"""Reward functions, which compute the reward of each seat for a step, and the result of a seat.

The rules of the game define only scores.
"""

from typing import Any

import numpy as np

from felicity_env.game import MAX_SEATS, OVER, PLACE, State, is_terminal, rank, score
from felicity_env.kernel import kernel

REWARDS = {
    "win": "at the end 1/k to each of k winners, 0 to the others",
    "margin": "at the end the own score minus the mean of the others'",
    "score": "at the end the own score",
    "round": "at the end of every round the change of own mice and cat points",
}
_WIN, _MARGIN, _SCORE, _ROUND = range(len(REWARDS))


def reward_code(reward: str) -> int:
    """Return the number that compiled code uses for the reward function of this name.

    Raises `ValueError` with a list of all names if the name is unknown.
    """
    if reward not in REWARDS:
        raise ValueError(f"reward must be one of {list(REWARDS)}, not {reward!r}")
    return list(REWARDS).index(reward)


def read_result(state: State, seat: int, *, is_over: bool) -> dict[str, Any]:
    """Return the score, cat points and mice of a seat, its rank (1 is best) and its win share (see "win").

    is_over: whether the game has ended, perhaps too early; otherwise the rank is 0. The win share is 0 unless the game
    was played to its end.
    """
    shares = np.empty(MAX_SEATS)
    step_rewards(state, _WIN, shares)
    return {
        "score": int(score(state, seat)),
        "cat_points": int(state.cat_points[seat]),
        "mice": int(state.mice[seat]),
        "rank": int(rank(state, seat)) if is_over else 0,
        "win_share": float(shares[seat]),
    }


@kernel
def step_rewards(state: State, code: int, out: np.ndarray) -> None:
    """Write the reward of each seat for the step that led to `state` into `out`, float64 [MAX_SEATS]."""
    out[:] = 0.0
    if code == _ROUND:
        _round_rewards(state, out)
    elif is_terminal(state):
        if code == _WIN:
            _win_rewards(state, out)
        elif code == _SCORE:
            for seat in range(state.num_seats):
                out[seat] = score(state, seat)
        else:
            _margin_rewards(state, out)


def compute_win_shares(states: np.ndarray) -> np.ndarray:
    """Return the win share of each seat (see "win") in B states, float64 [B, MAX_SEATS]; 0 before the end."""
    shares = np.empty((len(states), MAX_SEATS))
    _write_win_shares(states, shares)
    return shares


@kernel
def _write_win_shares(states, out):
    for k in range(len(states)):
        step_rewards(states[k], _WIN, out[k])


@kernel
def _round_rewards(state, out):
    between_rounds = state.phase == PLACE and state.row_size == state.has_dummy
    if state.phase == OVER or between_rounds:
        for seat in range(state.num_seats):
            out[seat] = state.gain[seat]


@kernel
def _win_rewards(state, out):
    winners = 0
    for seat in range(state.num_seats):
        winners += rank(state, seat) == 1
    for seat in range(state.num_seats):
        if rank(state, seat) == 1:
            out[seat] = 1.0 / winners


@kernel
def _margin_rewards(state, out):
    total = 0.0
    for seat in range(state.num_seats):
        total += score(state, seat)
    for seat in range(state.num_seats):
        own = score(state, seat)
        out[seat] = own - (total - own) / (state.num_seats - 1)
