"""Plain text of a position: `render_seat` for what one seat may see, `render_all` for everything.

`render_seat` draws what `describe` says and nothing else, so it cannot show what an observation hides. No line is longer
than 80 characters, and there are no colour codes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from felicity_env.game import (
    CARD_VALUES,
    DUMMY,
    MAX_SLOTS,
    NO_CARD,
    NO_SEAT,
    NUM_CARDS,
    OVER,
    PHASES,
    SETUPS,
    Setup,
    State,
    count_cards,
    is_terminal,
    num_slots,
    pass_pays,
    rank,
    score,
    slot_owner,
)
from felicity_env.notation import card_text, cards_text

WIDTH = 80
UNSEEN = "??"
NOTHING = "."
_PHASE_TEXTS = dict(zip(PHASES, ("placing cards", "auction", "game over"), strict=True))
_LEGEND = (
    "Cards: cats are written by their points, -8 to 15; R rabbit (0),",
    "D large dog (chases the highest cat), d small dog (chases the lowest).",
)
_SEAT_LEGEND = f"In the row: (5) = face down, known to you alone; {UNSEEN} = face down; {NOTHING} = not laid yet."
_ALL_LEGEND = f"In the row: (5) = face down; {NOTHING} = not laid yet."

Description = Mapping[str, Any]


def render_seat(description: Description, *, seat: int | None = None, setup: Setup | None = None) -> str:
    """What one seat may see, from `describe` of its observation alone.

    seat: its absolute number, for the labels; without it the others are called by their place to the left. setup: the
    (public) setup being played; if None, the standard one for the number of players. Raises `ValueError` if `seat` is no
    seat of this game, or if there is no standard setup for so few players.
    """
    players = description["num_players"]
    setup = _setup_for(players, setup)
    if seat is not None and not 0 <= seat < players:
        raise ValueError(f"seat must be 0 to {players - 1}, not {seat!r}")
    labels = _labels(players, seat)
    blocks = [
        [_headline(description, setup, seat)],
        _row_table(_seen_row(description, setup), _owners(description, setup, labels), description["pots"], setup),
        _seats_table(description, labels),
        _own_things(description),
        _news(description, labels),
        _choices(description, labels),
        [*_LEGEND, _SEAT_LEGEND],
    ]
    return _page(blocks)


def _setup_for(players: int, setup: Setup | None) -> Setup:
    if setup is None and players not in SETUPS:
        raise ValueError(f"{players} players have no standard setup: pass `setup`")
    if setup is not None and setup.seats != players:
        raise ValueError(f"`setup` has {setup.seats} seats, the observation is of a game of {players}")
    return setup or SETUPS[players]


def _page(blocks: Sequence[Sequence[str]]) -> str:
    """Blocks of lines with a blank line between, no line ending in blanks."""
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns aligned: the first to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def _labels(players: int, seat: int | None) -> list[str]:
    """A name for each relative seat."""
    if seat is not None:
        return ["you", *(f"seat {(seat + relative) % players}" for relative in range(1, players))]
    return ["you", *(f"{relative}{ending} left" for relative, ending in enumerate(("st", "nd", "rd", "th"), 1))][
        :players
    ]


# --- the row ----------------------------------------------------------------------------------------------------------


def _headline(description: Description, setup: Setup, seat: int | None) -> str:
    phase = _PHASE_TEXTS[description["phase"]]
    who = "" if seat is None else f"   (you are seat {seat})"
    return f"FELICITY   round {description['round'] + 1} of {setup.rounds}: {phase}{who}"


def _row_table(cards: list[str], owners: list[str], pots: Sequence[int], setup: Setup) -> list[str]:
    """R3.3: slot 0 lies under the cat in the sack, slot k under the k-th mouse card."""
    slots = range(len(cards))
    worth = [str(worth) for worth in setup.mouse_cards]
    mice = [str(mice) if mice else "none" for mice in pots]
    return _table(
        [
            ["The row", *(f"slot {slot}" for slot in slots)],
            ["  mouse card", *["sack", *worth, *[""] * len(cards)][: len(cards)]],
            ["  mice on it", *["", *mice, *[""] * len(cards)][: len(cards)]],
            ["  card", *cards],
            ["  laid by", *owners],
        ]
    )


def _seen_row(description: Description, setup: Setup) -> list[str]:
    texts = [_seen_card(card, slot < description["face_up"]) for slot, card in enumerate(description["row"])]
    return texts + [NOTHING] * (description["num_players"] + setup.dummy - len(texts))


def _seen_card(card: int | None, face_up: bool) -> str:
    if card is None:
        return UNSEEN
    return card_text(card) if face_up else f"({card_text(card)})"


def _owners(description: Description, setup: Setup, labels: list[str]) -> list[str]:
    start = _start_seat(description)
    return [*["dummy"] * setup.dummy, *labels[start:], *labels[:start]]


def _start_seat(description: Description) -> int:
    """The start player's relative seat."""
    return -description["position"] % description["num_players"]


# --- the seats --------------------------------------------------------------------------------------------------------


def _seats_table(description: Description, labels: list[str]) -> list[str]:
    rows = [["Seats", "starts", "bid", "auction", "cat points", "mice", "cards laid before"]]
    for relative, label in enumerate(labels):
        rows.append(
            [
                f"  {label}",
                "start" if relative == _start_seat(description) else "",
                str(description["bids"][relative] or NOTHING),
                _auction_text(description, relative),
                str(description["cat_points"][relative]),
                _mice_text(description, relative),
                cards_text(description["played"][relative]) or NOTHING,
            ]
        )
    if description["dummy_played"]:
        rows.append(["  dummy", *[""] * 5, cards_text(description["dummy_played"])])
    return _table(rows)


def _auction_text(description: Description, relative: int) -> str:
    if description["phase"] == "place":
        return NOTHING
    return "in" if description["in_auction"][relative] else "passed"


def _mice_text(description: Description, relative: int) -> str:
    if relative == 0:
        return str(description["mice"])
    return UNSEEN if description["opponent_mice"] is None else str(description["opponent_mice"][relative - 1])


def _own_things(description: Description) -> list[str]:
    return _table(
        [
            ["Your hand", cards_text(description["hand"]) or "empty"],
            ["Your mice", str(description["mice"])],
            ["The bank", f"{description['bank']} mice"],
        ]
    )


# --- what has happened and what may be done ---------------------------------------------------------------------------


def _news(description: Description, labels: list[str]) -> list[str]:
    lines = []
    if description["last_round"] is not None:
        winner, price, value = description["last_round"]
        sold = "nobody bought; the row went to the box"
        if winner is not None:
            sold = f"{labels[winner]} paid {price} for a sack of {value} cat points"
        lines.append(f"Last round: {sold}.")
    if description["phase"] == "place" and not any(description["pots"]):
        lines.append("No mice lie on the mouse cards: passing pays nothing in this round.")
    return lines


def _choices(description: Description, labels: list[str]) -> list[str]:
    if description["phase"] == "over":
        return [_result_text(description)]
    acting = acting_seat(description)
    if description["phase"] == "place":
        if acting == 0:
            return [f"Your turn: place one card of {cards_text(description['hand'])}."]
        return [f"To place a card: {_who(labels, acting)}."]
    call = f"Highest bid: {description['high_bid'] or 'none'}. A pass now pays {description['pass_pays']}."
    return [call, _bid_choices(description) if acting == 0 else f"To bid or pass: {_who(labels, acting)}."]


def _who(labels: list[str], acting: int | None) -> str:
    return "not known" if acting is None else labels[acting]


def _bid_choices(description: Description) -> str:
    """R4.3, R4.4, R4.8 as an offer to the seat that looks."""
    low = description["high_bid"] + 1
    alone = sum(description["in_auction"]) == 1
    high = min(description["mice"], 1) if alone else description["mice"]
    if high < low:
        return "Your turn: you can only pass."
    if alone:
        return "Your turn: all others have passed. Buy the sack for 1 mouse, or pass."
    mice = f"{low} mice" if low == high else f"{low} to {high} mice"
    return f"Your turn: pass, or bid {mice}."


def acting_seat(description: Description) -> int | None:
    """The relative seat that is to act, worked out from what lies open (R3.1, R4.2); None when the game is over.

    Calls go round clockwise, so the next is the first seat still in after the highest bidder, or from the start player on
    if nobody has bid.
    """
    players, start = description["num_players"], _start_seat(description)
    if description["phase"] == "over":
        return None
    if description["phase"] == "place":
        return (start + _cards_laid(description)) % players
    first = start
    if description["high_bid"]:
        first = description["bids"].index(description["high_bid"]) + 1
    return next(seat % players for seat in range(first, first + players) if description["in_auction"][seat % players])
