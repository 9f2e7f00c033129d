"""Seeds and draws: SplitMix64 (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195), the same compiled and plain.

A seed is a 64-bit word. Nothing here keeps state: a draw is a function of a word, so results do not depend on the order
in which games or seats are handled, nor on the machine.
"""

from numbers import Integral
from typing import Any

import numpy as np

from felicity_env.kernel import kernel

_MASK = 0xFFFFFFFFFFFFFFFF
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_SEAT_STREAM = 0xD1B54A32D192ED03
MAX_SEED = 2**63 - 1

Word = Any  # 64 bits: a uint64 when compiled, a Python int otherwise


@kernel
def mix(word: Word) -> Word:
    """The SplitMix64 output function."""
    word = (int(word) + _GOLDEN) & _MASK
    word = ((word ^ (word >> 30)) * _FIRST) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND) & _MASK
    return word ^ (word >> 31)


@kernel
def below(word: Word, bound: int) -> Any:
    """A number 0 .. bound - 1 from the high bits of `word` (bias under bound / 2**31)."""
    return (np.int64(word >> 33) * bound) >> 31


@kernel
def split(word: Word, part: Any) -> Word:
    """A word of its own for each `part` of what is drawn from `word`: streams that `mix` goes on from do not meet."""
    return mix(mix(np.uint64(word)) ^ mix(np.uint64(part)))


@kernel
def next_game_seed(seed: Word, game: Any, episode: Any) -> Word:
    """`game_seed` inside kernels, unchecked."""
    stream = mix(np.uint64(seed)) ^ np.uint64(game)
    return mix(mix(stream) ^ np.uint64(episode)) >> np.uint64(1)


@kernel
def decision_seed(game: Word, seat: Any, decision: Any) -> Word:
    """The word a player may use for its own randomness at its `decision`-th decision in the game seeded `game`.

    Two mixed words are added, so the game's seed (and with it the hidden deal) cannot be had by running the mixer
    backwards.
    """
    word = mix(np.uint64(game) ^ np.uint64(_SEAT_STREAM))
    label = mix(np.uint64((seat << 32) | decision))
    return (int(mix(word ^ label)) + int(mix((word >> 1) ^ label))) & _MASK


def check_seed(seed: object) -> int:
    """`seed` as an int; raises `ValueError` unless it is an integer from 0 to 2**63 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) <= MAX_SEED:
        raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, not {seed!r}")
    return int(seed)


def game_seed(seed: int, game: int, episode: int) -> int:
    """The seed of episode `episode` of game `game` in `Batch(seed=seed)`.

    `raw_env.reset(seed=game_seed(s, i, k))` deals exactly that game.
    """
    return int(next_game_seed(check_seed(seed), check_seed(game), check_seed(episode)))
