"""Opponents in training: the current policy, past policies, and players that are named by codes.

Each game draws one opponent from `mix` for all seats that do not learn. Equal opponents at a table teach more about
that opponent than different ones, and need fewer calls. Past policies are stored at even intervals, so that the learner
does not forget how to play against them. The draw depends only on the game's seed, so no generator has to be saved.
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
_SOURCE, _SEAT = 1, 2  # indices of the random draws from a game's seed: its opponent, the learner's seat


class _Snapshot:
    """Player whose network can be replaced during training."""

    def __init__(self) -> None:
        self.player: NetworkPlayer | None = None

    def act(self, view: View) -> np.ndarray:
        if self.player is None:
            raise ValueError("the opponents have no policy yet; call `OpponentPool.update` first")
        return self.player.act(view)


class OpponentPool:
    """Pool of opponents for the seats that do not learn, and the draw of opponents and seats for each game.

    mix: weight of each kind of opponent: "self" (the current policy), "past" (the past policies together) or a player
    code. num_past: number of past policies stored.
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
        """Draw an opponent for each of K games and return its index in the pool, [K]; index 0 is the current policy."""
        return self._thresholds.searchsorted(draw_uniforms(game_seeds, _SOURCE), side="right")

    def draw_opponents(self, game_seeds: np.ndarray) -> np.ndarray:
        """Draw one opponent for each of K games; return its index, repeated for every seat, [K, MAX_SEATS]."""
        return np.repeat(self._draw_players(game_seeds)[:, None], MAX_SEATS, axis=1)

    def draw_seating(self, game_seeds: np.ndarray, num_players: np.ndarray) -> np.ndarray:
        """Draw the seating of K games; return the index of the opponent in each seat, or `LEARNER`, [K, MAX_SEATS].

        All seats learn in a game that draws "self"; in any other game one seat learns. game_seeds: uint64 [K].
        num_players: int64 [K].
        """
        players = self._draw_players(game_seeds)
        first = (draw_uniforms(game_seeds, _SEAT) * num_players).astype(np.int64)
        relative_seats = (np.arange(MAX_SEATS) - first[:, None]) % num_players[:, None]
        learns = (players[:, None] == 0) | (relative_seats >= num_players[:, None] - 1)
        return np.where(learns, LEARNER, players[:, None])

    def begin_games(self, batch: Batch) -> LearningGames:
        """Begin the games of `batch` with learners and drawn opponents in their seats, and return them."""
        num_players = batch.num_players.astype(np.int64)
        seating = lambda indices: self.draw_seating(batch.game_seeds[indices], num_players[indices])  # noqa: E731
        games = LearningGames(batch, self.players, seating=seating, compiled=select_compiled(self.players))
        games.begin()
        return games

    def begin_single_learner_games(self, batch: Batch) -> SingleLearnerGames:
        """Begin the games of `batch` with one learner and its drawn opponents in each game, and return them."""
        opponents = lambda indices: self.draw_opponents(batch.game_seeds[indices])  # noqa: E731
        return SingleLearnerGames(batch, self.players, opponents=opponents, compiled=select_compiled(self.players))

    def update(self, policy: NetworkPlayer) -> None:
        """Set the learner's current policy; places for past policies that are still empty get it, too."""
        self.newest.player = policy
        for snapshot in self.past:
            snapshot.player = snapshot.player or policy

    def remember(self, policy: NetworkPlayer, turn: int) -> None:
        """Store a policy among the past policies in place of the oldest; `turn` counts the policies stored so far."""
        if self.past:
            self.past[turn % len(self.past)].player = policy

    def past_layers(self) -> Sequence[Layers]:
        """Return the network layers of each past policy, to be saved in checkpoints."""
        return [snapshot.player.layers for snapshot in self.past if snapshot.player]

    def restore_past(self, policies: Sequence[NetworkPlayer]) -> None:
        """Set the past policies to those of a checkpoint."""
        for snapshot, policy in zip(self.past, policies, strict=True):
            snapshot.player = policy
