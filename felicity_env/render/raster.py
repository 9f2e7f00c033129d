"""Conversion of SVG pictures to pixels, by the optional package resvg_py and the fonts in `fonts`."""

import io
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

NEEDS = "pictures as pixels need the extra `render`: pip install 'felicity-env[render]'"


def raster_png(svg: str, *, scale: float = 1.0) -> bytes:
    """Return an SVG picture as the bytes of a PNG file; scale 1 gives it the size that it names.

    Raises `ImportError` naming the extra that is needed if the rasteriser is not installed.
    """
    svg_to_bytes, fonts = _load()
    return bytes(svg_to_bytes(svg_string=svg, zoom=scale, skip_system_fonts=True, font_files=fonts))


def raster_rgb(svg: str, *, scale: float = 1.0) -> np.ndarray:
    """Return an SVG picture as pixels, uint8 [height, width, 3]; scale 1 gives it the size that it names.

    Raises `ImportError` naming the extra that is needed if the rasteriser is not installed.
    """
    png = raster_png(svg, scale=scale)
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


@cache
def _load() -> tuple[Any, list[str]]:
    """Return the function that rasterises, and the paths of the fonts."""
    try:
        import PIL.Image  # noqa: F401
        from resvg_py import svg_to_bytes
    except ImportError:
        raise ImportError(NEEDS) from None
    folder = files("felicity_env.render") / "fonts"
    return svg_to_bytes, [str(folder / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]
