"""Drawing of a position as an SVG picture, 960 x 640, from the plain values of a `Scene`."""

from textwrap import wrap

from felicity_env.game import HIDDEN, NO_CARD
from felicity_env.render.nodes import Node
from felicity_env.render.palette import Theme, find_theme
from felicity_env.render.scene import CardSet, Scene, Seat, Slot
from felicity_env.render.shapes import (
    CARD_HEIGHT,
    CARD_WIDTH,
    CHIP_WIDTH,
    box,
    create_symbols,
    draw_card,
    draw_chip,
    draw_mouse,
    group,
    label,
    shape,
    write_number,
)
from felicity_env.render.words import describe_bid, describe_news, describe_turn, name_owner, phase_text

WIDTH, HEIGHT = 960, 640
_FONT = "DejaVu Sans, Verdana, sans-serif"
_MARGIN = 14
_TOP, _TOP_HEIGHT = 46, 150  # panels of the other seats and of the dummy
_ROW_TOP = 208
_BOTTOM, _BOTTOM_HEIGHT = 444, 182  # panel of the viewer
_SLOT_WIDTH = 104
_ROW_SCALE = 1.34  # size of a card in the row, compared to the hand
_MOUSE_CARD_WIDTH, _MOUSE_CARD_HEIGHT = 92, 50
_NEWS_LETTER, _NAME_LETTER = 10, 7  # width of a letter of what a seat did, and of the name of its player
_NEWS_WIDTH, _NEWS_LINES = 48, 4  # characters in a line, and lines


def draw_svg(scene: Scene, *, theme: str = "light") -> str:
    """Return a picture of a position as the text of an SVG file.

    theme: "light", "dark" or "print". Raises `ValueError` if there is no such theme.
    """
    return draw_picture(scene, find_theme(theme)).markup


def draw_picture(scene: Scene, theme: Theme) -> Node:
    """Draw a picture of a position as an element `svg`, in which each part that may change has a key."""
    first, *others = zip(scene.seats, scene.sets[: len(scene.seats)], strict=True)
    panels = [*others, *((None, cards) for cards in scene.sets[len(scene.seats) :])]
    width = (WIDTH - 2 * _MARGIN - 10 * (len(panels) - 1)) / len(panels)
    drawn = [
        group(_MARGIN + k * (width + 10), _TOP, *_draw_panel(scene, seat, cards, width, theme))
        for k, (seat, cards) in enumerate(panels)
    ]
    parts = [
        create_symbols(theme),
        shape("rect", width=WIDTH, height=HEIGHT, fill=theme["table"]),
        *_draw_headline(scene, theme),
        *drawn,
        *_draw_row(scene, theme),
        group(_MARGIN, _BOTTOM, *_draw_own_panel(scene, *first, theme)),
    ]
    size = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "width": str(WIDTH), "height": str(HEIGHT)}
    return Node("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "font-family": _FONT}, tuple(parts))


def _draw_headline(scene: Scene, theme: Theme) -> list[Node]:
    viewer = "all cards open" if scene.viewer is None else f"as seat {scene.viewer} sees it"
    progress = f"round {scene.round_number + 1} of {scene.num_rounds}: {phase_text(scene)}"
    return [
        label(_MARGIN, 30, "Felicity", theme["ink"], size=21, font_weight="bold"),
        label(132, 30, progress, theme["ink"], size=15),
        label(WIDTH / 2 + 40, 30, viewer, theme["muted"], size=13),
        draw_mouse(theme, WIDTH - 148, 16, size=1.1),
        label(WIDTH - 120, 30, f"{scene.bank} in the bank", theme["ink"], size=14),
    ]


# --- seats ------------------------------------------------------------------------------------------------------------


def _draw_panel(scene: Scene, seat: Seat | None, cards: CardSet, width: float, theme: Theme) -> list[Node]:
    """Draw the panel of another seat, or of the dummy if `seat` is None."""
    step = min(CHIP_WIDTH + 1, (width - 52) / _count_places(cards))
    return [
        _draw_frame(scene, cards.owner, width, _TOP_HEIGHT, theme),
        *_draw_name(scene, cards.owner, seat, width, theme),
        *([] if seat is None else _draw_standing(seat, 10, 45, theme)),
        label(10, 64, "in hand", theme["muted"], size=10),
        label(76, 64, _write_start(scene, seat), theme["muted"], size=10),
        *_draw_chips(_list_hand(cards), 10, 68, step, theme, _count_places(cards)),
        *_draw_removed(cards, width - CHIP_WIDTH - 10, 68, theme),
        label(10, 110, "placed in earlier rounds", theme["muted"], size=10),
        *_draw_chips(cards.played, 10, 114, step, theme),
    ]


def _draw_own_panel(scene: Scene, seat: Seat, cards: CardSet, theme: Theme) -> list[Node]:
    """Draw the panel of the viewer, or of seat 0 if everything is shown: its cards, and whose turn it is."""
    width = WIDTH - 2 * _MARGIN
    hand = _fill(_list_hand(cards), _count_places(cards))
    step = min(CARD_WIDTH + 8, 690 / len(hand))
    turn = describe_turn(scene)
    return [
        _draw_frame(scene, cards.owner, width, _BOTTOM_HEIGHT, theme),
        *_draw_name(scene, cards.owner, seat, 218, theme),
        *_draw_standing(seat, 10, 50, theme),
        label(10, 74, "placed in earlier rounds", theme["muted"], size=10),
        label(140, 74, _write_start(scene, seat), theme["muted"], size=10),
        *_draw_chips(cards.played, 10, 79, CHIP_WIDTH + 1, theme),
        label(10, 129, "removed", theme["muted"], size=10),
        draw_chip(theme, 62, 114, _find_removed(cards)),
        *(draw_card(theme, 232 + k * step, 18, card) for k, card in enumerate(hand)),
        label(232, 158, turn, theme["accent"], size=17 if len(turn) < 60 else 14, font_weight="bold"),
    ]


def _draw_frame(scene: Scene, owner: int, width: float, height: float, theme: Theme) -> Node:
    """Draw the frame of a panel, strong around the seat to act, and at the end around those who won."""
    winners = [seat.seat for seat in scene.seats if seat.rank == 1]
    is_marked = owner == scene.acting or (scene.acting is None and owner in winners)
    line = theme["accent" if is_marked else "line"]
    return box(0, 0, width, height, radius=10, fill=theme["panel"], stroke=line, stroke_width=3 if is_marked else 1)


def _draw_name(scene: Scene, owner: int, seat: Seat | None, width: float, theme: Theme) -> list[Node]:
    """Draw the name of a seat and of its player, and what it did in the auction or its rank at the end."""
    name = name_owner(scene, owner)
    if seat is None:
        return [label(10, 24, name, theme["ink"], size=16, font_weight="bold")]
    over = scene.acting is None
    news = f"rank {seat.rank}" if over else describe_bid(scene, seat)
    is_strong = over or seat.bid > 0
    return [
        label(10, 24, name, theme["ink"], size=16, font_weight="bold"),
        label(76, 24, _write_player(scene, seat, width - 100 - _NEWS_LETTER * len(news)), theme["muted"], size=11),
        label(
            width - 12,
            25,
            news,
            theme["accent" if is_strong else "muted"],
            size=16,
            font_weight="bold" if is_strong else "normal",
            text_anchor="end",
        ),
    ]


def _write_player(scene: Scene, seat: Seat, width: float) -> str:
    """Return the name of the player in a seat; the end of a name that is wider than `width` is left out."""
    name, most = scene.names[seat.seat] if scene.names else "", int(width / _NAME_LETTER)
    return name if len(name) <= most else name[: most - 1] + "…"


def _write_start(scene: Scene, seat: Seat | None) -> str:
    """Return the note that a seat starts the round, or "" if it does not; a dummy (None) never does."""
    return "starts the round" if seat and seat.starts and scene.acting is not None else ""


def _draw_standing(seat: Seat, x: float, y: float, theme: Theme) -> list[Node]:
    """Draw how many mice, cat points and points a seat has."""
    mice = "?" if seat.mice is None else str(seat.mice)
    total = "" if seat.score is None else f"score {write_number(seat.score)}"
    return [
        draw_mouse(theme, x, y - 12),
        label(x + 24, y, mice, theme["ink"], size=15, font_weight="bold"),
        label(x + 56, y, f"cats {write_number(seat.cat_points)}", theme["ink"]),
        label(x + 130, y, total, theme["ink"]),
    ]


def _list_hand(cards: CardSet) -> tuple[int, ...]:
    """Return the cards of a hand, all HIDDEN if the viewer may not know them."""
    return (HIDDEN,) * cards.hand_size if cards.hand is None else cards.hand


def _count_places(cards: CardSet) -> int:
    """Return how many cards a hand may have: ten if no card was removed from the set (R2.4)."""
    return 10 if cards.removed == NO_CARD else 9


def _fill(cards: tuple[int, ...], count: int) -> tuple[int | None, ...]:
    """Return `count` cards: the given ones, and None for those that are missing."""
    return cards + (None,) * (count - len(cards))


def _draw_chips(cards: tuple[int, ...], x: float, y: float, step: float, theme: Theme, count: int = 9) -> list[Node]:
    return [draw_chip(theme, x + k * step, y, card) for k, card in enumerate(_fill(cards, count))]


def _find_removed(cards: CardSet) -> int | None:
    """Return the card that was removed from a set, or None if there is none or the viewer may not know it."""
    return None if cards.removed in (None, HIDDEN, NO_CARD) else cards.removed


def _draw_removed(cards: CardSet, x: float, y: float, theme: Theme) -> list[Node]:
    """Draw the card that was removed from a set, where the viewer may know it, below the word "out"."""
    card = _find_removed(cards)
    return [
        label(x + CHIP_WIDTH, y - 4, "" if card is None else "out", theme["muted"], size=10, text_anchor="end"),
        draw_chip(theme, x, y, card),
    ]


# --- the row ----------------------------------------------------------------------------------------------------------


def _draw_row(scene: Scene, theme: Theme) -> list[Node]:
    """Draw the mouse cards with the cards below them (R3.3), and beside them bids and news."""
    left = _MARGIN + 10
    slots = [
        group(left + k * _SLOT_WIDTH, _ROW_TOP, *_draw_slot(scene, k, slot, theme))
        for k, slot in enumerate(scene.slots)
    ]
    news = group(left + len(scene.slots) * _SLOT_WIDTH + 24, _ROW_TOP, *_draw_news(scene, theme))
    return [*slots, news]


def _draw_slot(scene: Scene, number: int, slot: Slot, theme: Theme) -> list[Node]:
    middle = _MOUSE_CARD_WIDTH / 2
    left, bottom = middle - CARD_WIDTH * _ROW_SCALE / 2, 58 + CARD_HEIGHT * _ROW_SCALE
    is_known = not slot.face_up and slot.card >= 0
    note = "face down" if is_known else ""
    return [
        *(_draw_sack(theme) if number == 0 else _draw_mouse_card(slot, theme)),
        shape("g", draw_card(theme, 0, 0, slot.card), transform=f"translate({left:g} 58) scale({_ROW_SCALE})"),
        label(middle, bottom + 18, name_owner(scene, slot.owner), theme["ink"], size=14, text_anchor="middle"),
        label(middle, bottom + 33, note, theme["muted"], size=11, text_anchor="middle"),
    ]


def _draw_mouse_card(slot: Slot, theme: Theme) -> list[Node]:
    """Draw the mouse card above a slot with its mice, or nothing above the dummy's extra slot, which has none."""
    if slot.mouse_card is None:
        return []
    mice = slot.mice or 0
    fill, ink = theme["full" if mice else "empty"], theme["ink" if mice else "muted"]
    places = [(32 + 19 * (k % 3), 8 + 19 * (k // 3)) for k in range(slot.mouse_card)]
    return [
        box(0, 0, _MOUSE_CARD_WIDTH, _MOUSE_CARD_HEIGHT, fill=fill, stroke=theme["line"]),
        label(10, 33, str(slot.mouse_card), ink, size=24, font_weight="bold"),
        *(draw_mouse(theme, x, y, size=0.85 if k < mice else 0) for k, (x, y) in enumerate(places)),
        label(_MOUSE_CARD_WIDTH - 10, 32, "" if mice else "empty", ink, size=12, text_anchor="end"),
    ]


def _draw_sack(theme: Theme) -> list[Node]:
    """Draw the card of the cat in the sack, above slot 0."""
    return [
        box(0, 0, _MOUSE_CARD_WIDTH, _MOUSE_CARD_HEIGHT, fill=theme["panel"], stroke=theme["line"]),
        shape(
            "path",
            d="M30 42Q22 26 36 18Q32 12 38 8H54Q60 12 56 18Q70 26 62 42Z",
            fill=theme["rabbit"],
            stroke=theme["ink"],
        ),
        shape("path", d="M36 18H56M40 8L38 3L45 6L53 3L52 8", fill="none", stroke=theme["ink"]),
        shape("path", d="M39 29H45M47 29H53M44 35Q46 37 48 35", fill="none", stroke=theme["ink"], stroke_width=1.5),
    ]


def _draw_news(scene: Scene, theme: Theme) -> list[Node]:
    """Draw the highest bid, what a pass pays, and what happened in the last round."""
    is_auction = scene.phase == "auction"
    lines = [line for news in describe_news(scene) for line in wrap(news, _NEWS_WIDTH)]
    return [
        label(0, 22, "Highest bid" if is_auction else "", theme["muted"]),
        label(100, 26, str(scene.high_bid or "none") if is_auction else "", theme["ink"], size=26, font_weight="bold"),
        label(0, 56, "A pass pays" if is_auction else "", theme["muted"]),
        label(100, 58, str(scene.pass_pays) if is_auction else "", theme["ink"], size=20, font_weight="bold"),
        *(label(0, 96 + 20 * k, _get(lines, k), theme["ink"], size=13) for k in range(_NEWS_LINES)),
    ]


def _get(lines: list[str], number: int) -> str:
    return lines[number] if number < len(lines) else ""
