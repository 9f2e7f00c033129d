"""Render modes of the environments: how `render` shows a position."""

import gymnasium
import numpy as np

from felicity_env.game import State, is_terminal
from felicity_env.render.raster import raster_rgb
from felicity_env.render.scene import build_scene
from felicity_env.render.svg import draw_svg
from felicity_env.render.text import draw_text

RENDER_MODES = ("human", "ansi", "svg", "rgb_array")
_NAMES = ", ".join(map(repr, RENDER_MODES))
RENDER_METADATA = {"render_modes": [*RENDER_MODES], "render_fps": 2}


def check_render_mode(render_mode: str | None) -> None:
    """Raise `TypeError` unless `render_mode` is None or one of RENDER_MODES.

    After a `TypeError`, Stable-Baselines3 tries again without a render mode.
    """
    if render_mode not in (None, *RENDER_MODES):
        raise TypeError(f"render_mode must be None or one of {_NAMES}, not {render_mode!r}")


def render(state: State, seat: int, render_mode: str | None, *, open_mice: bool = False) -> str | np.ndarray | None:
    """Show a position with only what `seat` may know, or with everything once the game is over.

    Returns text ("ansi"), a picture as SVG ("svg") or its pixels, uint8 [640, 960, 3] ("rgb_array"). With "human" the
    text is printed. Raises `ImportError` naming the extra that "rgb_array" needs if it is not installed.
    """
    if render_mode is None:
        gymnasium.logger.warn(f"render() needs a render_mode when the environment is made: {_NAMES}")
        return None
    scene = build_scene(state, None if is_terminal(state) else seat, open_mice=open_mice)
    if render_mode == "human":
        print(draw_text(scene))
        return None
    draw = {"ansi": draw_text, "svg": draw_svg, "rgb_array": lambda scene: raster_rgb(draw_svg(scene))}
    return draw[render_mode](scene)
