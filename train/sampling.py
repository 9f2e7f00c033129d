"""Sampling of actions from a policy's logits, in integers, so that all machines and GPUs draw the same actions.

Exponentials and logarithms of floating-point numbers differ in their last bits from one library or GPU to another.
Here a logit becomes a number of halvings relative to the best logit, in units of 2**-20, and a probability a weight in
units of 2**-30; the error of a probability is about a millionth of it.
"""

import numba
import numpy as np

from felicity_env.game import NUM_ACTIONS
from felicity_env.kernel import kernel, outlined_kernel, parallel_kernel
from felicity_env.random_stream import RandomBits

_HALVING_BITS, _WEIGHT_BITS = 20, 30
_PART = (1 << _HALVING_BITS) - 1  # mask of the fraction of a number of halvings
_ONE = 1 << _WEIGHT_BITS
_HALVINGS = np.float32(2**_HALVING_BITS / np.log(2.0))  # in a logit of 1
_LOGIT = np.float32(np.log(2.0) / 2**_HALVING_BITS)  # of one unit of halvings
_LEAST = np.float32(40.0)  # logits that are so far below the best one are never drawn
# 2**-x on [0, 1) as a polynomial in x, times 2**30; a least-squares fit at Chebyshev nodes, with errors below 6e-8
_C0, _C1, _C2, _C3, _C4, _C5 = 1073741765, -744256846, 257890763, -59377501, 9890102, -1017428


@kernel
def _count_halvings(distance):
    """Return how often a weight is halved for a logit that is `distance` below the best one, times 2**20."""
    return np.int64(distance * _HALVINGS) if distance < _LEAST else np.int64(63 << _HALVING_BITS)  # also for NaN


@kernel
def _weigh(halvings):
    """Return 2**-halvings, for halvings in units of 2**-20, as a weight in units of 2**-30."""
    x = (halvings & _PART) << (_WEIGHT_BITS - _HALVING_BITS)
    weight = _C4 + (_C5 * x >> _WEIGHT_BITS)
    weight = _C3 + (weight * x >> _WEIGHT_BITS)
    weight = _C2 + (weight * x >> _WEIGHT_BITS)
    weight = _C1 + (weight * x >> _WEIGHT_BITS)
    weight = _C0 + (weight * x >> _WEIGHT_BITS)
    return weight >> (halvings >> _HALVING_BITS)


@kernel
def _log2(weight):
    """Return the binary logarithm of a weight that is at least 2**30 units, in units of 2**-20, digit by digit."""
    result = 0
    while weight >= 2 * _ONE:
        weight >>= 1
        result += 1
    for _ in range(_HALVING_BITS):
        weight = weight * weight >> _WEIGHT_BITS
        result <<= 1
        if weight >= 2 * _ONE:
            weight >>= 1
            result |= 1
    return result


@kernel
def draw_action(logits: np.ndarray, mask: np.ndarray, random_bits: RandomBits) -> tuple[int, np.float32]:
    """Draw an action from the softmax of the legal actions' logits; return it and its log probability.

    logits: float32 [NUM_ACTIONS]. mask: int8 [NUM_ACTIONS], 1 for legal actions. random_bits: 64 random bits, which
    determine the action.
    """
    highest = np.float32(-np.inf)
    for action in range(NUM_ACTIONS):
        if mask[action] and logits[action] > highest:
            highest = logits[action]
    total = np.int64(0)
    for action in range(NUM_ACTIONS):
        if mask[action]:
            total += _weigh(_count_halvings(highest - logits[action]))
    left, chosen = np.int64(random_bits >> np.uint64(40)) * total >> 24, 0
    for action in range(NUM_ACTIONS):
        if mask[action] and left >= 0:
            chosen = action
            left -= _weigh(_count_halvings(highest - logits[action]))
    halvings = _count_halvings(highest - logits[chosen]) + _log2(max(total, _ONE))
    return chosen, np.float32(-halvings) * _LOGIT


@outlined_kernel
def _sample_chunk(logits, masks, random_bits, first, last, actions, log_probabilities):
    for k in range(first, last):
        actions[k], log_probabilities[k] = draw_action(logits[k], masks[k], random_bits[k])


@parallel_kernel
def _sample_parallel(logits, masks, random_bits, threads, actions, log_probabilities):
    games = len(random_bits)
    for t in numba.prange(threads):
        first, last = games * t // threads, games * (t + 1) // threads
        _sample_chunk(logits, masks, random_bits, first, last, actions, log_probabilities)


def sample(
    logits: np.ndarray, masks: np.ndarray, random_bits: np.ndarray, *, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sample a legal action for each of B decisions from the policy's logits; return actions and log probabilities.

    logits: float32 [B, NUM_ACTIONS]. masks: int8 [B, NUM_ACTIONS], 1 for legal actions. random_bits: uint64 [B], the
    randomness of each decision. Returns actions int64 [B] and their log probabilities float32 [B].
    """
    actions, log_probabilities = np.empty(len(random_bits), np.int64), np.empty(len(random_bits), np.float32)
    if threads == 1:  # a parallel kernel would also set the number of torch's threads
        _sample_chunk(logits, masks, random_bits, 0, len(random_bits), actions, log_probabilities)
    else:
        _sample_parallel(logits, masks, random_bits, threads, actions, log_probabilities)
    return actions, log_probabilities
