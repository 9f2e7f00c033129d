"""Rendering of positions: the module `scene` selects what a viewer may see, and `text` draws it as plain text."""
