"""Find the player to blame for parts of matches that were given up because a player ended its process.

Suspects are the players of a part that run a user's own code. A part with one suspect gives that one away. Of several
suspects, the one is blamed that is a suspect in more of these parts than the others. It explains all parts in which it
plays, so that the others are suspects in fewer.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from agents.arena.parts import Match, Part
from agents.player_names import name_player
from agents.registry import is_own
from agents.tasks.run import Outcome

LEAD = 2  # parts by which a player must be ahead while parts are still to come, which may acquit it


def list_suspects(match: Match) -> tuple[str, ...]:
    """List the players of a match that run a user's own code, each once."""
    return tuple(code for code in dict.fromkeys(match.codes) if is_own(code))


def find_culprits(
    given_up: Sequence[Outcome[Part, object]], failed: Collection[str], *, lead: int
) -> Mapping[str, str]:
    """Return the players to blame for parts that were given up, with the reason, {code: reason}.

    failed: players that are left out already, which explain all parts in which they play. lead: number of parts by
    which one of several suspects must be ahead of the others to be blamed.
    """
    culprits: dict[str, str] = {}
    while open_parts := list_unexplained(given_up, {*failed, *culprits}):
        suspects = [list_suspects(outcome.task.match) for outcome in open_parts]
        if (culprit := _choose_culprit(suspects, lead)) is None:
            break
        reasons = (outcome.reason for outcome in open_parts if culprit in outcome.task.match.codes)
        culprits[culprit] = next(reasons)
    return culprits


def list_unexplained(given_up: Sequence[Outcome[Part, object]], failed: Collection[str]) -> list[Outcome[Part, object]]:
    """List the parts that were given up although none of the players that failed plays in them."""
    return [outcome for outcome in given_up if not {*failed} & {*outcome.task.match.codes}]


def _choose_culprit(suspects: Sequence[Collection[str]], lead: int) -> str | None:
    """Return the player to blame next, given the suspects of each part, or None if none stands out."""
    for names in suspects:
        if len(names) == 1:
            return next(iter(names))
    counts = Counter(name for names in suspects for name in names).most_common(2)
    return counts[0][0] if counts and counts[0][1] - counts[1][1] >= lead else None


def describe_suspects(match: Match) -> str:
    """Return a sentence that says who may have ended the process of a match, or "" if no player is a suspect."""
    *others, last = sorted(map(name_player, list_suspects(match))) or [""]
    return f"one of {', '.join(others)} and {last} ends its process; leave it out" if others else ""
