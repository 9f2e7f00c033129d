"""Shapes of which pictures are made: rectangles, text, groups, cards with their animals, and mice."""

from dataclasses import replace
from functools import cache

from felicity_env.game import CARD_VALUES, HIDDEN, LARGE_DOG, NO_CARD, NUM_CARDS, NUM_CATS, RABBIT, SMALL_DOG
from felicity_env.game_record import card_text
from felicity_env.render.nodes import Node
from felicity_env.render.palette import Theme

CARD_WIDTH, CARD_HEIGHT = 66, 92
CHIP_WIDTH, CHIP_HEIGHT = 21, 28  # small picture of a card
MINUS = "\u2212"
CARD_NAMES = {RABBIT: "rabbit", LARGE_DOG: "large dog", SMALL_DOG: "small dog"}


# --- basic shapes -----------------------------------------------------------------------------------------------------


def shape(tag: str, *children: Node, **attributes: object) -> Node:
    """Create an element of SVG; underscores in the names of attributes become hyphens."""
    return Node(tag, {name.replace("_", "-"): str(value) for name, value in attributes.items()}, children)


def group(x: float, y: float, *children: Node) -> Node:
    """Create a group of elements whose origin is at (x, y)."""
    return shape("g", *children, transform=f"translate({x:g} {y:g})")


def box(x: float, y: float, width: float, height: float, *, radius: float = 6, **style: object) -> Node:
    """Create a rectangle with rounded corners."""
    return shape("rect", x=f"{x:g}", y=f"{y:g}", width=f"{width:g}", height=f"{height:g}", rx=radius, **style)


def label(x: float, y: float, text: str, fill: str, *, size: float = 13, **style: object) -> Node:
    """Create a line of text whose baseline begins at (x, y), or has its middle or end there with `text_anchor`."""
    return replace(shape("text", x=f"{x:g}", y=f"{y:g}", font_size=f"{size:g}", fill=fill, **style), text=text)


def _ellipse(x: float, y: float, width: float, height: float, fill: str, **style: object) -> Node:
    return shape("ellipse", cx=f"{x:g}", cy=f"{y:g}", rx=f"{width:g}", ry=f"{height:g}", fill=fill, **style)


def _path(d: str, fill: str = "none", **style: object) -> Node:
    return shape("path", d=d, fill=fill, **style)


# --- cards ------------------------------------------------------------------------------------------------------------


def write_number(number: int) -> str:
    """Return a number as text, with the sign of a minus where it is negative."""
    return str(number).replace("-", MINUS)


def write_sign(card: int) -> str:
    """Return the number or letter that stands on a card."""
    return card_text(card).replace("-", MINUS)


def _name_symbol(theme: Theme, kind: str, card: int | None) -> str:
    name = {HIDDEN: "back", NO_CARD: "place", None: "nothing"}.get(card, str(card))
    return f"felicity-{theme.name}-{kind}-{name}"


def draw_card(theme: Theme, x: float, y: float, card: int | None) -> Node:
    """Draw a card, its back if it is HIDDEN, the outline of its place if it is NO_CARD, or nothing if it is None."""
    return shape("use", href=f"#{_name_symbol(theme, 'card', card)}", x=f"{x:g}", y=f"{y:g}")


def draw_chip(theme: Theme, x: float, y: float, card: int | None) -> Node:
    """Draw a card as small as its number or letter allows; see `draw_card`."""
    return shape("use", href=f"#{_name_symbol(theme, 'chip', card)}", x=f"{x:g}", y=f"{y:g}")


@cache
def create_symbols(theme: Theme) -> Node:
    """Create the definitions to which `draw_card`, `draw_chip` and `draw_mouse` refer."""
    cards = [HIDDEN, NO_CARD, None, *range(NUM_CARDS)]
    symbols = [_symbol(_name_symbol(theme, "card", card), *_draw_large(card, theme)) for card in cards]
    symbols += [_symbol(_name_symbol(theme, "chip", card), *_draw_small(card, theme)) for card in cards]
    return shape("defs", *symbols, _symbol(_name_mouse(theme), *_draw_mouse(theme)))


def _symbol(name: str, *children: Node) -> Node:
    return shape("g", *children, id=name)


def find_colour(card: int, theme: Theme) -> str:
    """Return the colour of the animal on a card."""
    animals = {RABBIT: "rabbit", LARGE_DOG: "large_dog", SMALL_DOG: "small_dog"}
    return theme[animals.get(card, "good" if CARD_VALUES[card] > 0 else "bad")]


def _draw_large(card: int | None, theme: Theme) -> list[Node]:
    if card is None:
        return []
    if card == NO_CARD:
        return [box(1, 1, CARD_WIDTH - 2, CARD_HEIGHT - 2, fill="none", stroke=theme["line"], stroke_dasharray="4 4")]
    if card == HIDDEN:
        return _draw_back(CARD_WIDTH, CARD_HEIGHT, theme)
    ink = theme["card_ink"]
    return [
        box(0.5, 0.5, CARD_WIDTH - 1, CARD_HEIGHT - 1, fill=theme["card"], stroke=theme["card_line"]),
        label(8, 27, write_sign(card), ink, size=24, font_weight="bold"),
        *_draw_animal(card, theme),
        label(CARD_WIDTH / 2, 86, CARD_NAMES.get(card, "cat"), ink, size=9.5, text_anchor="middle"),
    ]


def _draw_small(card: int | None, theme: Theme) -> list[Node]:
    if card in (None, NO_CARD):
        return []
    if card == HIDDEN:
        return _draw_back(CHIP_WIDTH, CHIP_HEIGHT, theme)
    ink, middle = theme["card_ink"], CHIP_WIDTH / 2
    return [
        box(0.5, 0.5, CHIP_WIDTH - 1, CHIP_HEIGHT - 1, radius=3, fill=theme["card"], stroke=theme["card_line"]),
        box(2.5, CHIP_HEIGHT - 8, CHIP_WIDTH - 5, 5, radius=2, fill=find_colour(card, theme)),
        label(middle, 16.5, write_sign(card), ink, size=12, font_weight="bold", text_anchor="middle"),
    ]


def _draw_back(width: float, height: float, theme: Theme) -> list[Node]:
    inset, radius = width / 9, width / 11
    return [
        box(0.5, 0.5, width - 1, height - 1, radius=radius, fill=theme["back"], stroke=theme["card_line"]),
        box(
            inset,
            inset,
            width - 2 * inset,
            height - 2 * inset,
            radius=radius / 2,
            fill="none",
            stroke=theme["back_line"],
        ),
        _path(
            f"M{inset} {inset}L{width - inset} {height - inset}M{width - inset} {inset}L{inset} {height - inset}",
            stroke=theme["back_line"],
        ),
    ]


# --- animals ----------------------------------------------------------------------------------------------------------


def _draw_animal(card: int, theme: Theme) -> list[Node]:
    draw = {RABBIT: _draw_rabbit, LARGE_DOG: _draw_dog, SMALL_DOG: _draw_dog}.get(card, _draw_cat)
    size = {SMALL_DOG: 0.7, LARGE_DOG: 1.05, RABBIT: 0.85}.get(card, _find_cat_size(card))
    head = draw(card, find_colour(card, theme), theme["card_ink"])
    return [shape("g", *head, transform=f"translate({CARD_WIDTH / 2 + 4:g} 57) scale({size:g})")]


def _find_cat_size(card: int) -> float:
    """Return the size of a cat, which grows with its points."""
    return 0.72 + 0.028 * abs(CARD_VALUES[card]) if card < NUM_CATS else 1.0


def _draw_cat(card: int, colour: str, ink: str) -> list[Node]:
    is_good = CARD_VALUES[card] > 0
    eyes = [_ellipse(x, -2, 2.2, 3, ink) for x in (-7, 7)]
    brows = [_path("M-11 -8L-3 -4M11 -8L3 -4", stroke=ink, stroke_width=2)]
    mouth = "M-5 8Q-2.5 11 0 8Q2.5 11 5 8" if is_good else "M-5 11Q0 6 5 11"
    return [
        _path("M-17 -4L-15 -22L-5 -14ZM17 -4L15 -22L5 -14Z", colour, stroke=ink),
        _ellipse(0, 0, 18, 16, colour, stroke=ink),
        *eyes,
        *([] if is_good else brows),
        _path("M-2 4H2L0 6Z", ink),
        _path(mouth, stroke=ink, stroke_width=1.2),
        _path("M-10 5L-22 3M-10 7L-22 9M10 5L22 3M10 7L22 9", stroke=ink, stroke_width=0.8),
    ]


def _draw_rabbit(card: int, colour: str, ink: str) -> list[Node]:
    return [
        *(_ellipse(x, -20, 4.5, 13, colour, stroke=ink, transform=f"rotate({x})") for x in (-7, 7)),
        _ellipse(0, 0, 14, 14, colour, stroke=ink),
        *(_ellipse(x, -2, 1.8, 2.6, ink) for x in (-5, 5)),
        _path("M-2 4H2L0 6Z", ink),
        box(-3, 8, 6, 5, radius=1, fill="#ffffff", stroke=ink, stroke_width=0.8),
    ]


def _draw_dog(card: int, colour: str, ink: str) -> list[Node]:
    return [
        _ellipse(0, -1, 16, 17, colour, stroke=ink),
        *(_ellipse(x, -3, 5, 13, ink, transform=f"rotate({-x})") for x in (-17, 17)),
        *(_ellipse(x, -5, 2.2, 2.6, ink) for x in (-6, 6)),
        _ellipse(0, 8, 9, 7, "#ffffff", stroke=ink, stroke_width=0.8),
        _ellipse(0, 4, 3.5, 2.5, ink),
        _path("M0 7V10Q-3 13 -5 10M0 10Q3 13 5 10", stroke=ink, stroke_width=1.2),
    ]


# --- mice -------------------------------------------------------------------------------------------------------------


def draw_mouse(theme: Theme, x: float, y: float, *, size: float = 1) -> Node:
    """Draw a mouse, 20 units wide and 13 units high at size 1."""
    return shape("use", href=f"#{_name_mouse(theme)}", transform=f"translate({x:g} {y:g}) scale({size:g})")


def _name_mouse(theme: Theme) -> str:
    return f"felicity-{theme.name}-mouse"


def _draw_mouse(theme: Theme) -> list[Node]:
    return [
        _path("M14 10Q19 12 20 7", stroke=theme["mouse"], stroke_width=1.4),
        _path("M0 11Q2 4 9 4Q16 4 16 11Z", theme["mouse"]),
        shape("circle", cx=6.5, cy=4, r=3, fill=theme["mouse"]),
        shape("circle", cx=3.8, cy=8, r=0.9, fill=theme["panel"]),
    ]
