"""Explanation of a decision by a policy: probabilities, values of plausible actions, and beliefs about hidden cards.

The values are expected win shares if all seats play on as the policy does. Every plausible action is tried in the same
worlds, drawn from the exact beliefs, and with the same random bits, so that differences between actions are paired.

    explanation = explain_decision(game, 42, agents.make("net:RUN"))    # in a notebook: arrays to look into
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from agents.arena.estimates import Estimate, estimate_differences, estimate_share
from agents.arena.games import Games
from agents.policy_player import PolicyPlayer
from agents.policy_search import list_candidates
from agents.posterior import HiddenCards, compute_posteriors, draw_worlds, view_states
from agents.registry import make
from felicity_env.game import NO_SEAT, NUM_CARDS, State, step_all
from felicity_env.game_record import Game
from felicity_env.random_stream import game_seed
from felicity_env.rewards import compute_win_shares


class Candidate(NamedTuple):
    """Plausible action: its probability, its value, and the difference in value from the action taken.

    The value is the expected win share. The intervals of the differences hold for all candidates at once in 95 %.
    """

    action: int
    probability: float
    value: float
    difference: Estimate


class Explanation(NamedTuple):
    """Explanation of one decision: what the seat knew, and the policy's probabilities, values and beliefs."""

    decision: int  # counted from 1
    seat: int
    state: State  # redacted: what the seat may know
    open_mice: bool  # True if the policy sees the other players' mice
    probabilities: np.ndarray  # [NUM_ACTIONS]
    taken: int | None  # action taken in the game; None after its last action
    value: Estimate  # win share of the seat if all, this seat too, continue as the policy plays
    candidates: tuple[Candidate, ...]  # plausible actions and the one taken, the best first
    hidden: dict[int, HiddenCards]  # hidden cards of each other seat, by seat

    def find(self, action: int) -> Candidate:
        """Return the candidate with this action; raise `KeyError` if there is none."""
        return {candidate.action: candidate for candidate in self.candidates}[action]


def explain_decision(
    game: Game, decision: int, player: PolicyPlayer, *, worlds: int = 400, seed: int = 0
) -> Explanation:
    """Explain a decision of a game by a policy: its action probabilities, values and beliefs.

    decision: number of the decision, counted from 1. worlds: number of possible deals of the hidden cards in which each
    plausible action is played to the end. seed: seed of these worlds; each decision of a game has its own. Raises
    `ValueError` if there is no such decision, or if the player has no action probabilities.
    """
    check_policy(player)
    before = replace(game, actions=game.actions[: _check_decision(game, decision) - 1])
    view = view_states(before.final_states())
    seat = int(view.seats[0])
    hidden = compute_posteriors(before, seat, player)
    probabilities = player.probabilities(view)[0].astype(float)
    taken = game.actions[decision - 1] if decision <= len(game.actions) else None
    actions = list_candidates(probabilities, view)
    if taken is not None and taken not in actions:
        actions = np.append(actions, taken)
    seed = game_seed(seed, decision, 0)
    drawn = draw_worlds(view.states, hidden, worlds, np.random.default_rng(seed))
    values = play_candidates(game, drawn, actions, seat, player, seed=seed)
    weights = probabilities[actions] / probabilities[actions].sum()
    return Explanation(
        decision=decision,
        seat=seat,
        state=view.states[0],
        open_mice=any(member.open_mice for member in player.members),
        probabilities=probabilities,
        taken=taken,
        value=estimate_share((weights @ values).clip(0, 1)),
        candidates=_compare(actions, probabilities, values, actions[0] if taken is None else taken),
        hidden=hidden,
    )


def _check_decision(game: Game, decision: int) -> int:
    """Return the number of a decision; raise `ValueError` if the game has no such decision."""
    last = len(game.actions) + int(game.final_states()["seat"][0] != NO_SEAT)  # with the decision to come
    if not 1 <= decision <= last:
        raise ValueError(f"--decision must be 1 to {last}, not {decision}")
    return decision


def _compare(actions: np.ndarray, probabilities: np.ndarray, values: np.ndarray, taken: int) -> tuple[Candidate, ...]:
    """Return the candidates, the best first; values: [C, W], the win share of each of C actions in W worlds."""
    of_taken, others = values[actions == taken][0], np.flatnonzero(actions != taken).tolist()
    differences = dict(zip(others, estimate_differences(values[others] - of_taken), strict=True))
    nothing = Estimate(0.0, 0.0, 0.0, values.shape[1])
    found = [
        Candidate(int(action), float(probabilities[action]), float(values[k].mean()), differences.get(k, nothing))
        for k, action in enumerate(actions)
    ]
    return tuple(sorted(found, key=lambda candidate: -candidate.value))


def play_candidates(
    game: Game, worlds: np.ndarray, actions: np.ndarray, seat: int, player: PolicyPlayer, *, seed: int
) -> np.ndarray:
    """Play each of C actions in each of W worlds, then all seats as `player`; return the win shares of `seat`, [C, W].

    worlds: STATE [W], full states in which `seat` is to act. A world has the same random bits for all actions.
    """
    states = np.tile(worlds, len(actions))
    seeds = np.tile(np.array([game_seed(seed, k, 0) for k in range(len(worlds))], np.uint64), len(actions))
    step_all(states, np.repeat(actions, len(worlds)))
    going = np.flatnonzero(states["seat"] != NO_SEAT)
    if len(going):
        seating = np.zeros((len(going), game.setup.seats), np.int64)
        games = Games(game.setup, states[going], seeds[going], seating)
        games.play([player])
        states[going] = games.states
    return compute_win_shares(states)[:, seat].reshape(len(actions), len(worlds))


def compute_card_probabilities(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probability of each card, [NUM_CARDS], given K possible cards with their probabilities.

    cards: integers [K]; a negative entry stands for no card. weights: [K], the probabilities.
    """
    is_card = cards >= 0
    return np.bincount(cards[is_card], weights[is_card], minlength=NUM_CARDS)


def write_difference(candidate: Candidate) -> tuple[str, str]:
    """Return the difference in win share of an action from the one taken, and its interval, as text."""
    difference = candidate.difference
    return f"{difference.value:+.3f}", f"{difference.low:+.3f} to {difference.high:+.3f}"


def list_beliefs(hidden: HiddenCards) -> Iterator[list[str]]:
    """Yield rows of text with the probability, in %, that each card is the removed or the face-down card of a seat.

    For each of the two there is a row by the rules alone and a row by the seat's actions. A dot marks cards that the
    rules exclude.
    """
    for name, cards in (("removed", hidden.removed), ("face down", hidden.placed)):
        possible = compute_card_probabilities(cards, hidden.prior) > 0
        for source, weights in (("rules", hidden.prior), ("actions", hidden.posterior)):
            percent = 100 * compute_card_probabilities(cards, weights)
            if possible.any():
                yield [name, source, *(f"{p:.0f}" if ok else "." for p, ok in zip(percent, possible, strict=True))]


def make_policy(code: str) -> PolicyPlayer:
    """Make the player with a code, such as `net`; raise `ValueError` if it has no action probabilities."""
    player: Any = make(code)
    try:
        check_policy(player)
    except ValueError as error:
        raise ValueError(f"--player {code}: {error}") from error
    return player


def check_policy(player: Any) -> None:
    """Raise `ValueError` unless a player draws its actions, as networks do that are not greedy."""
    if not isinstance(player, PolicyPlayer):
        raise ValueError("only networks (net, net:PATH) have action probabilities")
    if any(member.greedy for member in player.members):
        raise ValueError("a greedy policy always takes its best action; leave out the option greedy")
