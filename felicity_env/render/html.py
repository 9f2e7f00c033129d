"""Position as an element of a page: tables for all readers, and a picture of the same for those who see it."""

from functools import cache
from importlib.resources import files

from felicity_env.render.nodes import Node
from felicity_env.render.palette import PAGE_THEME, css_variables
from felicity_env.render.scene import Scene
from felicity_env.render.svg import draw_picture
from felicity_env.render.tables import Table, list_tables
from felicity_env.render.words import describe_news, describe_turn, phase_text

_NEWS = 2  # the most sentences of news in a position


def draw_position(scene: Scene) -> Node:
    """Draw a position as an element `div` whose elements are the same in all positions of a game.

    The picture is hidden from screen readers, which read the tables.
    """
    picture = draw_picture(scene, PAGE_THEME)
    picture = Node("svg", picture.attributes | {"aria-hidden": "true", "focusable": "false"}, picture.children)
    words = (Node("summary", text="The table in words"), Node("div", {"class": "words"}, tuple(_write_words(scene))))
    return Node("div", {"id": "position"}, (picture, Node("details", {"open": ""}, words)))


def _write_words(scene: Scene) -> list[Node]:
    news = describe_news(scene)
    auction = f"Highest bid: {scene.high_bid or 'none'}. A pass now pays: {scene.pass_pays}."
    lines = [
        f"Round {scene.round_number + 1} of {scene.num_rounds}: {phase_text(scene)}. The bank: {scene.bank} mice.",
        auction if scene.phase == "auction" else "",
        *(news[k] if k < len(news) else "" for k in range(_NEWS)),
        describe_turn(scene),
    ]
    return [*(Node("p", text=line) for line in lines), *map(_draw_table, list_tables(scene))]


def _draw_table(table: Table) -> Node:
    heads = [Node("td"), *(Node("th", {"scope": "col"}, text=head) for head in table.columns)]
    rows = [
        Node(
            "tr",
            {},
            (Node("th", {"scope": "row"}, text=row), *(Node("td", text=cells[k]) for cells in table.columns.values())),
        )
        for k, row in enumerate(table.rows)
    ]
    body = (Node("thead", {}, (Node("tr", {}, tuple(heads)),)), Node("tbody", {}, tuple(rows)))
    return Node(
        "div",
        {"class": "scroll", "tabindex": "0", "role": "group", "aria-label": table.title},
        (Node("table", {}, (Node("caption", text=table.title), *body)),),
    )


@cache
def read_page_file(name: str) -> str:
    """Return the text of a file of the folder `page`, such as a script that pages contain."""
    return (files("felicity_env.render") / "page" / name).read_text(encoding="utf-8")


def write_style() -> str:
    """Return the style sheet of pages: colours of the light and the dark theme, and the layout."""
    dark = f"@media (prefers-color-scheme: dark){{:root{{color-scheme:dark;{css_variables('dark')}}}}}"
    printed = f"@media print{{:root{{{css_variables('print')}}}}}"
    return f":root{{color-scheme:light;{css_variables('light')}}}{dark}{printed}\n{read_page_file('page.css')}"
