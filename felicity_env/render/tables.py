"""Tables of a position, for renderings of text and of pages: the row, the seats and the cards."""

from dataclasses import dataclass

from felicity_env.game import HIDDEN, NO_CARD
from felicity_env.game_record import card_text, cards_text
from felicity_env.render.scene import CardSet, Scene, Slot
from felicity_env.render.words import label_owner, name_owner

HIDDEN_TEXT = "??"
NOTHING = "."


@dataclass(frozen=True)
class Table:
    """Table of text cells: its title, the heading of each row, and the cells of each column by its heading."""

    title: str
    rows: tuple[str, ...]
    columns: dict[str, tuple[str, ...]]  # {heading: one cell for each row}


def list_tables(scene: Scene) -> tuple[Table, Table, Table]:
    """Return the row, the seats and the cards of a position as tables.

    The tables have the same rows and columns in all positions of a game; a column may have only empty cells.
    """
    return _build_row(scene), _build_seats(scene), _build_cards(scene)


def _build_row(scene: Scene) -> Table:
    """Build the table of the row: slot 0 below the cat in the sack, slot k below the k-th mouse card (R3.3)."""
    columns = {}
    for number, slot in enumerate(scene.slots):
        mouse_card = "sack" if number == 0 else _number_text(slot.mouse_card, "")
        cells = (mouse_card, _number_text(slot.mice, ""), _slot_text(slot), name_owner(scene, slot.owner))
        columns[f"slot {number}"] = cells
    return Table("The row", ("mouse card", "mice on it", "card", "placed by"), columns)


def _build_seats(scene: Scene) -> Table:
    """Build the table of the seats: what they do in the auction, until the game is over, and what they have."""
    seats, over = scene.seats, scene.acting is None
    columns = {
        "starts": tuple("starts" if seat.starts and not over else "" for seat in seats),
        "auction": tuple("" if over else _auction_text(scene, seat.in_auction) for seat in seats),
        "bid": tuple("" if over else str(seat.bid or NOTHING) for seat in seats),
        "mice": tuple(_number_text(seat.mice, HIDDEN_TEXT) for seat in seats),
        "cat points": tuple(str(seat.cat_points) for seat in seats),
        "score": tuple(_number_text(seat.score, HIDDEN_TEXT) for seat in seats),
        "rank": tuple(_number_text(seat.rank, "") for seat in seats),
    }
    return Table("Seats", tuple(label_owner(scene, seat.seat) for seat in seats), columns)


def _build_cards(scene: Scene) -> Table:
    """Build the table of the cards of each seat and of the dummy that are not in the row."""
    columns = {
        "removed": tuple("" if cards.removed is None else _card_text(cards.removed) for cards in scene.sets),
        "hand": tuple(_hand_text(cards) for cards in scene.sets),
        "placed in earlier rounds": tuple(cards_text(cards.played) or NOTHING for cards in scene.sets),
    }
    return Table("Cards", tuple(label_owner(scene, cards.owner) for cards in scene.sets), columns)


def _hand_text(cards: CardSet) -> str:
    return HIDDEN_TEXT if cards.hand is None and cards.hand_size else cards_text(cards.hand or ()) or NOTHING


def _slot_text(slot: Slot) -> str:
    return _card_text(slot.card) if slot.face_up or slot.card < 0 else f"({card_text(slot.card)})"


def _card_text(card: int) -> str:
    return {NO_CARD: NOTHING, HIDDEN: HIDDEN_TEXT}.get(card) or card_text(card)


def _number_text(number: int | None, unknown: str) -> str:
    return unknown if number is None else str(number)


def _auction_text(scene: Scene, in_auction: bool) -> str:
    if scene.phase == "place":
        return NOTHING
    return "in" if in_auction else "passed"
