"""Hints for people: what the reference player would do at the decision to come."""

from agents.play.explanation import make_policy
from agents.play.table import Table
from felicity_env.game_record import action_text

JUDGE = "net"  # player that gives hints and reviews
_MOST, _LEAST_SHARE = 5, 0.005  # actions that are named, and the least probability of one


def describe_hint(table: Table) -> str:
    """Describe the likeliest actions of the reference player at the decision to come, with their probabilities."""
    probabilities = make_policy(JUDGE).probabilities(table.view())[0]
    likeliest = [int(action) for action in (-probabilities).argsort()[:_MOST] if probabilities[action] > _LEAST_SHARE]
    words = [f"{action_text(action)} ({probabilities[action]:.0%})" for action in likeliest]
    return f"The reference player would {', or '.join(words)}."
