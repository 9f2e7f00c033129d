"""Review of a game: `python -m agents review GAME --seat 0` finds the decisions that cost a seat win share.

The reference player judges: every plausible action of a decision is played to the end by it in all seats, in worlds
drawn from what the seat knew. The page shows the game with all reviewed decisions, the flagged ones first; a JSON file
beside it holds the numbers. `review_game` does the same in a notebook.
"""

import functools
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro
from rich.console import Console

from agents.arena.game_file import read_game, read_names
from agents.play.explanation import Candidate, Explanation, explain_decision, make_policy
from agents.play.review_game import Review, ReviewedDecision, build_review, describe_flaw, list_choices, summarize
from agents.play.review_page import render_review
from agents.registry import list_files
from agents.tasks.options import Workers
from agents.tasks.run import run_tasks
from agents.tools.command import python_command
from agents.tools.files import UserError, write_json, write_text
from agents.tools.progress import PartsProgress
from agents.tools.settings import check_at_least, require
from agents.trained_setups import warn_of_untrained
from felicity_env.game_record import Game
from felicity_env.notation import action_text, dumps, loads


class ReviewTask(NamedTuple):
    """Task to explain a decision of a game, which is given as text, by the policy with a player code."""

    game: str
    decision: int
    player: str
    worlds: int
    seed: int


_make_policy = functools.lru_cache(maxsize=2)(make_policy)


def explain_task(task: ReviewTask) -> Explanation:
    """Return the explanation of the decision of a task."""
    game, player = loads(task.game), _make_policy(task.player)
    return explain_decision(game, task.decision, player, worlds=task.worlds, seed=task.seed)


@dataclass(frozen=True)
class Config(Workers):
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
    """Seed for drawing these worlds and for playing them to the end; `explain` with the same seed draws the same."""
    workers: int = field(default=1, kw_only=True)
    """Number of processes that work in parallel; results do not depend on it. With --ray, only `local` uses it."""
    out: Path | None = None
    """File of the page. Default: the name of the game's file with the ending -seat0.html, or another seat."""

    def __post_init__(self) -> None:
        check_at_least(self, worlds=2, seed=0, seat=0)
        is_page = self.out is None or self.out.suffix == ".html"
        require(is_page, f"--out needs a file that ends in .html, not {self.out}")
        super().__post_init__()


def main(config: Config) -> None:
    """Review the game, print the summary, and write the page and the numbers."""
    console, game = Console(), read_game(config.game)
    warn_of_untrained([config.player], [game.setup])
    review = build_review(game, config.seat, explain_choices(game, config, console))
    page = config.out or config.game.with_name(f"{config.game.stem}-seat{config.seat}.html")
    html = render_review(review, config.player, read_names(config.game, game.setup.seats))
    write_text(page, html)
    write_json(page.with_suffix(".json"), describe_review(review, config))
    for sentence in [*summarize(review), *map(describe_flaw, review.flagged)]:
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print(f"written: {page} and {page.with_suffix('.json')}", highlight=False, soft_wrap=True)
    for decision in review.flagged[:1]:
        command = propose_explanation(config, decision.explanation.decision)
        console.print(f"explain the dearest decision:  {command}", highlight=False, soft_wrap=True)


def propose_explanation(config: Config, decision: int) -> str:
    """Return the command that explains a decision of the reviewed game by the same policy, in the same worlds."""
    game, player = shlex.quote(str(config.game)), shlex.quote(config.player)
    command = f"{python_command('agents')} explain {game} --player {player} --decision {decision}"
    return f"{command} --worlds {config.worlds} --seed {config.seed}"


def explain_choices(game: Game, config: Config, console: Console) -> list[Explanation]:
    """Return the explanations of all choices of a seat, and show the progress.

    Raises `ValueError` if there is no such seat, or if the player has no action probabilities.
    """
    make_policy(config.player)
    numbers, text = list_choices(game, config.seat), dumps(game)
    tasks = [ReviewTask(text, number, config.player, config.worlds, config.seed) for number in numbers]
    explanations: dict[int, Explanation] = {}
    with PartsProgress(console, unit="decisions") as progress:
        progress.count(0, len(tasks))
        for outcome in run_tasks(explain_task, tasks, **config.spread, files=list_files(config.player)):
            if outcome.value is None:
                raise UserError(f"decision {outcome.task.decision}: {outcome.reason}")
            explanations[outcome.task.decision] = outcome.value
            progress.count(len(explanations), len(tasks))
    return [explanations[number] for number in numbers]


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
