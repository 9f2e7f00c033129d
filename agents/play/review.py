"""Review of a game: `python -m agents review GAME --seat 0` finds the decisions that cost a seat win share.

The reference player judges: every plausible action of a decision is played to the end by it in all seats, in worlds
drawn from what the seat knew. The page shows the game with all reviewed decisions, the flagged ones first; a JSON file
beside it holds the numbers. `review_game` does the same in a notebook.
"""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from agents.arena.game_file import read_game, read_players
from agents.play.explanation import Candidate, make_policy
from agents.play.review_game import Review, ReviewedDecision, describe_flaw, review_game, summarize
from agents.play.review_page import render_review
from agents.tools.files import write_atomically, write_json
from agents.tools.progress import PartsProgress
from agents.tools.settings import check_at_least
from felicity_env.notation import action_text, dumps


@dataclass(frozen=True)
class Config:
    """Review the decisions of one seat in a stored game: what each cost, what was luck, and what others hid."""

    game: Annotated[Path, tyro.conf.Positional]
    """File with a game in text notation (see `felicity_env.notation`); the game may be unfinished."""
    seat: int
    """Seat whose decisions are reviewed."""
    player: str = "net"
    """Code of the policy that judges: `net` is the network of this project, `net:PATH` that of a run folder."""
    worlds: int = 400
    """Number of worlds in which the actions of a decision are compared; more worlds give narrower intervals."""
    seed: int = 0
    """Seed for drawing these worlds and for playing them to the end."""
    out: Path | None = None
    """File of the page. Default: the name of the game's file with the ending -seat0.html, or another seat."""

    def __post_init__(self) -> None:
        check_at_least(self, worlds=2, seed=0, seat=0)


def main(config: Config) -> None:
    """Review the game, print the summary, and write the page and the numbers."""
    console, game, player = Console(), read_game(config.game), make_policy(config.player)
    started = time.monotonic()
    with PartsProgress(console, unit="decisions") as progress:

        def report(done: int, total: int) -> None:
            spent = time.monotonic() - started
            progress.report(done, total, spent / done * (total - done) if done else None)

        review = review_game(game, config.seat, player, worlds=config.worlds, seed=config.seed, report=report)
    page = config.out or config.game.with_name(f"{config.game.stem}-seat{config.seat}.html")
    html = render_review(review, config.player, read_players(config.game, game.setup.seats))
    write_atomically(page, lambda part: part.write_text(html, encoding="utf-8"))
    write_json(page.with_suffix(".json"), describe_review(review, config))
    for sentence in [*summarize(review), *map(describe_flaw, review.flagged[1:])]:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print(f"written: {page} and {page.with_suffix('.json')}", highlight=False, soft_wrap=True)


def describe_review(review: Review, config: Config) -> dict[str, Any]:
    """Return a review as values for JSON: settings, the game in notation, and all decisions."""
    return {
        "config": {name: str(value) if isinstance(value, Path) else value for name, value in asdict(config).items()},
        "game": dumps(review.game),
        "result": review.result,
        "summary": summarize(review),
        "decisions": [_describe_decision(decision) for decision in review.decisions],
    }


def _describe_decision(decision: ReviewedDecision) -> dict[str, Any]:
    explanation = decision.explanation
    return {
        "decision": explanation.decision,
        "round": int(explanation.state.round_number) + 1,
        "taken": action_text(decision.taken),
        "value": asdict(explanation.value),
        "cost": decision.cost,
        "effect": decision.effect,
        "luck": decision.luck,
        "flagged": decision.is_flagged,
        "candidates": [_describe_candidate(candidate) for candidate in explanation.candidates],
    }


def _describe_candidate(candidate: Candidate) -> dict[str, Any]:
    values = candidate._asdict()
    return values | {"action": action_text(candidate.action), "difference": asdict(candidate.difference)}
