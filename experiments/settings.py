"""Command-line settings with which an experiment chooses its setups (number of seats, mouse cards, bank)."""

from dataclasses import dataclass
from typing import Any

from agents.tools.settings import choose_setups
from felicity_env import Setup
from felicity_env.setups import STANDARD_PLAYERS


@dataclass(frozen=True)
class OneSetup:
    """Settings that choose the one setup (number of seats, mouse cards, bank) in which an experiment is played."""

    num_players: int = 4
    """Number of seats, 3 to 5; it selects the standard setup with that number."""
    setup: str | None = None
    """Name of a setup, or a JSON file that defines one. Use it instead of --num-players, for other mouse cards or
    another bank."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the chosen setup exists."""
        assert self.chosen_setup

    @property
    def chosen_setup(self) -> Setup:
        """Setup named by `setup` or, if none is named, the standard setup for `num_players` seats."""
        return choose_setups([self.setup] if self.setup else [], [self.num_players])[0]

    @property
    def training_setup(self) -> dict[str, Any]:
        """The settings `num_players` and `setup` as a training run takes them: as tuples, by name."""
        return {"num_players": (self.num_players,), "setup": (self.setup,) if self.setup else ()}


@dataclass(frozen=True)
class SeveralSetups:
    """Settings that choose the setups (number of seats, mouse cards, bank) in which an experiment is played in turn."""

    num_players: tuple[int, ...] = STANDARD_PLAYERS
    """Numbers of seats, 3 to 5; each selects the standard setup with that number."""
    setup: tuple[str, ...] = ()
    """Names of setups, or JSON files that define them. Use them instead of --num-players, for other mouse
    cards or banks."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless all chosen setups exist."""
        assert self.setups

    @property
    def setups(self) -> tuple[Setup, ...]:
        """Setups named by `setup` or, if none is named, the standard setups for each number in `num_players`."""
        return choose_setups(self.setup, self.num_players)
