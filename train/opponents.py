"""Who sits opposite the learner: its own newest and older selves, and players of the ladder.

Each game that begins draws one of the sources for all other seats together, by `mix`: tables of equals teach more about
an opponent than tables of strangers, and cost fewer calls. The newest self learns along after every update; older
selves are kept at even intervals, so the learner cannot forget what it once knew.
"""

from collections.abc import Mapping, Sequence

import numpy as np

import agents
from agents.network import Layers, NetworkPlayer
from felicity_env import Player, View
from felicity_env.game import MAX_SEATS

SELF, PAST = "self", "past"


class _Snapshot:
    """A seat for a past self whose layers can be exchanged."""

    def __init__(self) -> None:
        self.player: NetworkPlayer | None = None

    def act(self, view: View) -> np.ndarray:
        assert self.player is not None, "no layers yet"
        return self.player.act(view)


class OpponentPool:
    """The players and the seating of `Lanes`.

    mix: weight of each source: "self", "past", or a code of `agents.make`. num_past: how many older selves are kept.
    """

    def __init__(self, mix: Mapping[str, float], *, num_past: int, open_mice: bool, rng: np.random.Generator) -> None:
        self.open_mice, self.rng = open_mice, rng
        self.newest = _Snapshot()
        self.past = [_Snapshot() for _ in range(num_past)]
        ladder = [code for code in mix if code not in (SELF, PAST)]
        self.players: list[Player] = [self.newest, *self.past, *(agents.make(code) for code in ladder)]
        shares = [mix.get(SELF, 0.0), *([mix.get(PAST, 0.0) / max(num_past, 1)] * num_past), *(mix[c] for c in ladder)]
        self._thresholds = np.cumsum(shares) / np.cumsum(shares)[-1]

    def seating(self, rows: np.ndarray) -> np.ndarray:
        """For games about to begin in the lanes `rows`: which player sits in each place."""
        drawn = self._thresholds.searchsorted(self.rng.random(len(rows)), side="right")
        return np.repeat(drawn[:, None], MAX_SEATS, axis=1)

    def update(self, layers: Layers) -> None:
        """The newest self is now this; where there is no older one yet it stands in."""
        self.newest.player = NetworkPlayer.of(layers, open_mice=self.open_mice)
        for snapshot in self.past:
            snapshot.player = snapshot.player or self.newest.player

    def remember(self, layers: Layers) -> None:
        """The oldest self gives way to this one."""
        self.past.append(self.past.pop(0))
        self.past[-1].player = NetworkPlayer.of(layers, open_mice=self.open_mice)

    def past_layers(self) -> Sequence[Layers]:
        """For checkpoints: the older selves, oldest first."""
        return [snapshot.player.layers for snapshot in self.past if snapshot.player]
