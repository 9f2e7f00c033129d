"""What does the reference player play like? `python -m experiments.reference_style`

At tables of copies of a player: how often it raises, by what the sack is worth on average less the price and less what
a pass would pay; and which of the cards in hand it lays in which situation. Other players are shown beside it.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from rich.progress import track

import agents
from agents.belief import expected_sack
from experiments.command import NOTHING_STORED, run_command
from experiments.game.cards import CARDS
from experiments.game.columns import estimated, per
from experiments.results import write_result
from felicity_env import Batch, View
from felicity_env.game import AUCTION, NUM_CARDS, PASS, highest_legal_bid, last_pot, pass_pays, score
from felicity_env.kernel import kernel

SEED = 2**58 + 2  # apart from training (below 2**32) and all other measurements
GAINS = np.arange(-12, 25, 2)  # lower ends of the bins of what a raise gains if it stands, in points
LEAST_GAMES = 20
FACTS = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("bids", np.bool_),  # in the auction; else it lays a card
                ("may_raise", np.bool_),
                ("gain", np.float64),  # what the next bid would bring over passing now, if it stands
                ("round_number", np.int64),
                ("first", np.bool_),  # lays first, or last
                ("last", np.bool_),
                ("mice", np.bool_),  # there are some on the table
                ("leads", np.bool_),  # with more points than any other
                ("hand", np.int64),  # bit c: holds card c
            ],
            align=True,
        ),
    )
)


@dataclass(frozen=True)
class Config:
    """Watch players at tables of copies."""

    players: tuple[str, ...] = ("net", "tuned", "ev")
    """Codes; the cards are shown of the first."""
    num_players: int = 4
    """Seats at the tables."""
    num_games: int = 2000
    """Of each player."""
    seed: int = SEED
    """Of the games."""


@kernel
def _facts(states, out):
    for k in range(len(states)):
        state, seat = states[k], states[k].seat
        place = (seat - state.start_seat) % state.num_seats
        out[k].bids = state.phase == AUCTION
        out[k].may_raise = state.phase == AUCTION and highest_legal_bid(state) > state.high_bid
        out[k].gain = expected_sack(state) - (state.high_bid + 1) - pass_pays(state)
        out[k].round_number = state.round_number
        out[k].first, out[k].last = place == 0, place == state.num_seats - 1
        out[k].mice = last_pot(state) > 0
        out[k].hand = state.hands[seat]
        out[k].leads = True
        for other in range(state.num_seats):
            if other != seat and score(state, other) >= score(state, seat):
                out[k].leads = False


def facts_of(view: View) -> np.ndarray:
    """What is asked of each decision, FACTS [B]."""
    out = np.zeros(len(view), FACTS)
    _facts(view.states, out)
    return out


class Decisions(NamedTuple):
    """All decisions of whole games among copies of a player: arrays [N]."""

    games: np.ndarray  # int64: the number of its game
    facts: np.ndarray  # FACTS
    actions: np.ndarray  # int64


def decisions(code: str, config: Config) -> Decisions:
    """Those of a player in `num_games` games."""
    batch, player = Batch(config.num_games, config.num_players, seed=config.seed), agents.make(code)
    playing, found = np.ones(config.num_games, bool), []
    while playing.any():
        rows = np.flatnonzero(playing)
        view = batch.view(rows)
        actions = player.act(view)
        found.append((rows, facts_of(view), actions))
        batch.step(actions, rows)
        playing &= ~batch.terminated
    return Decisions(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def share_by_game(games: np.ndarray, happened: np.ndarray, asked: np.ndarray, num_games: int) -> np.ndarray:
    """A column [games]: its mean is in which share of the decisions `asked` [N] it `happened` [N].

    nan if it was asked in fewer than LEAST_GAMES: so few say nothing about how games vary.
    """
    counts = np.bincount(games[asked], minlength=num_games)
    if np.count_nonzero(counts) < LEAST_GAMES:
        return np.full(num_games, np.nan)
    return per(np.bincount(games[asked & happened], minlength=num_games), counts)


def raises(found: Decisions, config: Config) -> dict[str, Any]:
    """How often a player raises, by what that gains if it stands: {"raises": [an estimate for each of GAINS]}."""
    games, facts, actions = found
    number = np.digitize(facts["gain"], GAINS) - 1
    inside = facts["may_raise"] & (facts["gain"] < GAINS[-1] + 2)
    columns = [
        share_by_game(games, actions > PASS, inside & (number == k), config.num_games) for k in range(len(GAINS))
    ]
    return estimated({"raises": np.column_stack(columns)})


def situations_of(facts: np.ndarray) -> dict[str, np.ndarray]:
    """Which decisions were made in which of the situations."""
    third = facts["round_number"] // 3
    return {
        "round 1-3": third == 0,
        "4-6": third == 1,
        "7-9": third == 2,
        "lays first": facts["first"],
        "lays last": facts["last"],
        "no mice to win": ~facts["mice"],
        "mice to win": facts["mice"],
        "leads": facts["leads"],
        "does not": ~facts["leads"],
    }


def cards(found: Decisions, config: Config) -> dict[str, Any]:
    """In which share of its chances a player lays a card: for each situation an estimate for each card."""
    games, facts, actions = found
    choosing = ~facts["bids"] & (facts["hand"] & (facts["hand"] - 1) != 0)  # more than one card in hand
    columns = {}
    for name, there in situations_of(facts).items():
        chances = [choosing & there & ((facts["hand"] >> card & 1) == 1) for card in range(NUM_CARDS)]
        shares = [share_by_game(games, actions == card, chances[card], config.num_games) for card in range(NUM_CARDS)]
        columns[name] = np.column_stack(shares)
    return estimated(columns)


def plot(results: dict[str, Any], path: Path) -> None:
    """Raises of all players, and the cards of the first."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    for code, found in results["raises"].items():
        points = [(x + 1, share) for x, share in zip(GAINS, found, strict=True) if share]
        shares = np.array([[share[key] for key in ("low", "value", "high")] for _, share in points]).T
        left.plot([x for x, _ in points], shares[1], marker="o", markersize=3, label=code)
        left.fill_between([x for x, _ in points], shares[0], shares[2], alpha=0.2)
    left.set(xlabel="mean worth of the sack, less the next bid, less what a pass pays", ylabel="share of raises")
    left.set(title="when it raises", ylim=(0, 1))
    left.grid(alpha=0.3)
    left.legend()
    _plot_cards(right, results["cards"])
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _plot_cards(axis: Axes, found: dict[str, Any]) -> None:
    shares = np.array([[share["value"] if share else np.nan for share in row] for row in found.values()])
    axis.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, card), share in np.ndenumerate(shares):
        if np.isfinite(share):
            axis.text(card, row, f"{share:.2f}", ha="center", va="center", color="white" if share > 0.55 else "black")
    axis.set_xticks(range(NUM_CARDS), CARDS)
    axis.set_yticks(range(len(found)), list(found))
    axis.set(title="share of its chances in which a card is laid", xlabel="card in hand")


def main(config: Config) -> None:
    """Watch, store and plot."""
    started = time.monotonic()
    found = {code: decisions(code, config) for code in track(config.players, "players")}
    results = {"raises": {code: raises(played, config)["raises"] for code, played in found.items()}}
    results["cards"] = cards(found[config.players[0]], config)
    path = write_result("reference_style", config, results, started=started)
    plot(results, path.with_suffix(".png"))


if __name__ == "__main__":
    run_command("reference_style", Config, main, interrupted=NOTHING_STORED)
