"""A mixed strategy: several policies, one of which plays a seat for a whole game.

A best response learns the habits of the one network before it; which of several that is, it cannot know. Players
remember nothing and need not: the card removed from the seat's set (R2.4) says which policy plays. Any card is as
likely, it stays the same all game, and only the seat itself knows it, so the mixture is a strategy like any other, and
beliefs about who plays it stay exact (private chance in the place of a coin: Harsanyi 1973,
https://doi.org/10.1007/BF01737554).
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from agents.network import GREEDY, NetworkPlayer, description_of
from felicity_env import NUM_ACTIONS, Player, View

Member = TypeVar("Member", bound=Player)


class Mixture(Generic[Member]):
    """Plays as member `removed card % len(members)`; where no card is removed, as the last."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = tuple(members)

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        actions = np.empty(len(view), np.int64)
        for member, rows in self._parts(view):
            actions[rows] = member.act(view.take(rows))
        return actions

    def _parts(self, view: View) -> Iterator[tuple[Member, np.ndarray]]:
        """Each member and the rows that it plays."""
        removed = view.states["removed"][np.arange(len(view)), view.seats]
        number = removed % len(self.members)
        for k, member in enumerate(self.members):
            rows = np.flatnonzero(number == k)
            if len(rows):
                yield member, rows


class MixturePlayer(Mixture[NetworkPlayer]):
    """A mixture of policies, which is a policy itself."""

    @property
    def digest(self) -> str:
        """Of all weights, 8 letters."""
        return sha256("".join(member.digest for member in self.members).encode()).hexdigest()[:8]

    def probabilities(self, view: View) -> np.ndarray:
        """float32 [B, NUM_ACTIONS]: how likely each action is."""
        found = np.empty((len(view), NUM_ACTIONS), np.float32)
        for member, rows in self._parts(view):
            found[rows] = member.probabilities(view.take(rows))
        return found


PolicyPlayer = NetworkPlayer | MixturePlayer


def network_player(path: str) -> PolicyPlayer:
    """The policy in `PATH` (a run folder or its policy.json), or the mixture of those in its folders `0`, `1`, ...

    `PATH@greedy` takes the best actions. Raises `ValueError` naming what is missing, damaged or out of date.
    """
    how = GREEDY if path.endswith(GREEDY) else ""
    members = [NetworkPlayer(f"{member}{how}") for member in member_paths(Path(path.removesuffix(GREEDY)))]
    return MixturePlayer(members) if len(members) > 1 else members[0]


def member_paths(folder: Path) -> list[Path]:
    """Of a mixture the folders `0`, `1`, ... of its members, of any other policy itself alone; errors as above."""
    if description_of(folder).exists() or not (folder / "0").is_dir():
        return [folder]
    numbers = sorted(int(member.name) for member in folder.iterdir() if member.name.isdecimal())
    if numbers != list(range(len(numbers))):
        raise ValueError(f"no mixture can be read from {folder}: its folders are {numbers}, not 0, 1, ...")
    return [folder / str(number) for number in numbers]
