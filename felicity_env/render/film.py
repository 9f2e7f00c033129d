"""Films of games: one picture for each position, as an animated GIF or an MP4 file."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from felicity_env.game_record import Game
from felicity_env.render.raster import NEEDS, raster_rgb
from felicity_env.render.scene import build_scene
from felicity_env.render.svg import draw_svg


def draw_frames(
    game: Game,
    seat: int | None = None,
    *,
    open_mice: bool = False,
    names: tuple[str, ...] = (),
    theme: str = "light",
    scale: float = 1.0,
) -> Iterator[np.ndarray]:
    """Yield every position of a game as pixels, uint8 [height, width, 3].

    seat: seat that sees the game; None shows all cards. names: name of the player in each seat. scale: size of a
    picture, where 1 is 960 x 640 pixels. Raises `ImportError` naming the extra that is needed if the rasteriser is not
    installed.
    """
    for _, state in game.states():
        scene = build_scene(state, seat, open_mice=open_mice, names=names)
        yield raster_rgb(draw_svg(scene, theme=theme), scale=scale)


def write_gif(path: Path, frames: Iterator[np.ndarray], *, seconds: float = 1.0) -> None:
    """Write an animated GIF that shows each frame for a number of seconds, and then begins again."""
    from PIL import Image

    images = [Image.fromarray(frame).quantize(255, dither=Image.Dither.NONE) for frame in frames]
    images[0].save(path, "GIF", save_all=True, append_images=images[1:], duration=round(1000 * seconds), loop=0)


def write_mp4(path: Path, frames: Iterator[np.ndarray], *, seconds: float = 1.0) -> None:
    """Write a film as an MP4 file that shows each frame for a number of seconds.

    Raises `ImportError` naming the extra that is needed if moviepy is not installed.
    """
    try:
        from moviepy import ImageSequenceClip
    except ImportError:
        raise ImportError(NEEDS) from None
    clip = ImageSequenceClip(list(frames), durations=None, fps=1 / seconds)
    clip.write_videofile(str(path), codec="libx264", fps=max(1, round(1 / seconds)), logger=None)
