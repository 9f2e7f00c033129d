"""Opponents in training: the current policy, past policies, and players that are named by codes.

For each game one opponent is drawn from the setting `mix`, and copies of it play in all seats that do not learn. Equal
opponents at a table teach more about that opponent than different opponents do, and need fewer calls. Past policies are
stored at even intervals, so that the learner does not forget how to play against them. The draw depends only on the
game's seed, so no random generator has to be saved.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import agents
from agents.compiled import select_compiled
from agents.network import NetworkPlayer
from agents.own_code import describe_exception
from agents.policy_file import Layers
from agents.registry import is_own
from felicity_env import Batch, Player, View
from felicity_env.game import MAX_SEATS
from felicity_env.kernel import kernel
from felicity_env.learners import LEARNER, LearningGames, OpponentError, SingleLearnerGames
from felicity_env.random_stream import RandomBits, split, uniform

SELF, PAST = "self", "past"
_SOURCE, _SEAT, _FURTHER = 1, 2, 3  # indices of the draws from a game's seed: opponent, learner's seat, further seats


class _Snapshot:
    """Player whose network can be replaced during training."""

    def __init__(self) -> None:
        self.player: NetworkPlayer | None = None

    def act(self, view: View) -> np.ndarray:
        if self.player is None:
            raise ValueError("the opponents have no policy yet; call `OpponentPool.update` first")
        return self.player.act(view)


class _Own:
    """Player in a user's own module; its errors name it, and the line of its code."""

    def __init__(self, code: str) -> None:
        self.code, self.player = code, agents.make(code)

    def act(self, view: View) -> Any:
        try:
            return self.player.act(view)
        except Exception as error:  # foreign code may raise anything
            raise OpponentError(f"{self.code} failed: {describe_exception(error)}") from error


@kernel
def draw_seats(
    game_seed: RandomBits, num_players: int, thresholds: np.ndarray, num_learners: int, out: np.ndarray
) -> None:
    """Draw who plays in each seat of a game, and write it into out [MAX_SEATS]: LEARNER, or the index of an opponent.

    thresholds: float64, sums of the opponents' shares up to each of them. The opponent with index 0 is the current
    policy; in its games all seats learn. In all others, `num_learners` random seats do.
    """
    share, opponent = uniform(split(game_seed, _SOURCE)), 0
    while share >= thresholds[opponent]:
        opponent += 1
    # The seat before the one that is drawn, so that seeds draw the same seats as in earlier versions.
    first = (np.int64(uniform(split(game_seed, _SEAT)) * num_players) - 1) % num_players
    for seat in range(MAX_SEATS):
        earlier = 0  # number of seats that come before this one in a random order
        for other in range(num_players):
            earlier += _comes_before(game_seed, other, seat, first)
        learns = opponent == 0 or (seat < num_players and earlier < num_learners)
        out[seat] = LEARNER if learns else opponent


@kernel
def _comes_before(game_seed, seat, other, first):
    """Return whether `seat` comes before another seat in a random order of the seats that begins with `first`."""
    if seat == first or other == first:
        return seat == first and other != first
    return uniform(split(game_seed, _FURTHER + seat)) < uniform(split(game_seed, _FURTHER + other))


@kernel
def _draw_all_seats(game_seeds, num_players, thresholds, num_learners, out):
    for k in range(len(game_seeds)):
        draw_seats(game_seeds[k], num_players[k], thresholds, num_learners, out[k])


def _make(code: str) -> Player:
    return _Own(code) if is_own(code) else agents.make(code)


class OpponentPool:
    """Pool of opponents in training, which draws for each game who plays in the seats that do not learn.

    mix: weight of each kind of opponent: "self" (the current policy), "past" (the past policies together) or a player
    code. num_past: number of past policies that the pool stores. num_learners: number of seats that learn in a game
    with another opponent than "self".
    """

    def __init__(self, mix: Mapping[str, float], *, num_past: int = 0, num_learners: int = 1) -> None:
        self.num_learners = num_learners
        num_past = num_past if mix.get(PAST) else 0
        self.newest = _Snapshot()
        self.past = [_Snapshot() for _ in range(num_past)]
        codes = [code for code in mix if code not in (SELF, PAST)]
        self.players: list[Player] = [self.newest, *self.past, *map(_make, codes)]
        past_weights = [mix.get(PAST, 0.0) / num_past] * num_past if num_past else []
        weights = np.cumsum([mix.get(SELF, 0.0), *past_weights, *(mix[code] for code in codes)])
        self.thresholds = weights / weights[-1]  # sums of the opponents' shares

    def draw_opponents(self, game_seeds: np.ndarray) -> np.ndarray:
        """Draw one opponent for each of K games; return its index in the pool for every seat, [K, MAX_SEATS].

        All entries of a game are equal. Index 0 is the current policy. game_seeds: uint64 [K].
        """
        seating = self.draw_seating(game_seeds, np.full(len(game_seeds), MAX_SEATS))
        drawn = seating.max(axis=1).clip(0)  # all seats learn where the opponent is the current policy
        return np.repeat(drawn[:, None], MAX_SEATS, axis=1)

    def draw_seating(self, game_seeds: np.ndarray, num_players: np.ndarray) -> np.ndarray:
        """Draw who plays in each seat of K games: the learner, or an opponent from the pool.

        Returns integers [K, MAX_SEATS]: `LEARNER`, or the opponent's index in the pool. All seats learn in a game that
        draws the opponent "self"; in any other game `num_learners` random seats learn. game_seeds: uint64 [K].
        num_players: int64 [K].
        """
        seating = np.empty((len(game_seeds), MAX_SEATS), np.int64)
        _draw_all_seats(game_seeds, num_players, self.thresholds, self.num_learners, seating)
        return seating

    def begin_games(self, batch: Batch) -> LearningGames:
        """Begin the games of a batch with learners and drawn opponents in the seats, and return the games.

        All seats of a game learn, or only one seat learns; see `draw_seating`.
        """
        num_players = batch.num_players.astype(np.int64)
        games = LearningGames(
            batch,
            self.players,
            seating=lambda indices: self.draw_seating(batch.game_seeds[indices], num_players[indices]),
            compiled=select_compiled(self.players),
        )
        games.begin()
        return games

    def begin_single_learner_games(self, batch: Batch) -> SingleLearnerGames:
        """Begin the games of a batch with one learner and drawn opponents in each game, and return the games."""
        return SingleLearnerGames(
            batch,
            self.players,
            opponents=lambda indices: self.draw_opponents(batch.game_seeds[indices]),
            compiled=select_compiled(self.players),
        )

    def update(self, policy: NetworkPlayer) -> None:
        """Set the learner's current policy, which plays as the opponent "self".

        Places for past policies that are still empty get this policy, too.
        """
        self.newest.player = policy
        for snapshot in self.past:
            snapshot.player = snapshot.player or policy

    def remember(self, policy: NetworkPlayer, turn: int) -> None:
        """Store a policy as an opponent among the past policies, in place of the oldest one.

        turn: how many policies have been stored; it selects the place. A pool without places for past policies stores
        nothing.
        """
        if self.past:
            self.past[turn % len(self.past)].player = policy

    def past_layers(self) -> Sequence[Layers]:
        """Return the network layers of each past policy, to be saved in checkpoints."""
        return [snapshot.player.layers for snapshot in self.past if snapshot.player]

    def restore_past(self, policies: Sequence[NetworkPlayer]) -> None:
        """Set the past policies, which play as opponents, to those of a checkpoint."""
        for snapshot, policy in zip(self.past, policies, strict=True):
            snapshot.player = policy
