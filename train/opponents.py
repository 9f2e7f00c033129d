"""Opponents of the learners: their own current and past policies, and players by code.

Each game draws one source from `mix` for all seats that do not learn: a table of equal opponents teaches more about
them than a table of different ones, and needs fewer calls. Past policies are stored at even intervals, so that the
learner does not forget how to play against them. The draw depends on the game's seed alone: no generator has to be
saved.
"""

from collections.abc import Mapping, Sequence

import numpy as np

import agents
from agents.compiled import select_compiled
from agents.network import NetworkPlayer, draw_uniforms
from agents.policy_file import Layers
from felicity_env import Batch, Player, View
from felicity_env.game import MAX_SEATS
from felicity_env.learners import LEARNER, LearningGames, SingleLearnerGames

SELF, PAST = "self", "past"
_SOURCE, _SEAT = 1, 2  # parts of a game's seed: what is drawn from them


class _Snapshot:
    """Player whose network can be exchanged."""

    def __init__(self) -> None:
        self.player: NetworkPlayer | None = None

    def act(self, view: View) -> np.ndarray:
        assert self.player is not None, "no network yet"
        return self.player.act(view)


class OpponentPool:
    """Players of the seats that do not learn, and the draw of the seats.

    mix: weight of each source: "self", "past", or a code of `agents.make`. num_past: number of past policies stored.
    """

    def __init__(self, mix: Mapping[str, float], *, num_past: int = 0) -> None:
        num_past = num_past if mix.get(PAST) else 0
        self.newest = _Snapshot()
        self.past = [_Snapshot() for _ in range(num_past)]
        codes = [code for code in mix if code not in (SELF, PAST)]
        self.players: list[Player] = [self.newest, *self.past, *(agents.make(code) for code in codes)]
        past_weights = [mix.get(PAST, 0.0) / num_past] * num_past if num_past else []
        weights = np.cumsum([mix.get(SELF, 0.0), *past_weights, *(mix[code] for code in codes)])
        self._thresholds = weights / weights[-1]

    def _draw_players(self, game_seeds: np.ndarray) -> np.ndarray:
        """Return the number of the player that each game draws, [K]; 0 is the current policy."""
        return self._thresholds.searchsorted(draw_uniforms(game_seeds, _SOURCE), side="right")

    def draw_places(self, game_seeds: np.ndarray) -> np.ndarray:
        """Return the player in each place after a single learner's, [K, MAX_SEATS]; game_seeds: uint64 [K]."""
        return np.repeat(self._draw_players(game_seeds)[:, None], MAX_SEATS, axis=1)

    def draw_seating(self, game_seeds: np.ndarray, num_players: np.ndarray) -> np.ndarray:
        """Return the player or `LEARNER` in each seat, [K, MAX_SEATS]; game_seeds: uint64 [K].

        All seats learn in a game that draws "self"; in any other one seat learns.
        """
        players = self._draw_players(game_seeds)
        first = (draw_uniforms(game_seeds, _SEAT) * num_players).astype(np.int64)
        places = (np.arange(MAX_SEATS) - first[:, None]) % num_players[:, None]
        learns = (players[:, None] == 0) | (places >= num_players[:, None] - 1)
        return np.where(learns, LEARNER, players[:, None])

    def begin_games(self, batch: Batch) -> LearningGames:
        """Begin the games of `batch` with learners and opponents in their seats."""
        num_players = batch.num_players.astype(np.int64)
        seating = lambda indices: self.draw_seating(batch.game_seeds[indices], num_players[indices])  # noqa: E731
        games = LearningGames(batch, self.players, seating=seating, compiled=select_compiled(self.players))
        games.begin()
        return games

    def begin_single_learner_games(self, batch: Batch) -> SingleLearnerGames:
        """Begin the games of `batch` with one learner and its opponents in each."""
        places = lambda indices: self.draw_places(batch.game_seeds[indices])  # noqa: E731
        return SingleLearnerGames(batch, self.players, places=places, compiled=select_compiled(self.players))

    def update(self, policy: NetworkPlayer) -> None:
        """Set the current policy; it also stands in for past policies that do not exist yet."""
        self.newest.player = policy
        for snapshot in self.past:
            snapshot.player = snapshot.player or policy

    def remember(self, policy: NetworkPlayer, turn: int) -> None:
        """Store a policy in place of a past one; the places are used in turn."""
        if self.past:
            self.past[turn % len(self.past)].player = policy

    def past_layers(self) -> Sequence[Layers]:
        """Return the layers of the past policies, for checkpoints."""
        return [snapshot.player.layers for snapshot in self.past if snapshot.player]

    def restore_past(self, policies: Sequence[NetworkPlayer]) -> None:
        """Set the past policies from a checkpoint."""
        for snapshot, policy in zip(self.past, policies, strict=True):
            snapshot.player = policy
