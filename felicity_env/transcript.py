"""A game as (setup, deal, actions): all chance is in the deal, so this triple replays exactly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from felicity_env.game import (
    MAX_ROUNDS,
    NO_CARD,
    NUM_ACTIONS,
    PASS,
    PLACE,
    STATE,
    Setup,
    State,
    begin,
    deal,
    is_legal,
    is_terminal,
    nth_legal_action,
    num_legal_actions,
    step,
)

DEAL_KEYS = ("removed", "dummy", "start_seat")


@dataclass(frozen=True)
class Deal:
    """What chance decided (R2.4-R2.6)."""

    removed: tuple[int, ...]  # card of each seat; () where none is removed
    dummy: tuple[int, ...]  # in the order turned; () without a dummy
    start_seat: int

    @classmethod
    def from_state(cls, state: State) -> "Deal":
        """The deal of a game that stands at its first decision."""
        removed = tuple(int(card) for card in state.removed[: state.num_seats] if card != NO_CARD)
        dummy = tuple(int(card) for card in state.dummy_cards if card != NO_CARD)
        return cls(removed, dummy, int(state.start_seat))


def draw_deal(setup: Setup, seed: int, wishes: Mapping[str, Any] | None = None) -> Deal:
    """The deal that `seed` gives, with the parts named in `wishes` (`removed`, `dummy`, `start_seat`) replaced.

    Raises `ValueError` naming the fault when `wishes` cannot be dealt in `setup`.
    """
    states = setup.blank_state()
    deal(states[0], np.uint64(seed))
    drawn = Deal.from_state(states[0])
    if wishes is None:
        return drawn
    checked = check_wishes(setup, wishes)
    return Deal(**{key: checked.get(key, getattr(drawn, key)) for key in DEAL_KEYS})


def check_wishes(setup: Setup, wishes: Mapping[str, Any]) -> dict[str, Any]:
    """The wished-for parts of a deal as tuples and ints, or `ValueError` naming what is impossible about them."""
    if not isinstance(wishes, Mapping):
        raise ValueError(f"deal must be a mapping with keys from {DEAL_KEYS}, not {wishes!r}")
    unknown = [key for key in wishes if key not in DEAL_KEYS]
    if unknown:
        raise ValueError(f"deal has unknown keys {unknown}; it may have {DEAL_KEYS}")
    checks = {"removed": _check_removed, "dummy": _check_dummy, "start_seat": _check_start_seat}
    return {key: checks[key](setup, value) for key, value in wishes.items()}


def _check_removed(setup: Setup, value: Any) -> tuple[int, ...]:
    cards = _check_cards(setup, "removed", value)
    expected = setup.seats if setup.removed else 0
    if len(cards) != expected:
        raise ValueError(f"deal['removed'] needs {expected} cards, one a seat whose set loses one, not {len(cards)}")
    return cards


def _check_dummy(setup: Setup, value: Any) -> tuple[int, ...]:
    cards = _check_cards(setup, "dummy", value)
    expected = min(setup.hand_size, MAX_ROUNDS) if setup.dummy else 0
    if len(cards) != expected:
        raise ValueError(f"deal['dummy'] needs {expected} cards in the order turned, not {len(cards)}")
    if len(set(cards)) != len(cards):
        raise ValueError(f"deal['dummy'] repeats a card: {list(cards)}")
    return cards


def _check_cards(setup: Setup, key: str, value: Any) -> tuple[int, ...]:
    is_list = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if isinstance(value, str) or not is_list:
        raise ValueError(f"deal[{key!r}] must be a list of cards, not {value!r}")
    for card in value:
        if not is_integer(card) or card not in setup.cards:
            raise ValueError(f"deal[{key!r}]: {card!r} is no card of this game; cards are {list(setup.cards)}")
    return tuple(int(card) for card in value)


def _check_start_seat(setup: Setup, value: Any) -> int:
    if not is_integer(value) or not 0 <= value < setup.seats:
        raise ValueError(f"deal['start_seat'] must be 0 to {setup.seats - 1}, not {value!r}")
    return int(value)


def is_integer(value: object) -> bool:
    """Whether `value` is a Python or numpy integer and no bool (0-d integer arrays included)."""
    if isinstance(value, np.ndarray):
        return value.shape == () and np.issubdtype(value.dtype, np.integer)
    return isinstance(value, Integral) and not isinstance(value, bool)


def dealt_states(setup: Setup, dealt: Deal) -> np.ndarray:
    """An array [1] of STATE with `dealt` on the table and the first card about to be placed."""
    states = setup.blank_state()
    state = states[0]
    state.removed[: setup.seats] = dealt.removed or NO_CARD
    state.dummy_cards[: len(dealt.dummy)] = dealt.dummy
    state.start_seat = dealt.start_seat
    begin(state)
    return states


def check_action(state: State, action: object) -> int:
    """`action` as an int if the acting seat may play it, else `ValueError` naming seat, action and what is legal."""
    if is_terminal(state):
        raise ValueError(f"the game is over; no seat can play {action!r}")
    in_range = is_integer(action) and 0 <= int(action) < NUM_ACTIONS  # type: ignore[call-overload]
    if not in_range or not is_legal(state, int(action)):  # type: ignore[call-overload]
        raise ValueError(f"seat {state.seat} cannot play {action!r}: {legal_text(state)}")
    return int(action)  # type: ignore[call-overload]


def legal_text(state: State) -> str:
    """What the acting seat may do, in words and action numbers."""
    actions = [int(nth_legal_action(state, n)) for n in range(num_legal_actions(state))]
    if state.phase == PLACE:
        return f"it may place cards {actions}"
    if len(actions) == 1:
        return f"it may only pass ({PASS})"
    low, high = actions[1], actions[-1]
    return f"it may pass ({PASS}) or bid {low - PASS} to {high - PASS} mice ({low} to {high})"


@dataclass(frozen=True)
class Game:
    """A game, or the beginning of one. `actions` are checked when it is replayed."""

    setup: Setup
    deal: Deal
    actions: tuple[int, ...] = field(default=())

    def states(self) -> Iterator[tuple[int | None, State]]:
        """Replay: (None, first state), then (action, state after it) for each action.

        The state is one record that changes in place; copy it to keep it. Raises `ValueError` at an illegal action.
        """
        states = dealt_states(self.setup, self.deal)
        yield None, states[0]
        for number, action in enumerate(self.actions):
            try:
                checked = check_action(states[0], action)
            except ValueError as error:
                raise ValueError(f"action {number + 1} of the game: {error}") from None
            step(states[0], checked)
            yield checked, states[0]

    def final_states(self) -> np.ndarray:
        """An array [1] of STATE: the position after the last action."""
        *_, (_, state) = self.states()
        return np.array([state], dtype=STATE)
