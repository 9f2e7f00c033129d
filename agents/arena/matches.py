"""Matches between players: several workers play them in stored parts (see `parts`), and a match can be resumed."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents.arena.blame import LEAD, describe_suspects, find_culprits, list_unexplained
from agents.arena.blocks import Blocks, estimate_measures, play_blocks
from agents.arena.games import PlayerError
from agents.arena.parts import Match, Part, list_parts, load_part, open_folder, save_part
from agents.arena.time_left import Report, TimeLeft
from agents.identity import identify_weights
from agents.player_names import name_player
from agents.registry import list_files, make
from agents.tasks.run import Outcome, run_tasks
from agents.tools.command import print_error
from agents.tools.files import UserError
from felicity_env.game import Setup
from felicity_env.player import Player
from felicity_env.random_stream import game_seed
from felicity_env.setups import describe_setup, setup_name


class Failure(NamedTuple):
    """Failure of a player: its code, the reason, such as the exception that it raised, and the game in notation.

    The game is "" if it is unknown.
    """

    code: str
    reason: str
    game: str


@dataclass
class MatchResults:
    """Results of several matches: the blocks of each completed match, and the failures of players."""

    blocks: dict[Match, Blocks]
    failures: list[Failure]

    def raise_failure(self) -> None:
        """Raise `UserError` with the reason of the first failure, if a player failed."""
        for failure in self.failures:
            raise UserError(f"{name_player(failure.code)} failed: {failure.reason}")

    def list_forfeits(self) -> list[dict[str, Any]]:
        """List the players that forfeited games, for each reason.

        Each entry has the code of the player, the reason, the number of these games, how many games the player played
        in all, and the first of those that it forfeited as text.
        """
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        played: Counter[str] = Counter()
        for match, blocks in self.blocks.items():
            played.update(dict.fromkeys(match.codes, blocks.seats[:, :, 0].size))
            for forfeit in blocks.forfeits:
                found[match.codes[forfeit.player], forfeit.reason].append(forfeit.text)
        counts = {key: {"games": len(texts), "first": next(filter(None, texts))} for key, texts in found.items()}
        return [{"code": code, "reason": why, "of": played[code], **counts[code, why]} for code, why in counts]


def win_shares_against_copies(
    one: Player, rest_code: str, setup: Setup, *, num_deals: int | range, seed: int
) -> np.ndarray:
    """Play `one` alone against copies of player `rest_code`; return the win share of `one` in each block, [blocks]."""
    rest = (make(rest_code) for _ in range(setup.seats - 1))
    return play_blocks([one, *rest], num_deals=num_deals, seed=seed, setup=setup).block_means(0)


def summarize_pair(match: Match, blocks: Blocks) -> dict[str, Any]:
    """Return the measures of the single player in a match against copies of another, as a dictionary for JSON."""
    names = {"one": match.codes[0], "rest": match.codes[1], "par": 1 / match.setup.seats}
    return describe_setup(match.setup) | names | {"measures": estimate_measures((blocks, 0))}


# --- playing ----------------------------------------------------------------------------------------------------------


def play_part(part: Part) -> Blocks | Failure:
    """Play a part of a match; return its results, or the failure of a player.

    Raises `UserError` if the weights of a player are no longer those that the part was listed with.
    """
    codes, setup = part.match.codes, part.match.setup
    players = [make(code) for code in codes]
    for code, player, weights in zip(codes, players, part.weights, strict=True):
        _check_same_weights(code, player, weights)
    seed = game_seed(part.seed, setup.seats, 0)
    deals = range(part.first, part.last)
    try:
        return play_blocks(players, num_deals=deals, seed=seed, setup=setup, seconds=part.seconds)
    except PlayerError as error:
        return Failure(codes[error.index], error.reason, error.text)


def _check_same_weights(code: str, player: Player, weights: str) -> None:
    """Raise `UserError` unless a player has the weights with which the command began.

    A run that is still training writes new ones, and no result may be a mixture of both.
    """
    if identify_weights(player) != weights:
        advice = "wait until its run has ended, or copy a file of the run's folder checkpoints and name it as net:FILE"
        raise UserError(f"{name_player(code)} has new weights since this command began; {advice}")


def describe_part(part: Part) -> str:
    """Return text that names a part: its deals, players in seating order, setup and seed."""
    players, setup = " ".join(part.match.codes), setup_name(part.match.setup)
    return f"deals {part.first} to {part.last - 1} of {players} in {setup} with seed {part.seed}"


def play_matches(
    matches: Mapping[Match, int],
    *,
    seed: int,
    folder: Path,
    workers: int,
    ray: str | None = None,
    deals_per_part: int,
    report: Report,
    fresh: bool = False,
    seconds: float | None = None,
) -> MatchResults:
    """Play every match with its number of deals; parts that are already stored in `folder` are not played again.

    workers, ray: as in `run_tasks`. fresh: play everything again. seconds: most seconds for a decision of a player that
    is not compiled. Raises `UserError` if another process is at work in the folder, if the folder holds other results,
    or if parts were given up and no player stands out as the reason.
    """
    codes = {code for match in matches for code in match.codes}
    with open_folder(folder, seed, codes, fresh=fresh, report=print_error) as players:
        sizes: dict[str, Any] = {"deals_per_part": deals_per_part, "seconds": seconds}
        parts = list_parts(matches, players, seed=seed, folder=folder, **sizes)
        missing = [part for part in parts if not part.path.exists()]
        by_match = defaultdict(list)
        for part in parts:
            by_match[part.match].append(part)
        time_left = TimeLeft(missing, len(parts), report)
        failures = _play_missing(missing, time_left, workers=workers, ray=ray, files=list_files(*codes))
        blocks = {
            match: Blocks.concatenate([load_part(part) for part in by_match[match]])
            for match in matches
            if not failures.keys() & set(match.codes)
        }
    return MatchResults(blocks, list(failures.values()))


def _play_missing(missing: Sequence[Part], time_left: TimeLeft, **spread: Any) -> dict[str, Failure]:
    """Play parts and write their files; return the first failure of each player that failed, by its code.

    The parts of a player that has failed are left out from then on. A player also fails by ending its process, if it is
    clear which one does so; else `UserError` is raised. spread: as in `run_tasks`.
    """
    failures: dict[str, Failure] = {}
    given_up: list[Outcome[Part, Any]] = []
    wanted = (part for part in missing if not failures.keys() & set(part.match.codes))
    for outcome in run_tasks(play_part, wanted, **spread):
        if isinstance(outcome.value, Blocks):
            save_part(outcome.task, outcome.value)
        elif outcome.value:
            failures[outcome.value.code] = outcome.value
        else:
            given_up.append(outcome)
            failures |= _blame_players(given_up, failures, lead=LEAD)
        time_left.count(outcome.task, outcome.seconds, outcome.workers)
    failures |= _blame_players(given_up, failures, lead=1)
    if unexplained := list_unexplained(given_up, failures):
        raise UserError(_describe_given_up(unexplained))
    return failures


def _blame_players(
    given_up: Sequence[Outcome[Part, Any]], failures: Mapping[str, Failure], *, lead: int
) -> dict[str, Failure]:
    """Return the failures of the players that are to blame for parts that were given up, as in `find_culprits`."""
    return {code: Failure(code, reason, "") for code, reason in find_culprits(given_up, failures, lead=lead).items()}


def _describe_given_up(given_up: Sequence[Outcome[Part, Any]]) -> str:
    """Return the message about parts that were given up, one line each, and the players that may be the reason."""
    parts = [f"{describe_part(outcome.task)}: {outcome.reason}" for outcome in given_up]
    suspects = dict.fromkeys(describe_suspects(outcome.task.match) for outcome in given_up)
    head = "some parts were given up; the same command tries them again:"
    return "\n".join([head, *parts, *filter(None, suspects)])
