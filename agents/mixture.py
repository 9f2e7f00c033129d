"""Mixed strategy: for a seat in a game, one of several policies is chosen, and it decides for the whole game.

An opponent can learn the habits of a single network, but it cannot know which of several networks it meets. Players
keep no memory, and this one needs none: the card removed from the seat's set (R2.4) determines the policy. Every card
is equally likely, the card stays the same during the game, and only the seat knows it. The choice of the policy thus
depends only on what the seat knows, as the actions of any player do, and the probabilities of its hidden cards can be
computed exactly. Harsanyi (1973, https://doi.org/10.1007/BF01737554) shows how private information can replace a random
choice.
"""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from agents.network import NetworkPlayer
from agents.policy_file import policy_json_path
from agents.policy_player import PolicyPlayer
from felicity_env.game import NUM_ACTIONS
from felicity_env.player import View

REFERENCE = Path(__file__).parent / "net"  # the reference player, with its model card
NET_1 = Path(__file__).parent / "net_1"  # the reference player before


class MixturePlayer(PolicyPlayer):
    """Player made of several networks, which are all greedy or none.

    The card removed from the seat's set determines which member decides: the one whose index is the number of the card
    modulo the number of members.
    """

    def __init__(self, members: Sequence[NetworkPlayer]) -> None:
        if len({member.greedy for member in members}) != 1:
            raise ValueError("the members of a mixture must be all greedy or all not")
        self._members = tuple(members)
        self.greedy = members[0].greedy

    @property
    def members(self) -> tuple[NetworkPlayer, ...]:
        """Networks of which the player consists; the index of the one that decides follows from the removed card."""
        return self._members

    def digest(self) -> str:
        """Return a digest that identifies the networks of this player: 8 hex digits of a SHA-256 of their digests."""
        return sha256("".join(member.digest() for member in self.members).encode()).hexdigest()[:8]

    def logits(self, view: View) -> np.ndarray:
        """Return the logits for B decisions, float32 [B, NUM_ACTIONS]; those of illegal actions have no meaning."""
        seen = {open_mice: view.observations(open_mice) for open_mice in {each.open_mice for each in self.members}}
        out = np.empty((len(view), NUM_ACTIONS), np.float32)
        for member, rows in self._split(view):
            out[rows] = member.compute_logits(seen[member.open_mice][rows])
        return out

    def _split(self, view: View) -> Iterator[tuple[NetworkPlayer, np.ndarray]]:
        """Yield each member that has decisions to take in `view`, with the indices of these decisions."""
        removed = view.states["removed"][np.arange(len(view)), view.seats]
        number = removed % len(self.members)
        for k, member in enumerate(self.members):
            rows = np.flatnonzero(number == k)
            if len(rows):
                yield member, rows


def load_policy_player(path: Path | str, *, greedy: bool = False) -> PolicyPlayer:
    """Load a trained policy from a run folder, a policy.json or a checkpoint, as a player.

    A folder with the folders `0`, `1`, ... gives one player that mixes the policies in them. greedy: take the best
    action instead of sampling. Raises `ValueError` naming what is missing, damaged or outdated.
    """
    members = [NetworkPlayer.load(member, greedy=greedy) for member in list_members(Path(path))]
    return MixturePlayer(members) if len(members) > 1 else members[0]


def list_members(folder: Path) -> list[Path]:
    """List the policies that a player consists of: the folders `0`, `1`, ... in `folder`, or `folder` alone.

    `folder` alone is listed if it holds a policy.json or has no folder `0`. Raises `ValueError` if a number is missing.
    """
    has_policy = os.path.exists(policy_json_path(folder))  # `Path.exists` raises at a long name
    if has_policy or not os.path.isdir(folder / "0"):
        return [folder]
    numbers = sorted(int(member.name) for member in folder.iterdir() if member.name.isdecimal())
    if numbers != list(range(len(numbers))):
        raise ValueError(f"cannot read a mixture from {folder}: its folders are {numbers}, not 0, 1, ...")
    return [folder / str(number) for number in numbers]
