"""Observation vector of a seat (what it sees now): layout (`SECTIONS`), encoder (`observe`), decoder (`describe`).

One layout serves 2 to 5 seats, with a dummy or without, with open mice or without; unused entries are zero. Seats are
relative: 0 is the observing seat, 1 its left neighbour. Cards and small choices are one-hot; amounts are scaled by
powers of two, so that float32 represents them exactly.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from felicity_env.game import (
    CARD_FLAGS,
    DUMMY,
    MAX_POTS,
    MAX_ROUNDS,
    MAX_SEATS,
    MAX_SLOTS,
    NO_SEAT,
    NUM_CARDS,
    OVER,
    PHASES,
    RULES_VERSION,
    State,
    pass_pays,
    wrap,
)
from felicity_env.kernel import kernel

OBSERVATION_VERSION = 2  # increases when an entry of the observation changes its place or meaning
VERSIONS = {"rules_version": RULES_VERSION, "observation_version": OBSERVATION_VERSION}  # in metadata of environments
MICE_SCALE = 16.0
POINTS_SCALE = 64.0
_MOUSE, _POINT = np.float32(1 / MICE_SCALE), np.float32(1 / POINTS_SCALE)  # in an observation
OBS_LOW, OBS_HIGH = -8.0, 64.0  # bounds of every entry, wide enough for any setup
SLOT_SIZE = 1 + NUM_CARDS
MIN_SEATS = 2


class Section(NamedTuple):
    """Group of consecutive entries of the observation vector: its name, length and meaning."""

    name: str
    size: int
    meaning: str


SECTIONS = (
    Section("num_players", MAX_SEATS - MIN_SEATS + 1, "one-hot: 2, 3, 4, 5"),
    Section("has_dummy", 1, "1 with a dummy's set on the table"),
    Section("open_mice", 1, "1 if `opponent_mice` is filled"),
    Section("phase", len(PHASES), "one-hot: place, auction, over"),
    Section("round", MAX_ROUNDS, "one-hot: rounds 0..8"),
    Section("position", MAX_SEATS, "one-hot: this seat's place after the start player"),
    Section("hand", NUM_CARDS, "1 for each card in hand"),
    Section("row", MAX_SLOTS * SLOT_SIZE, "per slot: 1 if it holds a card, then the card one-hot if seen"),
    Section("face_up", MAX_SLOTS, "per slot: 1 if it is turned face up"),
    Section("pots", MAX_POTS, "mice on each mouse card / 16"),
    Section("pass_pays", 1, "mice that a pass would bring now / 16"),
    Section("bids", MAX_SEATS, "per seat: bid / 16"),
    Section("in_auction", MAX_SEATS, "per seat: 1 unless passed in this round"),
    Section("cat_points", MAX_SEATS, "per seat: sum of cats won / 64"),
    Section("played", MAX_SEATS * NUM_CARDS, "per seat: 1 for each card placed in earlier rounds"),
    Section("dummy_played", NUM_CARDS, "1 for each card the dummy turned in earlier rounds"),
    Section("mice", 1, "own mice / 16"),
    Section("bank", 1, "mice in the bank / 16"),
    Section("high_bid", 1, "highest bid / 16"),
    Section("opponent_mice", MAX_SEATS - 1, "per other seat: mice / 16; zero unless `open_mice`"),
    Section("last_known", 1, "1 once a round is finished"),
    Section("last_winner", MAX_SEATS, "one-hot: who bought the last sack; zero if nobody did"),
    Section("last_price", 1, "price of the last sack / 16"),
    Section("last_value", 1, "value of the last sack / 64"),
)

# Sections that a critic sees in addition to an observation with open mice.
PRIVILEGED_SECTIONS = (
    Section("acting", MAX_SEATS, "one-hot: the seat to act; zero when over"),
    Section("other_hands", (MAX_SEATS - 1) * NUM_CARDS, "per other seat: 1 for each card in hand"),
    Section("full_row", MAX_SLOTS * NUM_CARDS, "per slot: the card one-hot, seen or not"),
    Section("dummy_cards", MAX_ROUNDS * NUM_CARDS, "per round: the dummy's card one-hot"),
)


def offsets(sections: tuple[Section, ...], start: int = 0) -> Any:
    """Return the index of each section's first entry in the observation vector, as a named tuple of ints.

    Compiled code can read such a tuple. start: index of the first section.
    """
    places = np.cumsum([start] + [section.size for section in sections]).tolist()
    return namedtuple("At", [section.name for section in sections])(*places[:-1])


# Table of bit sets: copying floats from a table is several times as fast as computing them.
_FLAGS = CARD_FLAGS.astype(np.float32)

AT = offsets(SECTIONS)
OBS_SIZE = sum(section.size for section in SECTIONS)
PRIVILEGED_AT = offsets(PRIVILEGED_SECTIONS, OBS_SIZE)
PRIVILEGED_SIZE = OBS_SIZE + sum(section.size for section in PRIVILEGED_SECTIONS)


@kernel
def observe(state: State, seat: int, open_mice: bool, out: np.ndarray) -> None:
    """Write the observation of `seat` into `out`, float32 [OBS_SIZE], from only what the seat may know."""
    out[:] = 0.0
    _write_table(state, seat, out)
    _write_cards(state, seat, out)
    _write_seats(state, seat, open_mice, out)
    _write_last_round(state, seat, out)


@kernel
def _write_table(state, seat, out):
    out[AT.num_players + state.num_seats - MIN_SEATS] = 1.0
    out[AT.has_dummy] = state.has_dummy
    out[AT.phase + state.phase] = 1.0
    out[AT.round + state.round_number] = 1.0
    out[AT.position + wrap(state, seat - state.start_seat)] = 1.0
    for slot in range(state.face_up):
        out[AT.face_up + slot] = 1.0
    for k in range(MAX_POTS):
        out[AT.pots + k] = state.pots[k] * _MOUSE
    out[AT.pass_pays] = pass_pays(state) * _MOUSE
    out[AT.mice] = state.mice[seat] * _MOUSE
    out[AT.bank] = state.bank * _MOUSE
    out[AT.high_bid] = state.high_bid * _MOUSE


@kernel
def can_see(state: State, slot: int, seat: int) -> bool:
    """Return whether `seat` knows the card in `slot` of the row: it is face up, or the seat placed it (R8.1)."""
    return (slot < state.face_up) | (slot == own_slot(state, seat))


@kernel
def own_slot(state: State, seat: int) -> int:
    """Return the slot of the row in which `seat` places its card in this round (R3.2)."""
    return wrap(state, seat - state.start_seat) + state.has_dummy


@kernel
def _write_cards(state, seat, out):
    _write_set(state.hands[seat], AT.hand, out)
    own = own_slot(state, seat)
    for slot in range(MAX_SLOTS):
        at = AT.row + slot * SLOT_SIZE
        placed = slot < state.row_size
        out[at] = placed
        out[at + 1 + max(state.row[slot], 0)] = placed & ((slot < state.face_up) | (slot == own))
    if state.has_dummy:
        _write_set(state.played[DUMMY], AT.dummy_played, out)


@kernel
def _write_set(cards, at, out):
    """Write a set of cards (an integer with one bit per card) as ten numbers, 1 for each card in it."""
    for card in range(NUM_CARDS):
        out[at + card] = _FLAGS[cards, card]


@kernel
def _write_seats(state, seat, open_mice, out):
    out[AT.open_mice] = 1.0 if open_mice else 0.0
    for relative in range(state.num_seats):
        other = wrap(state, seat + relative)
        out[AT.bids + relative] = state.bids[other] * _MOUSE
        out[AT.in_auction + relative] = state.in_auction[other]
        out[AT.cat_points + relative] = state.cat_points[other] * _POINT
    for relative in range(state.num_seats):  # a loop of its own is faster
        _write_set(state.played[wrap(state, seat + relative)], AT.played + relative * NUM_CARDS, out)
    if open_mice:
        for relative in range(1, state.num_seats):
            out[AT.opponent_mice + relative - 1] = state.mice[wrap(state, seat + relative)] * _MOUSE


@kernel
def _write_last_round(state, seat, out):
    out[AT.last_known] = (state.round_number > 0) | (state.phase == OVER)
    winner = wrap(state, max(state.last_winner, 0) - seat)
    out[AT.last_winner + winner] = state.last_winner != NO_SEAT
    out[AT.last_price] = state.last_price * _MOUSE
    out[AT.last_value] = state.last_value * _POINT


@kernel
def observe_everything(state: State, seat: int, out: np.ndarray) -> None:
    """Write the full state, with all hidden cards, as numbers into `out`: input for a critic, never for a player.

    out: float32 [PRIVILEGED_SIZE]. Seats are relative to `seat`.
    """
    out[:] = 0.0
    observe(state, seat, True, out[:OBS_SIZE])
    if state.seat != NO_SEAT:
        out[PRIVILEGED_AT.acting + wrap(state, state.seat - seat)] = 1.0
    for relative in range(1, state.num_seats):
        hand = state.hands[wrap(state, seat + relative)]
        _write_set(hand, PRIVILEGED_AT.other_hands + (relative - 1) * NUM_CARDS, out)
    for slot in range(state.row_size):
        out[PRIVILEGED_AT.full_row + slot * NUM_CARDS + state.row[slot]] = 1.0
    for turn in range(MAX_ROUNDS):
        if state.dummy_cards[turn] >= 0:
            out[PRIVILEGED_AT.dummy_cards + turn * NUM_CARDS + state.dummy_cards[turn]] = 1.0


# --- decoding ---------------------------------------------------------------------------------------------


def describe(observation: np.ndarray) -> dict[str, Any]:
    """Decode one observation [OBS_SIZE] into plain Python values; the exact inverse of `observe`.

    Seats are relative (0 is the observing seat), cards are 0..9 in the order of R1.1. Raises `ValueError` if
    the array has another shape or holds numbers that are not finite.

    Keys

    - `num_players` (int): number of seats.
    - `round` (int): number of the round, from 0.
    - `phase` (str): "place", "auction" or "over".
    - `position` (int): place of the observing seat after the start seat, clockwise; 0 is the start seat itself.
    - `hand` (list of int): cards in hand.
    - `row` (list of int or None): card in each slot that is filled, from slot 0; None is a card that is not seen. In an
      auction the observing seat's own card is `row[position - num_players]`; a dummy's card is in slot 0.
    - `face_up` (int): number of slots that are turned face up, from slot 0.
    - `pots` (list of int): mice on each mouse card.
    - `pass_pays` (int): mice that a pass would bring now.
    - `bids` (list of int): bid of each seat; 0 if it has not bid or has passed.
    - `in_auction` (list of bool): whether each seat has not passed in this round.
    - `cat_points` (list of int): sum of the cats that each seat has won.
    - `played` (list of lists of int): cards that each seat placed in earlier rounds.
    - `dummy_played` (list of int): cards that the dummy turned in earlier rounds; empty without a dummy.
    - `mice` (int): mice of the observing seat.
    - `bank` (int): mice in the bank.
    - `high_bid` (int): highest bid; 0 if there is none.
    - `opponent_mice` (list of int, or None): mice of each other seat, from the left neighbour; None unless `open_mice`.
    - `last_round` (tuple, or None): buyer of the last sack (int, or None if nobody bought), its price (int) and its
      value (int); None in the first round.
    """
    observation = np.asarray(observation)
    if observation.shape != (OBS_SIZE,):
        raise ValueError(f"an observation has shape ({OBS_SIZE},), not {observation.shape}")
    if observation.dtype.kind not in "fiu" or not np.isfinite(observation).all():
        raise ValueError("an observation has finite real numbers; not all of these are")
    part = {s.name: observation[at : at + s.size] for s, at in zip(SECTIONS, AT, strict=True)}
    players = int(part["num_players"].argmax()) + MIN_SEATS
    in_hands = _read_amounts(part["opponent_mice"], MICE_SCALE)[: players - 1]
    return {
        "num_players": players,
        "round": int(part["round"].argmax()),
        "phase": PHASES[int(part["phase"].argmax())],
        "position": int(part["position"].argmax()),
        "hand": _read_cards(part["hand"]),
        "row": _read_row(part["row"].reshape(MAX_SLOTS, SLOT_SIZE)),
        "face_up": int(part["face_up"].sum()),
        "pots": _read_amounts(part["pots"], MICE_SCALE)[: players - 1],
        "pass_pays": _read_amounts(part["pass_pays"], MICE_SCALE)[0],
        "bids": _read_amounts(part["bids"], MICE_SCALE)[:players],
        "in_auction": [bool(flag) for flag in part["in_auction"][:players]],
        "cat_points": _read_amounts(part["cat_points"], POINTS_SCALE)[:players],
        "played": [_read_cards(cards) for cards in part["played"].reshape(MAX_SEATS, NUM_CARDS)[:players]],
        "dummy_played": _read_cards(part["dummy_played"]),
        "mice": _read_amounts(part["mice"], MICE_SCALE)[0],
        "bank": _read_amounts(part["bank"], MICE_SCALE)[0],
        "high_bid": _read_amounts(part["high_bid"], MICE_SCALE)[0],
        "opponent_mice": in_hands if part["open_mice"][0] else None,
        "last_round": _read_last_round(part) if part["last_known"][0] else None,
    }


def _read_amounts(values: np.ndarray, scale: float) -> list[int]:
    return [round(float(value) * scale) for value in values]


def _read_cards(flags: np.ndarray) -> list[int]:
    return np.flatnonzero(flags).tolist()


def _read_row(slots: np.ndarray) -> list[int | None]:
    placed = slots[slots[:, 0] == 1]
    return [int(cards.argmax()) if cards.any() else None for cards in placed[:, 1:]]


def _read_last_round(part: dict[str, np.ndarray]) -> tuple[int | None, int, int]:
    winner = int(part["last_winner"].argmax()) if part["last_winner"].any() else None
    return winner, _read_amounts(part["last_price"], MICE_SCALE)[0], _read_amounts(part["last_value"], POINTS_SCALE)[0]
