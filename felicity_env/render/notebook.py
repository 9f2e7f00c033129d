"""Pictures of games, positions and views in notebooks: importing this module gives them a method `_repr_html_`."""

from collections.abc import Callable
from html import escape
from typing import Any

from felicity_env.game_record import Game
from felicity_env.player import View
from felicity_env.render.replay import replay_html
from felicity_env.render.scene import Scene, build_view_scene
from felicity_env.render.svg import draw_svg

_MOST = 3  # views that are drawn; a view may hold thousands


def show_game(game: Game) -> str:
    """Return the replay of a game as a frame of a notebook, with all cards open."""
    page = escape(replay_html(game))
    return f'<iframe srcdoc="{page}" style="width:100%;height:760px;border:0" title="replay of a game"></iframe>'


def show_view(view: View) -> str:
    """Return the first positions of a view as pictures, each with what the seat to act may know."""
    pictures = [
        draw_svg(build_view_scene(state, int(seat)))
        for state, seat in zip(view.states[:_MOST], view.seats[:_MOST], strict=True)
    ]
    more = [f"<p>and {len(view) - _MOST} more decisions</p>"] if len(view) > _MOST else []
    return "".join([*pictures, *more])


def _register(shown: dict[type, Callable[[Any], str]]) -> None:
    """Add the method by which notebooks show an object to each class."""
    for kind, show in shown.items():
        kind._repr_html_ = show  # type: ignore[attr-defined]


_register({Game: show_game, Scene: draw_svg, View: show_view})
