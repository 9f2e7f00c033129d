"""Explanation of a decision by a policy: `python -m agents explain GAME --player net:RUN --decision 42`.

The command shows what the acting seat saw, the probability of each action under the policy, the expected win share if
all seats continue as the policy plays, and the probabilities of the other players' hidden cards. These follow by Bayes'
rule from the actions, if the other players play as the policy does. Without `--decision` the command lists all
decisions of the game.

    from agents.arena.explain import explain_decision
    explain_decision(game, 42, agents.make("net:RUN"))    # in a notebook: probabilities, value and beliefs as arrays
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.arena.blocks import measure_seats
from agents.arena.estimates import Estimate, estimate_share
from agents.arena.game_file import read_game
from agents.arena.games import Games
from agents.mixture import PolicyPlayer
from agents.posterior import HiddenCards, compute_posteriors, draw_worlds
from agents.registry import make
from agents.tools.settings import check_at_least
from felicity_env.game import NO_SEAT, NUM_CARDS, State
from felicity_env.game_record import Game
from felicity_env.information import redact
from felicity_env.notation import action_text, card_text
from felicity_env.player import View
from felicity_env.random_stream import game_seed
from felicity_env.render.text import render_view

_MIN_PROBABILITY = 0.005  # actions with a smaller probability are not listed


@dataclass(frozen=True)
class Config:
    """Show what a policy considers at a decision of a stored game: actions, expected win share, and hidden cards."""

    game: Annotated[Path, tyro.conf.Positional]
    """File with a game in text notation (see `felicity_env.notation`); the game may be unfinished."""
    player: str = "net"
    """Code of the policy: `net` is the network of this project, `net:PATH` that of a run folder."""
    decision: int | None = None
    """Number of the decision to explain, counted from 1. Default: list all decisions of the game."""
    worlds: int = 1000
    """Number of possible deals of the hidden cards (worlds) to play to the end for the expected win share."""
    seed: int = 0
    """Seed for drawing these worlds and for playing them to the end."""

    def __post_init__(self) -> None:
        check_at_least(self, worlds=2, seed=0)


class Explanation(NamedTuple):
    """Explanation of one decision: what the seat knew, and the policy's probabilities, value and beliefs."""

    seat: int
    state: State  # redacted: what the seat may know
    open_mice: bool  # True if the policy sees the other players' mice
    probabilities: np.ndarray  # [NUM_ACTIONS]
    taken: int | None  # action taken in the game; None after its last action
    value: Estimate  # win share of the seat if all continue as the policy plays, over drawn worlds
    hidden: dict[int, HiddenCards]  # hidden cards of each other seat, by seat


def explain_decision(
    game: Game, decision: int, player: PolicyPlayer, *, worlds: int = 1000, seed: int = 0
) -> Explanation:
    """Explain a decision of a game by a player's policy: its action probabilities, expected win share and beliefs.

    decision: number of the decision, counted from 1. worlds: number of possible deals of the hidden cards that are
    played to the end for the expected win share. Raises `ValueError` if there is no such decision, or if the player has
    no action probabilities.
    """
    check_policy(player)
    is_over = game.final_states()["seat"][0] == NO_SEAT
    last = len(game.actions) + (not is_over)  # in an unfinished game also the decision to come
    if not 1 <= decision <= last:
        raise ValueError(f"--decision must be 1 to {last}, not {decision}")
    before = replace(game, actions=game.actions[: decision - 1])
    view = _view_states(before.final_states())
    seat = int(view.seats[0])
    hidden = compute_posteriors(before, seat, player)
    drawn_worlds = draw_worlds(before, seat, hidden, worlds, np.random.default_rng(seed))
    return Explanation(
        seat=seat,
        state=view.states[0],
        open_mice=any(member.open_mice for member in player.members),
        probabilities=player.probabilities(view)[0],
        taken=game.actions[decision - 1] if decision <= len(game.actions) else None,
        value=estimate_share(play_worlds(before, drawn_worlds, seat, player, seed=seed)),
        hidden=hidden,
    )


def _view_states(states: np.ndarray) -> View:
    seats = states["seat"].astype(np.int64)
    return View.make_unchecked(redact(states, seats), seats, np.zeros(len(states), np.uint64))


def play_worlds(game: Game, worlds: np.ndarray, seat: int, player: PolicyPlayer, *, seed: int) -> np.ndarray:
    """Play each world (a state with all cards known) with `player` in all seats; return the win shares of `seat`.

    worlds: STATE [W]. Returns float64 [W].
    """
    seeds = np.array([game_seed(seed, world, 0) for world in range(len(worlds))], np.uint64)
    games = Games(game.setup, worlds, seeds, np.zeros((len(worlds), game.setup.seats), np.int64))
    games.play([player])
    return measure_seats(games, game.setup.seats)["win_share"][:, seat]


def compute_card_probabilities(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probability of each card, [NUM_CARDS], given K possible cards with their probabilities.

    cards: integers [K]; a negative entry stands for no card. weights: [K], the probabilities.
    """
    is_card = cards >= 0
    return np.bincount(cards[is_card], weights[is_card], minlength=NUM_CARDS)


# --- tables -----------------------------------------------------------------------------------------------------------


def build_decision_table(game: Game, player: PolicyPlayer) -> Table:
    """Build a table of all decisions of a game: action, probability under the policy, and most likely action."""
    table = Table("decision", "round", "seat", "action", "probability", "most likely", "", title="Decisions")
    states = [state.copy() for _, state in game.states() if state["seat"] != NO_SEAT]
    for number, (state, action) in enumerate(zip_longest(states, game.actions), start=1):
        probabilities = player.probabilities(_view_states(np.array([state])))[0]
        best = int(probabilities.argmax())
        taken = ("to come", "") if action is None else (action_text(action), f"{probabilities[action]:.2f}")
        most_likely = (action_text(best), f"{probabilities[best]:.2f}")
        table.add_row(str(number), str(state["round_number"] + 1), str(state["seat"]), *taken, *most_likely)
    return table


def build_action_table(explanation: Explanation) -> Table:
    """Build a table of the actions and their probabilities under the policy at a decision, the most likely first."""
    table = Table("action", "probability", "", title=f"Action probabilities of the policy at seat {explanation.seat}")
    order = np.argsort(-explanation.probabilities)
    for action in order[(explanation.probabilities[order] >= _MIN_PROBABILITY) | (order == explanation.taken)]:
        probability = float(explanation.probabilities[action])
        mark = " <- taken" if action == explanation.taken else ""
        table.add_row(action_text(int(action)), f"{probability:.3f}", "#" * round(30 * probability) + mark)
    return table


def build_belief_table(explanation: Explanation) -> Table:
    """Build a table of the other seats' hidden cards with their probabilities: by the rules alone, and by actions."""
    table = Table(
        title="What the others hide, in %: by the rules alone, and by their actions, if they play as this policy does",
        caption="a dot: excluded by the rules",
    )
    for name in ("seat", "card", "by", *map(card_text, range(NUM_CARDS))):
        table.add_column(name, justify="right", no_wrap=True)
    for seat, hidden in explanation.hidden.items():
        for cells in _list_beliefs(hidden):
            table.add_row(str(seat), *cells)
    return table


def _list_beliefs(hidden: HiddenCards) -> Iterator[list[str]]:
    """Yield table rows with the probability, in %, that each card is the removed or the face-down card of a seat.

    For each of the two there is a row by the rules alone and a row by the seat's actions. A dot marks cards that the
    rules exclude.
    """
    for name, cards in (("removed", hidden.removed), ("face down", hidden.placed)):
        possible = compute_card_probabilities(cards, hidden.prior) > 0
        for source, weights in (("rules", hidden.prior), ("actions", hidden.posterior)):
            percent = 100 * compute_card_probabilities(cards, weights)
            if possible.any():
                yield [name, source, *(f"{p:.0f}" if ok else "." for p, ok in zip(percent, possible, strict=True))]


# --- the command ------------------------------------------------------------------------------------------------------


def make_policy(code: str) -> PolicyPlayer:
    """Make the player with a code, such as `net`; raise `ValueError` if it has no action probabilities."""
    player: Any = make(code)
    try:
        check_policy(player)
    except ValueError as error:
        raise ValueError(f"--player {code}: {error}") from error
    return player


def check_policy(player: Any) -> None:
    """Raise `ValueError` unless a player has action probabilities: networks have them, if they are not greedy."""
    if not isinstance(player, PolicyPlayer):
        raise ValueError("only networks (net, net:PATH) have action probabilities")
    if any(member.greedy for member in player.members):
        raise ValueError("a greedy policy always takes its best action; leave out the option greedy")


def main(config: Config) -> None:
    """Print the explanation of one decision of a game, or a table of all decisions if no decision is named."""
    console, game, player = Console(), read_game(config.game), make_policy(config.player)
    if config.decision is None:
        console.print(build_decision_table(game, player))
        return
    explanation = explain_decision(game, config.decision, player, worlds=config.worlds, seed=config.seed)
    drawing = render_view(explanation.state, explanation.seat, open_mice=explanation.open_mice)
    console.print(drawing, markup=False, highlight=False)
    if explanation.open_mice:
        console.print("The others' mice are shown, because the policy counts them from public events.\n")
    console.print(build_action_table(explanation))
    text = "win share expected, if all play on as the policy: {value:.3f} ({low:.3f} to {high:.3f})"
    console.print(text.format(**asdict(explanation.value)), highlight=False)
    console.print(build_belief_table(explanation))
