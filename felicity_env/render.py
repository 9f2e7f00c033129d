"""Plain text of a position: `render_seat` for what one seat may see, `render_all` for everything.

`render_seat` draws what `describe` says and nothing else, so it cannot show what an observation hides. No line is
longer than 80 characters, and there are no colour codes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from felicity_env.game import (
    DUMMY,
    HIDDEN,
    NO_CARD,
    NO_SEAT,
    NUM_CARDS,
    PHASES,
    SETUPS,
    Setup,
    State,
    is_terminal,
    num_slots,
    rank,
    score,
    slot_owner,
)
from felicity_env.notation import card_text, cards_text

WIDTH = 80
UNSEEN = "??"
NOTHING = "."
START = "starts"
_PHASE_TEXTS = dict(zip(PHASES, ("placing cards", "auction", "game over"), strict=True))
_LEGEND = (
    "Cards: cats are written by their points, -8 to 15; R rabbit (0),",
    "D large dog (chases the highest cat), d small dog (chases the lowest).",
    "Who passes takes the mice of the leftmost filled mouse card.",
)
_SEAT_LEGEND = f"(5) a card face down that you know; {UNSEEN} hidden from you; {NOTHING} none, or not yet."
_ALL_LEGEND = f"(5) a card face down; {NOTHING} none, or not yet."


Description = Mapping[str, Any]


def render_seat(description: Description, *, seat: int | None = None, setup: Setup | None = None) -> str:
    """What one seat may see, from `describe` of its observation alone.

    seat: its absolute number, for the labels; without it the others are called by their place to the left. setup: the
    (public) setup being played; if None, the standard one for the number of players. Raises `ValueError` if `seat` is
    no seat of this game, or if there is no standard setup for so few players.
    """
    players = description["num_players"]
    setup = _setup_for(players, setup)
    if seat is not None and not 0 <= seat < players:
        raise ValueError(f"seat must be 0 to {players - 1}, not {seat!r}")
    labels = _labels(players, seat)
    row, owners = _seen_row(description, setup), _owners(description, setup, labels)
    blocks = [
        [_headline(description, setup, seat)],
        _row_table(row, owners, description["pots"], setup.mouse_cards),
        _seats_table(description, labels),
        _own_things(description),
        _news(description, labels),
        _choices(description, labels, setup),
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
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _table(rows: Sequence[Sequence[str]], left: tuple[int, ...] = (0,)) -> list[str]:
    """Columns of equal width, those numbered in `left` aligned to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(_pad(row[k], width, k in left) for k, width in enumerate(widths)) for row in rows]


def _pad(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


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


def _row_table(
    cards: Sequence[str], owners: Sequence[str], pots: Sequence[int], mouse_cards: Sequence[int]
) -> list[str]:
    """R3.3: slot 0 lies under the cat in the sack, slot k under the k-th mouse card."""
    spare = [""] * (len(cards) - len(mouse_cards) - 1)  # with a dummy the last slot lies under nothing
    return _table(
        [
            ["The row", *(f"slot {slot}" for slot in range(len(cards)))],
            ["  mouse card", "sack", *map(str, mouse_cards), *spare],
            ["  mice on it", "", *map(str, pots), *spare],
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
    rows = [["Seats", "", "auction", "bid", "cat points", "mice", "cards laid in earlier rounds"]]
    for relative, label in enumerate(labels):
        rows.append(
            [
                f"  {label}",
                START if relative == _start_seat(description) else "",
                _auction_text(description["phase"], description["in_auction"][relative]),
                _bid_text(description["bids"][relative]),
                str(description["cat_points"][relative]),
                _mice_text(description, relative),
                cards_text(description["played"][relative]) or NOTHING,
            ]
        )
    if description["dummy_played"]:
        rows.append(["  dummy", *[""] * 5, cards_text(description["dummy_played"])])
    return _table(rows, left=(0, 1, 6))


def _auction_text(phase: str, in_auction: bool) -> str:
    if phase == "place":
        return NOTHING
    return "in" if in_auction else "passed"


def _bid_text(bid: int) -> str:
    return str(bid) if bid else NOTHING


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
        ],
        left=(0, 1),
    )


# --- what has happened and what may be done ---------------------------------------------------------------------------


def _news(description: Description, labels: list[str]) -> list[str]:
    lines = []
    if description["last_round"] is not None:
        winner, price, value = description["last_round"]
        lines.append(_last_round_text(None if winner is None else labels[winner], price, value))
    if description["phase"] == "place" and not any(description["pots"]):
        lines.append("The mouse cards are empty: passing pays nothing in this round.")
    return lines


def _last_round_text(winner: str | None, price: int, value: int) -> str:
    if winner is None:
        return "Last round: nobody bought; the row went to the box."
    return f"Last round: {winner} paid {price} for a sack worth {value}."


def _choices(description: Description, labels: list[str], setup: Setup) -> list[str]:
    acting = acting_seat(description, dummy=setup.dummy)
    if acting is None:
        return _result(description, labels)
    turn = "Your turn" if acting == 0 else f"To act: {labels[acting]}"
    if description["phase"] == "place":
        hand = cards_text(description["hand"])
        return [f"{turn}: place one of {hand}." if acting == 0 else f"{turn}, who places a card."]
    call = f"Highest bid: {description['high_bid'] or 'none'}   A pass now pays: {description['pass_pays']}"
    return [call, f"{turn}: {_bid_choices(description)}" if acting == 0 else f"{turn}, who bids or passes."]


def _result(description: Description, labels: list[str]) -> list[str]:
    """R7.1 for the seats whose mice are known: all with open mice, else the own."""
    mice = [description["mice"], *(description["opponent_mice"] or [])]
    points = zip(labels, description["cat_points"], mice, strict=False)
    return [f"Score, {label}: {cats} cat points + {held} mice = {cats + held}" for label, cats, held in points]


def _bid_choices(description: Description) -> str:
    """R4.3, R4.4, R4.8 as an offer to the seat that looks."""
    low = description["high_bid"] + 1
    alone = sum(description["in_auction"]) == 1
    high = min(description["mice"], 1) if alone else description["mice"]
    if high < low:
        return "you can only pass."
    if alone:
        return "all others have passed; buy the sack for 1 mouse, or pass."
    mice = f"{low} mice" if low == high else f"{low} to {high} mice"
    return f"pass, or bid {mice}."


def acting_seat(description: Description, *, dummy: bool) -> int | None:
    """The relative seat that is to act, worked out from what lies open (R3.1, R4.2); None when the game is over.

    dummy: whether a dummy's set is on the table. Calls go round clockwise, so the next is the first seat still in after
    the highest bidder, or from the start player on if nobody has bid.
    """
    players, first = description["num_players"], _start_seat(description)
    if description["phase"] == "over":
        return None
    if description["phase"] == "place":
        return (first + len(description["row"]) - dummy) % players
    if description["high_bid"]:
        first = description["bids"].index(description["high_bid"]) + 1
    return next(seat % players for seat in range(first, first + players) if description["in_auction"][seat % players])


# --- everything -------------------------------------------------------------------------------------------------------


def render_all(state: State) -> str:
    """Everything in `state`, hidden cards included: for teaching and debugging, never for a player."""
    players = range(state.num_seats)
    owners = [_owner_label(slot_owner(state, slot)) for slot in range(num_slots(state))]
    pots, mouse_cards = state.pots[: len(players) - 1], state.mouse_cards[: len(players) - 1]
    blocks = [
        ["EVERYTHING, HIDDEN CARDS INCLUDED", _state_headline(state)],
        _row_table(_full_row(state), owners, pots, mouse_cards),
        _full_seats_table(state),
        _sets_table(state),
        [f"The bank: {state.bank} mice", *_state_news(state)],
        [*_LEGEND, _ALL_LEGEND],
    ]
    return _page(blocks)


def _state_headline(state: State) -> str:
    acting = "" if is_terminal(state) else f"   to act: seat {state.seat}"
    return f"FELICITY   round {state.round_number + 1} of {state.num_rounds}: {_phase_text(state)}{acting}"


def _phase_text(state: State) -> str:
    return _PHASE_TEXTS[PHASES[state.phase]]


def _owner_label(owner: int) -> str:
    return "dummy" if owner == DUMMY else f"seat {owner}"


def _full_row(state: State) -> list[str]:
    return [_full_card(state.row[slot], slot < state.face_up) for slot in range(num_slots(state))]


def _full_card(card: int, face_up: bool) -> str:
    text = _any_card(card, NOTHING)
    return text if face_up or card == NO_CARD else f"({text})"


def _any_card(card: int, absent: str) -> str:
    """A card, or what stands for none and for one that a redacted state hides."""
    if card == NO_CARD:
        return absent
    return UNSEEN if card == HIDDEN else card_text(card)


def _full_seats_table(state: State) -> list[str]:
    rows = [["Seats", "", "auction", "bid", "cat points", "mice", "score", "rank"]]
    for seat in range(state.num_seats):
        numbers = (state.cat_points[seat], state.mice[seat], score(state, seat), rank(state, seat))
        rows.append(
            [
                f"  seat {seat}",
                START if seat == state.start_seat else "",
                _auction_text(PHASES[state.phase], state.in_auction[seat]),
                _bid_text(state.bids[seat]),
                *map(str, numbers),
            ]
        )
    return _table(rows, left=(0, 1))


def _sets_table(state: State) -> list[str]:
    rows = [["Sets", "removed", "hand", "laid in earlier rounds"]]
    for seat in range(state.num_seats):
        removed = _any_card(state.removed[seat], "none")
        rows.append([f"  seat {seat}", removed, _set_text(state.hands[seat]), _set_text(state.played[seat])])
    if state.has_dummy:
        coming = [_any_card(card, "") for card in state.dummy_cards[state.round_number + 1 : state.num_rounds]]
        rows.append(["  dummy", "", " ".join(coming) or NOTHING, _set_text(state.played[DUMMY])])
    return _table(rows, left=(0, 2, 3))


def _set_text(cards: int) -> str:
    """A bit set of cards, `HIDDEN` as unseen."""
    if cards == HIDDEN:
        return UNSEEN
    return cards_text([card for card in range(NUM_CARDS) if cards >> card & 1]) or NOTHING


def _state_news(state: State) -> list[str]:
    if state.round_number == 0 and not is_terminal(state):
        return []
    winner = None if state.last_winner == NO_SEAT else f"seat {state.last_winner}"
    return [_last_round_text(winner, state.last_price, state.last_value)]
