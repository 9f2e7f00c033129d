"""Rendering of positions: `scene` selects what may be shown, `text` draws it as plain text."""
