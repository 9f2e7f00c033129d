"""Seeds and random numbers by SplitMix64 (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195).

The functions return the same numbers compiled and as plain Python. Nothing here keeps state: a draw is a function of
64 random bits. Results therefore depend neither on the order in which games or seats are handled, nor on the machine.
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

RandomBits = Any  # 64 random bits: a uint64 when compiled, a Python int otherwise


@kernel
def mix(bits: RandomBits) -> RandomBits:
    """Return the next 64 random bits after `bits`: one step of the generator SplitMix64."""
    bits = (int(bits) + _GOLDEN) & _MASK
    bits = ((bits ^ (bits >> 30)) * _FIRST) & _MASK
    bits = ((bits ^ (bits >> 27)) * _SECOND) & _MASK
    return bits ^ (bits >> 31)


@kernel
def split(bits: RandomBits, part: Any) -> RandomBits:
    """Return random bits derived from `bits` and the index `part`; different indices begin independent streams."""
    return mix(mix(np.uint64(bits)) ^ mix(np.uint64(part)))


@kernel
def draw_below(bits: RandomBits, bound: int) -> Any:
    """Draw an integer from 0 to bound - 1 from the high 31 bits, almost uniformly (bias under bound / 2**31)."""
    return (np.int64(bits >> 33) * bound) >> 31


@kernel
def uniform(bits: RandomBits) -> float:
    """Convert random bits to a uniform number in [0, 1) with a resolution of 24 bits, which float32 holds exactly."""
    return np.float64(bits >> np.uint64(40)) / 2**24


@kernel
def open_uniform(bits: RandomBits) -> float:
    """Convert random bits to a uniform number strictly between 0 and 1 (52 bits), so that its logarithm is finite."""
    return ((bits >> np.uint64(12)) + 0.5) / 2.0**52


@kernel
def next_game_seed(seed: RandomBits, game: Any, episode: Any) -> RandomBits:
    """Return the seed of one episode of one game in a batch that has the given seed.

    The result is that of `game_seed`. Compiled code can call this function, which does not check its arguments.
    """
    stream = mix(np.uint64(seed)) ^ np.uint64(game)
    return mix(mix(stream) ^ np.uint64(episode)) >> np.uint64(1)


@kernel
def decision_seed(game: RandomBits, seat: Any, decision: Any) -> RandomBits:
    """Return the random bits for a player's decision, given the seed `game`, the seat and the index of the decision.

    The sum of two mixed numbers hides the game's seed, and with it the hidden cards, from the player.
    """
    bits = mix(np.uint64(game) ^ np.uint64(_SEAT_STREAM))
    label = mix(np.uint64((seat << 32) | decision))
    return (int(mix(bits ^ label)) + int(mix((bits >> 1) ^ label))) & _MASK


def check_seed(seed: object) -> int:
    """Check that a seed is an integer from 0 to 2**63 - 1, and return it as an int.

    Raises `ValueError` for any other value.
    """
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= int(seed) <= MAX_SEED:
        raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, not {seed!r}")
    return int(seed)


def game_seed(seed: int, game: int, episode: int) -> int:
    """Return the seed of one episode of the game number `game` in `Batch(seed=seed)`.

    `raw_env.reset` with the returned seed deals the same game.
    """
    return int(next_game_seed(check_seed(seed), check_seed(game), check_seed(episode)))
