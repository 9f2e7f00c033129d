"""Games that players play to be stored: each seat of each game gets one of the players at random."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agents.arena.games import Games, PlayerError
from agents.identity import identify_player
from agents.policy_player import PolicyPlayer
from agents.registry import make
from felicity_env.dataset import Dataset
from felicity_env.game import NO_SEAT, Setup, deal
from felicity_env.game_record import count_dealt
from felicity_env.kernel import kernel
from felicity_env.random_stream import draw_below, next_game_seed, split

_SEATING = 0x5EA7  # stream of the random bits that choose the players of a game
_VIEWED_AT_ONCE = 64  # games whose positions are in memory at once


def play_games(
    codes: Sequence[str], setup: Setup, games: range, *, seed: int, with_probabilities: bool = True
) -> Dataset:
    """Play the games with some numbers, and return them; game k has deal and seed of game k of a `Batch` with `seed`.

    codes: codes of the players. with_probabilities: store the probability of each action of players that have
    `probabilities`, as networks do. Raises `PlayerError` if a player raises an exception or plays an illegal action.
    """
    players = [make(code) for code in codes]
    states, seeds = np.repeat(setup.blank_state(), len(games)), np.empty(len(games), np.uint64)
    seating = np.empty((len(games), setup.seats), np.int64)
    _begin_games(np.uint64(seed), np.array(games, np.int64), len(codes), states, seeds, seating)
    first, played = states.copy(), Games(setup, states, seeds, seating)
    played.play(players)
    for game in np.flatnonzero(played.forfeited != NO_SEAT).tolist():
        player = int(seating[game, played.forfeited[game]])
        raise PlayerError(player, f"{codes[player]} played an illegal action", played.text(game))
    buffers, (num_removed, num_dummy) = played.batch.buffers, count_dealt(setup)
    dataset = Dataset(
        setup=setup,
        players=tuple(codes),
        digests=tuple(identify_player(code).digest for code in codes),
        seeds=seeds,
        removed=first["removed"][:, :num_removed].astype(np.int8),
        dummy=first["dummy_cards"][:, :num_dummy].astype(np.int8),
        start_seats=first["start_seat"].astype(np.int8),
        seating=seating.astype(np.uint8),
        lengths=buffers.lengths.astype(np.uint16),
        actions=buffers.actions[np.arange(buffers.actions.shape[1]) < buffers.lengths[:, None]].astype(np.uint8),
        probabilities=np.empty(0, np.float16),
        scores=buffers.scores[:, : setup.seats].astype(np.int16),
    )
    if not with_probabilities:
        return dataset
    return replace(dataset, probabilities=compute_probabilities(dataset, players))


def compute_probabilities(dataset: Dataset, players: Sequence[Any]) -> np.ndarray:
    """Return the probability with which the player of each decision took its action, float16 [D].

    It is nan if the player has no probabilities; if no player has any, the result is [0].
    """
    known = [k for k, player in enumerate(players) if isinstance(player, PolicyPlayer)]
    if not known:
        return np.empty(0, np.float16)
    parts = []
    for first in range(0, len(dataset), _VIEWED_AT_ONCE):
        games = range(first, min(first + _VIEWED_AT_ONCE, len(dataset)))
        some, view = dataset.take(slice(games.start, games.stop)), dataset.view(games)
        playing = some.seating[np.repeat(np.arange(len(games)), some.lengths), view.seats]
        found = np.full(len(view), np.nan, np.float16)
        for k in known:
            rows = np.flatnonzero(playing == k)
            found[rows] = players[k].probabilities(view.take(rows))[np.arange(len(rows)), some.actions[rows]]
        parts.append(found)
    return np.concatenate(parts)


@kernel
def _begin_games(seed, games, num_players, states, seeds, seating):
    """Deal the games with some numbers, and choose their players."""
    for k in range(len(games)):
        seeds[k] = next_game_seed(seed, games[k], 0)
        deal(states[k], seeds[k])
        for seat in range(seating.shape[1]):
            seating[k, seat] = draw_below(split(split(seeds[k], _SEATING), seat), num_players)
