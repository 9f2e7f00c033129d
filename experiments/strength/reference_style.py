"""Question: how does the reference player play? `python -m experiments reference-style`

In games among copies of the player, one measurement is how often it raises, depending on the gain of a raise: the
expected value of the sack minus the next bid and minus what a pass pays. Another is which card of its hand it places in
which situation. Other players are measured for comparison.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.progress import track

import agents
from agents.arena.estimates import linearise_ratio
from agents.registry import check_players
from agents.sack_value import expected_sack_value
from agents.tools.figures import save_figure
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least
from experiments.game.cards import CARDS
from experiments.game.columns import estimate_columns
from experiments.results import write_result
from felicity_env import Batch, View
from felicity_env.game import AUCTION, NO_SEAT, NUM_CARDS, PASS, highest_legal_bid, is_dry, pass_pays, score
from felicity_env.kernel import kernel

GAINS = np.arange(-12, 25, 2)  # lower bounds of bins: gain of a raise that nobody outbids, in points
MIN_GAMES = 20  # with fewer games no interval can be estimated
FACTS = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("bids", np.bool_),  # True in the auction, False while placing a card
                ("may_raise", np.bool_),
                ("gain", np.float64),  # gain of the next bid over a pass now, if nobody outbids it
                ("round_number", np.int64),
                ("first", np.bool_),  # is the first to place a card
                ("last", np.bool_),
                ("mice", np.bool_),  # there are mice on the mouse cards
                ("is_ahead", np.bool_),  # has more points than any other seat
                ("hand", np.int64),  # bit c is 1 if card c is in the hand
            ],
            align=True,
        ),
    )
)


@dataclass(frozen=True)
class Config(OneSetup):
    """Measure how often players raise and which cards they place, in games among copies of each player."""

    resumes: ClassVar[bool] = False
    players: tuple[str, ...] = ("net", "tuned", "ev")
    """Codes of the players to measure; the table of placed cards is shown for the first player only."""
    num_games: int = 2000
    """Number of games among copies of each player; four times as many halve the intervals."""
    seed: int = SEEDS["reference style"]
    """Seed of the games; choose one that no other measurement uses."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "players")
        check_at_least(self, num_games=1, seed=0)


@kernel
def _facts(states, out):
    for k in range(len(states)):
        state, seat = states[k], states[k].seat
        position = (seat - state.start_seat) % state.num_seats
        out[k].bids = state.phase == AUCTION
        out[k].may_raise = state.phase == AUCTION and highest_legal_bid(state) > state.high_bid
        out[k].gain = expected_sack_value(state) - (state.high_bid + 1) - pass_pays(state)
        out[k].round_number = state.round_number
        out[k].first, out[k].last = position == 0, position == state.num_seats - 1
        out[k].mice = not is_dry(state)
        out[k].hand = state.hands[seat]
        out[k].is_ahead = True
        for other in range(state.num_seats):
            if other != seat and score(state, other) >= score(state, seat):
                out[k].is_ahead = False


def compute_facts(view: View) -> np.ndarray:
    """Return facts about each decision, such as the round and the gain of a raise, FACTS [B]."""
    out = np.zeros(len(view), FACTS)
    _facts(view.states, out)
    return out


class Decisions(NamedTuple):
    """All N decisions of complete games among copies of one player, in arrays [N]."""

    games: np.ndarray  # int64: index of the game
    facts: np.ndarray  # FACTS
    actions: np.ndarray  # int64


def play_decisions(code: str, config: Config) -> Decisions:
    """Play games among copies of one player to the end; return every decision with its game, facts and action."""
    batch = Batch(config.num_games, seed=config.seed, setup=config.chosen_setup, autoreset=False)
    player, parts = agents.make(code), []
    while len(indices := np.flatnonzero(batch.seats != NO_SEAT)):
        view = batch.view(indices)
        actions = player.act(view)
        parts.append((indices, compute_facts(view), actions))
        batch.step(actions, indices)
    return Decisions(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def compute_frequency_column(games: np.ndarray, happened: np.ndarray, asked: np.ndarray, num_games: int) -> np.ndarray:
    """Return a value for each game; the mean of these values is the frequency of an event in decisions of the games.

    games: index of the game of each decision, [N]. asked: mask [N] of the decisions that count. happened: mask [N] of
    the decisions in which the event happened, for example a raise. Returns [num_games]. All values are nan if fewer
    than MIN_GAMES games have a decision that counts.
    """
    counts = np.bincount(games[asked], minlength=num_games)
    if np.count_nonzero(counts) < MIN_GAMES:
        return np.full(num_games, np.nan)
    return linearise_ratio(np.bincount(games[asked & happened], minlength=num_games), counts)


def estimate_raises(decisions: Decisions, config: Config) -> list[Any]:
    """Estimate how often a player raises, for each bin (`GAINS`) of the gain that a raise would have."""
    games, facts, actions = decisions
    number = np.digitize(facts["gain"], GAINS) - 1
    inside = facts["may_raise"] & (facts["gain"] < GAINS[-1] + 2)
    columns = [
        compute_frequency_column(games, actions > PASS, inside & (number == k), config.num_games)
        for k in range(len(GAINS))
    ]
    return estimate_columns({"raises": np.column_stack(columns)})["raises"]


def list_situations(facts: np.ndarray) -> dict[str, np.ndarray]:
    """Return for each named situation, such as `mice to win`, a mask [decisions] of the decisions made in it."""
    third = facts["round_number"] // 3
    return {
        "round 1-3": third == 0,
        "round 4-6": third == 1,
        "round 7-9": third == 2,
        "places first": facts["first"],
        "places last": facts["last"],
        "no mice to win": ~facts["mice"],
        "mice to win": facts["mice"],
        "is ahead": facts["is_ahead"],
        "is not ahead": ~facts["is_ahead"],
    }


def estimate_cards(decisions: Decisions, config: Config) -> dict[str, Any]:
    """Estimate, for each situation and card, how often a player places the card when it is in its hand."""
    games, facts, actions = decisions
    has_choice = ~facts["bids"] & (facts["hand"] & (facts["hand"] - 1) != 0)  # there is more than one card in the hand
    columns = {}
    for name, mask in list_situations(facts).items():
        asked = [has_choice & mask & ((facts["hand"] >> card & 1) == 1) for card in range(NUM_CARDS)]
        by_card = [
            compute_frequency_column(games, actions == card, asked[card], config.num_games) for card in range(NUM_CARDS)
        ]
        columns[name] = np.column_stack(by_card)
    return estimate_columns(columns)


def plot(results: dict[str, Any], path: Path) -> None:
    """Plot how often each player raises, and which cards the first player places in which situation."""
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for code, estimates in results["raises"].items():
        points = [(x + 1, estimate) for x, estimate in zip(GAINS, estimates, strict=True) if estimate]
        bounds = np.array([[estimate[key] for key in ("low", "value", "high")] for _, estimate in points]).T
        left.plot([x for x, _ in points], bounds[1], marker="o", markersize=3, label=code)
        left.fill_between([x for x, _ in points], bounds[0], bounds[2], alpha=0.2)
    left.set(xlabel="expected value of the sack - next bid - what a pass pays", ylabel="frequency of a raise")
    left.set(title="when it raises", ylim=(0, 1))
    left.grid(alpha=0.3)
    left.legend()
    _plot_cards(right, results["cards"])
    save_figure(figure, path)


def _plot_cards(axis: Axes, situations: dict[str, Any]) -> None:
    values = np.array([[card["value"] if card else np.nan for card in row] for row in situations.values()])
    axis.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, card), value in np.ndenumerate(values):
        if np.isfinite(value):
            axis.text(card, row, f"{value:.2f}", ha="center", va="center", color="white" if value > 0.55 else "black")
    axis.set_xticks(range(NUM_CARDS), CARDS)
    axis.set_yticks(range(len(situations)), list(situations))
    axis.set(title="how often a card in hand is placed", xlabel="card in hand")


def main(config: Config) -> None:
    """Measure how often players raise and which cards they place, store the result and plot it."""
    started = time.monotonic()
    decisions = {code: play_decisions(code, config) for code in track(config.players, "players")}
    results: dict[str, Any] = {"raises": {code: estimate_raises(d, config) for code, d in decisions.items()}}
    results["cards"] = estimate_cards(decisions[config.players[0]], config)
    path = write_result("reference_style", config, results, started=started)
    plot(results, path.with_suffix(".png"))
