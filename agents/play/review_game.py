"""Review of a game: what each decision of a seat cost it in win share, and what was luck.

Each decision is explained as by `explain_decision`. What it costs is the difference, in the same worlds, between the
best action and the one taken. Its effect is the value of the action taken minus what the policy would have won on
average. What follows until the next decision, from the others' hidden cards and actions, is luck. So the win share
before the first decision, all effects and all luck sum to the result, and a good bid that met a dog is not called
wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agents.arena.estimates import Estimate
from agents.play.explanation import Candidate, Explanation, explain_decision
from agents.policy_player import PolicyPlayer
from felicity_env.game import is_terminal, num_legal_actions, rank, score
from felicity_env.game_record import Game, action_text
from felicity_env.rewards import compute_win_shares

LEAST_COST = 0.02  # in win share, of a flagged decision


def is_flaw(difference: Estimate) -> bool:
    """Return whether another action was surely better than the one taken, and by at least LEAST_COST.

    difference: win share of the other action minus that of the one taken; its interval must exclude 0.
    """
    return difference.low > 0 and difference.value >= LEAST_COST


class ReviewedDecision(NamedTuple):
    """Decision of the reviewed seat: its explanation, what it cost, its effect, and the luck that followed."""

    explanation: Explanation
    cost: float  # win share that the best candidate would have brought more; 0 if it was taken
    effect: float  # value of the action taken minus the policy's value before the decision
    luck: float | None  # value at the next decision, or the result, minus that of the action taken; None: not known yet

    @property
    def taken(self) -> int:
        """Action that was taken."""
        assert self.explanation.taken is not None  # only decisions that were taken are reviewed
        return self.explanation.taken

    @property
    def better(self) -> Candidate | None:
        """Best action that was surely better than the one taken: its interval excludes 0. None if there is none."""
        return next((each for each in self.explanation.candidates if each.difference.low > 0), None)

    @property
    def is_flagged(self) -> bool:
        """True if some action was surely better, and by at least LEAST_COST."""
        return any(is_flaw(candidate.difference) for candidate in self.explanation.candidates)


@dataclass(frozen=True)
class Review:
    """Review of all decisions of one seat in a game that left it a choice."""

    game: Game
    seat: int
    result: float | None  # win share of the seat; None if the game is not over
    decisions: tuple[ReviewedDecision, ...]

    @property
    def flagged(self) -> list[ReviewedDecision]:
        """The flagged decisions, the dearest first."""
        return sorted((each for each in self.decisions if each.is_flagged), key=lambda each: -each.cost)


def review_game(
    game: Game,
    seat: int,
    player: PolicyPlayer,
    *,
    worlds: int = 400,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Review:
    """Review the decisions of a seat in a game, which may be unfinished, by a policy.

    worlds, seed: as in `explain_decision`, which gives the same numbers for each decision. report: receives how many
    decisions are done, and how many there are. Raises `ValueError` if there is no such seat, or if the player has no
    action probabilities.
    """
    numbers = list_choices(game, seat)
    explanations = []
    for done, number in enumerate(numbers):
        report(done, len(numbers))
        explanations.append(explain_decision(game, number, player, worlds=worlds, seed=seed))
    report(len(numbers), len(numbers))
    return build_review(game, seat, explanations)


def build_review(game: Game, seat: int, explanations: Sequence[Explanation]) -> Review:
    """Return the review of a seat in a game from the explanations of all its choices, in their order."""
    result = _find_result(game, seat)
    values = [*(explanation.value.value for explanation in explanations[1:]), result]
    decisions = [_judge(explanation, after) for explanation, after in zip(explanations, values, strict=False)]
    return Review(game, seat, result, tuple(decisions))


def list_choices(game: Game, seat: int) -> list[int]:
    """List the numbers of the decisions of a seat, counted from 1, in which it had a choice.

    Raises `ValueError` if there is no such seat.
    """
    if not 0 <= seat < game.setup.seats:
        raise ValueError(f"--seat must be 0 to {game.setup.seats - 1}, not {seat}")
    before = [state.copy() for _, state in game.states()][: len(game.actions)]
    return [k for k, state in enumerate(before, 1) if state.seat == seat and num_legal_actions(state) > 1]


def _judge(explanation: Explanation, after: float | None) -> ReviewedDecision:
    """Return what a decision cost and brought; after: value at the next decision or the result, None if not known."""
    taken = explanation.find(int(explanation.taken or 0)).value
    return ReviewedDecision(
        explanation=explanation,
        cost=explanation.candidates[0].value - taken,
        effect=taken - explanation.value.value,
        luck=None if after is None else after - taken,
    )


def _find_result(game: Game, seat: int) -> float | None:
    """Return the win share of a seat at the end of a game, or None if the game is not over."""
    states = game.final_states()
    return float(compute_win_shares(states)[0, seat]) if is_terminal(states[0]) else None


def summarize(review: Review) -> list[str]:
    """Describe a review in a few sentences; `describe_flaw` describes each flagged decision."""
    if not review.decisions:
        return [f"Seat {review.seat} has had no choice in this game yet."]
    first = review.decisions[0].explanation
    effect = sum(each.effect for each in review.decisions)
    luck = sum(each.luck or 0.0 for each in review.decisions)
    result = "The game is not over" if review.result is None else _describe_result(review)
    sentences = [
        f"Before its first decision, seat {review.seat} would win {first.value.value:.2f} on average.",
        f"{result}: compared with the judge's play, its {len(review.decisions)} decisions brought {effect:+.2f}, and "
        f"luck brought {luck:+.2f}.",
    ]
    if not review.flagged:
        return [*sentences, "No decision is flagged: none was surely worse than another by as much as 0.02."]
    count = len(review.flagged)
    return [*sentences, "1 decision is flagged." if count == 1 else f"{count} decisions are flagged."]


def _describe_result(review: Review) -> str:
    """Describe which place a seat came in, with how many points."""
    state = review.game.final_states()[0]
    place, points = int(rank(state, review.seat)), int(score(state, review.seat))
    seats = review.game.setup.seats
    return f"It came in place {place} of {seats}, with {points} points (a win share of {review.result:.2f})"


def describe_flaw(decision: ReviewedDecision) -> str:
    """Describe in a sentence which action would have been better, and by how much."""
    explanation, better = decision.explanation, decision.better or decision.explanation.candidates[0]
    difference = better.difference
    return (
        f"Decision {explanation.decision}, in round {explanation.state.round_number + 1}: "
        f"{action_text(better.action)} would have won {difference.value:.3f} more than "
        f"{action_text(decision.taken)} ({difference.low:.3f} to {difference.high:.3f})."
    )
