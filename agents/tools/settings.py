"""Settings that several commands share: the choice of setups, and checks that name the command-line option."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from felicity_env.game import Setup
from felicity_env.setups import STANDARD_PLAYERS, find_setup, standard_setup

DAY = 86_400  # seconds


def require(condition: bool, message: str) -> None:
    """Raise `ValueError` with `message` unless the condition holds."""
    if not condition:
        raise ValueError(message)


def option_name(setting: str) -> str:
    """Return the command-line option of a setting, such as `--num-deals` for `num_deals`."""
    return "--" + setting.replace("_", "-")


def check_positive(config: Any, *settings: str) -> None:
    """Raise `ValueError` unless the settings of `config` with these names are finite and above zero."""
    for setting in settings:
        value = getattr(config, setting)
        require(0 < value < inf, f"{option_name(setting)} must be positive, not {value}")


def check_not_negative(config: Any, *settings: str) -> None:
    """Raise `ValueError` unless the settings of `config` with these names are finite and at least zero."""
    for setting in settings:
        value = getattr(config, setting)
        require(0 <= value < inf, f"{option_name(setting)} must not be negative, not {value}")


def check_at_least(config: Any, **bounds: float) -> None:
    """Raise `ValueError` unless each named setting of `config` is None or at least its bound."""
    for setting, bound in bounds.items():
        value = getattr(config, setting)
        require(value is None or value >= bound, f"{option_name(setting)} must be at least {bound}, not {value}")


def check_range(config: Any, low: float, high: float, *settings: str) -> None:
    """Raise `ValueError` unless the settings of `config` with these names are from `low` to `high`, inclusive."""
    for setting in settings:
        value = getattr(config, setting)
        require(low <= value <= high, f"{option_name(setting)} must be {low} to {high}, not {value}")


def check_seeds(seeds: Iterable[int], *, at_least: int = 1) -> None:
    """Raise `ValueError` unless the option `--seeds` lists different numbers of 0 or more, at least `at_least`."""
    listed = list(seeds)
    enough = len(set(listed)) >= max(at_least, len(listed)) and min(listed, default=0) >= 0
    require(enough, f"--seeds needs different numbers, at least {at_least}, none below 0, not {listed}")


def list_setups(setup: Iterable[str], num_players: Iterable[int]) -> list[Setup]:
    """List the setups named by the option `--setup`, or, if it is empty, the standard setups of `--num-players`.

    A setup that is named twice is listed twice. Raises `ValueError` if there is no such setup; the message names the
    option and its possible values.
    """
    names = list(setup)
    try:
        setups = [find_setup(name) for name in names] or [standard_setup(number) for number in num_players]
    except ValueError as error:
        text = f"--setup: {error}" if names else str(error).replace("num_players", "--num-players")
        raise ValueError(text) from error
    require(bool(setups), "--num-players needs at least one number")
    return setups


def choose_setups(setup: Iterable[str], num_players: Iterable[int]) -> tuple[Setup, ...]:
    """Return the setups chosen by `--setup` or `--num-players`, as in `list_setups` but without repetitions."""
    return tuple(dict.fromkeys(list_setups(setup, num_players)))


def _refuse_contradiction(config: Any) -> None:
    """Raise `ValueError` if `num_players` is neither the default nor, where there is a `setup`, its seats."""
    seats = {setup.seats for setup in config.setups}
    is_default = config.num_players == type(config).num_players
    given = {config.num_players} if isinstance(config.num_players, int) else {*config.num_players}
    names, numbers = (" ".join(map(str, sorted(each))) for each in (seats, given))
    text = f"--num-players is {numbers}, but the seats of --setup are {names}: give only one of these options"
    require(not config.setup or is_default or given == seats, text)


@dataclass(frozen=True, kw_only=True)
class OneSetup:
    """Settings that choose one setup (number of seats, mouse cards, bank)."""

    num_players: int = 4
    """Number of seats, 3 to 5; it selects the standard setup with that number."""
    setup: str | None = None
    """Name of a setup or a JSON file that defines one, for other mouse cards or banks; replaces --num-players."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the chosen setup exists, and `num_players` are its seats if it was named."""
        _refuse_contradiction(self)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """Tuple that contains only the chosen setup."""
        return choose_setups([self.setup] if self.setup else [], [self.num_players])

    @property
    def chosen_setup(self) -> Setup:
        """Setup named by `setup` or, if none is named, the standard setup for `num_players` seats."""
        return self.setups[0]

    @property
    def setup_word(self) -> str:
        """Value of the option `--setup` that chooses this setup."""
        return self.setup or f"standard-{self.num_players}"

    @property
    def training_setup(self) -> dict[str, Any]:
        """Setting `num_players` or `setup` in the form of a training run's settings: {name: tuple}."""
        return {"setup": (self.setup,)} if self.setup else {"num_players": (self.num_players,)}


@dataclass(frozen=True, kw_only=True)
class TimeLimit:
    """Setting that limits the time of a player's decisions."""

    seconds_a_decision: float | None = None
    """Most seconds that a player may take for a decision, as the mean over the up to 16 games that it is asked about at
    once. One that takes longer forfeits the game; one that does so 20 times in a row is left out. Default: no limit.
    Compiled players have no limit. Players are interrupted only on POSIX systems; elsewhere a call ends by itself."""

    def check_time_limit(self) -> None:
        """Raise `ValueError` unless there is no limit, or it is positive and at most a day, as any timer takes it."""
        seconds = self.seconds_a_decision
        is_possible = seconds is None or 0 < seconds <= DAY
        require(is_possible, f"--seconds-a-decision must be positive and at most {DAY} (a day), not {seconds}")


@dataclass(frozen=True, kw_only=True)
class SeveralSetups:
    """Settings that choose several setups (number of seats, mouse cards, bank), to be played in turn."""

    num_players: tuple[int, ...] = STANDARD_PLAYERS
    """Numbers of seats, 3 to 5; each selects the standard setup with that number."""
    setup: tuple[str, ...] = ()
    """Names of setups or JSON files that define them, for other mouse cards or banks; they replace --num-players."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless all chosen setups exist, and `num_players` are their seats if they were named."""
        _refuse_contradiction(self)

    @property
    def setups(self) -> tuple[Setup, ...]:
        """Setups named by `setup` or, if none is named, the standard setups for each number in `num_players`."""
        return choose_setups(self.setup, self.num_players)
