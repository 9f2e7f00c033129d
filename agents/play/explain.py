"""Explanation of a decision by a policy: `python -m agents explain GAME --player net:RUN --decision 42`.

The command shows what the acting seat saw, the probability and the expected win share of each plausible action if all
seats continue as the policy plays, and the probabilities of the other players' hidden cards. These follow by Bayes'
rule from the actions, if the other players play as the policy does. Without `--decision` the command lists all
decisions of the game. `python -m agents review` explains all decisions of a seat.
"""

from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agents.arena.game_file import read_game
from agents.play.explanation import (
    Explanation,
    explain_decision,
    list_beliefs,
    make_policy,
    write_difference,
)
from agents.policy_player import PolicyPlayer
from agents.posterior import view_states
from agents.tools.settings import check_at_least
from agents.trained_setups import warn_of_untrained
from felicity_env.game import NO_SEAT, NUM_CARDS
from felicity_env.game_record import Game
from felicity_env.notation import action_text, card_text
from felicity_env.render.text import render_view


@dataclass(frozen=True)
class Config:
    """Show what a policy considers at a decision of a stored game: actions, expected win share, and hidden cards."""

    game: Annotated[Path, tyro.conf.Positional]
    """File with a game in text notation (see `felicity_env.notation`); the game may be unfinished."""
    player: str = "net"
    """Code of the policy: `net` is the network of this project, `net:PATH` that of a run folder."""
    decision: int | None = None
    """Number of the decision to explain, counted from 1: decision 1 is taken in position 0 of `replay`. Default: list
    all decisions of the game."""
    worlds: int = 400
    """Number of possible deals of the hidden cards (worlds) in which each plausible action is played to the end."""
    seed: int = 0
    """Seed for drawing these worlds and for playing them to the end."""

    def __post_init__(self) -> None:
        check_at_least(self, worlds=2, seed=0)


# --- tables -----------------------------------------------------------------------------------------------------------


_BAR = 10  # characters of the bar that shows a probability of 1


def build_decision_table(game: Game, player: PolicyPlayer) -> Table:
    """Build a table of all decisions of a game: action, probability under the policy, and most likely action."""
    table = Table(
        "decision", "round", "seat", "action", "probability", "most likely", "its probability", title="Decisions"
    )
    states = [state.copy() for _, state in game.states() if state["seat"] != NO_SEAT]
    for number, (state, action) in enumerate(zip_longest(states, game.actions), start=1):
        probabilities = player.probabilities(view_states(np.array([state])))[0]
        best = int(probabilities.argmax())
        taken = ("to come", "") if action is None else (action_text(action), f"{probabilities[action]:.2f}")
        most_likely = (action_text(best), f"{probabilities[best]:.2f}")
        table.add_row(str(number), str(state["round_number"] + 1), str(state["seat"]), *taken, *most_likely)
    return table


def build_action_table(explanation: Explanation, policy: str) -> Table:
    """Build a table of the plausible actions at a decision: probability, value, and difference from that taken.

    policy: name of the policy, for the title.
    """
    table = Table(
        title=f"Decision {explanation.decision}, seat {explanation.seat}: probability under {policy}, and win share",
        caption="the plausible actions; all intervals together are right in 95 % of cases",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # so that it fits into 80 columns
    )
    for name in ("action", "probability", "", "win share", "more than taken", "interval"):
        table.add_column(name, justify="left" if name in ("action", "") else "right", no_wrap=True)
    for candidate in sorted(explanation.candidates, key=lambda each: -each.probability):
        is_taken = candidate.action == explanation.taken
        paired = ("", "<- taken") if is_taken else write_difference(candidate)
        bar = "#" * round(_BAR * candidate.probability)
        table.add_row(
            action_text(candidate.action), f"{candidate.probability:.3f}", bar, f"{candidate.value:.3f}", *paired
        )
    return table


def build_belief_table(explanation: Explanation) -> Table:
    """Build a table of the other seats' hidden cards with their probabilities: by the rules alone, and by actions."""
    table = Table(
        title="What the others hide, in %: by the rules alone, and by their actions, if they play as this policy does",
        caption="a dot: excluded by the rules",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),  # so that it fits into 80 columns
    )
    for name in ("seat", "card", "by", *map(card_text, range(NUM_CARDS))):
        table.add_column(name, justify="right", no_wrap=True)
    for seat, hidden in explanation.hidden.items():
        for cells in list_beliefs(hidden):
            table.add_row(str(seat), *cells)
    return table


# --- the command ------------------------------------------------------------------------------------------------------


def main(config: Config) -> None:
    """Print the explanation of one decision of a game, or a table of all decisions if no decision is named."""
    console, game, player = Console(), read_game(config.game), make_policy(config.player)
    warn_of_untrained([config.player], [game.setup])
    if config.decision is None:
        console.print(build_decision_table(game, player))
        return
    explanation = explain_decision(game, config.decision, player, worlds=config.worlds, seed=config.seed)
    drawing = render_view(explanation.state, explanation.seat, open_mice=explanation.open_mice)
    console.print(drawing, markup=False, highlight=False)
    if explanation.open_mice:
        console.print("The others' mice are shown, because the policy counts them from public events.\n")
    console.print(build_action_table(explanation, config.player))
    text = "win share expected, if all play on as the policy: {value:.3f} ({low:.3f} to {high:.3f})"
    console.print(text.format(**asdict(explanation.value)), highlight=False)
    console.print(build_belief_table(explanation))
