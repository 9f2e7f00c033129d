"""Checks of settings that several commands share; each raises a `ValueError` that names the command-line option."""

from collections.abc import Iterable
from math import inf
from typing import Any

from felicity_env import Setup
from felicity_env.setups import find_setup, standard_setup


def require(condition: bool, message: str) -> None:
    """Raise `ValueError` with `message` unless the condition holds."""
    if not condition:
        raise ValueError(message)


def option_name(setting: str) -> str:
    """Return the command-line option of a setting, such as `--num-deals` for `num_deals`."""
    return "--" + setting.replace("_", "-")


def check_positive(config: Any, *settings: str) -> None:
    """Check that the named settings of `config` are finite and above zero; raise `ValueError` otherwise."""
    for setting in settings:
        value = getattr(config, setting)
        require(0 < value < inf, f"{option_name(setting)} must be positive, not {value}")


def check_not_negative(config: Any, *settings: str) -> None:
    """Check that the named settings of `config` are finite and not negative; raise `ValueError` otherwise."""
    for setting in settings:
        value = getattr(config, setting)
        require(0 <= value < inf, f"{option_name(setting)} must not be negative, not {value}")


def check_at_least(config: Any, **bounds: float) -> None:
    """Check that each named setting of `config` is None or at least its bound; raise `ValueError` otherwise."""
    for setting, bound in bounds.items():
        value = getattr(config, setting)
        require(value is None or value >= bound, f"{option_name(setting)} must be at least {bound}, not {value}")


def check_range(config: Any, low: float, high: float, *settings: str) -> None:
    """Check that the named settings of `config` are from `low` to `high`, inclusive; raise `ValueError` otherwise."""
    for setting in settings:
        value = getattr(config, setting)
        require(low <= value <= high, f"{option_name(setting)} must be {low} to {high}, not {value}")


def check_seeds(seeds: Iterable[int], *, at_least: int = 1) -> None:
    """Check that the option `--seeds` lists different numbers, at least `at_least`; raise `ValueError` otherwise."""
    listed = list(seeds)
    enough = len(set(listed)) >= max(at_least, len(listed))
    require(enough, f"--seeds needs different numbers, at least {at_least}, not {listed}")


def choose_setups(setup: Iterable[str], num_players: Iterable[int]) -> tuple[Setup, ...]:
    """Return the setups named by the option `--setup`, or, if it is empty, the standard setups of `--num-players`.

    Duplicates are dropped; the order is kept. Raises `ValueError` naming the option and what it may be.
    """
    try:
        named = [find_setup(name) for name in setup]
    except ValueError as error:
        raise ValueError(f"--setup: {error}") from error
    try:
        setups = named or [standard_setup(number) for number in num_players]
    except ValueError as error:
        raise ValueError(f"--num-players: {error}") from error
    require(bool(setups), "--num-players needs at least one number")
    return tuple(dict.fromkeys(setups))
