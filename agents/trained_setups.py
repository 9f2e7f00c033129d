"""Setups on which a policy was trained, and a warning if it plays on another."""

from collections.abc import Iterable

from agents.player_names import name_player
from agents.policy_file import read_setups
from agents.policy_player import PolicyPlayer
from agents.registry import is_own, make
from agents.tools.command import print_error
from felicity_env.game import Setup
from felicity_env.setups import setup_name


def find_trained_setups(code: str) -> tuple[Setup, ...]:
    """Return the setups on which the policy with a player code was trained; for other players, ()."""
    player = make(code)
    members = player.members if isinstance(player, PolicyPlayer) else ()
    return tuple(dict.fromkeys(setup for member in members for setup in read_setups(member.metadata)))


def describe_untrained(codes: Iterable[str], setups: Iterable[Setup]) -> list[str]:
    """Return a sentence for each policy, given by its code, that was not trained on all setups on which it plays."""
    wanted, sentences = tuple(setups), []
    for code in (code for code in codes if not is_own(code)):
        trained = find_trained_setups(code)
        others = [setup_name(setup) for setup in wanted if trained and setup not in trained]
        if others:
            sentences.append(f"{name_player(code)} was not trained on {', '.join(others)} and may play badly there")
    return sentences


def warn_of_untrained(codes: Iterable[str], setups: Iterable[Setup]) -> None:
    """Print what `describe_untrained` returns."""
    for sentence in describe_untrained(codes, setups):
        print_error(sentence)
