"""Records of games, which can be replayed exactly, and conversion of cards and actions to text.

A record holds setup, deal and actions. Functions here also check deals and actions that callers give.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from felicity_env.game import (
    CARD_VALUES,
    MAX_ROUNDS,
    NO_CARD,
    NUM_ACTIONS,
    NUM_CARDS,
    NUM_CATS,
    PASS,
    PLACE,
    STATE,
    Setup,
    State,
    begin,
    is_legal,
    is_terminal,
    nth_legal_action,
    num_legal_actions,
    step,
)
from felicity_env.game import deal as deal_from_seed

DEAL_KEYS = ("removed", "dummy", "start_seat")
CARD_TEXTS = (*map(str, CARD_VALUES[:NUM_CATS]), "R", "D", "d")  # in the order of R1.1


def is_integer(value: object) -> bool:
    """Return whether `value` is a Python or NumPy integer (0-d integer arrays included) and not a bool."""
    if isinstance(value, np.ndarray | np.generic):
        return value.shape == () and has_integers(value)
    return isinstance(value, Integral) and not isinstance(value, bool)


def has_integers(array: np.ndarray | np.generic) -> bool:
    """Return whether a NumPy array or scalar has an integer type; bool and timedelta64 do not count as integers."""
    return array.dtype.kind in "iu"


def to_actions(values: Any, count: int, subject: str = "actions") -> np.ndarray:
    """Convert actions that a caller gives to an array, int64 [count].

    Raises `ValueError` unless `values` are exactly `count` integers. subject: word for the values in the error message.
    """
    array = np.asarray(values)
    if array.shape != (count,) or not has_integers(array):
        raise ValueError(f"{subject} must be {count} integers, not {array.dtype} {list(array.shape)}")
    return np.ascontiguousarray(array, np.int64)


# --- the deal ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deal:
    """Deal of a game, its only random part: removed cards, order of the dummy's cards and start seat (R2.4-R2.6)."""

    removed: tuple[int, ...]  # card removed from each seat's set; () if none are removed
    dummy: tuple[int, ...]  # the dummy's cards in the order turned up; () without a dummy
    start_seat: int

    @classmethod
    def from_state(cls, state: State) -> "Deal":
        """Read the deal of a game from its state before the first decision."""
        removed = tuple(int(card) for card in state.removed[: state.num_seats] if card != NO_CARD)
        dummy = tuple(int(card) for card in state.dummy_cards if card != NO_CARD)
        return cls(removed, dummy, int(state.start_seat))


def draw_deal(setup: Setup, seed: int, overrides: Mapping[str, Any] | None = None) -> Deal:
    """Draw the deal of a game at random from `seed`, and replace the parts that `overrides` sets.

    Raises `ValueError` if an override is impossible in the setup.
    """
    states = setup.blank_state()
    deal_from_seed(states[0], np.uint64(seed))
    drawn = Deal.from_state(states[0])
    if overrides is None:
        return drawn
    checked = check_overrides(setup, overrides)
    return Deal(**{key: checked.get(key, getattr(drawn, key)) for key in DEAL_KEYS})


def initial_states(setup: Setup, deal: Deal) -> np.ndarray:
    """Return the state of a game before its first decision, as an array [1] of STATE."""
    states = setup.blank_state()
    state = states[0]
    state.removed[: setup.seats] = deal.removed or NO_CARD
    state.dummy_cards[: len(deal.dummy)] = deal.dummy
    state.start_seat = deal.start_seat
    begin(state)
    return states


def count_dealt(setup: Setup) -> tuple[int, int]:
    """Return how many cards a deal has: those removed from the sets of the seats (R2.4), and those of the dummy."""
    return setup.seats * setup.removed, min(setup.hand_size, MAX_ROUNDS) if setup.dummy else 0


def check_overrides(setup: Setup, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parts of a deal that a caller sets, and return them with their values as tuples and ints.

    Raises `ValueError` if a key is unknown or a part is impossible in the setup.
    """
    if not isinstance(overrides, Mapping):
        raise ValueError(f"deal must be a mapping with keys from {DEAL_KEYS}, not {overrides!r}")
    unknown = [key for key in overrides if key not in DEAL_KEYS]
    if unknown:
        raise ValueError(f"deal has unknown keys {unknown}; it may have {DEAL_KEYS}")
    checks = {"removed": _check_removed, "dummy": _check_dummy, "start_seat": _check_start_seat}
    return {key: checks[key](setup, value) for key, value in overrides.items()}


def _check_removed(setup: Setup, value: Any) -> tuple[int, ...]:
    cards = _check_cards(setup, "removed", value)
    expected, _ = count_dealt(setup)
    if len(cards) != expected:
        raise ValueError(f"deal['removed'] needs {expected} cards, one for each seat that loses one, not {len(cards)}")
    return cards


def _check_dummy(setup: Setup, value: Any) -> tuple[int, ...]:
    cards = _check_cards(setup, "dummy", value)
    _, expected = count_dealt(setup)
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


# --- cards and actions ------------------------------------------------------------------------------------------------


def card_text(card: int) -> str:
    """Format a card number, 0 to 9, as `-8` to `15` (cats), `R` (rabbit), `D` or `d` (dogs).

    Raises `ValueError` for another number.
    """
    if not is_integer(card) or not 0 <= card < NUM_CARDS:
        raise ValueError(f"a card is an integer from 0 to {NUM_CARDS - 1}, not {card!r}")
    return CARD_TEXTS[card]


def list_cards(cards: int) -> tuple[int, ...]:
    """Return the cards, in ascending order, of a set that is stored as an integer with one bit per card."""
    return tuple(card for card in range(NUM_CARDS) if cards >> card & 1)


def cards_text(cards: Iterable[int]) -> str:
    """Format card numbers as text, separated by blanks, as in `-8 R d`."""
    return " ".join(card_text(card) for card in cards)


def action_text(action: int) -> str:
    """Format an action number, 0 to 73, as text such as `place 15`, `pass` or `bid 7`.

    Raises `ValueError` for any other number.
    """
    if not is_integer(action) or not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"an action is an integer from 0 to {NUM_ACTIONS - 1}, not {action!r}")
    if action < NUM_CARDS:
        return f"place {card_text(action)}"
    return "pass" if action == PASS else f"bid {action - PASS}"


def list_legal_actions(state: State) -> tuple[int, ...]:
    """Return the legal actions of the acting seat as numbers in ascending order."""
    return tuple(int(nth_legal_action(state, n)) for n in range(num_legal_actions(state)))


def legal_text(state: State) -> str:
    """Describe the legal actions of the acting seat in words and action numbers, for error messages."""
    actions = list_legal_actions(state)
    if state.phase == PLACE:
        numbers = " ".join(map(str, actions))
        return f"it may place {cards_text(actions)} (action{'s' if len(actions) > 1 else ''} {numbers})"
    if len(actions) == 1:
        return f"it may only pass (action {PASS})"
    low, high = actions[1], actions[-1]
    if low == high:
        return f"it may pass (action {PASS}) or bid {low - PASS} (action {low})"
    return f"it may pass (action {PASS}) or bid {low - PASS} to {high - PASS} (actions {low} to {high})"


def check_action(state: State, action: object) -> int:
    """Check that an action is legal for the acting seat, and return the action as an int.

    If it is illegal, raises `ValueError` naming the seat, the action and the legal actions.
    """
    if is_terminal(state):
        raise ValueError(f"the game is over; no seat can play {action!r}")
    if not is_integer(action) or not 0 <= int(action) < NUM_ACTIONS:  # type: ignore[call-overload]
        raise ValueError(f"seat {state.seat} cannot play {action!r}: {legal_text(state)}")
    number = int(action)  # type: ignore[call-overload]
    if not is_legal(state, number):
        raise ValueError(f"seat {state.seat} cannot {action_text(number)} (action {number}): {legal_text(state)}")
    return number


# --- the game ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Game:
    """Record of a finished or unfinished game: setup, deal and actions, which are checked when it is replayed."""

    setup: Setup
    deal: Deal
    actions: tuple[int, ...] = field(default=())

    def states(self) -> Iterator[tuple[int | None, State]]:
        """Replay the recorded game: yield (None, first state), then (action, state after the action) for each action.

        All states are one record that changes in place: copy a state to keep it. Raises `ValueError` at an illegal
        action.
        """
        states = initial_states(self.setup, self.deal)
        yield None, states[0]
        for number, action in enumerate(self.actions, 1):
            try:
                checked = check_action(states[0], action)
            except ValueError as error:
                raise ValueError(f"action {number} of the game: {error}") from None
            step(states[0], checked)
            yield checked, states[0]

    def final_states(self) -> np.ndarray:
        """Return the state after the last action of the game, as an array [1] of STATE."""
        *_, (_, state) = self.states()
        return np.array([state], dtype=STATE)
