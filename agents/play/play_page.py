"""Pages of a table in the browser: the game as a seat sees it, and the rules."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template

from markdown_it import MarkdownIt

from agents.play.payload import draw_first_position
from agents.play.table import Table
from felicity_env.game import NUM_CARDS
from felicity_env.render.html import read_page_file, write_style
from felicity_env.render.nodes import Node
from felicity_env.render.palette import PAGE_THEME
from felicity_env.render.shapes import CARD_HEIGHT, CARD_WIDTH, create_symbols, draw_card

_FOLDER = Path(__file__).parent / "page"
_RULES = Path(__file__).parents[2] / "docs" / "rules.md"


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


SCRIPTS = read_page_file("changes.js") + _read("play.js")
_SCRIPT_HASH = b64encode(sha256(SCRIPTS.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; "
    f"script-src 'sha256-{_SCRIPT_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def render_table(table: Table, seat: int, *, hints: bool) -> str:
    """Return the page of a seat: the position after the deal, and scripts that ask the server for what followed."""
    return Template(_read("play.html")).substitute(
        title=escape(f"Felicity, seat {seat}"),
        style=write_style(),
        position=draw_first_position(table, seat).markup,
        hint="" if hints else " hidden",
        scripts=SCRIPTS,
    )


@cache
def render_rules() -> str:
    """Return the page of the rules, with pictures of all cards."""
    text = _RULES.read_text(encoding="utf-8")
    body = MarkdownIt().enable("table").render(text.replace("[exact rules](exact_rules.md)", "exact rules"))
    body = body.replace("<table>", '<div class="scroll" tabindex="0" role="group" aria-label="example"><table>')
    body = body.replace("</table>", "</table></div>")
    picture = _draw_all_cards().markup
    first, rest = body.split("</h2>", 1)
    return Template(_read("rules.html")).substitute(style=write_style(), body=f"{first}</h2>{picture}{rest}")


def _draw_all_cards() -> Node:
    """Draw the ten cards of a set side by side."""
    step = CARD_WIDTH + 6
    cards = [draw_card(PAGE_THEME, k * step, 0, k) for k in range(NUM_CARDS)]
    size = {"viewBox": f"0 0 {NUM_CARDS * step} {CARD_HEIGHT}", "role": "img"}
    label = {"aria-label": "the ten cards: seven cats, a rabbit, a large dog and a small dog"}
    return Node("svg", size | label, (create_symbols(PAGE_THEME), *cards))
