"""Layouts of the observation that a policy can read: the present one, and an earlier one that is computed from it.

A policy stores the version of the layout that it was trained with. `encode_layout` computes inputs in that layout from
observations in the present one, so an old policy plays as before.
"""

from itertools import chain
from typing import Any

import numpy as np

from felicity_env.observation import AT, MICE_SCALE, OBSERVATION_VERSION, SECTIONS

LAYOUTS = (1, OBSERVATION_VERSION)
# Sections of layout 1 that are gone now, each with its size, by the section that they followed.
THERMOMETERS = {"mice": ("mice_steps", 32), "high_bid": ("high_bid_steps", 32)}


def list_sections(version: int = OBSERVATION_VERSION) -> list[list[Any]]:
    """Return the sections of a layout as a list of [name, size]; version: one of `LAYOUTS`."""
    sections = [[[section.name, section.size]] for section in SECTIONS]
    if version == 1:
        for section in sections:
            section += [list(THERMOMETERS[name]) for name, _ in section if name in THERMOMETERS]
    return list(chain.from_iterable(sections))


def count_inputs(version: int) -> int:
    """Return the number of entries of an observation in a layout; version: one of `LAYOUTS`."""
    return sum(size for _, size in list_sections(version))


def encode_layout(observations: np.ndarray, version: int) -> np.ndarray:
    """Convert B observations in the present layout, float32 [B, OBS_SIZE], to another layout, float32 [B, inputs].

    version: one of `LAYOUTS`; with the present one, the same array is returned. Layout 1 also had the own mice and the
    highest bid as thermometers, which are as many ones as the amount (at most 32), then zeros.
    """
    if version == OBSERVATION_VERSION:
        return observations
    parts, first = [], 0
    for name, (_, size) in THERMOMETERS.items():
        at = getattr(AT, name)
        amounts = observations[:, at : at + 1] * np.float32(MICE_SCALE)
        parts += [observations[:, first : at + 1], (amounts > np.arange(size)).astype(np.float32)]
        first = at + 1
    return np.concatenate([*parts, observations[:, first:]], axis=1)
