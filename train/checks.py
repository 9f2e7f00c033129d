"""Checks of settings that several commands have. What is wrong is said in the words of their command lines."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from felicity_env import SETUPS

MAX_SEED = 2**32 - 1  # evaluation uses seeds from 2**62, so the two never meet
Faults = Iterator[tuple[bool, str]]  # whether something is wrong, and what to say then


def refuse(*faults: Faults) -> None:
    """Raise `ValueError` with the first thing that is wrong."""
    for each in faults:
        for wrong, reason in each:
            if wrong:
                raise ValueError(reason)


def as_option(name: str) -> str:
    """The word for a setting on the command line."""
    return "--" + name.replace("_", "-")


def not_positive(config: Any, *names: str) -> Faults:
    """Settings that must be finite numbers above zero."""
    for name in names:
        yield not 0 < getattr(config, name) < inf, f"{as_option(name)} must be positive"


def below(config: Any, **least: float) -> Faults:
    """Settings that must be at least so much, or None."""
    for name, bound in least.items():
        value = getattr(config, name)
        yield value is not None and value < bound, f"{as_option(name)} must be at least {bound}, not {value}"


def no_tables(num_players: Sequence[int]) -> Faults:
    """Numbers of seats for which there is no game."""
    strangers = " ".join(str(n) for n in num_players if n not in SETUPS)
    yield bool(strangers), f"--num-players must be from {list(SETUPS)}, not {strangers}"


def no_learner(config: Any) -> Faults:
    """What all that learn have: `seed`, `hidden_sizes`, `num_players`, `num_envs`."""
    yield not 0 <= config.seed <= MAX_SEED, f"--seed must be 0 to {MAX_SEED}, not {config.seed}"
    yield not config.hidden_sizes or min(config.hidden_sizes) <= 0, "--hidden-sizes must be positive"
    yield not config.num_players, "--num-players needs at least one number"
    yield from no_tables(config.num_players)
    yield config.num_envs < len(config.num_players), "--num-envs must be at least as many as --num-players names"
