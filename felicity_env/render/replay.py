"""Replay of a game as one HTML file, which shows every position and needs nothing else, not even a network.

The file holds the first position and the changes that lead to every later one. Its scripts apply the changes; they know
no rules.
"""

import gzip
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from string import Template
from typing import Any

from felicity_env import notation
from felicity_env.game_record import Game
from felicity_env.render.html import draw_position, read_page_file, write_style
from felicity_env.render.nodes import Change, Node, list_changes
from felicity_env.render.scene import build_scene
from felicity_env.render.story import tell_game


@dataclass(frozen=True)
class Article:
    """Text around a game on its page, and where the page begins."""

    title: str
    above: str = ""  # HTML above the game
    below: str = ""  # HTML below it
    seat: int | None = None  # seat whose view is shown first; None shows all cards first
    position: int = 0  # number of the position that is shown first


@dataclass(frozen=True)
class _View:
    """Game as one seat sees it, or with all cards open: the elements of every position, and all moves in words."""

    seat: int | None
    positions: list[Node]
    moves: list[list[str]]


def replay_html(
    game: Game,
    seat: int | None = None,
    *,
    open_mice: bool = False,
    hide_later: bool = False,
    names: tuple[str, ...] = (),
    article: Article | None = None,
) -> str:
    """Return a replay of a game, finished or not, as the text of an HTML file.

    seat: show only what this seat may know; the file then holds nothing else, and no notation of the game. By default
    it shows all cards and the view of every seat. open_mice: show the mice of all seats in the view of a seat.
    hide_later: list no moves after the position shown, until the reader asks for them. names: name of the player in
    each seat. article: text around the game. Raises `ValueError` if there is no such seat or the record is faulty.
    """
    title = f"Felicity, {game.setup.seats} players" + ("" if seat is None else f", as seat {seat} sees it")
    article = article or Article(title)
    states = [state.copy() for _, state in game.states()]
    seats = _order_views(game.setup.seats, article.seat) if seat is None else [seat]
    views = [
        _View(each, _draw_positions(states, each, open_mice, names), list(tell_game(game, each))) for each in seats
    ]
    parts = {
        "hide": " checked" if hide_later else "",
        "copy": _write_notation(game) if seat is None else "",
        "keys": ", v changes the view" if seat is None else "",
    }
    return _write_page(article, views, _find_rounds(states), parts)


def _order_views(seats: int, first: int | None) -> list[int | None]:
    """Return the viewers of a game in the order of the choice of views: None, who sees all cards, and the seats."""
    viewers = [None, *range(seats)]
    return [first, *(viewer for viewer in viewers if viewer != first)]


def _write_page(article: Article, views: list[_View], rounds: list[int], parts: dict[str, str]) -> str:
    """Return a page; rounds: number of the position with which each round begins. parts: other parts of the page."""
    first, last = views[0].positions[0], len(views[0].positions) - 1
    changes = [{"changes": _chain(first, view.positions), "moves": view.moves} for view in views]
    return Template(read_page_file("replay.html")).substitute(
        parts,
        title=escape(article.title),
        style=write_style(),
        position=first.markup,
        last=last,
        rounds="".join(f'<option value="{k}">{k + 1}</option>' for k in range(len(rounds))),
        views=_write_views(views),
        moves=_write_moves(rounds, last),
        above=article.above,
        below=article.below,
        data=pack({"rounds": rounds, "start": article.position, "views": changes}),
        scripts=read_page_file("changes.js") + read_page_file("replay.js"),
    )


def pack(data: Any) -> str:
    """Return data as JSON, compressed by gzip and written in base64, which the script of the page reads."""
    return b64encode(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)).decode()


def unpack(text: str) -> Any:
    """Return the data that `pack` wrote."""
    return json.loads(gzip.decompress(b64decode(text)))


def _draw_positions(states: list[Any], seat: int | None, open_mice: bool, names: tuple[str, ...]) -> list[Node]:
    return [draw_position(build_scene(state, seat, open_mice=open_mice, names=names)) for state in states]


def _chain(first: Node, positions: list[Node]) -> list[list[Change]]:
    """List the changes from `first` to the first position, and from each position to the next."""
    return [list_changes(before, after) for before, after in pairwise([first, *positions])]


def _find_rounds(states: list[Any]) -> list[int]:
    """Return the number of the position with which each round begins."""
    numbers = [int(state.round_number) for state in states]
    return [numbers.index(number) for number in sorted(set(numbers))]


def _write_views(views: list[_View]) -> str:
    if len(views) == 1:
        return ""
    names = ["all cards" if view.seat is None else f"seat {view.seat}" for view in views]
    options = "".join(f'<option value="{k}">{name}</option>' for k, name in enumerate(names))
    return f'<label>view <select id="view">{options}</select></label>'


def _write_moves(rounds: list[int], last: int) -> str:
    """Return the list of moves by round, as links without words: the script writes them, as the view has them."""
    parts = []
    for number, (start, end) in enumerate(pairwise([*rounds, last])):
        links = "".join(f'<li><a href="#d={k}"></a></li>' for k in range(start + 1, end + 1))
        parts.append(f'<h3 data-round="{number}">Round {number + 1}</h3><ol>{links}</ol>')
    return "".join(parts)


def _write_notation(game: Game) -> str:
    text = escape(notation.dumps(game))
    area = f'<textarea id="notation" hidden readonly rows="12" aria-label="notation of the game">{text}</textarea>'
    return f'<button id="copy">Copy the game as text</button>{area}'
