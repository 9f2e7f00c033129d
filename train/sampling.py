"""Actions drawn from logits, by a kernel that looks at legal actions alone."""

import numba
import numpy as np

from felicity_env.game import NUM_ACTIONS
from felicity_env.kernel import kernel, outlined_kernel, parallel_kernel


@kernel
def _sample(logits, mask, uniform):
    """An action drawn from the softmax of the legal logits, and its log probability."""
    highest = np.float32(-np.inf)
    for action in range(NUM_ACTIONS):
        if mask[action] and logits[action] > highest:
            highest = logits[action]
    total = np.float32(0.0)
    for action in range(NUM_ACTIONS):
        if mask[action]:
            total += np.exp(logits[action] - highest)
    left, chosen = np.float32(uniform) * total, -1
    for action in range(NUM_ACTIONS):
        if mask[action] and left >= 0.0:
            chosen = action
            left -= np.exp(logits[action] - highest)
    return chosen, logits[chosen] - highest - np.log(total)


@outlined_kernel
def _sample_chunk(logits, masks, words, first, last, actions, log_probabilities):
    for k in range(first, last):
        uniform = np.float64(words[k] >> np.uint64(40)) / 2**24
        actions[k], log_probabilities[k] = _sample(logits[k], masks[k], uniform)


@parallel_kernel
def _sample_parallel(logits, masks, words, threads, actions, log_probabilities):
    rows = len(words)
    for t in numba.prange(threads):
        first, last = rows * t // threads, rows * (t + 1) // threads
        _sample_chunk(logits, masks, words, first, last, actions, log_probabilities)


def sample(logits: np.ndarray, masks: np.ndarray, words: np.ndarray, *, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Legal actions int64 [B] drawn from logits float32 [B, NUM_ACTIONS], and their log probabilities float32 [B].

    masks: int8 [B, NUM_ACTIONS]. words: uint64 [B], the randomness of each row.
    """
    actions, log_probabilities = np.empty(len(words), np.int64), np.empty(len(words), np.float32)
    if threads == 1:  # a parallel kernel would also set the number of torch's threads
        _sample_chunk(logits, masks, words, 0, len(words), actions, log_probabilities)
    else:
        _sample_parallel(logits, masks, words, threads, actions, log_probabilities)
    return actions, log_probabilities
