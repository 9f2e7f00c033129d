"""Rendering of positions and games.

The module `scene` selects what a viewer may see; `text`, `svg` and `html` draw it; `raster` makes pixels of a picture,
and `replay` a page of a whole game.
"""
