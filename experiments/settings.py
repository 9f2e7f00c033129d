"""Settings that choose the setups of a question."""

from dataclasses import dataclass
from typing import Any

from agents.tools.settings import choose_setups
from felicity_env import Setup
from felicity_env.setups import STANDARD_PLAYERS


@dataclass(frozen=True)
class OneSetup:
    """Choice of the one setup that is played."""

    num_players: int = 4
    """Number of seats, 3 to 5, in the standard setup."""
    setup: str | None = None
    """Name of a setup, or its JSON file; use it instead of --num-players for other mouse cards or banks."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the setup exists."""
        assert self.chosen_setup

    @property
    def chosen_setup(self) -> Setup:
        """The setup that the two settings name."""
        return choose_setups([self.setup] if self.setup else [], [self.num_players])[0]

    @property
    def training_setup(self) -> dict[str, Any]:
        """The two settings as those of a training run."""
        return {"num_players": (self.num_players,), "setup": (self.setup,) if self.setup else ()}


@dataclass(frozen=True)
class SeveralSetups:
    """Choice of the setups that are played, one after the other."""

    num_players: tuple[int, ...] = STANDARD_PLAYERS
    """Numbers of seats, 3 to 5, in the standard setups."""
    setup: tuple[str, ...] = ()
    """Names of setups, or their JSON files; use them instead of --num-players for other mouse cards or banks."""

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the setups exist."""
        assert self.setups

    @property
    def setups(self) -> tuple[Setup, ...]:
        """The setups that the two settings name."""
        return choose_setups(self.setup, self.num_players)
