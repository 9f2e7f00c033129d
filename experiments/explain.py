"""What did a policy think? `python -m experiments.explain GAME --player net:RUN --decision 42`

For a decision of a saved game: what the seat saw, how likely the policy was to take each action, what it may expect to
win from here, and what the others' hidden cards are by Bayes' rule, if they play as the policy does. Without
`--decision` a list of all decisions, so that one can be chosen.

    from experiments.explain import explained
    explained(game, 42, agents.make("net:RUN"))    # in a notebook: probabilities, value and beliefs as arrays
"""

from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import agents
from agents.estimates import Estimate, bootstrap
from agents.games import Games
from agents.mixture import PolicyPlayer
from agents.network import GREEDY
from agents.posterior import Hidden, draw_worlds, posterior
from experiments.command import NOTHING_STORED, run_command
from felicity_env import View, describe
from felicity_env.game import MAX_SEATS, NO_SEAT, NUM_CARDS, State
from felicity_env.information import redact
from felicity_env.notation import action_text, card_text, loads
from felicity_env.random_stream import game_seed
from felicity_env.render import render_seat
from felicity_env.rewards import reward_code, step_rewards
from felicity_env.transcript import Game
from train.checks import below, refuse

_WIN = reward_code("win")
_LISTED = 0.005  # less likely actions are not shown


@dataclass(frozen=True)
class Config:
    """Explain a decision of a saved game."""

    game: Annotated[Path, tyro.conf.Positional]
    """File with a game in notation, whole or begun."""
    player: str = "net"
    """Code of the policy that explains: net, or net:PATH."""
    decision: int | None = None
    """Number of the decision, from 1; without it all are listed."""
    worlds: int = 1000
    """Worlds that are played to their end for the value."""
    seed: int = 0
    """Of these worlds."""

    def __post_init__(self) -> None:
        refuse(below(self, worlds=2, seed=0))


class Explanation(NamedTuple):
    """Of one decision."""

    seat: int
    observation: np.ndarray  # float32 [OBS_SIZE]: what the seat saw
    probabilities: np.ndarray  # [NUM_ACTIONS]: of the policy
    taken: int | None  # the action of the game; None where the game file ends
    value: Estimate  # win share when all play on as the policy, over worlds drawn by belief
    hidden: dict[int, Hidden]  # what each other seat may hide


def explained(game: Game, decision: int, player: PolicyPlayer, *, worlds: int = 1000, seed: int = 0) -> Explanation:
    """What `player` thinks at the `decision`-th decision (from 1) of a game.

    Raises `ValueError` if there is no such decision, or the player cannot say how likely its actions are.
    """
    check_policy(player)
    before = replace(game, actions=game.actions[: decision - 1])
    state = before.final_states()
    last = len(game.actions) + (game.final_states()["seat"][0] != NO_SEAT)  # in a game begun, the one that is to come
    if not 1 <= decision <= last:
        raise ValueError(f"--decision must be 1 to {last}, not {decision}")
    seat = int(state["seat"][0])
    view, shown_mice = _view(state), any(member.open_mice for member in player.members)
    hidden = posterior(before, seat, player)
    drawn = draw_worlds(before, seat, hidden, worlds, np.random.default_rng(seed))
    taken = game.actions[decision - 1] if decision <= len(game.actions) else None
    shares = win_shares(before, drawn, seat, player, seed=seed)
    return Explanation(
        *(seat, view.observations(shown_mice)[0], player.probabilities(view)[0]), taken, bootstrap(shares), hidden
    )


def _view(state: np.ndarray) -> View:
    seats = state["seat"].astype(np.int64)
    return View(redact(state, seats), seats, np.zeros(len(state), np.uint64))


def win_shares(game: Game, worlds: np.ndarray, seat: int, player: PolicyPlayer, *, seed: int) -> np.ndarray:
    """What `seat` wins in each of the `worlds` when all play on as `player`."""
    streams = np.array([game_seed(seed, world, 0) for world in range(len(worlds))], np.uint64)
    games = Games(game.setup, worlds, streams, np.zeros((len(worlds), game.setup.seats), np.int64))
    games.play([player])
    rewards = np.empty(MAX_SEATS)
    return np.array([_reward(state, seat, rewards) for state in games.states])


def _reward(state: State, seat: int, out: np.ndarray) -> float:
    step_rewards(state, _WIN, out)
    return float(out[seat])


def list_decisions(game: Game, player: PolicyPlayer) -> Table:
    """Every decision of the game, the one to come too: who, what, how likely by the policy, what it likes best."""
    table = Table("decision", "round", "seat", "action", "probability", "most likely", "", title="Decisions")
    states = [state.copy() for _, state in game.states() if state["seat"] != NO_SEAT]
    for number, (state, action) in enumerate(zip_longest(states, game.actions), start=1):
        chances = player.probabilities(_view(np.array([state])))[0]
        best = int(chances.argmax())
        played = ("to come", "") if action is None else (action_text(action), f"{chances[action]:.2f}")
        likes = (action_text(best), f"{chances[best]:.2f}")
        table.add_row(str(number), str(state["round_number"] + 1), str(state["seat"]), *played, *likes)
    return table


def action_table(found: Explanation) -> Table:
    """The actions that the policy considers."""
    table = Table("action", "probability", "", title=f"What the policy would do as seat {found.seat}")
    order = np.argsort(-found.probabilities)
    for action in order[(found.probabilities[order] >= _LISTED) | (order == found.taken)]:
        chance = float(found.probabilities[action])
        mark = " <- played" if action == found.taken else ""
        table.add_row(action_text(int(action)), f"{chance:.3f}", "#" * round(30 * chance) + mark)
    return table


def belief_table(found: Explanation) -> Table:
    """Which card lies face down, and which was removed: by the rules alone, and by what the seat did."""
    table = Table(title="What the others hide, in %: by the rules alone, and by what they did")
    for name in ("seat", "card", "by", *map(card_text, range(NUM_CARDS))):
        table.add_column(name, justify="right", no_wrap=True)
    for other, types in found.hidden.items():
        for card, cards in (("removed", types.removed), ("face down", types.laid)):
            for source, weights in (("rules", types.prior), ("play", types.posterior)):
                shares = shares_of_cards(cards, weights)
                if shares.any():
                    possible = shares_of_cards(cards, types.prior) > 0
                    cells = (f"{100 * s:.0f}" if p else "." for s, p in zip(shares, possible, strict=True))
                    table.add_row(str(other), card, source, *cells)
    return table


def shares_of_cards(cards: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """How likely each card [NUM_CARDS] is; negative entries of `cards` are no cards."""
    seen = cards >= 0
    return np.bincount(cards[seen], weights[seen], minlength=NUM_CARDS)


def read_game(path: Path) -> Game:
    """The game in a file; raises `ValueError` naming the file and the line at fault."""
    try:
        return loads(path.read_text())
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from error


def policy_of(code: str) -> PolicyPlayer:
    """A player that can say how likely its actions are."""
    player: Any = agents.make(code)
    try:
        check_policy(player)
    except ValueError as error:
        raise ValueError(f"--player {code}: {error}") from error
    return player


def check_policy(player: Any) -> None:
    """Raise `ValueError` if it cannot say how likely its actions are."""
    if not isinstance(player, PolicyPlayer):
        raise ValueError("only networks (net, net:PATH) say how likely their actions are")
    if any(member.greedy for member in player.members):
        raise ValueError(f"it always takes the best action; leave out {GREEDY} to see what it weighs")


def main(config: Config) -> None:
    """Show it."""
    console, game, player = Console(), read_game(config.game), policy_of(config.player)
    if config.decision is None:
        console.print(list_decisions(game, player))
        return
    found = explained(game, config.decision, player, worlds=config.worlds, seed=config.seed)
    console.print(render_seat(describe(found.observation), seat=found.seat, setup=game.setup), markup=False)
    console.print(action_table(found))
    value = asdict(found.value)
    text = "win share expected, if all play on as the policy: {value:.3f} ({low:.3f} to {high:.3f})"
    console.print(text.format(**value), highlight=False)
    console.print(belief_table(found))


if __name__ == "__main__":
    run_command("explain", Config, main, interrupted=NOTHING_STORED)
