"""Positions as plain values for renderers, complete or limited to what one seat may know (R8)."""

from dataclasses import dataclass, replace

import numpy as np

from felicity_env.game import (
    DUMMY,
    HIDDEN,
    NO_CARD,
    NO_SEAT,
    PHASES,
    STATE,
    State,
    count_cards,
    is_terminal,
    num_slots,
    pass_pays,
    rank,
    score,
    slot_owner,
    wrap,
)
from felicity_env.game_record import list_cards, list_legal_actions
from felicity_env.information import redact_state


@dataclass(frozen=True)
class Slot:
    """Slot of the row in a rendered position: the card placed in it, if any, and the mouse card above it (R3.3)."""

    owner: int  # seat that places its card here, or DUMMY
    card: int  # 0..9, NO_CARD or HIDDEN
    face_up: bool
    mouse_card: int | None  # its mice when full; None for slot 0 and the dummy's extra slot
    mice: int | None  # mice on the mouse card now; None where there is none


@dataclass(frozen=True)
class Seat:
    """Standing of a seat in a rendered position: bid, cat points, whether it is still in the auction, mice and score.

    Mice, score and rank are None where the viewer may not know them.
    """

    seat: int
    starts: bool  # first to place and to bid in this round
    in_auction: bool
    bid: int  # 0: has not bid or has passed
    cat_points: int
    mice: int | None  # None: hidden, until the game is over; then score and rank are hidden too
    score: int | None
    rank: int | None  # None unless all seats' mice are known


@dataclass(frozen=True)
class CardSet:
    """Cards of a seat or of the dummy that are not in the row: removed, still in hand, and placed in earlier rounds.

    Cards that the viewer may not know are marked as hidden.
    """

    owner: int  # seat or DUMMY
    removed: int | None  # card, NO_CARD or HIDDEN; None for the dummy, for which it is not recorded
    hand: tuple[int, ...] | None  # cards still to place, the dummy's in order; None: hidden
    hand_size: int  # number of cards still to place, which is public
    played: tuple[int, ...]  # cards placed in earlier rounds


@dataclass(frozen=True)
class Scene:
    """Position as plain values for renderers.

    It holds only what the seat `viewer` may know. If `viewer` is None, it holds all cards and mice.
    """

    viewer: int | None
    round_number: int  # from 0
    num_rounds: int
    phase: str  # one of PHASES
    acting: int | None  # seat to act; None when the game is over
    legal: tuple[int, ...]  # actions of the acting seat; () where they are hidden
    slots: tuple[Slot, ...]
    seats: tuple[Seat, ...]  # from the viewer clockwise
    sets: tuple[CardSet, ...]  # from the viewer clockwise, then the dummy's
    bank: int
    high_bid: int
    pass_pays: int  # mice that a pass takes now (R4.4)
    last_round: tuple[int | None, int, int] | None  # buyer or None, price, value of the sack; None in round 1
    names: tuple[str, ...] = ()  # name of the player in each seat; () shows none


def build_view_scene(state: State, seat: int, *, open_mice: bool = False, names: tuple[str, ...] = ()) -> Scene:
    """Build the plain values from which a position is rendered as `seat` may know it.

    state: redacted or not. open_mice: show the mice of all seats (R8.2). names: name of the player in each
    seat. Once the game is over, all mice are shown, because they decide it (R7.1). Raises `ValueError` if there is no
    such seat.
    """
    if not 0 <= seat < state.num_seats:
        raise ValueError(f"seat must be 0 to {state.num_seats - 1}, not {seat!r}")
    states = np.array([state], STATE)
    redact_state(states[0], seat)
    return replace(_build(states[0], int(seat), open_mice), names=names)


def build_full_scene(state: State, *, names: tuple[str, ...] = ()) -> Scene:
    """Build the plain values from which a position is rendered with all cards, for teaching and debugging.

    Cards that are masked in `state` stay hidden. names: name of the player in each seat.
    """
    return replace(_build(state, None, True), names=names)


def build_scene(state: State, seat: int | None, *, open_mice: bool = False, names: tuple[str, ...] = ()) -> Scene:
    """Build the plain values of a position as `seat` may know it, or with all cards if `seat` is None."""
    if seat is None:
        return build_full_scene(state, names=names)
    return build_view_scene(state, seat, open_mice=open_mice, names=names)


def _build(state: State, viewer: int | None, open_mice: bool) -> Scene:
    first = viewer or 0
    order = [int(wrap(state, first + k)) for k in range(state.num_seats)]
    over = bool(is_terminal(state))
    acting = None if over else int(state.seat)
    is_hidden = over or viewer not in (None, acting) or state.hands[state.seat] == HIDDEN
    return Scene(
        viewer=viewer,
        round_number=int(state.round_number),
        num_rounds=int(state.num_rounds),
        phase=PHASES[state.phase],
        acting=acting,
        legal=() if is_hidden else list_legal_actions(state),
        slots=tuple(_build_slot(state, slot) for slot in range(num_slots(state))),
        seats=tuple(_build_seat(state, seat, open_mice or over, seat == viewer) for seat in order),
        sets=(*(_build_set(state, seat) for seat in order), *([_build_dummy(state)] if state.has_dummy else [])),
        bank=int(state.bank),
        high_bid=int(state.high_bid),
        pass_pays=int(pass_pays(state)),
        last_round=_read_last_round(state) if state.round_number > 0 or over else None,
    )


def _build_slot(state: State, slot: int) -> Slot:
    has_mouse_card = 1 <= slot < state.num_seats
    return Slot(
        owner=int(slot_owner(state, slot)),
        card=int(state.row[slot]),
        face_up=bool(slot < state.face_up),
        mouse_card=int(state.mouse_cards[slot - 1]) if has_mouse_card else None,
        mice=int(state.pots[slot - 1]) if has_mouse_card else None,
    )


def _build_seat(state: State, seat: int, all_mice: bool, is_viewer: bool) -> Seat:
    knows_mice = all_mice or is_viewer
    return Seat(
        seat=seat,
        starts=bool(seat == state.start_seat),
        in_auction=bool(state.in_auction[seat]),
        bid=int(state.bids[seat]),
        cat_points=int(state.cat_points[seat]),
        mice=int(state.mice[seat]) if knows_mice else None,
        score=int(score(state, seat)) if knows_mice else None,
        rank=int(rank(state, seat)) if all_mice else None,
    )


def _build_set(state: State, seat: int) -> CardSet:
    hand = None if state.hands[seat] == HIDDEN else list_cards(state.hands[seat])
    removed, played = int(state.removed[seat]), list_cards(state.played[seat])
    placed = sum(slot_owner(state, slot) == seat for slot in range(state.row_size))
    size = int(count_cards(state.deck) - (removed != NO_CARD) - len(played) - placed)
    return CardSet(seat, removed, hand, size, played)


def _build_dummy(state: State) -> CardSet:
    coming = tuple(int(card) for card in state.dummy_cards[state.round_number + 1 : state.num_rounds])
    return CardSet(DUMMY, None, None if HIDDEN in coming else coming, len(coming), list_cards(state.played[DUMMY]))


def _read_last_round(state: State) -> tuple[int | None, int, int]:
    buyer = None if state.last_winner == NO_SEAT else int(state.last_winner)
    return buyer, int(state.last_price), int(state.last_value)
