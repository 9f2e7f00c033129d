"""Who sits opposite the learner: its own newest and older selves, and players of the ladder.

Each game that begins draws one of the sources for all other seats together, by `mix`: tables of equals teach more about
an opponent than tables of strangers, and cost fewer calls. The newest self learns along after every update; older
selves are kept at even intervals, so the learner cannot forget what it once knew. The draw depends on the seed of the
game alone: there is no generator whose state would have to be saved.
"""

from collections.abc import Mapping, Sequence

import numpy as np

import agents
from agents.compiled import compiled_among
from agents.network import Layers, NetworkPlayer, drawn
from felicity_env import Batch, Player, View
from felicity_env.game import MAX_SEATS
from felicity_env.tables import LEARNER, Tables

SELF, PAST = "self", "past"
_SOURCE, _SEAT = 1, 2  # what is drawn from the seed of a game


class _Snapshot:
    """A seat for a past self whose layers can be exchanged."""

    def __init__(self) -> None:
        self.player: NetworkPlayer | None = None

    def act(self, view: View) -> np.ndarray:
        assert self.player is not None, "no layers yet"
        return self.player.act(view)


class OpponentPool:
    """The players of `Lanes` or `Tables`, and where they sit.

    mix: weight of each source that has all seats but one: "self", "past", or a code of `agents.make`. guests: weight of
    each code that has one seat, while all others learn. num_past: how many older selves are kept.
    """

    def __init__(
        self, mix: Mapping[str, float], *, guests: Mapping[str, float] | None = None, num_past: int = 0
    ) -> None:
        guests, num_past = guests or {}, num_past if mix.get(PAST) else 0
        self.newest = _Snapshot()
        self.past = [_Snapshot() for _ in range(num_past)]
        codes = list(dict.fromkeys(code for code in (*mix, *guests) if code not in (SELF, PAST)))
        self.players: list[Player] = [self.newest, *self.past, *(agents.make(code) for code in codes)]
        numbers = {code: 1 + num_past + k for k, code in enumerate(codes)}
        selves = [(0, mix.get(SELF, 0.0)), *((1 + k, mix.get(PAST, 0.0) / num_past) for k in range(num_past))]
        ladder = [(numbers[code], weight) for code, weight in mix.items() if code in numbers]
        sources = [*selves, *ladder, *((numbers[code], weight) for code, weight in guests.items())]
        self._players = np.array([player for player, _ in sources])
        self._is_guest = np.arange(len(sources)) >= len(sources) - len(guests)
        weights = np.cumsum([weight for _, weight in sources])
        self._thresholds = weights / weights[-1]

    def _sources(self, games: np.ndarray) -> np.ndarray:
        return self._thresholds.searchsorted(drawn(games, _SOURCE), side="right")

    def opposite(self, games: np.ndarray) -> np.ndarray:
        """For games with these seeds uint64 [K]: the player in each place after the only learner's, [K, MAX_SEATS]."""
        return np.repeat(self._players[self._sources(games)][:, None], MAX_SEATS, axis=1)

    def around(self, games: np.ndarray, num_players: np.ndarray) -> np.ndarray:
        """For games with these seeds uint64 [K]: who sits in each seat, [K, MAX_SEATS].

        With a drawn "self" all seats learn, with a guest all but its own, with any other source one.
        """
        sources = self._sources(games)
        players, is_guest = self._players[sources], self._is_guest[sources]
        first = (drawn(games, _SEAT) * num_players).astype(np.int64)
        others = np.where(is_guest, 1, num_players - 1)
        places = (np.arange(MAX_SEATS) - first[:, None]) % num_players[:, None]
        learns = (players[:, None] == 0) | (places >= others[:, None])
        return np.where(learns, LEARNER, players[:, None])

    def tables(self, batch: Batch) -> Tables:
        """The tables of `batch`, with players and learners `around` them."""
        seats = batch.num_players.astype(np.int64)
        seating = lambda rows: self.around(batch.game_seeds[rows], seats[rows])  # noqa: E731
        return Tables(batch, self.players, seating=seating, compiled=compiled_among(self.players))

    def update(self, self_now: NetworkPlayer) -> None:
        """The newest self is now this; where there is no older one yet it stands in."""
        self.newest.player = self_now
        for snapshot in self.past:
            snapshot.player = snapshot.player or self_now

    def remember(self, self_now: NetworkPlayer, turn: int) -> None:
        """The `turn`-th self to be kept: older ones give way in turn."""
        if self.past:
            self.past[turn % len(self.past)].player = self_now

    def past_layers(self) -> Sequence[Layers]:
        """For checkpoints: the older selves, in the order of their seats."""
        return [snapshot.player.layers for snapshot in self.past if snapshot.player]

    def restore_past(self, players: Sequence[NetworkPlayer]) -> None:
        """The inverse of `past_layers`."""
        for snapshot, player in zip(self.past, players, strict=True):
            snapshot.player = player
